//! A user's message, turned into what the model reads.

use std::path::Path;

use base64::Engine as _;
use tokio::io::AsyncReadExt as _;
use troupe_protocol::ResponseItem;
use troupe_protocol::error::ErrorInfo;
use troupe_protocol::event::ErrorEvent;
use troupe_protocol::history::{ContentItem, Role};
use troupe_protocol::input::UserInput;

use crate::limits::{IMAGE_BYTES_MAX, INPUT_CHARS_MAX};

/// Returns the history item for a message, or what is wrong with it.
pub(crate) async fn to_history(items: &[UserInput]) -> Result<ResponseItem, ErrorEvent> {
    if items.is_empty() {
        return Err(refusal("the message has no items; send at least one"));
    }
    let mut content = Vec::with_capacity(items.len());
    let mut chars = 0;
    for item in items {
        content.push(match item {
            UserInput::Text { text, .. } => {
                chars += text.chars().count();
                ContentItem::InputText { text: text.clone() }
            }
            UserInput::Image { image_url, detail } => ContentItem::InputImage {
                image_url: image_url.clone(),
                detail: *detail,
            },
            UserInput::LocalImage { path, detail } => ContentItem::InputImage {
                image_url: data_url(path).await?,
                detail: *detail,
            },
            UserInput::Skill { name, .. } => {
                return Err(unsupported(&format!("skill items ({name})")));
            }
            UserInput::Mention { name, .. } => {
                return Err(unsupported(&format!("mention items ({name})")));
            }
            _ => return Err(unsupported("this kind of item")),
        });
    }
    if chars > INPUT_CHARS_MAX {
        return Err(refusal(&format!(
            "the message has {chars} characters; at most {INPUT_CHARS_MAX} are taken: put long \
             material into a file and name it"
        )));
    }
    Ok(ResponseItem::Message {
        id: None,
        role: Role::User,
        content,
    })
}

async fn data_url(path: &Path) -> Result<String, ErrorEvent> {
    let shown = path.display();
    let unreadable =
        |error: std::io::Error| refusal(&format!("image {shown} cannot be read: {error}"));
    let metadata = tokio::fs::metadata(path).await.map_err(unreadable)?;
    // Asked before it is opened: opening a pipe waits for its other end.
    if !metadata.is_file() {
        return Err(refusal(&format!("image {shown} is not a regular file")));
    }
    let file = tokio::fs::File::open(path).await.map_err(unreadable)?;
    let mut bytes = Vec::new();
    file.take(IMAGE_BYTES_MAX + 1)
        .read_to_end(&mut bytes)
        .await
        .map_err(unreadable)?;
    if bytes.len() as u64 > IMAGE_BYTES_MAX {
        return Err(refusal(&format!(
            "image {shown} has {} bytes; at most {IMAGE_BYTES_MAX} are taken",
            metadata.len()
        )));
    }
    let kind = image_kind(&bytes).ok_or_else(|| {
        refusal(&format!(
            "{shown} is not a PNG, JPEG, GIF or WebP image, by its first bytes"
        ))
    })?;
    let encoded = base64::engine::general_purpose::STANDARD.encode(&bytes);
    Ok(format!("data:{kind};base64,{encoded}"))
}

fn image_kind(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', ..] => Some("image/gif"),
        [
            b'R',
            b'I',
            b'F',
            b'F',
            _,
            _,
            _,
            _,
            b'W',
            b'E',
            b'B',
            b'P',
            ..,
        ] => Some("image/webp"),
        _ => None,
    }
}

fn refusal(message: &str) -> ErrorEvent {
    ErrorEvent {
        message: message.to_owned(),
        fatal: false,
        error_info: Some(ErrorInfo::InvalidSubmission),
    }
}

fn unsupported(what: &str) -> ErrorEvent {
    ErrorEvent {
        message: format!("{what} are not supported by this engine yet; send text or images"),
        fatal: false,
        error_info: Some(ErrorInfo::Unsupported),
    }
}
