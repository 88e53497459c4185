//! How a session is told of its children.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use troupe_agents::CallbackPreview;
use troupe_protocol::spawn::CallbackConfig;

/// What is to be different; what is absent stays as it is.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CallbackConfigChange {
    /// Whether the end of a child is told to who made it.
    pub enabled: Option<bool>,
    /// Whether what the child said last is part of that.
    pub include_last_message: Option<bool>,
    /// Whether the task that the child was given is repeated in it.
    pub include_original_prompt: Option<bool>,
    /// Handlebars, tried before it is taken. An empty text brings the built-in one back.
    pub template: Option<String>,
}

impl CallbackConfigChange {
    pub(crate) fn apply(self, to: CallbackConfig) -> CallbackConfig {
        CallbackConfig {
            enabled: self.enabled.unwrap_or(to.enabled),
            include_last_message: self.include_last_message.unwrap_or(to.include_last_message),
            include_original_prompt: self
                .include_original_prompt
                .unwrap_or(to.include_original_prompt),
            template: match self.template {
                None => to.template,
                Some(text) if text.is_empty() => None,
                Some(text) => Some(text),
            },
        }
    }
}

/// What a parent would be told of an example child.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CallbackPreviewView {
    /// When its task was completed.
    pub completed: String,
    /// When it failed.
    pub failed: String,
}

impl From<CallbackPreview> for CallbackPreviewView {
    fn from(preview: CallbackPreview) -> Self {
        let CallbackPreview { completed, failed } = preview;
        Self { completed, failed }
    }
}
