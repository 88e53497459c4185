//! Questions of a session, sent to the editor as permission requests.

use crate::limits::TITLE_CHARS_MAX;
use agent_client_protocol_schema::v1::{
    CLIENT_METHOD_NAMES, PermissionOption, PermissionOptionKind, RequestPermissionOutcome,
    RequestPermissionRequest, RequestPermissionResponse, SessionId, ToolCall, ToolCallUpdate,
};
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use troupe_protocol::approval::{
    AgentLabel, Answer, ExecApprovalRequest, PatchApprovalRequest, Question, ReviewDecision,
    UserInputRequest, UserInputResponse,
};
use troupe_protocol::mcp::ElicitationRequest;
use troupe_protocol::op::ElicitationDecision;
use troupe_protocol::text::one_line;
use troupe_protocol::{Op, PendingQuestion};

use super::peer::EditorPeer;
use super::tool_call;

/// What the client said to one request.
enum PermissionReply {
    Option(String),
    /// The turn is being cancelled.
    Cancelled,
    /// It cannot ask.
    Nothing,
}

const SKIP: &str = "skip";
const ACCEPT: &str = "accept";

/// Asks the client. Returns what the session is to be told; nothing if the question was settled
/// meanwhile.
pub(super) async fn put(
    question: PendingQuestion,
    peer: &EditorPeer,
    session: &SessionId,
    settled: &CancellationToken,
) -> Option<Op> {
    let asking = QuestionContext {
        peer,
        session,
        settled,
    };
    match question {
        PendingQuestion::Command(request) => asking.exec(request).await,
        PendingQuestion::Patch(request) => asking.patch(request).await,
        PendingQuestion::UserInput(request) => asking.input(request).await,
        PendingQuestion::Elicitation(request) => asking.elicitation(request).await,
    }
}

struct QuestionContext<'a> {
    peer: &'a EditorPeer,
    session: &'a SessionId,
    settled: &'a CancellationToken,
}

impl QuestionContext<'_> {
    async fn exec(&self, request: ExecApprovalRequest) -> Option<Op> {
        let call = tool_call::of_command(
            request.call_id.0.clone(),
            &request.command,
            &request.parsed_cmd,
            request.cwd.clone(),
        );
        let call = with_asking_agent(call, request.agent.as_ref(), request.reason.as_deref());
        let options = decisions(&request.available_decisions);
        let decision = decision(self.ask(call, options).await?);
        Some(request.decide(decision))
    }

    async fn patch(&self, request: PatchApprovalRequest) -> Option<Op> {
        let call = tool_call::of_changes(request.call_id.0.clone(), &request.changes);
        let granted = request.grant_root.as_ref();
        let granted = granted.map(|root| format!("makes {} writable", root.display()));
        let reasons: Vec<String> = request.reason.clone().into_iter().chain(granted).collect();
        let reason = (!reasons.is_empty()).then(|| reasons.join("\n"));
        let call = with_asking_agent(call, request.agent.as_ref(), reason.as_deref());
        let options = decisions(&[
            ReviewDecision::Approved,
            ReviewDecision::ApprovedForSession,
            ReviewDecision::Denied,
        ]);
        let decision = decision(self.ask(call, options).await?);
        Some(request.decide(decision))
    }

    /// One request for each question. One that asks for a text of the user's own cannot be
    /// put, and is left out of the answers.
    async fn input(&self, request: UserInputRequest) -> Option<Op> {
        let mut response = UserInputResponse::default();
        for (index, question) in request.questions.iter().enumerate() {
            let Some(options) = choices(question) else {
                continue;
            };
            let id = format!("{}-{index}", request.call_id);
            // The title is cut: who answers reads all of it.
            let call = ToolCall::new(id, one_line(&question.question, TITLE_CHARS_MAX));
            let call = call.content(vec![tool_call::text(&question.question)]);
            let call = with_asking_agent(call, request.agent.as_ref(), Some(&question.header));
            match self.ask(call, options).await? {
                PermissionReply::Option(chosen) if chosen != SKIP => {
                    let answer = Answer {
                        selected: vec![chosen],
                        other: None,
                    };
                    response.answers.insert(question.id.clone(), answer);
                }
                PermissionReply::Option(_) => {}
                PermissionReply::Cancelled | PermissionReply::Nothing => break,
            }
        }
        Some(request.answer(response))
    }

    /// A form with something to fill in cannot be shown, and is declined.
    async fn elicitation(&self, request: ElicitationRequest) -> Option<Op> {
        let decision = if has_fields(&request.request) {
            ElicitationDecision::Decline
        } else {
            let message = request.request["message"].as_str().unwrap_or_default();
            let title = format!("{}: {message}", request.server_name);
            let call = ToolCall::new(request.id.0.clone(), one_line(&title, TITLE_CHARS_MAX));
            let call = call.content(vec![tool_call::text(&title)]);
            let call = with_asking_agent(call, request.agent.as_ref(), None);
            let options = vec![
                PermissionOption::new(ACCEPT, "Accept", PermissionOptionKind::AllowOnce),
                PermissionOption::new(SKIP, "Decline", PermissionOptionKind::RejectOnce),
            ];
            match self.ask(call, options).await? {
                PermissionReply::Option(chosen) if chosen == ACCEPT => ElicitationDecision::Accept,
                PermissionReply::Option(_) | PermissionReply::Nothing => {
                    ElicitationDecision::Decline
                }
                PermissionReply::Cancelled => ElicitationDecision::Cancel,
            }
        };
        let content = (decision == ElicitationDecision::Accept).then(|| serde_json::json!({}));
        Some(request.resolve(decision, content))
    }

    async fn ask(&self, call: ToolCall, options: Vec<PermissionOption>) -> Option<PermissionReply> {
        let call = ToolCallUpdate::from(call);
        let request = RequestPermissionRequest::new(self.session.clone(), call, options);
        let method = CLIENT_METHOD_NAMES.session_request_permission;
        let answer = self
            .peer
            .ask::<RequestPermissionResponse>(method, &request, self.settled)
            .await?;
        Some(match answer {
            Ok(response) => match response.outcome {
                RequestPermissionOutcome::Selected(selected) => {
                    PermissionReply::Option(selected.option_id.to_string())
                }
                RequestPermissionOutcome::Cancelled => PermissionReply::Cancelled,
                _ => PermissionReply::Nothing,
            },
            Err(_) => PermissionReply::Nothing,
        })
    }
}

/// Says who asks, if it is another agent than the one that the client speaks to, and why.
fn with_asking_agent(call: ToolCall, agent: Option<&AgentLabel>, reason: Option<&str>) -> ToolCall {
    let mut call = call;
    if let Some(agent) = agent {
        call.title = format!("{}: {}", agent.path, call.title);
    }
    if let Some(reason) = reason {
        call.content.insert(0, tool_call::text(reason));
    }
    call
}

fn decisions(available: &[ReviewDecision]) -> Vec<PermissionOption> {
    available.iter().filter_map(|it| option(*it)).collect()
}

/// To stop everything, clients have a button of their own.
fn option(decision: ReviewDecision) -> Option<PermissionOption> {
    let (name, kind) = match decision {
        ReviewDecision::Approved => ("Allow once", PermissionOptionKind::AllowOnce),
        ReviewDecision::ApprovedForSession => {
            ("Allow for this session", PermissionOptionKind::AllowAlways)
        }
        ReviewDecision::ApprovedAlways => ("Always allow", PermissionOptionKind::AllowAlways),
        ReviewDecision::Denied => ("Reject", PermissionOptionKind::RejectOnce),
        ReviewDecision::Abort => return None,
    };
    Some(PermissionOption::new(decision.as_str(), name, kind))
}

/// An option that was never offered refuses.
fn decision(said: PermissionReply) -> ReviewDecision {
    let offered = [
        ReviewDecision::Approved,
        ReviewDecision::ApprovedForSession,
        ReviewDecision::ApprovedAlways,
    ];
    match said {
        PermissionReply::Option(chosen) => {
            let mut offered = offered.into_iter();
            let chosen = offered.find(|decision| decision.as_str() == chosen);
            chosen.unwrap_or(ReviewDecision::Denied)
        }
        PermissionReply::Cancelled => ReviewDecision::Abort,
        PermissionReply::Nothing => ReviewDecision::Denied,
    }
}

/// Returns the options of a question, and one to leave it unanswered.
fn choices(question: &Question) -> Option<Vec<PermissionOption>> {
    let options = question.options.as_ref().filter(|it| !it.is_empty())?;
    let choice = |option: &troupe_protocol::approval::QuestionOption| {
        let name = if option.description.is_empty() {
            option.label.clone()
        } else {
            format!("{}: {}", option.label, option.description)
        };
        PermissionOption::new(
            option.value.clone(),
            one_line(&name, TITLE_CHARS_MAX),
            PermissionOptionKind::AllowOnce,
        )
    };
    let skip = PermissionOption::new(SKIP, "No answer", PermissionOptionKind::RejectOnce);
    Some(options.iter().map(choice).chain([skip]).collect())
}

fn has_fields(request: &Value) -> bool {
    let fields = request["requestedSchema"]["properties"].as_object();
    request["mode"] == "url" || fields.is_some_and(|fields| !fields.is_empty())
}
