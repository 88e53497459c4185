//! The calls of another agent, shown as items of the child's conversation; its questions, put
//! as the child's own.

use std::collections::BTreeMap;

use agent_client_protocol_schema::v1::{
    ContentBlock, PermissionOption, PermissionOptionKind, Plan, PlanEntryStatus,
    RequestPermissionOutcome, SelectedPermissionOutcome, ToolCall, ToolCallContent, ToolCallStatus,
    ToolCallUpdate,
};
use serde_json::{Value, json};
use troupe_protocol::approval::{ExecApprovalRequest, ReviewDecision};
use troupe_protocol::command::{ParsedCommand, PlanStep, StepStatus, WorkStatus};
use troupe_protocol::item::ToolCallItem;
use troupe_protocol::policy::ApprovalPolicy;
use troupe_protocol::{ItemId, TurnItem};
use troupe_tools::{ApprovalQuestion, ToolEvent, ToolInvocation};

use super::connection::{AcpConnection, PermissionQuestion, ProgramUpdate};
use crate::limits::BACKEND_OUTPUT_BYTES_MAX;
use crate::text::tail;

/// What happens during one call of ours.
pub(super) struct BackendWork<'a> {
    call: &'a ToolInvocation,
    backend: &'a str,
    /// Calls of the program that are not over, by its ids.
    open: BTreeMap<String, ToolCall>,
    titles: Vec<String>,
}

impl<'a> BackendWork<'a> {
    pub(super) fn new(call: &'a ToolInvocation, backend: &'a str) -> Self {
        Self {
            call,
            backend,
            open: BTreeMap::new(),
            titles: Vec::new(),
        }
    }

    /// Takes what the program does until it has something to say and nothing is open. What it
    /// says meanwhile waits: a call that is open may itself wait for another one, or for a
    /// person.
    pub(super) async fn go_on(&mut self, companion: &mut AcpConnection) -> Result<(), String> {
        let mut later = Vec::new();
        loop {
            let said = companion.next().await?;
            let is_over = matches!(said, ProgramUpdate::Ended { .. } | ProgramUpdate::Failed(_));
            match said {
                ProgramUpdate::Call(call) => self.begin(*call).await,
                ProgramUpdate::CallChanged(update) => self.change(*update).await,
                ProgramUpdate::Permission(permission) => {
                    let outcome = self.decide(&permission).await;
                    companion.permit(&permission, outcome).await;
                }
                ProgramUpdate::Plan(plan) => self.plan(plan).await,
                words => later.push(words),
            }
            if is_over || (self.open.is_empty() && !later.is_empty()) {
                companion.put_back(later);
                return Ok(());
            }
        }
    }

    /// Ends what the program left open.
    pub(super) async fn close(&mut self) {
        for (_, mut call) in std::mem::take(&mut self.open) {
            call.status = ToolCallStatus::Failed;
            self.report(ToolEvent::Completed(self.item(&call))).await;
        }
    }

    /// Returns what the history says of this call of ours.
    pub(super) fn summary(&self) -> String {
        if self.titles.is_empty() {
            "done".to_owned()
        } else {
            self.titles.join("\n")
        }
    }

    async fn begin(&mut self, call: ToolCall) {
        let id = call.tool_call_id.to_string();
        if let Some(known) = self.open.get_mut(&id) {
            *known = call.clone();
        } else {
            self.titles.push(call.title.clone());
            let mut started = call.clone();
            started.status = ToolCallStatus::InProgress;
            self.report(ToolEvent::Started(self.item(&started))).await;
            self.open.insert(id.clone(), call.clone());
        }
        self.end_if_over(&id, call.status).await;
    }

    async fn change(&mut self, update: ToolCallUpdate) {
        let id = update.tool_call_id.to_string();
        if !self.open.contains_key(&id) {
            // Programs may tell of a call by a change alone.
            let Ok(call) = ToolCall::try_from(update) else {
                return;
            };
            return Box::pin(self.begin(call)).await;
        }
        let Some(call) = self.open.get_mut(&id) else {
            return;
        };
        let fields = update.fields;
        call.title = fields.title.unwrap_or_else(|| call.title.clone());
        call.status = fields.status.unwrap_or(call.status);
        call.content = fields.content.unwrap_or_else(|| call.content.clone());
        call.raw_input = fields.raw_input.or_else(|| call.raw_input.take());
        call.raw_output = fields.raw_output.or_else(|| call.raw_output.take());
        let status = call.status;
        self.end_if_over(&id, status).await;
    }

    async fn end_if_over(&mut self, id: &str, status: ToolCallStatus) {
        if matches!(status, ToolCallStatus::Completed | ToolCallStatus::Failed)
            && let Some(call) = self.open.remove(id)
        {
            self.report(ToolEvent::Completed(self.item(&call))).await;
        }
    }

    fn item(&self, call: &ToolCall) -> TurnItem {
        let kind = serde_json::to_value(call.kind).unwrap_or_default();
        let kind = kind.as_str().unwrap_or("other").to_owned();
        TurnItem::ToolCall(ToolCallItem {
            id: ItemId(format!("{}/{}", self.call.id, call.tool_call_id)),
            tool: call.name.clone().unwrap_or(kind),
            arguments: match &call.raw_input {
                Some(Value::Object(input)) if !input.is_empty() => {
                    let mut input = input.clone();
                    input.entry("title").or_insert_with(|| json!(call.title));
                    Value::Object(input)
                }
                _ => json!({"title": call.title}),
            },
            status: match call.status {
                ToolCallStatus::Completed => WorkStatus::Completed,
                ToolCallStatus::Failed => WorkStatus::Failed,
                _ => WorkStatus::InProgress,
            },
            output: output(&call.content),
        })
    }

    async fn plan(&self, plan: Plan) {
        let steps = plan.entries.into_iter().map(|entry| PlanStep {
            step: entry.content,
            status: match entry.status {
                PlanEntryStatus::InProgress => StepStatus::InProgress,
                PlanEntryStatus::Completed => StepStatus::Completed,
                _ => StepStatus::Pending,
            },
        });
        self.report(ToolEvent::Plan {
            explanation: None,
            plan: steps.collect(),
        })
        .await;
    }

    /// Asks whoever is asked for the child. Where nobody is, what the sandbox allows runs: the
    /// program is inside of it.
    async fn decide(&self, permission: &PermissionQuestion) -> RequestPermissionOutcome {
        let request = &permission.request;
        if self.call.context.approval_policy == ApprovalPolicy::Never {
            return chosen(ReviewDecision::Approved, &request.options);
        }
        let fields = &request.tool_call.fields;
        let known = self.open.get(&*request.tool_call.tool_call_id.0);
        let title = fields
            .title
            .clone()
            .or_else(|| known.map(|it| it.title.clone()));
        let title = title.unwrap_or_else(|| "a tool call".to_owned());
        let input = fields.raw_input.as_ref();
        let input = input.or_else(|| known.and_then(|it| it.raw_input.as_ref()));
        let decision = self
            .call
            .channel
            .ask(ApprovalQuestion::Exec(ExecApprovalRequest {
                call_id: self.call.id.clone(),
                turn_id: self.call.context.turn_id.clone(),
                command: command(input).unwrap_or_else(|| vec![title.clone()]),
                cwd: self.call.context.cwd.clone(),
                reason: Some(format!("{} asks: {title}", self.backend)),
                parsed_cmd: vec![ParsedCommand::Unknown { cmd: title }],
                available_decisions: available(&request.options),
                outside_sandbox: false,
                proposed_rules: Vec::new(),
                agent: None,
            }));
        chosen(decision.await, &request.options)
    }

    async fn report(&self, event: ToolEvent) {
        self.call.channel.report(event).await;
    }
}

/// Returns the command that a call would run, if it says so.
fn command(input: Option<&Value>) -> Option<Vec<String>> {
    match &input?["command"] {
        Value::String(text) => Some(vec![text.clone()]),
        Value::Array(words) => {
            let words = words.iter().map(|word| word.as_str().map(str::to_owned));
            words
                .collect::<Option<Vec<_>>>()
                .filter(|it| !it.is_empty())
        }
        _ => None,
    }
}

fn available(options: &[PermissionOption]) -> Vec<ReviewDecision> {
    let lasts = |option: &PermissionOption| option.kind == PermissionOptionKind::AllowAlways;
    let for_session = options.iter().any(lasts);
    [ReviewDecision::Approved]
        .into_iter()
        .chain(for_session.then_some(ReviewDecision::ApprovedForSession))
        .chain([ReviewDecision::Denied, ReviewDecision::Abort])
        .collect()
}

/// Finds the option that says what was decided.
fn chosen(decision: ReviewDecision, options: &[PermissionOption]) -> RequestPermissionOutcome {
    use PermissionOptionKind::{AllowAlways, AllowOnce, RejectAlways, RejectOnce};
    let kinds = match decision {
        ReviewDecision::Approved => [AllowOnce, AllowAlways],
        ReviewDecision::ApprovedForSession | ReviewDecision::ApprovedAlways => {
            [AllowAlways, AllowOnce]
        }
        ReviewDecision::Denied => [RejectOnce, RejectAlways],
        ReviewDecision::Abort => return RequestPermissionOutcome::Cancelled,
    };
    let of_kind = |kind| options.iter().find(|option| option.kind == kind);
    match kinds.into_iter().find_map(of_kind) {
        Some(option) => {
            let selected = SelectedPermissionOutcome::new(option.option_id.clone());
            RequestPermissionOutcome::Selected(selected)
        }
        // A program that offers no such option is told that there is no answer.
        None => RequestPermissionOutcome::Cancelled,
    }
}

fn output(content: &[ToolCallContent]) -> Option<String> {
    let texts = content.iter().filter_map(|part| match part {
        ToolCallContent::Content(content) => match &content.content {
            ContentBlock::Text(text) => Some(text.text.clone()),
            _ => None,
        },
        ToolCallContent::Diff(diff) => Some(format!("changed {}", diff.path.display())),
        _ => None,
    });
    let text = texts.collect::<Vec<_>>().join("\n");
    (!text.is_empty()).then(|| tail(&text, BACKEND_OUTPUT_BYTES_MAX))
}
