//! Tools that clients bring and run themselves.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A tool of the client's, as `thread/start` takes it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct DynamicToolSpec {
    /// A function, also if absent.
    #[serde(default, rename = "type")]
    pub kind: Option<DynamicToolKind>,
    pub name: String,
    pub description: String,
    /// JSON Schema of the arguments, which are an object.
    pub input_schema: Value,
    /// Refused if true: every tool is offered from the start.
    #[serde(default)]
    pub defer_loading: Option<bool>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub enum DynamicToolKind {
    Function,
}

/// `item/tool/call`: the model called a tool of the client's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct DynamicToolCallParams {
    pub thread_id: String,
    pub turn_id: String,
    pub call_id: String,
    /// Always absent: tools have no namespaces.
    pub namespace: Option<String>,
    pub tool: String,
    pub arguments: Map<String, Value>,
}

/// The answer to it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct DynamicToolCallResponse {
    pub content_items: Vec<DynamicToolCallOutputContentItem>,
    pub success: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(tag = "type", rename_all_fields = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub enum DynamicToolCallOutputContentItem {
    #[serde(rename = "inputText")]
    Text { text: String },
    /// A data URL. An address is left out, and the model is told so.
    #[serde(rename = "inputImage")]
    Image { image_url: String },
    /// Left out, and the model is told so.
    #[serde(rename = "inputAudio")]
    Audio { audio_url: String },
}
