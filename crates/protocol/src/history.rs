//! A conversation as the model sees it. The shape is that of the Responses API, which the
//! other providers are translated to and from.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::id::CallId;
use crate::input::ImageDetail;
use crate::tree::MessageMetadata;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[cfg_attr(not(feature = "closed"), non_exhaustive)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub enum ResponseItem {
    Message {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<String>,
        role: Role,
        content: Vec<ContentItem>,
        /// Set if the engine wrote the message for a child that ended. No provider is sent it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        metadata: Option<Box<MessageMetadata>>,
        /// Set if somebody said what begins like a message of the engine's own. No provider is sent
        /// it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        said: bool,
    },
    Reasoning {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<String>,
        #[serde(default)]
        summary: Vec<SummaryPart>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        content: Option<Vec<ReasoningPart>>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        encrypted_content: Option<String>,
    },
    FunctionCall {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<String>,
        name: String,
        /// JSON text, exactly as the model wrote it; it may not parse.
        arguments: String,
        call_id: CallId,
    },
    FunctionCallOutput {
        call_id: CallId,
        output: ToolOutputBody,
    },
    CustomToolCall {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<String>,
        name: String,
        input: String,
        call_id: CallId,
    },
    CustomToolCallOutput {
        call_id: CallId,
        output: ToolOutputBody,
    },
    /// An item of a kind that this version does not know. It is kept as it came and sent
    /// back as it came.
    #[serde(untagged)]
    Other(Value),
}

impl ResponseItem {
    pub fn user_text(text: impl Into<String>) -> Self {
        Self::message(Role::User, ContentItem::InputText { text: text.into() })
    }

    pub fn developer_text(text: impl Into<String>) -> Self {
        let text = text.into();
        Self::message(Role::Developer, ContentItem::InputText { text })
    }

    pub fn assistant_text(text: impl Into<String>) -> Self {
        Self::message(
            Role::Assistant,
            ContentItem::OutputText { text: text.into() },
        )
    }

    fn message(role: Role, content: ContentItem) -> Self {
        Self::Message {
            id: None,
            role,
            content: vec![content],
            metadata: None,
            said: false,
        }
    }

    /// Returns the id of the call if this item asks for a tool to be run.
    pub fn open_call(&self) -> Option<&CallId> {
        match self {
            Self::FunctionCall { call_id, .. } | Self::CustomToolCall { call_id, .. } => {
                Some(call_id)
            }
            _ => None,
        }
    }

    /// Returns the id of the call that this item answers.
    pub fn answered_call(&self) -> Option<&CallId> {
        match self {
            Self::FunctionCallOutput { call_id, .. }
            | Self::CustomToolCallOutput { call_id, .. } => Some(call_id),
            _ => None,
        }
    }

    /// Returns the joined text of an assistant message, `None` for any other item.
    pub fn assistant_message(&self) -> Option<String> {
        match self {
            Self::Message {
                role: Role::Assistant,
                content,
                ..
            } => Some(content.iter().filter_map(ContentItem::text).collect()),
            _ => None,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub enum Role {
    System,
    Developer,
    User,
    Assistant,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub enum ContentItem {
    InputText {
        text: String,
    },
    InputImage {
        image_url: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        detail: Option<ImageDetail>,
    },
    OutputText {
        text: String,
    },
    /// The model declined to answer.
    Refusal {
        refusal: String,
    },
}

impl ContentItem {
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::InputText { text } | Self::OutputText { text } => Some(text),
            Self::Refusal { refusal } => Some(refusal),
            Self::InputImage { .. } => None,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub enum SummaryPart {
    SummaryText { text: String },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub enum ReasoningPart {
    ReasoningText { text: String },
    Text { text: String },
}

/// What a tool answers to the model: text, or parts when there is an image among them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub enum ToolOutputBody {
    Text(String),
    Parts(Vec<ContentItem>),
}

impl From<String> for ToolOutputBody {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&str> for ToolOutputBody {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}
