//! A tool of a server, as the model calls it.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use async_trait::async_trait;
use serde_json::{Map, Value, json};
use troupe_protocol::approval::{ExecApprovalRequest, ReviewDecision};
use troupe_protocol::command::{ParsedCommand, WorkStatus};
use troupe_protocol::item::{McpToolCallItem, TurnItem};
use troupe_protocol::tool::ToolSpec;
use troupe_tools::rules::RuleBook;
use troupe_tools::{
    ApprovalQuestion, Tool, ToolConcurrency, ToolEvent, ToolInvocation, ToolOutput,
};

use crate::approval::{self, ApprovalVerdict, CallRights};
use crate::connection::{McpCallError, ToolInfo};
use crate::content::{self, McpAnswer};
use crate::limits::DESCRIPTION_BYTES_MAX;
use crate::server::McpServerHandle;

/// What a person agreed to for the rest of the session, by server and tool.
#[derive(Debug, Default)]
pub(crate) struct ToolAgreements(Mutex<BTreeSet<(String, String)>>);

#[derive(Debug)]
pub(crate) struct ServerTool {
    spec: ToolSpec,
    server: McpServerHandle,
    tool: ToolInfo,
    agreements: Arc<ToolAgreements>,
    rules: Arc<RuleBook>,
}

/// Why a call has no result.
#[derive(Debug)]
enum ServerToolFailure {
    /// A person or a policy said no.
    Declined(String),
    Failed(String),
}

impl ServerTool {
    pub(crate) fn new(
        name: String,
        server: McpServerHandle,
        tool: &ToolInfo,
        agreements: Arc<ToolAgreements>,
        rules: Arc<RuleBook>,
    ) -> Self {
        Self {
            spec: ToolSpec::Function {
                name,
                description: description(tool),
                parameters: parameters(&tool.input_schema).into(),
            },
            server,
            tool: tool.clone(),
            agreements,
            rules,
        }
    }

    async fn run(&self, call: &ToolInvocation) -> Result<McpAnswer, ServerToolFailure> {
        let arguments = arguments(call.input.as_str()).map_err(ServerToolFailure::Failed)?;
        self.permit(call, &arguments).await?;
        let connected = tokio::select! {
            connected = self.server.connect() => connected,
            () = call.cancel.cancelled() => return Err(self.failed(&McpCallError::NeverRun)),
        };
        let connection = connected.map_err(|error| {
            let name = &self.server.name;
            ServerToolFailure::Failed(format!("MCP server {name} did not start: {error}"))
        })?;
        let time_max = self.server.config.tool_time_max;
        let answered = connection
            .call(&self.tool.name, arguments, call, time_max)
            .await;
        let result = answered.map_err(|trouble| self.failed(&trouble))?;
        Ok(content::of_call(result).decoded().await)
    }

    fn failed(&self, trouble: &McpCallError) -> ServerToolFailure {
        let name = &self.server.name;
        ServerToolFailure::Failed(match trouble {
            McpCallError::Gone(why) => format!(
                "the MCP server {name} ended while it worked on this call: {why}. Whether the \
                 call had an effect is not known; the server is started again for the next call"
            ),
            McpCallError::Refused(why) => {
                format!("the MCP server {name} answered with an error: {why}")
            }
            McpCallError::TimedOut(_) => {
                format!("the MCP server {name}: {trouble} (mcp_servers.{name}.tool_timeout_sec)")
            }
            McpCallError::Cancelled | McpCallError::NeverRun => trouble.to_string(),
        })
    }

    /// Finds out whether the call may happen.
    async fn permit(
        &self,
        call: &ToolInvocation,
        arguments: &Map<String, Value>,
    ) -> Result<(), ServerToolFailure> {
        let mode = self.server.config.approval(&self.tool.name);
        let rights = CallRights {
            approvals: call.context.approval_policy,
            sandbox: &call.context.sandbox_policy,
        };
        let (server, tool) = (&*self.server.name, &*self.tool.name);
        let ruling = self.rules.current().tool_ruling(server, tool);
        for warning in self.rules.warnings() {
            call.channel.report(ToolEvent::Warning(warning)).await;
        }
        let verdict = approval::verdict(mode, self.tool.hints, rights);
        let is_held = call.context.sandbox_held.is_some();
        let reason = match approval::ruled(verdict, &ruling, rights, is_held) {
            ApprovalVerdict::Allow => return Ok(()),
            ApprovalVerdict::Forbid(text) => return Err(ServerToolFailure::Declined(text)),
            ApprovalVerdict::Refuse(reason) => {
                return Err(ServerToolFailure::Declined(format!(
                    "this call needs a person's approval, and nobody is asked under the current \
                     policy: {reason}. The user can allow it with \
                     mcp_servers.{server}.tools.{tool}.approval_mode = \"approve\""
                )));
            }
            ApprovalVerdict::Ask(reason) => reason,
        };
        let matter = (self.server.name.to_string(), self.tool.name.clone());
        if self.agreements.contains(&matter) {
            return Ok(());
        }
        let decision = tokio::select! {
            // A question is withdrawn when its call is cancelled, which is no person's word.
            biased;
            () = call.cancel.cancelled() => ReviewDecision::Abort,
            decision = call.channel.ask(self.question(call, arguments, &reason)) => decision,
        };
        match decision {
            ReviewDecision::Approved => Ok(()),
            ReviewDecision::ApprovedForSession | ReviewDecision::ApprovedAlways => {
                self.agreements.remember(matter);
                Ok(())
            }
            ReviewDecision::Denied => {
                let text = "not approved (the user said no, or nobody was there to ask)";
                Err(ServerToolFailure::Declined(text.to_owned()))
            }
            ReviewDecision::Abort => Err(self.failed(&McpCallError::NeverRun)),
        }
    }

    /// The call as a command, which every client can show and answer.
    fn question(
        &self,
        call: &ToolInvocation,
        arguments: &Map<String, Value>,
        reason: &str,
    ) -> ApprovalQuestion {
        let name = self.spec.name().to_owned();
        let arguments = Value::Object(arguments.clone()).to_string();
        let cmd = format!("{name} {arguments}");
        ApprovalQuestion::Exec(ExecApprovalRequest {
            call_id: call.id.clone(),
            turn_id: call.context.turn_id.clone(),
            command: vec![name, arguments],
            cwd: call.context.cwd.clone(),
            reason: Some(format!("MCP server {}: {reason}", self.server.name)),
            parsed_cmd: vec![ParsedCommand::Unknown { cmd }],
            available_decisions: vec![
                ReviewDecision::Approved,
                ReviewDecision::ApprovedForSession,
                ReviewDecision::Denied,
                ReviewDecision::Abort,
            ],
            outside_sandbox: false,
            proposed_rules: Vec::new(),
            agent: None,
        })
    }
}

#[async_trait]
impl Tool for ServerTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn concurrency(&self) -> ToolConcurrency {
        if self.server.config.parallel {
            ToolConcurrency::Shared
        } else {
            ToolConcurrency::Exclusive
        }
    }

    async fn call(&self, call: ToolInvocation) -> ToolOutput {
        let text = call.input.as_str();
        let mut item = McpToolCallItem {
            id: call.item_id(),
            server: self.server.name.to_string(),
            tool: self.tool.name.clone(),
            arguments: serde_json::from_str(text).unwrap_or_else(|_| text.into()),
            status: WorkStatus::InProgress,
            result: None,
            error: None,
            duration_ms: None,
        };
        let started = TurnItem::McpToolCall(item.clone());
        call.channel.report(ToolEvent::Started(started)).await;
        let since = Instant::now();
        let output = match self.run(&call).await {
            Ok(answer) if answer.is_error => {
                item.status = WorkStatus::Failed;
                item.result = Some(answer.kept);
                ToolOutput::failure(answer.body)
            }
            Ok(answer) => {
                item.status = WorkStatus::Completed;
                item.result = Some(answer.kept);
                ToolOutput::success(answer.body)
            }
            Err(failure) => {
                let (status, text) = match failure {
                    ServerToolFailure::Declined(text) => (WorkStatus::Declined, text),
                    ServerToolFailure::Failed(text) => (WorkStatus::Failed, text),
                };
                item.status = status;
                item.error = Some(text.clone());
                ToolOutput::failure(text)
            }
        };
        item.duration_ms = Some(u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX));
        let completed = TurnItem::McpToolCall(item);
        call.channel.report(ToolEvent::Completed(completed)).await;
        output
    }
}

impl ToolAgreements {
    fn contains(&self, matter: &(String, String)) -> bool {
        self.lock().contains(matter)
    }

    fn remember(&self, matter: (String, String)) {
        self.lock().insert(matter);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeSet<(String, String)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
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

fn description(tool: &ToolInfo) -> String {
    let text = tool.description.as_deref().or(tool.title.as_deref());
    let text = text.unwrap_or_default();
    if text.len() <= DESCRIPTION_BYTES_MAX {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(DESCRIPTION_BYTES_MAX);
    format!("{}…", &text[..end])
}

/// Returns a schema of an object, which is what providers take: some want its properties named
/// even if there are none.
fn parameters(schema: &Value) -> Value {
    let mut schema = match schema {
        Value::Object(fields) => fields.clone(),
        _ => Map::new(),
    };
    schema.insert("type".to_owned(), json!("object"));
    schema.entry("properties").or_insert_with(|| json!({}));
    Value::Object(schema)
}
