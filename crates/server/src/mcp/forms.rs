//! What a session asks of people, as forms of the protocol and back.

use serde_json::{Map, Value, json};
use troupe_mcp::serve::{FormReply, QuestionForm};
use troupe_protocol::approval::{
    AgentLabel, Answer, ExecApprovalRequest, PatchApprovalRequest, Question, ReviewDecision,
    UserInputRequest, UserInputResponse,
};
use troupe_protocol::op::ElicitationDecision;
use troupe_protocol::rollout::RolloutRecord;
use troupe_protocol::{Op, PendingQuestion, SessionId};
use troupe_store::{LogLine, LogReader, SessionStore};

use super::error::SessionToolError;
use crate::limits::MCP_LINE_HEAD_BYTES;

/// The field of a form in which a person decides.
const DECISION: &str = "decision";
/// Added to the name of a question for the answer in one's own words.
const OTHER: &str = "_other";

/// Returns the form to show; none for what is no form, such as a page to visit.
pub(super) fn form(question: &PendingQuestion) -> Option<QuestionForm> {
    match question {
        PendingQuestion::Command(request) => Some(QuestionForm {
            message: exec_message(request),
            schema: decision_schema(&request.available_decisions),
        }),
        PendingQuestion::Patch(request) => Some(QuestionForm {
            message: patch_message(request),
            schema: decision_schema(&[
                ReviewDecision::Approved,
                ReviewDecision::ApprovedForSession,
                ReviewDecision::Denied,
                ReviewDecision::Abort,
            ]),
        }),
        PendingQuestion::UserInput(request) => Some(QuestionForm {
            message: questions_message(request),
            schema: questions_schema(&request.questions),
        }),
        PendingQuestion::Elicitation(request) => {
            let asked = &request.request;
            if asked["mode"] != "form" {
                return None;
            }
            Some(QuestionForm {
                message: format!(
                    "{}The server {} asks: {}",
                    who(request.agent.as_ref()),
                    request.server_name,
                    asked["message"].as_str().unwrap_or_default()
                ),
                schema: asked["requestedSchema"].clone(),
            })
        }
    }
}

/// Turns a reply into the answer. Who closes a form without a choice grants nothing.
pub(super) fn answer(question: &PendingQuestion, reply: FormReply) -> Op {
    match reply {
        FormReply::Filled(fields) => filled(question, fields),
        FormReply::Declined | FormReply::Dismissed => question.deny(),
    }
}

fn filled(question: &PendingQuestion, fields: Map<String, Value>) -> Op {
    match question {
        PendingQuestion::Command(_) | PendingQuestion::Patch(_) => {
            let decision = fields.get(DECISION).cloned().unwrap_or_default();
            // What is no decision grants nothing.
            let decision = serde_json::from_value(decision).unwrap_or(ReviewDecision::Denied);
            question.decide(decision)
        }
        PendingQuestion::UserInput(request) => {
            request.answer(response(&request.questions, &fields))
        }
        PendingQuestion::Elicitation(request) => {
            request.resolve(ElicitationDecision::Accept, Some(Value::Object(fields)))
        }
    }
}

/// Reads what was asked at the root of a tree up to an event and is not over, oldest first. Who
/// follows the events after it is told the rest.
pub(super) async fn open(
    store: &dyn SessionStore,
    root: SessionId,
    upto: u64,
) -> Result<Vec<PendingQuestion>, SessionToolError> {
    let mut open: Vec<PendingQuestion> = Vec::new();
    let mut log = LogReader::new(root);
    while let Some(lines) = log.next(store).await? {
        for line in lines.iter().filter(|line| may_ask(line)) {
            // A line that cannot be read is reported by whoever resumes the session.
            let Ok(stamped) = line.record() else { continue };
            if let RolloutRecord::EventMsg(event) = stamped.record {
                if let Some(id) = PendingQuestion::settled_by(&event.msg) {
                    open.retain(|question| question.id() != id);
                }
                if event.seq <= upto {
                    open.extend(PendingQuestion::of(&event.msg));
                }
            }
        }
    }
    Ok(open)
}

/// Most of a log is about other things, which need not be read to be known.
fn may_ask(line: &LogLine) -> bool {
    const MARKS: [&[u8]; 3] = [b"_request\"", b"\"request_user_input\"", b"_resolved\""];
    line.is("event_msg") && tells(line, &MARKS)
}

/// Tells whether one of these words stands at the beginning of a line, where the kind of an
/// event does.
pub(super) fn tells(line: &LogLine, words: &[&[u8]]) -> bool {
    let head = &line.bytes[..line.bytes.len().min(MCP_LINE_HEAD_BYTES)];
    let stands = |word: &&[u8]| head.windows(word.len()).any(|part| part == *word);
    words.iter().any(stands)
}

fn who(agent: Option<&AgentLabel>) -> String {
    agent.map_or_else(String::new, |agent| format!("[{}] ", agent.path))
}

fn exec_message(request: &ExecApprovalRequest) -> String {
    let who = who(request.agent.as_ref());
    format!("{who}Run this command?\n{}", request.in_full())
}

fn patch_message(request: &PatchApprovalRequest) -> String {
    let who = who(request.agent.as_ref());
    format!("{who}Change these files?\n{}", request.in_full())
}

fn decision_schema(decisions: &[ReviewDecision]) -> Value {
    let choices: Vec<Value> = decisions.iter().map(|one| choice(*one)).collect();
    json!({
        "type": "object",
        "properties": {
            DECISION: { "type": "string", "title": "Decision", "oneOf": choices },
        },
        "required": [DECISION],
    })
}

fn choice(decision: ReviewDecision) -> Value {
    let title = match decision {
        ReviewDecision::Approved => "Yes, this once",
        ReviewDecision::ApprovedForSession => "Yes, and do not ask again in this session",
        ReviewDecision::ApprovedAlways => "Yes, always",
        ReviewDecision::Denied => "No, go on without it",
        ReviewDecision::Abort => "No, and stop",
    };
    json!({ "const": decision, "title": title })
}

fn questions_message(request: &UserInputRequest) -> String {
    let questions = request.questions.iter().map(|one| one.question.as_str());
    let questions: Vec<&str> = questions.collect();
    format!("{}{}", who(request.agent.as_ref()), questions.join("\n"))
}

/// A question is a field with its options, or free text; one that offers an answer in one's own
/// words besides has a second field for it.
fn questions_schema(questions: &[Question]) -> Value {
    let mut properties = Map::new();
    for question in questions {
        let mut field = json!({
            "type": "string",
            "title": question.header,
            "description": question.question,
        });
        if let Some(options) = &question.options {
            let options = options
                .iter()
                .map(|option| json!({ "const": option.value, "title": option.label }));
            field["oneOf"] = options.collect();
        }
        properties.insert(question.id.clone(), field);
        if question.is_other && question.options.is_some() {
            let title = format!("{} (other)", question.header);
            let other = json!({ "type": "string", "title": title });
            properties.insert(format!("{}{OTHER}", question.id), other);
        }
    }
    json!({ "type": "object", "properties": properties })
}

fn response(questions: &[Question], fields: &Map<String, Value>) -> UserInputResponse {
    let text = |name: &str| {
        let said = fields.get(name).and_then(Value::as_str).map(str::trim);
        said.filter(|said| !said.is_empty()).map(str::to_owned)
    };
    let mut response = UserInputResponse::default();
    for question in questions {
        let said = text(&question.id);
        let other = text(&format!("{}{OTHER}", question.id));
        let answer = match &question.options {
            None => Answer {
                selected: Vec::new(),
                other: said,
            },
            // A text may explain the option that was chosen.
            Some(_) => Answer {
                selected: said.into_iter().collect(),
                other,
            },
        };
        if answer.other.is_some() || !answer.selected.is_empty() {
            response.answers.insert(question.id.clone(), answer);
        }
    }
    // An answer to a question that nobody asked is passed on too: the session refuses it.
    let is_asked = |name: &str| {
        let bare = name.strip_suffix(OTHER).unwrap_or(name);
        let mut questions = questions.iter();
        questions.any(|question| question.id == name || question.id == bare)
    };
    for name in fields.keys().filter(|name| !is_asked(name)) {
        let answer = Answer {
            selected: Vec::new(),
            other: text(name),
        };
        response.answers.insert(name.clone(), answer);
    }
    response
}

#[cfg(test)]
mod tests;
