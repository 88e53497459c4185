//! One call of a face, from its arguments to its answer.

use std::future::Future;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use troupe_protocol::tool::ToolSpec;
use troupe_tools::{ToolInvocation, ToolOutput, arguments, item};

use crate::tree_access::TreeError;

/// Reads the arguments and runs `work` on them, shown to people as an item.
pub(super) async fn run<A, F>(
    call: &ToolInvocation,
    spec: &ToolSpec,
    work: impl FnOnce(A) -> F + Send,
) -> ToolOutput
where
    A: DeserializeOwned + Send,
    F: Future<Output = ToolOutput> + Send,
{
    match arguments::parse(call, spec).await {
        Ok(arguments) => item::shown(call, spec.name(), work(arguments)).await,
        Err(output) => output,
    }
}

/// Answers with JSON on one line, or with what went wrong.
pub(super) fn answer(result: Result<Map<String, Value>, TreeError>) -> ToolOutput {
    match result {
        Ok(object) => ToolOutput::success(Value::Object(object).to_string()),
        Err(trouble) => ToolOutput::failure(trouble.to_string()),
    }
}
