use expect_test::{Expect, expect};

use crate::tests::example;
use crate::{Op, Submission};

examples! { Op:
    Op::ConfigureSession(_) =>
        r#"{"type":"configure_session","cwd":"/repo","approval_policy":"on-request","sandbox_policy":{"type":"workspace-write","writable_roots":["/cache"],"network_access":false,"exclude_tmpdir_env_var":false,"exclude_slash_tmp":false},"model":"m-1","effort":"high","summary":"concise","collaboration_mode":"plan","personality":"pragmatic","model_provider":"openai","base_instructions":"Be brief.","fork":{"session_id":"67e55044-10b1-426f-9247-bb680e5fe0c8","last_response_id":"resp_1"},"source":"exec","ephemeral":true}"#,
    Op::UserInput { .. } =>
        r#"{"type":"user_input","items":[{"type":"text","text":"hello"},{"type":"image","image_url":"data:image/png;base64,AA==","detail":"low"}],"last_response_id":"resp_1"}"#,
    Op::UserTurn { .. } =>
        r#"{"type":"user_turn","items":[{"type":"text","text":"see [file]","text_elements":[{"byte_range":{"start":4,"end":10},"placeholder":"file"}]},{"type":"local_image","path":"/a.png"},{"type":"skill","name":"s","path":"/s/SKILL.md"},{"type":"mention","name":"m","path":"app://m"}],"cwd":"/repo","approval_policy":"never","sandbox_policy":{"type":"read-only","network_access":false},"model":"m-1","final_output_json_schema":{"type":"object"},"last_response_id":"resp_1"}"#,
    Op::InjectItems { .. } =>
        r#"{"type":"inject_items","items":[{"type":"message","role":"developer","content":[{"type":"input_text","text":"note"}]}]}"#,
    Op::Steer { .. } =>
        r#"{"type":"steer","items":[{"type":"text","text":"also the tests"}]}"#,
    Op::Interrupt =>
        r#"{"type":"interrupt"}"#,
    Op::OverrideTurnContext { .. } =>
        r#"{"type":"override_turn_context","sandbox_policy":{"type":"danger-full-access"},"effort":"xhigh"}"#,
    Op::ExecApproval { .. } =>
        r#"{"type":"exec_approval","id":"call_1","decision":"approved_always"}"#,
    Op::PatchApproval { .. } =>
        r#"{"type":"patch_approval","id":"call_1","decision":"approved_for_session"}"#,
    Op::UserInputAnswer { .. } =>
        r#"{"type":"user_input_answer","id":"call_1","response":{"answers":{"colour":{"selected":["red"],"other":"dark"}}}}"#,
    Op::ResolveElicitation { .. } =>
        r#"{"type":"resolve_elicitation","server_name":"s","request_id":"7","decision":"accept","content":{"name":"x"}}"#,
    Op::RunUserShellCommand { .. } =>
        r#"{"type":"run_user_shell_command","command":"ls -l"}"#,
    Op::Compact =>
        r#"{"type":"compact"}"#,
    Op::ThreadRollback { .. } =>
        r#"{"type":"thread_rollback","num_turns":2}"#,
    Op::SetThreadName { .. } =>
        r#"{"type":"set_thread_name","name":"parser"}"#,
    Op::SetThreadNote { .. } =>
        r#"{"type":"set_thread_note","note":""}"#,
    Op::Review { .. } =>
        r#"{"type":"review","review_request":{"target":{"type":"baseBranch","branch":"main"},"user_facing_hint":"against main"}}"#,
    Op::ListSkills { .. } =>
        r#"{"type":"list_skills","cwds":["/repo"],"force_reload":true}"#,
    Op::ListModels { .. } =>
        r#"{"type":"list_models","refresh":true}"#,
    Op::ListMcpTools =>
        r#"{"type":"list_mcp_tools"}"#,
    Op::RefreshMcpServers =>
        r#"{"type":"refresh_mcp_servers"}"#,
    Op::Undo(_) =>
        r#"{"type":"undo","num_turns":2,"dry_run":true,"redo":true}"#,
    Op::Shutdown =>
        r#"{"type":"shutdown"}"#,
}

/// Shows an op as we write it, or why it was not read.
fn check(line: &str, expected: Expect) {
    let shown = match serde_json::from_str::<Op>(line) {
        Ok(op) => serde_json::to_string(&op).unwrap(),
        Err(error) => format!("error: {}", example::first_words(&error)),
    };
    expected.assert_eq(&shown);
}

#[test]
fn tags_are_snake_case() {
    for tag in example::tags(LINES) {
        assert!(
            tag.bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte == b'_'),
            "{tag}"
        );
    }
}

#[test]
fn a_submission_is_an_id_and_an_op() {
    let submission: Submission = example::round_trip(r#"{"id":"1","op":{"type":"interrupt"}}"#);
    assert_eq!(
        (submission.id.as_str(), submission.op),
        ("1", Op::Interrupt)
    );
}

#[test]
fn an_effort_of_null_is_kept_apart_from_none_at_all() {
    check(
        r#"{"type":"user_turn","items":[],"effort":null}"#,
        expect![[r#"{"type":"user_turn","items":[],"effort":null}"#]],
    );
}

#[test]
fn what_is_absent_or_null_stays_as_it_is() {
    check(
        r#"{"type":"configure_session"}"#,
        expect![[r#"{"type":"configure_session"}"#]],
    );
    check(
        r#"{"type":"user_turn","items":[]}"#,
        expect![[r#"{"type":"user_turn","items":[]}"#]],
    );
    check(
        r#"{"type":"user_turn","items":[],"cwd":null,"sandbox_policy":null,"last_response_id":null,"final_output_json_schema":null}"#,
        expect![[r#"{"type":"user_turn","items":[]}"#]],
    );
    check(
        r#"{"type":"list_skills"}"#,
        expect![[r#"{"type":"list_skills","cwds":[],"force_reload":false}"#]],
    );
    check(
        r#"{"type":"override_turn_context","sandbox_policy":{"type":"workspace-write"}}"#,
        expect![[
            r#"{"type":"override_turn_context","sandbox_policy":{"type":"workspace-write","writable_roots":[],"network_access":false,"exclude_tmpdir_env_var":false,"exclude_slash_tmp":false}}"#
        ]],
    );
    check(
        r#"{"type":"override_turn_context","sandbox_policy":{"type":"read-only"}}"#,
        expect![[
            r#"{"type":"override_turn_context","sandbox_policy":{"type":"read-only","network_access":false}}"#
        ]],
    );
}

#[test]
fn older_names_are_read_and_newer_ones_written() {
    check(
        r#"{"type":"request_user_input_response","id":"call_1","response":{"answers":{}}}"#,
        expect![[r#"{"type":"user_input_answer","id":"call_1","response":{"answers":{}}}"#]],
    );
    check(
        r#"{"type":"exec_approval","id":"call_1","decision":"allow"}"#,
        expect![[r#"{"type":"exec_approval","id":"call_1","decision":"approved"}"#]],
    );
    check(
        r#"{"type":"patch_approval","id":"call_1","decision":"deny"}"#,
        expect![[r#"{"type":"patch_approval","id":"call_1","decision":"denied"}"#]],
    );
    check(
        r#"{"type":"override_turn_context","collaboration_mode":"pair_programming"}"#,
        expect![[r#"{"type":"override_turn_context","collaboration_mode":"default"}"#]],
    );
    check(
        r#"{"type":"list_models"}"#,
        expect![[r#"{"type":"list_models","refresh":false}"#]],
    );
}

#[test]
fn every_setting_of_a_turn_is_read_beside_its_items() {
    let line = r#"{"type":"user_turn","items":[],"cwd":"/c","approval_policy":"untrusted","sandbox_policy":{"type":"danger-full-access"},"model":"m","effort":"none","summary":"none","collaboration_mode":"plan","personality":"none","last_response_id":"r"}"#;
    example::round_trip::<Op>(line);
}

#[test]
fn a_mode_is_a_name_or_comes_with_settings() {
    example::round_trip::<Op>(
        r#"{"type":"override_turn_context","collaboration_mode":{"mode":"plan","settings":{"model":"m","reasoning_effort":"high","developer_instructions":"Plan in verse."}}}"#,
    );
    check(
        r#"{"type":"override_turn_context","collaboration_mode":{"mode":"plan","settings":{"model":null,"colour":"red"}}}"#,
        expect![[
            r#"{"type":"override_turn_context","collaboration_mode":{"mode":"plan","settings":{}}}"#
        ]],
    );
    check(
        r#"{"type":"override_turn_context","collaboration_mode":{"mode":"plan"}}"#,
        expect![[
            r#"{"type":"override_turn_context","collaboration_mode":{"mode":"plan","settings":{}}}"#
        ]],
    );
}

#[test]
fn a_wrong_setting_is_an_error_and_not_left_out() {
    check(
        r#"{"type":"user_turn","items":[],"collaboration_mode":"planning"}"#,
        expect!["error: unknown variant `planning`"],
    );
    check(
        r#"{"type":"user_turn","items":[],"collaboration_mode":{"mode":"planning"}}"#,
        expect!["error: unknown variant `planning`"],
    );
    check(
        r#"{"type":"user_turn","items":[],"collaboration_mode":3}"#,
        expect![
            "error: invalid type: integer `3`, expected the name of a mode, or an object with `mode` and `settings`"
        ],
    );
    check(
        r#"{"type":"user_turn","items":[],"effort":"huge"}"#,
        expect!["error: unknown variant `huge`"],
    );
    check(
        r#"{"type":"user_turn","items":[],"model":7}"#,
        expect!["error: invalid type: integer `7`, expected a string"],
    );
    check(
        r#"{"type":"user_turn","items":[],"approval_policy":"always"}"#,
        expect!["error: unknown variant `always`"],
    );
    check(
        r#"{"type":"user_turn","items":[],"sandbox_policy":{"type":"read-write"}}"#,
        expect!["error: unknown variant `read-write`"],
    );
    check(
        r#"{"type":"configure_session","resume":"not-an-id"}"#,
        expect!["error: UUID parsing failed: invalid character: found `n` at 0"],
    );
    check(
        r#"{"type":"thread_rollback","num_turns":-1}"#,
        expect!["error: invalid value: integer `-1`, expected u32"],
    );
}

#[test]
fn an_unknown_type_is_an_error() {
    check(r#"{"type":"fly"}"#, expect!["error: unknown variant `fly`"]);
    check(
        r#"{"type":"UserTurn","items":[]}"#,
        expect!["error: unknown variant `UserTurn`"],
    );
    check(
        r#"{"items":[]}"#,
        expect!["error: missing field `type` at line 1 column 12"],
    );
    check(
        r#"{"type":null}"#,
        expect!["error: invalid type: null, expected variant identifier at line 1 column 12"],
    );
    check(
        r#""interrupt""#,
        expect![[
            r#"error: invalid type: string "interrupt", expected internally tagged enum Op at line 1 column 11"#
        ]],
    );
}
