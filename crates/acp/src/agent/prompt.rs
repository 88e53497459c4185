//! An editor's prompt as the input of a session.

use agent_client_protocol_schema::v1::{
    BlobResourceContents, ContentBlock, EmbeddedResourceResource, ResourceLink,
    TextResourceContents,
};
use troupe_protocol::input::UserInput;

/// Turns a prompt into a user's message, or says which part of it cannot be taken.
pub(super) fn user_input(prompt: &[ContentBlock]) -> Result<Vec<UserInput>, String> {
    if prompt.is_empty() {
        return Err("prompt: it is empty; say something".to_owned());
    }
    let block =
        |(index, block)| one(block).map_err(|problem| format!("prompt[{index}]: {problem}"));
    prompt.iter().enumerate().map(block).collect()
}

fn one(block: &ContentBlock) -> Result<UserInput, String> {
    Ok(match block {
        ContentBlock::Text(text) => UserInput::text(text.text.clone()),
        ContentBlock::Image(image) => picture(&image.mime_type, &image.data),
        ContentBlock::ResourceLink(link) => UserInput::text(reference(link)),
        ContentBlock::Resource(resource) => match &resource.resource {
            EmbeddedResourceResource::TextResourceContents(contents) => {
                UserInput::text(quoted(contents))
            }
            EmbeddedResourceResource::BlobResourceContents(contents) => blob(contents)?,
            _ => return Err("this kind of resource is not known".to_owned()),
        },
        ContentBlock::Audio(_) => {
            return Err("audio is not understood; the capabilities say so".to_owned());
        }
        _ => return Err("this kind of content is not known".to_owned()),
    })
}

fn picture(mime_type: &str, data: &str) -> UserInput {
    UserInput::Image {
        image_url: format!("data:{mime_type};base64,{data}"),
        detail: None,
    }
}

/// The model can read it by itself where it names a file.
fn reference(link: &ResourceLink) -> String {
    let place = link.uri.strip_prefix("file://").unwrap_or(&link.uri);
    match &link.description {
        Some(description) => format!("{} ({place}): {description}", link.name),
        None => format!("{} ({place})", link.name),
    }
}

fn quoted(contents: &TextResourceContents) -> String {
    let place = contents.uri.strip_prefix("file://");
    let place = place.unwrap_or(&contents.uri);
    let text = contents.text.trim_end_matches('\n');
    format!("<resource uri=\"{place}\">\n{text}\n</resource>")
}

fn blob(contents: &BlobResourceContents) -> Result<UserInput, String> {
    let mime_type = contents.mime_type.as_deref().unwrap_or("of no known type");
    if mime_type.starts_with("image/") {
        Ok(picture(mime_type, &contents.blob))
    } else {
        Err(format!(
            "{} is {mime_type}; only text and images can be taken along",
            contents.uri
        ))
    }
}

#[cfg(test)]
mod tests;
