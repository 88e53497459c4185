use serde_json::json;

use super::*;
use crate::id::{AgentId, SessionId};

fn asking() -> Vec<EventMsg> {
    let events = json!([
        {
            "type": "exec_approval_request", "call_id": "1", "turn_id": "t", "command": ["ls"],
            "cwd": "/", "parsed_cmd": [], "available_decisions": [],
        },
        {
            "type": "apply_patch_approval_request", "call_id": "2", "turn_id": "t", "changes": {},
        },
        { "type": "request_user_input", "call_id": "3", "turn_id": "t", "questions": [] },
        {
            "type": "elicitation_request", "server_name": "s", "id": "4", "turn_id": "t",
            "request": { "mode": "form" },
        },
    ]);
    serde_json::from_value(events).unwrap()
}

#[test]
fn each_question_is_asked_denied_and_settled_under_its_id() {
    let settled = [
        json!({ "type": "approval_resolved", "call_id": "1", "decision": "denied" }),
        json!({ "type": "approval_resolved", "call_id": "2", "decision": "denied" }),
        json!({ "type": "user_input_resolved", "call_id": "3" }),
        json!({ "type": "elicitation_resolved", "id": "4", "decision": "decline" }),
    ];
    let denied = [
        json!({ "type": "exec_approval", "id": "1", "decision": "denied" }),
        json!({ "type": "patch_approval", "id": "2", "decision": "denied" }),
        json!({ "type": "user_input_answer", "id": "3", "response": { "answers": {} } }),
        json!({
            "type": "resolve_elicitation", "server_name": "s", "request_id": "4",
            "decision": "decline",
        }),
    ];
    for ((msg, settled), denied) in asking().into_iter().zip(settled).zip(denied) {
        let question = PendingQuestion::of(&msg).unwrap();
        let settled: EventMsg = serde_json::from_value(settled).unwrap();
        assert_eq!(PendingQuestion::id_of(&msg), Some(question.id()));
        assert_eq!(PendingQuestion::settled_by(&settled), Some(question.id()));
        assert_eq!(serde_json::to_value(question.deny()).unwrap(), denied);
        assert_eq!(question.task().map(|task| task.0.as_str()), Some("t"));
        assert_eq!(question.event(), msg);
    }
}

#[test]
fn a_yes_answers_only_what_is_answered_with_yes_or_no() {
    let answered = |msg: &EventMsg| {
        let question = PendingQuestion::of(msg).unwrap();
        let op = question.decide(ReviewDecision::Approved);
        (op == question.deny(), question.is_approval())
    };
    let answers: Vec<(bool, bool)> = asking().iter().map(answered).collect();
    let expected = [(false, true), (false, true), (true, false), (true, false)];
    assert_eq!(answers, expected);
}

#[test]
fn a_relayed_question_names_its_agent() {
    let agent = AgentLabel {
        agent_id: AgentId::ROOT,
        path: "/root/a".to_owned(),
        session_id: SessionId(uuid::Uuid::nil()),
    };
    for msg in asking() {
        let question = PendingQuestion::of(&msg).unwrap();
        assert_eq!(question.agent(), None);
        let id = CallId("/root/a#1".to_owned());
        let relayed = question.relayed(id.clone(), agent.clone());
        assert_eq!((relayed.id(), relayed.agent()), (&id, Some(&agent)));
    }
}
