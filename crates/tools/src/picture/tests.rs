use std::io::Cursor;

use expect_test::{Expect, expect};
use image::{ImageFormat, Rgb, RgbImage};

use super::*;

fn png(width: u32, height: u32) -> Vec<u8> {
    encoded(width, height, ImageFormat::Png)
}

fn encoded(width: u32, height: u32, format: ImageFormat) -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    let pixels = RgbImage::from_fn(width, height, |x, y| {
        Rgb([(x % 251) as u8, (y % 241) as u8, 9])
    });
    pixels.write_to(&mut bytes, format).unwrap();
    bytes.into_inner()
}

/// A PNG that claims a size; its pixels are those of a small one.
fn claiming(width: u32, height: u32) -> Vec<u8> {
    let mut bytes = png(2, 2);
    bytes[16..20].copy_from_slice(&width.to_be_bytes());
    bytes[20..24].copy_from_slice(&height.to_be_bytes());
    let checksum = crc(&bytes[12..29]);
    bytes[29..33].copy_from_slice(&checksum.to_be_bytes());
    bytes
}

/// The checksum of a PNG's chunk.
fn crc(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg())
        })
    })
}

fn url(kind: &str, bytes: &[u8]) -> String {
    format!("data:{kind};base64,{}", STANDARD.encode(bytes))
}

fn check(url: &str, scale: PictureScale, expected: Expect) {
    let found = match ModelPicture::from_url(url, scale) {
        Err(problem) => problem,
        Ok(picture) => {
            let image = picture.decode().unwrap();
            format!("{:?} {}x{}", picture.format, image.width(), image.height())
        }
    };
    expected.assert_eq(&found);
}

#[test]
fn what_is_large_is_made_smaller_unless_it_is_wanted_as_it_is() {
    let wide = url("image/png", &png(4096, 4));
    check(&wide, PictureScale::Fitting, expect!["Png 2048x2"]);
    check(&wide, PictureScale::Original, expect!["Png 4096x4"]);
    let photo = url("image/jpeg", &encoded(16, 2400, ImageFormat::Jpeg));
    check(&photo, PictureScale::Fitting, expect!["Jpeg 14x2048"]);
    let web = url("image/webp", &encoded(2049, 2, ImageFormat::WebP));
    check(&web, PictureScale::Fitting, expect!["Png 2048x2"]);
}

#[test]
fn the_content_counts_and_not_what_it_is_called() {
    let small = encoded(3, 2, ImageFormat::Gif);
    check(
        &url("image/png", &small),
        PictureScale::Fitting,
        expect!["Gif 3x2"],
    );
    let sent = ModelPicture::from_url(&url("image/png", &small), PictureScale::Fitting).unwrap();
    assert_eq!(sent.into_url(), url("image/gif", &small));
    check(
        &url("image/png", b"BM, and words"),
        PictureScale::Fitting,
        expect![
            "the picture of the data URL is not a PNG, JPEG, GIF or WebP image, by its first bytes"
        ],
    );
}

#[test]
fn a_picture_of_too_many_pixels_is_refused_before_it_is_decoded() {
    // What it claims is not there: decoding would find the file too short.
    check(
        &url("image/png", &claiming(9_000, 9_000)),
        PictureScale::Fitting,
        expect![
            "the picture of the data URL has 9000×9000 pixels; the limit is 50000000 in all: make a smaller copy and use that"
        ],
    );
}

#[test]
fn a_hostile_picture_is_an_error() {
    let half = png(64, 64);
    check(
        &url("image/png", &half[..half.len() / 2]),
        PictureScale::Original,
        expect!["the picture of the data URL cannot be decoded: unexpected end of file"],
    );
    check(
        &url("image/png", &claiming(60_000, 60_000)),
        PictureScale::Fitting,
        expect![
            "the picture of the data URL has 60000×60000 pixels; the limit is 50000000 in all: make a smaller copy and use that"
        ],
    );
    check(
        "data:image/png;base64,%",
        PictureScale::Fitting,
        expect!["the data URL is not base64: Invalid symbol 37, offset 0."],
    );
    check(
        "data:image/svg+xml,<svg/>",
        PictureScale::Fitting,
        expect!["the data URL is not of the form data:image/png;base64,…"],
    );
}
