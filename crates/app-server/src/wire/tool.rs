//! Tools that clients bring and run themselves.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

/// Tools of the client's, as `thread/start` takes them: a function, or several under one name.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[cfg_attr(test, serde(untagged))]
pub enum DynamicToolSpec {
    Namespace(DynamicToolNamespaceSpec),
    Function(DynamicToolFunctionSpec),
}

impl<'de> Deserialize<'de> for DynamicToolSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let spec = Value::deserialize(deserializer)?;
        let read = if spec.get("type").is_some_and(|kind| kind == "namespace") {
            serde_json::from_value(spec).map(Self::Namespace)
        } else {
            serde_json::from_value(spec).map(Self::Function)
        };
        read.map_err(D::Error::custom)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct DynamicToolNamespaceSpec {
    #[serde(rename = "type")]
    pub kind: DynamicNamespaceKind,
    /// Stands before the names of its tools where the model reads them.
    pub name: String,
    pub description: String,
    pub tools: Vec<DynamicToolFunctionSpec>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub enum DynamicNamespaceKind {
    Namespace,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct DynamicToolFunctionSpec {
    /// A function, also if absent.
    #[serde(default, rename = "type")]
    pub kind: Option<DynamicToolKind>,
    pub name: String,
    pub description: String,
    /// JSON Schema of the arguments, which are an object.
    pub input_schema: Value,
    /// There is no search for tools: one that could be loaded later is offered from the start, and
    /// a warning says so.
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
    /// Of a tool that was brought in one.
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
