use serde_json::json;

use super::*;

fn event(value: serde_json::Value) -> EventMsg {
    serde_json::from_value(value).unwrap()
}

fn commit(id: &str) -> EventMsg {
    event(json!({
        "type": "exec_approval_request", "call_id": id, "turn_id": "t", "cwd": "/w",
        "command": ["git", "commit"], "reason": ".git is read-only", "parsed_cmd": [],
        "available_decisions": ["approved", "approved_for_session", "approved_always", "denied"],
        "outside_sandbox": true,
        "proposed_rules": [{"prefix": ["git", "commit"], "outside_sandbox": true}],
        "agent": {"agent_id": 2, "path": "/root/writer", "session_id": "0a0a0a0a-0000-4000-8000-000000000000"},
    }))
}

fn decided(id: &str, decision: ReviewDecision) -> LineOutcome {
    let id = id.to_owned();
    answered(Op::ExecApproval { id, decision }, None)
}

#[test]
fn a_command_is_shown_whole_with_what_each_answer_means() {
    let mut asker = QuestionQueue::default();
    assert!(asker.hear(&commit("c")));
    let page = asker.page().unwrap();
    assert_eq!(
        page,
        "/root/writer asks to run a command\n  in /w\n  $ git commit\n  \
         outside the sandbox\n  why: .git is read-only\n  always means: allow git commit outside \
         the sandbox\n  [y] yes  [s] yes, for this session  [a] always  [n] no  [w] no, and say \
         why > "
    );
    assert_eq!(asker.page(), None, "it is shown once");
    assert!(matches!(asker.take(Some("yeah")), LineOutcome::More(_)));
    assert_eq!(
        asker.take(Some("A")),
        decided("c", ReviewDecision::ApprovedAlways)
    );
    assert!(!asker.is_asking());
}

#[test]
fn what_is_not_offered_cannot_be_chosen_and_the_end_of_input_refuses() {
    let mut asker = QuestionQueue::default();
    asker.hear(&event(json!({
        "type": "exec_approval_request", "call_id": "c", "turn_id": "t", "cwd": "/w",
        "command": ["ls"], "parsed_cmd": [], "available_decisions": ["approved", "denied"],
    })));
    assert!(matches!(asker.take(Some("a")), LineOutcome::More(_)));
    assert_eq!(asker.take(None), decided("c", ReviewDecision::Denied));
}

#[test]
fn a_no_can_be_explained_to_who_asked() {
    let mut asker = QuestionQueue::default();
    asker.hear(&commit("c"));
    assert!(matches!(asker.take(Some("w")), LineOutcome::More(_)));
    let outcome = asker.take(Some("not before the tests pass"));
    let LineOutcome::Answered { explanation, .. } = outcome else {
        panic!("{outcome:?}");
    };
    let expected = RefusalExplanation {
        agent: Some("/root/writer".to_owned()),
        text: "not before the tests pass".to_owned(),
    };
    assert_eq!(explanation, Some(expected));
}

#[test]
fn what_somebody_else_answered_is_not_asked_any_more() {
    let mut asker = QuestionQueue::default();
    asker.hear(&commit("1"));
    asker.hear(&commit("2"));
    assert!(asker.page().is_some());
    let resolved =
        event(json!({"type": "approval_resolved", "call_id": "1", "decision": "denied"}));
    assert!(!asker.hear(&resolved));
    assert!(asker.page().is_some(), "the next one is shown");
    assert_eq!(asker.take(Some("n")), decided("2", ReviewDecision::Denied));
    assert_eq!(asker.take(Some("n")), LineOutcome::Unasked);
}

#[test]
fn questions_of_a_model_are_answered_one_after_the_other() {
    let mut asker = QuestionQueue::default();
    asker.hear(&event(json!({
        "type": "request_user_input", "call_id": "q", "turn_id": "t",
        "questions": [
            {"id": "color", "header": "Color", "question": "Which color?", "options": [
                {"value": "r", "label": "Red", "description": "warm"},
                {"value": "b", "label": "Blue", "description": ""},
            ]},
            {"id": "name", "header": "Name", "question": "Which name?", "isOther": true},
            {"id": "why", "header": "Why", "question": "Why?"},
        ],
    })));
    let page = asker.page().unwrap();
    assert!(page.contains("[1] Red: warm\n  [2] Blue\n"), "{page}");
    assert_eq!(
        asker.take(Some("purple")),
        LineOutcome::More("  a number from 1 to 2 > ".to_owned())
    );
    assert!(matches!(asker.take(Some("2")), LineOutcome::More(_)));
    assert!(matches!(asker.take(Some("Ada")), LineOutcome::More(_)));
    let LineOutcome::Answered { op, .. } = asker.take(Some("")) else {
        panic!("all were asked");
    };
    let expected = json!({"answers": {
        "color": {"selected": ["b"]}, "name": {"selected": [], "other": "Ada"},
    }});
    let Op::UserInputAnswer { id, response } = *op else {
        panic!("{op:?}");
    };
    assert_eq!(id, "q");
    assert_eq!(serde_json::to_value(response).unwrap(), expected);
}
