//! Pictures on their way to a model: judged by their content, and no larger than providers take.
//!
//! Every picture is decoded, also one that is sent as it is. A provider that cannot read a
//! picture refuses each request that carries it, and from then on that is each request of the
//! conversation.

use std::fs::File;
use std::io::{Cursor, Read as _};
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use image::error::{LimitError, LimitErrorKind};
use image::imageops::FilterType;
use image::{
    DynamicImage, ImageDecoder as _, ImageError, ImageFormat, ImageReader, ImageResult, Limits,
};
use tokio::sync::Semaphore;

use crate::file::{self, HiddenDirectory};
use crate::limits::{
    IMAGE_DECODE_BYTES_MAX, IMAGE_FILE_BYTES_MAX, IMAGE_PIXELS_MAX, IMAGE_SIDE_MAX_PX,
    IMAGES_AT_ONCE_MAX,
};

static DECODERS: Semaphore = Semaphore::const_new(IMAGES_AT_ONCE_MAX);

/// A picture that a model can be shown.
#[derive(Debug)]
pub struct ModelPicture {
    format: ImageFormat,
    bytes: Vec<u8>,
}

/// How large a picture may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PictureScale {
    /// As large as providers look at.
    Fitting,
    /// As it is.
    Original,
}

impl ModelPicture {
    /// Reads a file of the user's. Blocks; `Err` says what is wrong with it.
    pub fn read(path: &Path, scale: PictureScale) -> Result<Self, String> {
        let (file, size) = file::open_regular(path, &HiddenDirectory::default())?;
        Self::load(file, size, path, scale)
    }

    /// Reads an open file. `path` is what it is called.
    pub(crate) fn load(
        file: File,
        size: u64,
        path: &Path,
        scale: PictureScale,
    ) -> Result<Self, String> {
        let shown = path.display();
        let too_large = |size: u64| {
            format!(
                "{shown} has {size} bytes; the limit is {IMAGE_FILE_BYTES_MAX}: make a smaller \
                 copy and use that"
            )
        };
        if size > IMAGE_FILE_BYTES_MAX {
            return Err(too_large(size));
        }
        let mut bytes = Vec::new();
        file.take(IMAGE_FILE_BYTES_MAX + 1)
            .read_to_end(&mut bytes)
            .map_err(|error| file::problem("read", path, &error))?;
        if bytes.len() as u64 > IMAGE_FILE_BYTES_MAX {
            return Err(too_large(bytes.len() as u64));
        }
        Self::check(bytes, scale, &shown.to_string())
    }

    /// Reads a `data:` address. Blocks; `Err` says what is wrong with it.
    pub fn from_url(url: &str, scale: PictureScale) -> Result<Self, String> {
        let encoded = url
            .strip_prefix("data:")
            .and_then(|rest| rest.split_once(','))
            .filter(|(kind, _)| kind.ends_with(";base64"))
            .map(|(_, data)| data);
        let Some(encoded) = encoded else {
            return Err("the data URL is not of the form data:image/png;base64,…".to_owned());
        };
        if encoded.len() as u64 / 4 * 3 > IMAGE_FILE_BYTES_MAX {
            return Err(format!(
                "the picture of the data URL has more than {IMAGE_FILE_BYTES_MAX} bytes: use a \
                 smaller one"
            ));
        }
        let bytes = STANDARD
            .decode(encoded)
            .map_err(|error| format!("the data URL is not base64: {error}"))?;
        Self::check(bytes, scale, "the picture of the data URL")
    }

    /// Reads a picture on a thread that may block, when it is its turn, and returns it as a
    /// `data:` address.
    pub async fn decoded(
        read: impl FnOnce() -> Result<Self, String> + Send + 'static,
    ) -> Result<String, String> {
        let turn = DECODERS.acquire().await;
        let turn = turn.expect("nobody closes a semaphore that lives as long as the program");
        let read = tokio::task::spawn_blocking(move || {
            // Who asked may be gone before the decoder is: its memory counts until then.
            let _turn = turn;
            read().map(Self::into_url)
        });
        // A decoder that panics has met a picture that is none.
        read.await
            .unwrap_or_else(|error| Err(format!("a picture could not be decoded: {error}")))
    }

    pub fn into_url(self) -> String {
        let mut url = format!("data:{};base64,", self.format.to_mime_type());
        STANDARD.encode_string(&self.bytes, &mut url);
        url
    }

    fn check(bytes: Vec<u8>, scale: PictureScale, shown: &str) -> Result<Self, String> {
        let Some(format) = file::image_format(&bytes) else {
            return Err(format!(
                "{shown} is not a PNG, JPEG, GIF or WebP image, by its first bytes"
            ));
        };
        let picture = Self { format, bytes };
        picture.check_pixels(shown)?;
        let scaled = picture.decode().and_then(|image| match scale {
            PictureScale::Fitting if image.width().max(image.height()) > IMAGE_SIDE_MAX_PX => {
                picture.scaled_down(&image).map(Some)
            }
            PictureScale::Fitting | PictureScale::Original => Ok(None),
        });
        match scaled {
            Ok(scaled) => Ok(scaled.unwrap_or(picture)),
            Err(ImageError::Limits(_)) => Err(format!(
                "{shown} is too large a picture: decoding it takes more than \
                 {IMAGE_DECODE_BYTES_MAX} bytes"
            )),
            Err(error) => Err(format!("{shown} cannot be decoded: {error}")),
        }
    }

    /// Refuses by the size that the header claims: a small file can hold a huge picture, which
    /// takes seconds to decode.
    fn check_pixels(&self, shown: &str) -> Result<(), String> {
        let reader = ImageReader::with_format(Cursor::new(self.bytes.as_slice()), self.format);
        let (width, height) = reader
            .into_dimensions()
            .map_err(|error| format!("{shown} cannot be decoded: {error}"))?;
        if u64::from(width) * u64::from(height) > IMAGE_PIXELS_MAX {
            return Err(format!(
                "{shown} has {width}×{height} pixels; the limit is {IMAGE_PIXELS_MAX} in all: \
                 make a smaller copy and use that"
            ));
        }
        Ok(())
    }

    /// Decodes the picture, of a moving one the first frame.
    fn decode(&self) -> ImageResult<DynamicImage> {
        let mut limits = Limits::default();
        limits.max_alloc = Some(IMAGE_DECODE_BYTES_MAX);
        let mut reader = ImageReader::with_format(Cursor::new(self.bytes.as_slice()), self.format);
        reader.limits(limits);
        let mut decoder = reader.into_decoder()?;
        // The limits count what the decoder needs beside the picture itself.
        if decoder.total_bytes() > IMAGE_DECODE_BYTES_MAX {
            let kind = LimitErrorKind::InsufficientMemory;
            return Err(ImageError::Limits(LimitError::from_kind(kind)));
        }
        let orientation = decoder.orientation()?;
        let mut image = DynamicImage::from_decoder(decoder)?;
        image.apply_orientation(orientation);
        Ok(image)
    }

    /// Photographs stay photographs; everything else becomes PNG, which loses nothing.
    fn scaled_down(&self, image: &DynamicImage) -> ImageResult<Self> {
        let format = match self.format {
            ImageFormat::Jpeg => ImageFormat::Jpeg,
            _ => ImageFormat::Png,
        };
        let small = image.resize(IMAGE_SIDE_MAX_PX, IMAGE_SIDE_MAX_PX, FilterType::Triangle);
        let mut bytes = Vec::new();
        small.write_to(&mut Cursor::new(&mut bytes), format)?;
        Ok(Self { format, bytes })
    }
}

#[cfg(test)]
mod tests;
