//! Questions of any agent of a tree, put to a client as requests, and its answers.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use troupe_protocol::approval::{
    Answer, ExecApprovalRequest, ReviewDecision, UserInputRequest, UserInputResponse,
};
use troupe_protocol::op::{ElicitationDecision, Op};
use troupe_protocol::{PendingQuestion, SessionId};
use troupe_transport::rpc::{Outbox, PeerGone, PeerRequest, RpcError};

use super::now_ms;
use super::translate::AskedItem;
use super::translate::items::{self, actions, command_line};
use super::wire::approval as wire;

/// Returns the item that it is about, and its turn.
pub(super) fn item(question: &PendingQuestion) -> Option<AskedItem> {
    let id = item_id(question);
    let (turn, item) = match question {
        PendingQuestion::Command(request) => (&request.turn_id, items::asked_command(id, request)),
        PendingQuestion::Patch(request) => (&request.turn_id, items::asked_patch(id, request)),
        PendingQuestion::UserInput(_) | PendingQuestion::Elicitation(_) => return None,
    };
    Some(AskedItem {
        turn: turn.clone(),
        item,
    })
}

/// Tells whether this agent asks.
pub(super) fn is_of(question: &PendingQuestion, agent: SessionId) -> bool {
    question
        .agent()
        .is_some_and(|label| label.session_id == agent)
}

/// Puts it to a client that follows the thread `root`.
pub(super) async fn put(
    asked: &PendingQuestion,
    outbox: &Outbox,
    root: &str,
) -> Result<PeerRequest, PeerGone> {
    let agent = asked.agent();
    let thread_id = agent.map_or_else(|| root.to_owned(), |agent| agent.session_id.to_string());
    let agent_path = agent.map(|agent| agent.path.clone());
    let item_id = item_id(asked);
    match asked {
        PendingQuestion::Command(request) => {
            let params = wire::CommandApprovalParams {
                thread_id,
                turn_id: request.turn_id.0.clone(),
                item_id,
                started_at_ms: now_ms(),
                reason: request.reason.clone(),
                command: Some(command_line(&request.command)),
                cwd: Some(request.cwd.clone()),
                command_actions: Some(actions(&request.parsed_cmd)),
                available_decisions: offered(request),
                agent_path,
            };
            let method = "item/commandExecution/requestApproval";
            outbox.ask(method, &params).await
        }
        PendingQuestion::Patch(request) => {
            let params = wire::FileChangeApprovalParams {
                thread_id,
                turn_id: request.turn_id.0.clone(),
                item_id,
                started_at_ms: now_ms(),
                reason: request.reason.clone(),
                grant_root: request.grant_root.clone(),
                agent_path,
            };
            outbox.ask("item/fileChange/requestApproval", &params).await
        }
        PendingQuestion::UserInput(request) => {
            let params = wire::UserInputParams {
                thread_id,
                turn_id: request.turn_id.0.clone(),
                item_id,
                questions: request.questions.iter().map(question).collect(),
                is_blocking: true,
                agent_path,
            };
            outbox.ask("item/tool/requestUserInput", &params).await
        }
        PendingQuestion::Elicitation(request) => {
            let params = wire::ElicitationParams {
                thread_id,
                turn_id: request.turn_id.as_ref().map(|turn| turn.0.clone()),
                server_name: request.server_name.clone(),
                request: match &request.request {
                    Value::Object(fields) => fields.clone().into_iter().collect(),
                    other => BTreeMap::from([("message".to_owned(), other.clone())]),
                },
                agent_path,
            };
            outbox.ask("mcpServer/elicitation/request", &params).await
        }
    }
}

/// The call that asks, as its item is named: at the root, questions of others carry the
/// path of who asks before it.
fn item_id(question: &PendingQuestion) -> String {
    let id = &question.id().0;
    let bare = question.agent().and_then(|agent| {
        let rest = id.strip_prefix(agent.path.as_str())?;
        rest.strip_prefix('#')
    });
    bare.unwrap_or(id).to_owned()
}

/// Returns what a client's answer means to the session. A client that answers with an error
/// cannot answer, which refuses.
///
/// # Errors
///
/// Says what is wrong with an answer that is none.
pub(super) fn op(
    question: &PendingQuestion,
    answer: Result<Value, RpcError>,
) -> Result<Op, String> {
    let Ok(answer) = answer else {
        return Ok(question.deny());
    };
    Ok(match question {
        PendingQuestion::Command(_) | PendingQuestion::Patch(_) => {
            question.decide(decision(read::<wire::ApprovalResponse>(answer)?.decision))
        }
        PendingQuestion::UserInput(request) => request.answer(response(request, read(answer)?)),
        PendingQuestion::Elicitation(request) => {
            let answer: wire::ElicitationResponse = read(answer)?;
            request.resolve(elicitation(answer.action), answer.content)
        }
    })
}

fn read<T: serde::de::DeserializeOwned>(answer: Value) -> Result<T, String> {
    serde_path_to_error::deserialize(answer).map_err(|error| error.to_string())
}

/// Names the decisions that count; `None` if nothing is said about it.
fn offered(request: &ExecApprovalRequest) -> Option<Vec<wire::ApprovalDecision>> {
    use wire::ApprovalDecision as Decision;
    let named = |decision: &ReviewDecision| match decision {
        ReviewDecision::Approved => Decision::Accept,
        ReviewDecision::ApprovedForSession => Decision::AcceptForSession,
        ReviewDecision::ApprovedAlways => {
            let rule = request.proposed_rules.last();
            let prefix = rule.map(|rule| rule.prefix.clone()).unwrap_or_default();
            Decision::AcceptWithExecpolicyAmendment(json!({ "execpolicy_amendment": prefix }))
        }
        ReviewDecision::Denied => Decision::Decline,
        ReviewDecision::Abort => Decision::Cancel,
    };
    let decisions = &request.available_decisions;
    (!decisions.is_empty()).then(|| decisions.iter().map(named).collect())
}

fn decision(decision: wire::ApprovalDecision) -> ReviewDecision {
    use wire::ApprovalDecision as Decision;
    match decision {
        Decision::Accept => ReviewDecision::Approved,
        Decision::AcceptForSession => ReviewDecision::ApprovedForSession,
        Decision::AcceptWithExecpolicyAmendment(_) => ReviewDecision::ApprovedAlways,
        Decision::Cancel => ReviewDecision::Abort,
        Decision::Decline => ReviewDecision::Denied,
    }
}

fn elicitation(action: wire::ElicitationAction) -> ElicitationDecision {
    match action {
        wire::ElicitationAction::Accept => ElicitationDecision::Accept,
        wire::ElicitationAction::Decline => ElicitationDecision::Decline,
        wire::ElicitationAction::Cancel => ElicitationDecision::Cancel,
    }
}

fn question(question: &troupe_protocol::approval::Question) -> wire::Question {
    let option = |option: &troupe_protocol::approval::QuestionOption| wire::QuestionOption {
        label: option.label.clone(),
        description: option.description.clone(),
    };
    let options = question.options.as_ref();
    wire::Question {
        id: question.id.clone(),
        header: question.header.clone(),
        question: question.question.clone(),
        is_other: question.is_other,
        is_secret: false,
        options: options.map(|options| options.iter().map(option).collect()),
    }
}

/// Clients answer with the labels that they show, or in their own words.
fn response(request: &UserInputRequest, given: wire::UserInputResponse) -> UserInputResponse {
    let answers = given.answers.into_iter().map(|(id, said)| {
        // An answer to a question that nobody asked is passed on too: the session refuses it.
        let question = request.questions.iter().find(|question| question.id == id);
        let options = question.and_then(|question| question.options.as_deref());
        let mut answer = Answer::default();
        for text in said.answers {
            let mut options = options.unwrap_or_default().iter();
            match options.find(|option| option.label == text || option.value == text) {
                Some(option) => answer.selected.push(option.value.clone()),
                None => answer.other = Some(joined(answer.other, text)),
            }
        }
        (id, answer)
    });
    UserInputResponse {
        answers: answers.collect(),
    }
}

/// A person may say more than one thing.
fn joined(before: Option<String>, text: String) -> String {
    match before {
        Some(before) => format!("{before}\n{text}"),
        None => text,
    }
}
