//! Each tool says what is wrong with its arguments, and what it wants.

use expect_test::{Expect, expect};
use troupe_protocol::command::WorkStatus;
use troupe_protocol::item::TurnItem;
use troupe_tools::ToolInput;

use crate::support::Bench;

/// A missing or wrong field, and a field that does not exist.
async fn check(tool: &str, wrong: &str, unknown: &str, expect: Expect) {
    let bench = Bench::new();
    let mut answers = String::new();
    for arguments in [wrong, unknown, "not json", "{"] {
        let output = bench
            .call_raw(tool, ToolInput::Json(arguments.to_owned()))
            .await;
        assert!(!output.success);
        let text = output.text().unwrap();
        let (problem, shape) = text.split_once(". Call it again with: ").unwrap();
        if answers.is_empty() {
            answers.push_str(shape);
            answers.push('\n');
        }
        answers.push_str(problem);
        answers.push('\n');
        let TurnItem::ToolCall(item) = bench.channel.completed() else {
            panic!("a bad call is shown as a failed tool call");
        };
        assert_eq!(item.status, WorkStatus::Failed);
    }
    expect.assert_eq(&answers);
}

#[tokio::test]
async fn shell_command() {
    check(
        "shell_command",
        r#"{"command": ["ls"]}"#,
        r#"{"command": "ls", "cmd": "ls"}"#,
        expect![[r#"
            {command: string, workdir?: string, timeout_ms?: integer, sandbox_permissions?: "use_default" | "require_escalated", justification?: string}
            shell_command: field "command": invalid type: sequence, expected a string
            shell_command: field "cmd": unknown field `cmd`, expected one of `command`, `workdir`, `timeout_ms`, `sandbox_permissions`, `justification`
            shell_command: the arguments are not a JSON object
            shell_command: the arguments are not valid JSON: EOF while parsing an object at line 1 column 1
        "#]],
    )
    .await;
}

#[tokio::test]
async fn exec_command() {
    check(
        "exec_command",
        r#"{"cmd": "ls", "tty": "yes"}"#,
        r#"{"command": "ls"}"#,
        expect![[r#"
            {cmd: string, workdir?: string, tty?: boolean, yield_time_ms?: integer, max_output_tokens?: integer, sandbox_permissions?: "use_default" | "require_escalated", justification?: string}
            exec_command: field "tty": invalid type: string "yes", expected a boolean
            exec_command: field "command": unknown field `command`, expected one of `cmd`, `workdir`, `tty`, `yield_time_ms`, `max_output_tokens`, `sandbox_permissions`, `justification`
            exec_command: the arguments are not a JSON object
            exec_command: the arguments are not valid JSON: EOF while parsing an object at line 1 column 1
        "#]],
    )
    .await;
}

#[tokio::test]
async fn write_stdin() {
    check(
        "write_stdin",
        r#"{"session_id": "one"}"#,
        r#"{"session_id": 1, "text": "x"}"#,
        expect![[r#"
            {session_id: integer, chars?: string, yield_time_ms?: integer, max_output_tokens?: integer}
            write_stdin: field "session_id": invalid type: string "one", expected a whole number, 0 or more
            write_stdin: field "text": unknown field `text`, expected one of `session_id`, `chars`, `yield_time_ms`, `max_output_tokens`
            write_stdin: the arguments are not a JSON object
            write_stdin: the arguments are not valid JSON: EOF while parsing an object at line 1 column 1
        "#]],
    )
    .await;
}

#[tokio::test]
async fn apply_patch() {
    check(
        "apply_patch",
        "{}",
        r#"{"patch": "x"}"#,
        expect![[r#"
            {input: string}
            apply_patch: missing field `input`
            apply_patch: field "patch": unknown field `patch`, expected `input`
            apply_patch: the arguments are not a JSON object
            apply_patch: the arguments are not valid JSON: EOF while parsing an object at line 1 column 1
        "#]],
    )
    .await;
}

#[tokio::test]
async fn read_file() {
    check(
        "read_file",
        "{}",
        r#"{"file": "x"}"#,
        expect![[r#"
            {path: string, offset?: integer, limit?: integer}
            read_file: missing field `path`
            read_file: field "file": unknown field `file`, expected one of `path`, `offset`, `limit`
            read_file: the arguments are not a JSON object
            read_file: the arguments are not valid JSON: EOF while parsing an object at line 1 column 1
        "#]],
    )
    .await;
}

#[tokio::test]
async fn list_dir() {
    check(
        "list_dir",
        r#"{"depth": -1}"#,
        r#"{"recursive": true}"#,
        expect![[r#"
            {path?: string, depth?: integer, limit?: integer}
            list_dir: field "depth": invalid value: integer `-1`, expected a whole number, 0 or more
            list_dir: field "recursive": unknown field `recursive`, expected one of `path`, `depth`, `limit`
            list_dir: the arguments are not a JSON object
            list_dir: the arguments are not valid JSON: EOF while parsing an object at line 1 column 1
        "#]],
    )
    .await;
}

#[tokio::test]
async fn grep_files() {
    check(
        "grep_files",
        r#"{"path": "."}"#,
        r#"{"pattern": "x", "glob": "*"}"#,
        expect![[r#"
            {pattern: string, path?: string, include?: string, limit?: integer, context?: integer}
            grep_files: missing field `pattern`
            grep_files: field "glob": unknown field `glob`, expected one of `pattern`, `path`, `include`, `limit`, `context`
            grep_files: the arguments are not a JSON object
            grep_files: the arguments are not valid JSON: EOF while parsing an object at line 1 column 1
        "#]],
    )
    .await;
}

#[tokio::test]
async fn find_files() {
    check(
        "find_files",
        r#"{"pattern": 1}"#,
        r#"{"pattern": "x", "name": "y"}"#,
        expect![[r#"
            {pattern: string, path?: string, limit?: integer}
            find_files: field "pattern": invalid type: integer `1`, expected a string
            find_files: field "name": unknown field `name`, expected one of `pattern`, `path`, `limit`
            find_files: the arguments are not a JSON object
            find_files: the arguments are not valid JSON: EOF while parsing an object at line 1 column 1
        "#]],
    )
    .await;
}

#[tokio::test]
async fn view_image() {
    check(
        "view_image",
        r#"{"path": null}"#,
        r#"{"path": "a", "detail": "high"}"#,
        expect![[r#"
            {path: string}
            view_image: field "path": invalid type: null, expected a string
            view_image: field "detail": unknown field `detail`, expected `path`
            view_image: the arguments are not a JSON object
            view_image: the arguments are not valid JSON: EOF while parsing an object at line 1 column 1
        "#]],
    )
    .await;
}

#[tokio::test]
async fn request_user_input() {
    check(
        "request_user_input",
        r#"{"questions": [{"id": "a", "header": "H"}]}"#,
        r#"{"questions": [{"id": "a", "header": "H", "question": "Q?", "isSecret": true}]}"#,
        expect![[r#"
            {questions: [{id: string, header: string, question: string, options?: [{value: string, label: string, description: string}], isOther?: boolean}]}
            request_user_input: field "questions[0]": missing field `question`
            request_user_input: field "questions[0].isSecret": unknown field `isSecret`, expected one of `id`, `header`, `question`, `options`, `isOther`
            request_user_input: the arguments are not a JSON object
            request_user_input: the arguments are not valid JSON: EOF while parsing an object at line 1 column 1
        "#]],
    )
    .await;
}

#[tokio::test]
async fn update_plan() {
    check(
        "update_plan",
        r#"{"plan": [{"step": "x", "status": "done"}]}"#,
        r#"{"plan": [{"step": "x", "status": "pending", "note": ""}]}"#,
        expect![[r#"
            {plan: [{step: string, status: "pending" | "in_progress" | "completed"}], explanation?: string}
            update_plan: field "plan[0].status": unknown variant `done`, expected one of `pending`, `in_progress`, `completed`
            update_plan: field "plan[0].note": unknown field `note`, expected `step` or `status`
            update_plan: the arguments are not a JSON object
            update_plan: the arguments are not valid JSON: EOF while parsing an object at line 1 column 1
        "#]],
    )
    .await;
}
