//! What a call says to another agent.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;
use troupe_protocol::input::{UserInput, is_blank};

use crate::tree_access::TreeError;

// The protocol's `UserInput`, strict, and without what only a UI can know. (No doc comment:
// the model would be sent it.)
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum InputItem {
    Text { text: String },
    Image { image_url: String },
    LocalImage { path: PathBuf },
    Skill { name: String, path: PathBuf },
    Mention { name: String, path: String },
}

impl From<InputItem> for UserInput {
    fn from(item: InputItem) -> Self {
        match item {
            InputItem::Text { text } => Self::text(text),
            InputItem::Image { image_url } => Self::Image {
                image_url,
                detail: None,
            },
            InputItem::LocalImage { path } => Self::LocalImage { path, detail: None },
            InputItem::Skill { name, path } => Self::Skill { name, path },
            InputItem::Mention { name, path } => Self::Mention { name, path },
        }
    }
}

/// Reads `message` or `items`, of which exactly one must be given and say something.
pub(super) fn either(
    message: Option<String>,
    items: Option<Vec<InputItem>>,
) -> Result<Vec<UserInput>, TreeError> {
    let problem = match (message, items) {
        (Some(_), Some(_)) => "give either message or items, not both",
        (None, None) => "give one of message and items",
        (Some(message), None) if is_blank(&message) => "message must not be empty",
        (None, Some(items)) if items.is_empty() => "items must not be empty",
        (Some(message), None) => return Ok(vec![UserInput::text(message)]),
        (None, Some(items)) => {
            check_pictures(&items)?;
            return Ok(items.into_iter().map(UserInput::from).collect());
        }
    };
    Err(TreeError::Invalid(problem.to_owned()))
}

/// Refuses pictures that somebody would have to fetch. The provider fetches an address, whatever
/// network the agent has: a path or a query in it would carry anything out, unasked. Only a
/// user's own input has addresses.
fn check_pictures(items: &[InputItem]) -> Result<(), TreeError> {
    let is_elsewhere = |item: &InputItem| match item {
        InputItem::Image { image_url } => !image_url.starts_with("data:"),
        InputItem::Text { .. }
        | InputItem::LocalImage { .. }
        | InputItem::Skill { .. }
        | InputItem::Mention { .. } => false,
    };
    match items.iter().position(is_elsewhere) {
        None => Ok(()),
        Some(index) => Err(TreeError::Invalid(format!(
            "items[{index}].image_url is not a data: URL; the provider would fetch the address, \
             and only the user may give it one: save the picture and send it as local_image"
        ))),
    }
}

/// Returns the input as people read it, one line per part.
pub(super) fn as_text(items: &[UserInput]) -> String {
    let parts: Vec<String> = items.iter().map(part).collect();
    parts.join("\n")
}

fn part(item: &UserInput) -> String {
    match item {
        UserInput::Text { text, .. } => text.clone(),
        UserInput::Image { .. } => "[image]".to_owned(),
        UserInput::LocalImage { path, .. } => format!("[image {}]", path.display()),
        UserInput::Skill { name, .. } => format!("[skill {name}]"),
        UserInput::Mention { name, .. } => format!("[mention {name}]"),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use serde_json::{Value, json};

    use super::*;

    fn check(arguments: Value, expected: Expect) {
        let take = |name: &str| arguments.get(name).cloned();
        let message = take("message").map(|text| text.as_str().unwrap().to_owned());
        let items = take("items").map(serde_json::from_value::<Vec<InputItem>>);
        let found = match items.transpose() {
            Err(error) => format!("unreadable: {error}"),
            Ok(items) => match either(message, items) {
                Err(trouble) => trouble.to_string(),
                Ok(items) => format!("{:?}", as_text(&items)),
            },
        };
        expected.assert_eq(&found);
    }

    #[test]
    fn exactly_one_of_message_and_items() {
        check(json!({"message": "go"}), expect![[r#""go""#]]);
        check(json!({}), expect!["give one of message and items"]);
        check(
            json!({"message": " \n"}),
            expect!["message must not be empty"],
        );
        check(json!({"items": []}), expect!["items must not be empty"]);
        check(
            json!({"message": "go", "items": [{"type": "text", "text": "go"}]}),
            expect!["give either message or items, not both"],
        );
    }

    #[test]
    fn a_picture_of_a_model_has_no_address_that_somebody_fetches() {
        for url in [
            "https://x.org/?secret",
            "HTTP://x.org/a.png",
            " https://x.org",
            "file:///a",
        ] {
            check(
                json!({"items": [{"type": "text", "text": "see"}, {"type": "image", "image_url": url}]}),
                expect![
                    "items[1].image_url is not a data: URL; the provider would fetch the address, and only the user may give it one: save the picture and send it as local_image"
                ],
            );
        }
    }

    #[test]
    fn items_are_strict_and_keep_their_order() {
        check(
            json!({"items": [
                {"type": "text", "text": "look at"},
                {"type": "local_image", "path": "a.png"},
                {"type": "image", "image_url": "data:,"},
                {"type": "skill", "name": "ship", "path": "s/SKILL.md"},
                {"type": "mention", "name": "mail", "path": "app://mail"},
            ]}),
            expect![[r#""look at\n[image a.png]\n[image]\n[skill ship]\n[mention mail]""#]],
        );
        check(
            json!({"items": [{"type": "text", "text": "go", "txt": 1}]}),
            expect![[r#"unreadable: unknown field `txt`, expected `text`"#]],
        );
        check(
            json!({"items": [{"type": "video"}]}),
            expect![[
                r#"unreadable: unknown variant `video`, expected one of `text`, `image`, `local_image`, `skill`, `mention`"#
            ]],
        );
    }
}
