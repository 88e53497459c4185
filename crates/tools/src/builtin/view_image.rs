//! `view_image`: puts a picture before the model's eyes.

use std::path::PathBuf;
use std::sync::LazyLock;
use std::time::Duration;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use troupe_protocol::history::{ContentItem, ToolOutputBody};
use troupe_protocol::item::{ImageViewItem, TurnItem};
use troupe_protocol::tool::ToolSpec;

use crate::arguments;
use crate::blocking::Stop;
use crate::call::{Call, ToolEvent};
use crate::file::{self, Hidden};
use crate::picture::{Picture, Scale};
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
        let (file, size) = file::open_regular(&self.path, &self.hidden)?;
        Picture::load(file, size, &self.path, Scale::Fitting).map(Picture::into_url)
    }
}

fn as_body(image_url: String) -> ToolOutputBody {
    ToolOutputBody::Parts(vec![ContentItem::InputImage {
        image_url,
        detail: None,
    }])
}
