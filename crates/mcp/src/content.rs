//! What a server answers, turned into what the model reads and what is kept.

use serde_json::{Value, json};
use troupe_protocol::history::{ContentItem, ToolOutputBody};
use troupe_tools::{ModelPicture, PictureScale, truncate};

use crate::limits::{ANSWER_TOKENS_MAX, IMAGE_BASE64_BYTES_MAX, IMAGES_MAX, RESULT_BYTES_MAX};

/// An answer for the model.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct McpAnswer {
    pub body: ToolOutputBody,
    /// What people and the log get.
    pub kept: Value,
    pub is_error: bool,
}

impl McpAnswer {
    /// Decodes the pictures, beside whoever waits. One that is none is told as text: a provider
    /// that cannot read it would refuse every later request of the conversation.
    pub(crate) async fn decoded(mut self) -> Self {
        let ToolOutputBody::Parts(parts) = &mut self.body else {
            return self;
        };
        for part in parts {
            let ContentItem::InputImage { image_url, .. } = part else {
                continue;
            };
            let url = std::mem::take(image_url);
            match ModelPicture::decoded(move || ModelPicture::from_url(&url, PictureScale::Fitting))
                .await
            {
                Ok(url) => *image_url = url,
                Err(problem) => {
                    let text = format!("[image: left out, {problem}]");
                    *part = ContentItem::InputText { text };
                }
            }
        }
        self
    }
}

/// Reads the result of a tool.
pub(crate) fn of_call(result: Value) -> McpAnswer {
    let is_error = result.get("isError").and_then(Value::as_bool) == Some(true);
    let mut told = McpAnswerBuilder::default();
    for block in list(&result, "content") {
        told.block(block);
    }
    // Servers are asked to say it as text too; where they do, once is enough.
    if let (true, Some(structured)) = (told.text.is_empty(), result.get("structuredContent")) {
        told.say(&structured.to_string());
    }
    told.answer(result, is_error)
}

/// Reads the contents of a resource.
pub(crate) fn of_resource(result: Value) -> McpAnswer {
    let mut told = McpAnswerBuilder::default();
    for contents in list(&result, "contents") {
        told.resource(contents);
    }
    told.answer(result, false)
}

fn list<'a>(result: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    result
        .get(key)
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
}

/// What the model is told, as it grows.
#[derive(Debug, Default)]
struct McpAnswerBuilder {
    text: String,
    images: Vec<ContentItem>,
}

impl McpAnswerBuilder {
    fn say(&mut self, text: &str) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(text);
    }

    fn block(&mut self, block: &Value) {
        let field = |name: &str| block.get(name).and_then(Value::as_str);
        match field("type") {
            Some("text") => self.say(field("text").unwrap_or_default()),
            Some("image") => self.image(field("data"), field("mimeType")),
            Some("audio") => self.note_omission("audio", field("data"), field("mimeType")),
            Some("resource_link") => self.link(block),
            Some("resource") => match block.get("resource") {
                Some(resource) => self.resource(resource),
                None => self.say("[a resource without contents]"),
            },
            _ => self.say(&block.to_string()),
        }
    }

    fn link(&mut self, block: &Value) {
        let field = |name: &str| block.get(name).and_then(Value::as_str);
        let uri = field("uri").unwrap_or_default();
        let name = field("title").or(field("name")).unwrap_or(uri);
        let kind = field("mimeType").map(|kind| format!(" ({kind})"));
        let description = field("description").map(|text| format!(" {text}"));
        let text = format!(
            "[resource {name}: {uri}{}]{}",
            kind.unwrap_or_default(),
            description.unwrap_or_default()
        );
        self.say(&text);
    }

    fn resource(&mut self, contents: &Value) {
        let field = |name: &str| contents.get(name).and_then(Value::as_str);
        let uri = field("uri").unwrap_or_default();
        let kind = field("mimeType");
        if let Some(text) = field("text") {
            self.say(&format!("[resource {uri}]\n{text}"));
        } else if kind.is_some_and(is_picture) {
            self.say(&format!("[resource {uri}]"));
            self.image(field("blob"), kind);
        } else {
            self.note_omission(&format!("resource {uri}"), field("blob"), kind);
        }
    }

    fn image(&mut self, data: Option<&str>, kind: Option<&str>) {
        match (data, kind) {
            (Some(data), Some(kind))
                if is_picture(kind)
                    && data.len() <= IMAGE_BASE64_BYTES_MAX
                    && self.images.len() < IMAGES_MAX =>
            {
                self.images.push(ContentItem::InputImage {
                    image_url: format!("data:{kind};base64,{data}"),
                    detail: None,
                });
            }
            (data, kind) => self.note_omission("image", data, kind),
        }
    }

    fn note_omission(&mut self, what: &str, data: Option<&str>, kind: Option<&str>) {
        let bytes = data.map_or(0, |data| data.len() / 4 * 3);
        let kind = kind.unwrap_or("of no kind");
        self.say(&format!("[{what}, {kind}, {bytes} bytes: left out]"));
    }

    fn answer(self, result: Value, is_error: bool) -> McpAnswer {
        let Self { text, images } = self;
        let text = if text.is_empty() && images.is_empty() {
            "the answer is empty".to_owned()
        } else {
            truncate::middle(&text, ANSWER_TOKENS_MAX).into_owned()
        };
        let kept = kept(result, &text);
        if images.is_empty() {
            return McpAnswer {
                body: text.into(),
                kept,
                is_error,
            };
        }
        let text = (!text.is_empty()).then_some(ContentItem::InputText { text });
        McpAnswer {
            body: ToolOutputBody::Parts(text.into_iter().chain(images).collect()),
            kept,
            is_error,
        }
    }
}

/// Pictures that providers take.
fn is_picture(kind: &str) -> bool {
    matches!(
        kind,
        "image/png" | "image/jpeg" | "image/gif" | "image/webp"
    )
}

/// Returns a result as it came, or only its text if it is large.
fn kept(result: Value, text: &str) -> Value {
    let is_small = serde_json::to_string(&result).is_ok_and(|json| json.len() <= RESULT_BYTES_MAX);
    if is_small {
        return result;
    }
    json!({ "content": [{ "type": "text", "text": text }] })
}

#[cfg(test)]
mod tests;
