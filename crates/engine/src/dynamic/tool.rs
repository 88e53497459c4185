//! A client's tool, as the model calls it.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Map, Value, json};
use troupe_protocol::tool::{DynamicTool, ToolSpec};
use troupe_tools::{Tool, ToolConcurrency, ToolInvocation, ToolOutput, item};

use super::call_queue::{ClientCallQueue, ClientToolCall, PendingClientCall};

#[derive(Debug)]
pub(super) struct ClientTool {
    spec: ToolSpec,
    /// As the client knows it.
    namespace: Option<String>,
    name: String,
    desk: Arc<ClientCallQueue>,
}

impl ClientTool {
    pub(super) fn new(tool: &DynamicTool, desk: Arc<ClientCallQueue>) -> Self {
        Self {
            spec: ToolSpec::Function {
                name: tool.offered_name(),
                description: tool.offered_description(),
                parameters: parameters(&tool.input_schema).into(),
            },
            namespace: tool.namespace.as_ref().map(|it| it.name.clone()),
            name: tool.name.clone(),
            desk,
        }
    }

    fn lay_out(&self, call: &ToolInvocation) -> Result<PendingClientCall, String> {
        let asked = ClientToolCall {
            call_id: call.id.clone(),
            turn_id: call.context.turn_id.clone(),
            namespace: self.namespace.clone(),
            tool: self.name.clone(),
            arguments: arguments(call.input.as_str())?,
        };
        let laid_out = self.desk.enqueue_call(asked);
        laid_out.map_err(|trouble| trouble.to_string())
    }
}

#[async_trait]
impl Tool for ClientTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    /// What a client does is not known to be safe beside other calls.
    fn concurrency(&self) -> ToolConcurrency {
        ToolConcurrency::Exclusive
    }

    async fn call(&self, call: ToolInvocation) -> ToolOutput {
        let name = self.spec.name();
        // Before the call is told: who hears of it finds it at the desk.
        match self.lay_out(&call) {
            Ok(ticket) => item::shown(&call, name, answered(&call, ticket)).await,
            Err(problem) => item::failed(&call, name, problem).await,
        }
    }
}

async fn answered(call: &ToolInvocation, ticket: PendingClientCall) -> ToolOutput {
    let outcome = tokio::select! {
        biased;
        () = call.cancel.cancelled() => {
            return ToolOutput::failure(
                "the task was stopped before the client answered; whether the tool did anything \
                 is not known",
            );
        }
        outcome = ticket.answered() => outcome,
    };
    match outcome {
        Ok(reply) => reply.into_output().await,
        Err(trouble) => ToolOutput::failure(trouble.to_string()),
    }
}

fn arguments(text: &str) -> Result<Map<String, Value>, String> {
    // Some models leave the arguments out where none is required.
    if text.trim().is_empty() {
        return Ok(Map::new());
    }
    match serde_json::from_str(text) {
        Ok(Value::Object(arguments)) => Ok(arguments),
        Ok(_) => Err("the arguments are not a JSON object; call it again with one".to_owned()),
        Err(error) => Err(format!("the arguments are not valid JSON: {error}")),
    }
}

/// Returns a schema of an object, which is what providers take: some want its properties named
/// even if there are none.
fn parameters(schema: &Value) -> Value {
    let mut schema = schema.as_object().cloned().unwrap_or_default();
    schema.insert("type".to_owned(), json!("object"));
    schema.entry("properties").or_insert_with(|| json!({}));
    Value::Object(schema)
}
