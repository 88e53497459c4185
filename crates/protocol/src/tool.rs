//! Tools as they are offered to a model.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The tool by which a program that is a child is let work. It is no deed of the program's: what
/// it does in such a call is.
pub const BACKEND_TOOL: &str = "external_agent";

/// What the model is told about one tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub enum ToolSpec {
    /// Takes a JSON object.
    Function {
        name: String,
        description: String,
        // Shared, because the sessions that have the tool describe it alike.
        /// JSON Schema of the arguments.
        parameters: Arc<Value>,
    },
    /// Takes plain text that follows a grammar. Providers without such tools offer it as
    /// a function with one text argument `input`.
    Freeform {
        name: String,
        description: String,
        /// A grammar in Lark syntax.
        grammar: String,
    },
}

/// A tool that a client brings, and runs itself when the model calls it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct DynamicTool {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<ToolNamespace>,
    pub name: String,
    pub description: String,
    /// JSON Schema of the arguments.
    pub input_schema: Value,
}

/// What several tools of a client have in common.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct ToolNamespace {
    pub name: String,
    pub description: String,
}

impl DynamicTool {
    /// Returns the name that the model calls it by. Not every provider knows namespaces, so they
    /// are a part of it.
    pub fn offered_name(&self) -> String {
        match &self.namespace {
            Some(namespace) => format!("{}__{}", namespace.name, self.name),
            None => self.name.clone(),
        }
    }

    /// Returns what the model is told of it.
    pub fn offered_description(&self) -> String {
        match &self.namespace {
            Some(namespace) if !namespace.description.is_empty() => {
                format!(
                    "{}\n\n{}: {}",
                    self.description, namespace.name, namespace.description
                )
            }
            Some(_) | None => self.description.clone(),
        }
    }
}

impl ToolSpec {
    pub fn name(&self) -> &str {
        match self {
            Self::Function { name, .. } | Self::Freeform { name, .. } => name,
        }
    }
}
