//! What a client answers, as the model reads it.

use troupe_protocol::history::{ContentItem, ToolOutputBody};
use troupe_tools::{ModelPicture, PictureScale, ToolOutput, truncate};

use crate::limits::{DYNAMIC_TOOL_IMAGES_MAX, DYNAMIC_TOOL_REPLY_TOKENS_MAX};

/// What a client says that a call came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientToolReply {
    pub parts: Vec<ReplyPart>,
    pub success: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReplyPart {
    Text(String),
    /// A data URL.
    Image(String),
    /// Something that models are not sent, by its name.
    LeftOut(&'static str),
}

impl ClientToolReply {
    pub(super) async fn into_output(self) -> ToolOutput {
        let mut texts = Vec::new();
        let mut images = Vec::new();
        for part in self.parts {
            match part {
                ReplyPart::Text(text) => texts.push(text),
                ReplyPart::LeftOut(what) => texts.push(format!("[{what}: left out]")),
                ReplyPart::Image(url) => match picture(url, images.len()).await {
                    Ok(image) => images.push(image),
                    Err(problem) => texts.push(format!("[image: left out, {problem}]")),
                },
            }
        }
        ToolOutput {
            body: body(&texts.join("\n"), images),
            success: self.success,
            claim: None,
        }
    }
}

/// Decodes a picture: one that a provider cannot read would have it refuse every later request.
/// An address is left out: the provider would fetch it, past the sandbox.
async fn picture(url: String, images: usize) -> Result<ContentItem, String> {
    if images == DYNAMIC_TOOL_IMAGES_MAX {
        return Err(format!(
            "there are {DYNAMIC_TOOL_IMAGES_MAX} before it, and no more are taken"
        ));
    }
    if !url.starts_with("data:") {
        return Err("only data URLs are taken".to_owned());
    }
    let image_url =
        ModelPicture::decoded(move || ModelPicture::from_url(&url, PictureScale::Fitting)).await?;
    Ok(ContentItem::InputImage {
        image_url,
        detail: None,
    })
}

fn body(text: &str, images: Vec<ContentItem>) -> ToolOutputBody {
    let text = truncate::middle(text, DYNAMIC_TOOL_REPLY_TOKENS_MAX).into_owned();
    match (text.is_empty(), images.is_empty()) {
        (true, true) => "the answer is empty".to_owned().into(),
        (false, true) => text.into(),
        (true, false) => ToolOutputBody::Parts(images),
        (false, false) => {
            let text = std::iter::once(ContentItem::InputText { text });
            ToolOutputBody::Parts(text.chain(images).collect())
        }
    }
}
