//! What a user's message is made of.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use troupe_protocol::input as core;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub enum UserInput {
    Text {
        text: String,
        /// Parts of the text that the client shows in another way.
        #[serde(default)]
        text_elements: Vec<TextElement>,
    },
    Image {
        /// A `data:` URL.
        url: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        detail: Option<ImageDetail>,
    },
    LocalImage {
        path: PathBuf,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        detail: Option<ImageDetail>,
    },
    Skill {
        name: String,
        path: PathBuf,
    },
    Mention {
        name: String,
        path: String,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
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

/// `auto`, `low`, `high` or `original`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct ImageDetail(
    #[cfg_attr(test, schemars(with = "String"), ts(as = "String"))] pub core::ImageDetail,
);

impl From<UserInput> for core::UserInput {
    fn from(input: UserInput) -> Self {
        match input {
            UserInput::Text {
                text,
                text_elements,
            } => Self::Text {
                text,
                text_elements: text_elements.into_iter().map(Into::into).collect(),
            },
            UserInput::Image { url, detail } => Self::Image {
                image_url: url,
                detail: detail.map(|detail| detail.0),
            },
            UserInput::LocalImage { path, detail } => Self::LocalImage {
                path,
                detail: detail.map(|detail| detail.0),
            },
            UserInput::Skill { name, path } => Self::Skill { name, path },
            UserInput::Mention { name, path } => Self::Mention { name, path },
        }
    }
}

impl From<&core::UserInput> for UserInput {
    fn from(input: &core::UserInput) -> Self {
        match input.clone() {
            core::UserInput::Text {
                text,
                text_elements,
            } => Self::Text {
                text,
                text_elements: text_elements.into_iter().map(Into::into).collect(),
            },
            core::UserInput::Image { image_url, detail } => Self::Image {
                url: image_url,
                detail: detail.map(ImageDetail),
            },
            core::UserInput::LocalImage { path, detail } => Self::LocalImage {
                path,
                detail: detail.map(ImageDetail),
            },
            core::UserInput::Skill { name, path } => Self::Skill { name, path },
            core::UserInput::Mention { name, path } => Self::Mention { name, path },
        }
    }
}

impl From<TextElement> for core::TextElement {
    fn from(element: TextElement) -> Self {
        let ByteRange { start, end } = element.byte_range;
        Self {
            byte_range: core::ByteRange { start, end },
            placeholder: element.placeholder,
        }
    }
}

impl From<core::TextElement> for TextElement {
    fn from(element: core::TextElement) -> Self {
        let core::ByteRange { start, end } = element.byte_range;
        Self {
            byte_range: ByteRange { start, end },
            placeholder: element.placeholder,
        }
    }
}
