use std::fmt::Debug;

use expect_test::{Expect, expect};
use troupe_protocol::{Event, Submission};

use super::{QueueMessage, decode, too_long};

fn check_as<T: QueueMessage + Debug>(line: impl AsRef<[u8]>, expected: Expect) {
    let shown = match decode::<T>(line.as_ref()) {
        Ok(message) => format!("{message:?}"),
        Err(refusal) => {
            let id = refusal.id.map_or("-".to_owned(), |id| id.0);
            format!("{id} | {}", refusal.message)
        }
    };
    expected.assert_eq(&shown);
}

fn check(line: impl AsRef<[u8]>, expected: Expect) {
    check_as::<Submission>(line, expected);
}

#[test]
fn a_submission_is_read() {
    check(
        r#"{"id":"1","op":{"type":"interrupt"}}"#,
        expect![[r#"Submission { id: SubmissionId("1"), op: Interrupt }"#]],
    );
    check(
        "  {\"op\":{\"later\":1,\"type\":\"interrupt\"},\"id\":\"1\",\"new\":[]}\r",
        expect![[r#"Submission { id: SubmissionId("1"), op: Interrupt }"#]],
    );
}

#[test]
fn what_is_not_json_is_refused_with_its_place() {
    check("hello", expect!["- | submission is not a JSON object"]);
    check(
        r#"{"id":"1","op":{"type":"interrupt"}"#,
        expect!["1 | submission is not JSON: EOF while parsing an object at column 35"],
    );
    check(
        r#"{"id":"1","op":{"type":"interrupt"}} {}"#,
        expect!["1 | submission is not JSON: trailing characters at column 38"],
    );
    check(
        b"{\"id\":\"1\",\"op\":\"\xff\"}",
        expect!["1 | submission is not UTF-8 at column 17"],
    );
    check(
        "{\"id\":\"1\",\"op\":\"\0\"}",
        expect!["1 | submission contains a NUL byte at column 17"],
    );
    check(
        r#"{"id":"\ud800","op":{"type":"interrupt"}}"#,
        expect!["- | submission is not JSON: unexpected end of hex escape at column 14"],
    );
}

#[test]
fn deep_nesting_is_refused() {
    let deep = |depth: usize| {
        let (open, close) = ("[".repeat(depth), "]".repeat(depth));
        format!(r#"{{"op":{{"type":"steer","items":{open}{close}}},"id":"1"}}"#)
    };
    check(
        deep(200),
        expect!["1 | submission is nested too deeply at column 156"],
    );
    check(
        deep(200_000),
        expect!["1 | submission is nested too deeply at column 156"],
    );
}

#[test]
fn an_unknown_type_is_named() {
    check(
        r#"{"id":"1","op":{"type":"usr_turn","items":[]}}"#,
        expect!["1 | submission has an unknown type `usr_turn`; did you mean `user_turn`?"],
    );
    check(
        r#"{"id":"1","op":{"type":"fly_to_the_moon"}}"#,
        expect![
            "1 | submission has an unknown type `fly_to_the_moon`; known types: configure_session, user_input, user_turn, steer, inject_items, interrupt, override_turn_context, exec_approval, patch_approval, request_user_input_response, user_input_answer, resolve_elicitation, run_user_shell_command, compact, thread_rollback, set_thread_name, set_thread_note, review, list_skills, list_models, list_mcp_tools, refresh_mcp_servers, undo, shutdown"
        ],
    );
    check(
        format!(
            r#"{{"id":"1","op":{{"type":"{}"}}}}"#,
            "x".repeat(1_000_000)
        ),
        expect![
            "1 | submission has an unknown type `xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…`; known types: configure_session, user_input, user_turn, steer, inject_items, interrupt, override_turn_context, exec_approval, patch_approval, request_user_input_response, user_input_answer, resolve_elicitation, run_user_shell_command, compact, thread_rollback, set_thread_name, set_thread_note, review, list_skills, list_models, list_mcp_tools, refresh_mcp_servers, undo, shutdown"
        ],
    );
}

#[test]
fn a_missing_or_wrong_field_is_named() {
    check("{}", expect!["- | submission: missing field `id`"]);
    check("[]", expect!["- | submission is not a JSON object"]);
    check("7", expect!["- | submission is not a JSON object"]);
    check(
        r#"{"id":"1"}"#,
        expect!["1 | submission: missing field `op`"],
    );
    check(
        r#"{"id":"1","op":"interrupt"}"#,
        expect![[
            r#"1 | submission field `op`: invalid type: string "interrupt", expected internally tagged enum Op"#
        ]],
    );
    check(
        r#"{"id":"1","op":{}}"#,
        expect!["1 | submission field `op`: missing field `type`"],
    );
    check(
        r#"{"id":"1","op":{"type":7}}"#,
        expect![
            "1 | submission field `op`: invalid type: integer `7`, expected variant identifier"
        ],
    );
    check(
        r#"{"id":7,"op":{"type":"interrupt"}}"#,
        expect!["- | submission field `id`: invalid type: integer `7`, expected a string"],
    );
    check(
        r#"{"id":"1","id":"2","op":{"type":"interrupt"}}"#,
        expect!["2 | submission: duplicate field `id`"],
    );
    check(
        r#"{"id":"1","op":{"type":"user_input"}}"#,
        expect!["1 | submission field `op`: missing field `items`"],
    );
    check(
        r#"{"id":"1","op":{"type":"user_input","items":[{"type":"text","text":"a"},{"type":"text","text":5}]}}"#,
        expect![
            "1 | submission field `op.items[1].text`: invalid type: integer `5`, expected a string"
        ],
    );
    check(
        r#"{"id":"1","op":{"type":"user_input","items":[{"type":"text"}]}}"#,
        expect!["1 | submission field `op.items[0]`: missing field `text`"],
    );
    check(
        r#"{"id":"1","op":{"type":"user_input","items":[{"type":"smell"}]}}"#,
        expect![
            "1 | submission field `op.items[0]`: unknown variant `smell`, expected one of `text`, `image`, `local_image`, `skill`, `mention`"
        ],
    );
    check(
        r#"{"id":"1","op":{"type":"user_turn","items":[],"approval_policy":"always"}}"#,
        expect![
            "1 | submission field `op.approval_policy`: unknown variant `always`, expected one of `untrusted`, `on-failure`, `on-request`, `never`"
        ],
    );
    check(
        r#"{"id":"1","op":{"type":"thread_rollback","num_turns":99999999999}}"#,
        expect![
            "1 | submission field `op.num_turns`: invalid value: integer `99999999999`, expected u32"
        ],
    );
    check(
        r#"{"id":"1","op":{"type":"configure_session","resume":"not-a-uuid"}}"#,
        expect![
            "1 | submission field `op.resume`: UUID parsing failed: invalid character: found `n` at 0"
        ],
    );
}

#[test]
fn a_large_bad_submission_is_refused_without_looking_closer() {
    let filler = "x".repeat(100_000);
    check(
        format!(r#"{{"id":"1","op":{{"type":"set_thread_name","name":5,"filler":"{filler}"}}}}"#),
        expect!["1 | submission: invalid type: integer `5`, expected a string"],
    );
    let fields: Vec<String> = (0..2000).map(|n| format!(r#""f{n:04}":1"#)).collect();
    check(
        format!(
            r#"{{"id":"1","op":{{"type":"set_thread_name",{},"name":5}}}}"#,
            fields.join(",")
        ),
        expect!["1 | submission field `op`: invalid type: integer `5`, expected a string"],
    );
}

#[test]
fn an_id_that_events_could_not_carry_is_refused() {
    let id = "x".repeat(257);
    check(
        format!(r#"{{"id":"{id}","op":{{"type":"interrupt"}}}}"#),
        expect!["- | submission id is longer than 256 bytes"],
    );
}

#[test]
fn events_are_read_and_refused_in_the_same_way() {
    check_as::<Event>(
        r#"{"id":"1","seq":4,"msg":{"type":"turn_started","turn_id":"1","started_at_ms":0}}"#,
        expect![[
            r#"Event { id: SubmissionId("1"), seq: 4, msg: TurnStarted(TurnStarted { turn_id: SubmissionId("1"), started_at_ms: 0, model_context_window: None, collaboration_mode_kind: Default }) }"#
        ]],
    );
    check_as::<Event>(
        r#"{"id":"1","msg":{"type":"warnin","message":"a"}}"#,
        expect!["1 | event has an unknown type `warnin`; did you mean `warning`?"],
    );
    check_as::<Event>(
        r#"{"id":"1","msg":{"type":"warning"}}"#,
        expect!["1 | event field `msg`: missing field `message`"],
    );
}

#[test]
fn the_head_of_an_overlong_line_may_tell_its_id() {
    let check = |head: &str, expected: Expect| {
        let refusal = too_long::<Submission>(head.as_bytes(), 8);
        expected.assert_eq(&format!("{:?} {}", refusal.id, refusal.message));
    };
    check(
        r#"{"id":"1","op":{"type":"st"#,
        expect![[r#"Some(SubmissionId("1")) submission is longer than 8 bytes"#]],
    );
    check(
        r#"{"op":{"type":"steer","it"#,
        expect!["None submission is longer than 8 bytes"],
    );
    check(
        "xxxxxxxx",
        expect!["None submission is longer than 8 bytes"],
    );
}
