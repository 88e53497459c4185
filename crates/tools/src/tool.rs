//! The port every tool stands behind.

use std::fmt::Debug;

use async_trait::async_trait;
use troupe_protocol::history::ToolOutputBody;
use troupe_protocol::tool::ToolSpec;

use crate::call::ToolInvocation;

/// Something a model can ask to be done.
#[async_trait]
pub trait Tool: Send + Sync + Debug {
    /// What the model is told about the tool. Its name is the name it is called by.
    fn spec(&self) -> &ToolSpec;

    /// Whether the engine may run a call beside other calls of the same turn.
    fn concurrency(&self) -> ToolConcurrency;

    /// Whether a call makes another agent.
    fn makes_agents(&self) -> bool {
        false
    }

    /// Runs one call to its end. There is no error: a failure is an output that says so.
    async fn call(&self, call: ToolInvocation) -> ToolOutput;
}

/// How calls of a tool get along with other calls of the same turn. The engine schedules by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolConcurrency {
    /// May run beside other shared calls.
    Shared,
    /// Runs alone.
    Exclusive,
}

/// The answer to a call, as the model will read it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolOutput {
    pub body: ToolOutputBody,
    pub success: bool,
    pub claim: Option<DeliveryClaim>,
}

/// Names something that counts as delivered only once the answer that carries it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct DeliveryClaim(pub u64);

impl ToolOutput {
    pub fn success(body: impl Into<ToolOutputBody>) -> Self {
        Self {
            body: body.into(),
            success: true,
            claim: None,
        }
    }

    pub fn failure(body: impl Into<ToolOutputBody>) -> Self {
        Self {
            body: body.into(),
            success: false,
            claim: None,
        }
    }

    pub fn with_claim(self, claim: DeliveryClaim) -> Self {
        Self {
            claim: Some(claim),
            ..self
        }
    }

    /// Answers with what came out, or with what went wrong.
    pub(crate) fn of(result: Result<impl Into<ToolOutputBody>, String>) -> Self {
        match result {
            Ok(body) => Self::success(body),
            Err(problem) => Self::failure(problem),
        }
    }

    /// Returns the answer's text; `None` if it has parts that are not text.
    pub fn text(&self) -> Option<&str> {
        match &self.body {
            ToolOutputBody::Text(text) => Some(text),
            ToolOutputBody::Parts(_) => None,
        }
    }
}
