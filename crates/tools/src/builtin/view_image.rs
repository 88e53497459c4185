//! `view_image`: puts a picture before the model's eyes.

use std::io::{Cursor, Read as _};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::Duration;

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use image::imageops::FilterType;
use image::{ImageFormat, ImageReader, Limits};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use troupe_protocol::history::{ContentItem, ToolOutputBody};
use troupe_protocol::item::{ImageViewItem, TurnItem};
use troupe_protocol::tool::ToolSpec;

use crate::arguments;
use crate::blocking::Stop;
use crate::call::{Call, ToolEvent};
use crate::file::{self, Hidden};
use crate::limits::{IMAGE_DECODE_BYTES_MAX, IMAGE_FILE_BYTES_MAX, IMAGE_SIDE_MAX_PX};
use crate::tool::{Concurrency, Tool, ToolOutput};
use crate::worker::{FileWork, Workers};

const NAME: &str = "view_image";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// A PNG, JPEG, GIF or WebP file; relative paths start at the working directory.
    path: String,
}

static SPEC: LazyLock<ToolSpec> = LazyLock::new(|| {
    arguments::function::<Arguments>(
        NAME,
        "Shows you an image file. Pictures with a side over 2048 pixels are scaled down.",
    )
});

#[derive(Debug)]
pub(crate) struct ViewImage {
    workers: Workers,
    hidden: Hidden,
}

impl ViewImage {
    pub(crate) fn new(workers: Workers, hidden: Hidden) -> Self {
        Self { workers, hidden }
    }
}

#[async_trait]
impl Tool for ViewImage {
    fn spec(&self) -> &ToolSpec {
        &SPEC
    }

    fn concurrency(&self) -> Concurrency {
        Concurrency::Shared
    }

    async fn call(&self, call: Call) -> ToolOutput {
        let arguments: Arguments = match arguments::parse(&call, &SPEC).await {
            Ok(arguments) => arguments,
            Err(output) => return output,
        };
        let path = call.context.resolve(&arguments.path);
        let item = TurnItem::ImageView(ImageViewItem {
            id: call.item_id(),
            path: path.clone(),
        });
        call.channel.report(ToolEvent::Started(item.clone())).await;
        let hidden = self.hidden.during(&call.context);
        let loaded = self.workers.read(&call, Viewing { path, hidden }).await;
        let output = ToolOutput::of(loaded.map(as_body));
        call.channel.report(ToolEvent::Completed(item)).await;
        output
    }
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Viewing {
    path: PathBuf,
    hidden: Hidden,
}

impl FileWork for Viewing {
    /// The picture as a `data:` address.
    type Answer = String;
    const TIME_MAX: Option<Duration> = None;

    fn run(self, _: &Stop) -> Result<String, String> {
        load(&self.path, &self.hidden).map(Picture::into_url)
    }
}

/// An image file's bytes, small enough to be sent.
#[derive(Debug)]
struct Picture {
    format: ImageFormat,
    bytes: Vec<u8>,
}

fn as_body(image_url: String) -> ToolOutputBody {
    ToolOutputBody::Parts(vec![ContentItem::InputImage {
        image_url,
        detail: None,
    }])
}

fn load(path: &Path, hidden: &Hidden) -> Result<Picture, String> {
    let (file, size) = file::open_regular(path, hidden)?;
    if size > IMAGE_FILE_BYTES_MAX {
        return Err(format!(
            "{} has {size} bytes; the limit is {IMAGE_FILE_BYTES_MAX}: make a smaller copy and view that",
            path.display()
        ));
    }
    let mut bytes = Vec::new();
    file.take(IMAGE_FILE_BYTES_MAX)
        .read_to_end(&mut bytes)
        .map_err(|error| file::problem("read", path, &error))?;
    let format = file::image_format(&bytes).ok_or_else(|| {
        format!(
            "{} is not a PNG, JPEG, GIF or WebP image; if it is text, use read_file",
            path.display()
        )
    })?;
    let damaged =
        |error: image::ImageError| format!("{} cannot be decoded: {error}", path.display());
    let picture = Picture { format, bytes };
    let (width, height) = picture.reader().into_dimensions().map_err(damaged)?;
    if width.max(height) <= IMAGE_SIDE_MAX_PX {
        Ok(picture)
    } else {
        picture.scaled_down().map_err(damaged)
    }
}

impl Picture {
    fn into_url(self) -> String {
        let mut url = format!("data:{};base64,", self.format.to_mime_type());
        STANDARD.encode_string(&self.bytes, &mut url);
        url
    }

    fn reader(&self) -> ImageReader<Cursor<&[u8]>> {
        let mut limits = Limits::default();
        limits.max_alloc = Some(IMAGE_DECODE_BYTES_MAX);
        let mut reader = ImageReader::with_format(Cursor::new(self.bytes.as_slice()), self.format);
        reader.limits(limits);
        reader
    }

    /// Photographs stay photographs; everything else becomes PNG, which loses nothing.
    fn scaled_down(&self) -> image::ImageResult<Self> {
        let format = match self.format {
            ImageFormat::Jpeg => ImageFormat::Jpeg,
            _ => ImageFormat::Png,
        };
        let small = self.reader().decode()?.resize(
            IMAGE_SIDE_MAX_PX,
            IMAGE_SIDE_MAX_PX,
            FilterType::Triangle,
        );
        let mut bytes = Vec::new();
        small.write_to(&mut Cursor::new(&mut bytes), format)?;
        Ok(Self { format, bytes })
    }
}
