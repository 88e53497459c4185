use std::io::Cursor;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use image::{ImageFormat, RgbImage};
use serde_json::json;
use troupe_protocol::history::{ContentItem, ToolOutputBody};
use troupe_protocol::item::TurnItem;

use crate::support::Bench;

fn picture(width: u32, height: u32, format: ImageFormat) -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    let pixels = RgbImage::from_pixel(width, height, image::Rgb([200, 10, 10]));
    pixels.write_to(&mut bytes, format).unwrap();
    bytes.into_inner()
}

async fn view(bench: &Bench, path: &str) -> (String, Vec<u8>) {
    let output = bench.call("view_image", json!({"path": path})).await;
    let ToolOutputBody::Parts(parts) = output.body else {
        panic!("{:?}", output.body);
    };
    let [ContentItem::InputImage { image_url, .. }] = &parts[..] else {
        panic!("{parts:?}");
    };
    let (head, data) = image_url.split_once(',').unwrap();
    (head.to_owned(), STANDARD.decode(data).unwrap())
}

#[tokio::test]
async fn a_small_picture_is_sent_as_it_is() {
    let bench = Bench::new();
    let bytes = picture(20, 10, ImageFormat::WebP);
    bench.write("misnamed.png", &bytes);
    let (head, sent) = view(&bench, "misnamed.png").await;
    assert_eq!(head, "data:image/webp;base64");
    assert_eq!(sent, bytes);
    let TurnItem::ImageView(item) = bench.channel.completed() else {
        panic!("the view is shown");
    };
    assert_eq!(item.path, bench.cwd.join("misnamed.png"));
}

#[tokio::test]
async fn a_large_picture_is_scaled_down() {
    let bench = Bench::new();
    for (format, head) in [
        (ImageFormat::Jpeg, "data:image/jpeg;base64"),
        (ImageFormat::Png, "data:image/png;base64"),
    ] {
        bench.write("large", picture(4096, 256, format));
        let (sent_head, sent) = view(&bench, "large").await;
        assert_eq!(sent_head, head);
        let small = image::load_from_memory(&sent).unwrap();
        assert_eq!((small.width(), small.height()), (2048, 128));
    }
}

#[tokio::test]
async fn what_is_no_picture_is_refused() {
    let bench = Bench::new();
    bench.write("text", "BM and then words");
    bench.write("cut.png", &picture(20, 10, ImageFormat::Png)[..20]);
    let text = bench.text("view_image", json!({"path": "text"})).await;
    assert_eq!(
        text,
        "{cwd}/text is not a PNG, JPEG, GIF or WebP image, by its first bytes"
    );
    let text = bench.text("view_image", json!({"path": "cut.png"})).await;
    assert!(
        text.starts_with("{cwd}/cut.png cannot be decoded: "),
        "{text}"
    );
    let huge = std::fs::File::create(bench.cwd.join("huge")).unwrap();
    huge.set_len(21 * 1024 * 1024).unwrap();
    let text = bench.text("view_image", json!({"path": "huge"})).await;
    assert!(
        text.starts_with("{cwd}/huge has 22020096 bytes; the limit is 20971520"),
        "{text}"
    );
}
