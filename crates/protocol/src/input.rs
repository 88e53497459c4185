//! What a user's message is made of.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[cfg_attr(not(feature = "closed"), non_exhaustive)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub enum UserInput {
    Text {
        text: String,
        /// Parts of the text that the UI shows in another way, such as a pasted block.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        text_elements: Vec<TextElement>,
    },
    Image {
        image_url: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        detail: Option<ImageDetail>,
    },
    LocalImage {
        path: PathBuf,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        detail: Option<ImageDetail>,
    },
    /// A skill chosen by the user; `path` leads to its `SKILL.md`.
    Skill { name: String, path: PathBuf },
    /// An app or connector chosen by the user; `path` has the form `app://{connector_id}`.
    Mention { name: String, path: String },
}

impl UserInput {
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text {
            text: text.into(),
            text_elements: Vec::new(),
        }
    }

    /// Tells whether it is a text that says nothing.
    pub fn is_blank(&self) -> bool {
        matches!(self, Self::Text { text, .. } if is_blank(text))
    }
}

/// Tells whether nobody would see anything of a text: white space, control characters, and those
/// that are only there for their neighbours (joiners, marks of direction and of byte order).
pub fn is_blank(text: &str) -> bool {
    let is_unseen = |c: char| {
        let invisible = matches!(
            c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
                | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}'
                | '\u{feff}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e0fff}'
        );
        invisible || c.is_whitespace() || c.is_control()
    };
    text.chars().all(is_unseen)
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct TextElement {
    pub byte_range: ByteRange,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placeholder: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct ByteRange {
    pub start: usize,
    pub end: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub enum ImageDetail {
    Auto,
    Low,
    High,
    Original,
}
