use expect_test::{Expect, expect};
use serde_json::json;
use troupe_protocol::SubmissionId;
use troupe_protocol::input::UserInput;
use troupe_protocol::policy::{ApprovalPolicy, CollaborationMode, SandboxPolicy};

use super::*;
use crate::families::example;

fn context() -> CallContext {
    CallContext {
        session_id: example::session(0),
        turn_id: SubmissionId("turn".to_owned()),
        cwd: "/srv/work".into(),
        approval_policy: ApprovalPolicy::OnRequest,
        sandbox_policy: SandboxPolicy::workspace_write(),
        sandbox_held: None,
        collaboration_mode: CollaborationMode::Default,
        model: "deep".to_owned(),
        effort: None,
        message_index: 4,
    }
}

fn check(arguments: Value, expected: Expect) {
    let found = serde_json::from_value::<SubagentForkArguments>(arguments)
        .map_err(|error| error.to_string())
        .and_then(|arguments| {
            request(&"call".into(), &context(), arguments).map_err(|trouble| trouble.to_string())
        });
    expected.assert_eq(&match found {
        Err(problem) => problem,
        Ok((request, answer)) => {
            assert_eq!(request.fork_answer.as_ref(), Some(&answer));
            let child = answer.for_child(example::session(1), example::session(0));
            let parent = answer.payload(ForkSide::Parent, example::session(1), example::session(0));
            let SpawnRequest {
                items,
                history,
                origin,
                sandbox,
                ..
            } = request;
            let text = match items.as_slice() {
                [] => "ready".to_owned(),
                [UserInput::Text { text, .. }] => format!("told {text}"),
                other => panic!("a fork has at most one text: {other:?}"),
            };
            format!(
                "{origin:?} {history:?} {sandbox:?}: {text}\n{}\n{parent}",
                child.answer
            )
        }
    });
}

#[test]
fn both_sides_are_told_which_they_are() {
    check(
        json!({"prompt": "count\nthe  words", "label": " counter ", "sandbox_mode": "readonly"}),
        expect![[r#"
            Fork All Some(ReadOnly): told count
            the  words
            {"payload":{"role":"child","child_session_id":"00000000-0000-4000-8000-000000000001","parent_session_id":"00000000-0000-4000-8000-000000000000","label":"counter","summary":"count the words","prompt":"count\nthe  words"}}
            {"role":"parent","child_session_id":"00000000-0000-4000-8000-000000000001","parent_session_id":"00000000-0000-4000-8000-000000000000","label":"counter","summary":"count the words","prompt":"count\nthe  words"}"#]],
    );
}

#[test]
fn a_fork_needs_no_prompt() {
    check(
        json!({}),
        expect![[r#"
            Fork All None: ready
            {"payload":{"role":"child","child_session_id":"00000000-0000-4000-8000-000000000001","parent_session_id":"00000000-0000-4000-8000-000000000000","label":null,"summary":null,"prompt":null}}
            {"role":"parent","child_session_id":"00000000-0000-4000-8000-000000000001","parent_session_id":"00000000-0000-4000-8000-000000000000","label":null,"summary":null,"prompt":null}"#]],
    );
    check(
        json!({"prompt": " ", "label": ""}),
        expect![[r#"
            Fork All None: ready
            {"payload":{"role":"child","child_session_id":"00000000-0000-4000-8000-000000000001","parent_session_id":"00000000-0000-4000-8000-000000000000","label":null,"summary":null,"prompt":null}}
            {"role":"parent","child_session_id":"00000000-0000-4000-8000-000000000001","parent_session_id":"00000000-0000-4000-8000-000000000000","label":null,"summary":null,"prompt":null}"#]],
    );
}

#[test]
fn what_is_not_understood_is_refused() {
    check(
        json!({"sandbox_mode": "open"}),
        expect!["unknown sandbox_mode open; use read-only, workspace-write or danger-full-access"],
    );
    check(
        json!({"message": "go"}),
        expect![
            "unknown field `message`, expected one of `prompt`, `model`, `label`, `sandbox_mode`"
        ],
    );
}
