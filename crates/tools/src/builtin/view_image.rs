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
use crate::blocking::WorkDeadline;
use crate::call::{ToolEvent, ToolInvocation};
use crate::file::{self, HiddenDirectory};
use crate::picture::{ModelPicture, PictureScale};
use crate::tool::{Tool, ToolConcurrency, ToolOutput};
use crate::worker::{FileWork, FileWorkers};

const NAME: &str = "view_image";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ViewImageArguments {
    /// A PNG, JPEG, GIF or WebP file; relative paths start at the working directory.
    path: String,
}

static SPEC: LazyLock<ToolSpec> = LazyLock::new(|| {
    arguments::function::<ViewImageArguments>(
        NAME,
        "Shows you an image file. Pictures with a side over 2048 pixels are scaled down.",
    )
});

#[derive(Debug)]
pub(crate) struct ViewImage {
    workers: FileWorkers,
    hidden: HiddenDirectory,
}

impl ViewImage {
    pub(crate) fn new(workers: FileWorkers, hidden: HiddenDirectory) -> Self {
        Self { workers, hidden }
    }
}

#[async_trait]
impl Tool for ViewImage {
    fn spec(&self) -> &ToolSpec {
        &SPEC
    }

    fn concurrency(&self) -> ToolConcurrency {
        ToolConcurrency::Shared
    }

    async fn call(&self, call: ToolInvocation) -> ToolOutput {
        let arguments: ViewImageArguments = match arguments::parse(&call, &SPEC).await {
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
        let loaded = self
            .workers
            .read(&call, ViewImageWork { path, hidden })
            .await;
        let output = ToolOutput::of(loaded.map(as_body));
        call.channel.report(ToolEvent::Completed(item)).await;
        output
    }
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ViewImageWork {
    path: PathBuf,
    hidden: HiddenDirectory,
}

impl FileWork for ViewImageWork {
    /// The picture as a `data:` address.
    type Answer = String;
    const NAME: &str = "view_image";
    const TIME_MAX: Option<Duration> = None;

    fn run(self, _: &WorkDeadline) -> Result<String, String> {
        let (file, size) = file::open_regular(&self.path, &self.hidden)?;
        ModelPicture::load(file, size, &self.path, PictureScale::Fitting)
            .map(ModelPicture::into_url)
    }
}

fn as_body(image_url: String) -> ToolOutputBody {
    ToolOutputBody::Parts(vec![ContentItem::InputImage {
        image_url,
        detail: None,
    }])
}
