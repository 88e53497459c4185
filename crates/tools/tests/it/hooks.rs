//! Hooks around calls, as real scripts.

use expect_test::expect;
use serde_json::{Value, json};
use troupe_protocol::EventMsg;
use troupe_protocol::approval::ReviewDecision;
use troupe_protocol::policy::ApprovalPolicy;
use troupe_tools::{ToolEvent, ToolInput};

use crate::support::{Bench, Leash};

/// What people were told of hooks, without the times.
fn told(bench: &Bench) -> Vec<String> {
    let events = bench.channel.events().into_iter();
    let lines = events.filter_map(|event| match event {
        ToolEvent::Warning(warning) | ToolEvent::HookWarning(warning) => {
            Some(format!("warning: {warning}"))
        }
        ToolEvent::Other(msg) => match *msg {
            EventMsg::BackgroundEvent(event) => {
                let (message, _) = event.message.rsplit_once(" after ").unwrap();
                Some(message.to_owned())
            }
            _ => None,
        },
        _ => None,
    });
    lines.collect()
}

#[tokio::test]
async fn a_hook_is_told_of_the_call_and_lets_it_run() {
    let bench = Bench::hooked(
        r#"
[[before_tool]]
command = ["tee", "before.json"]
matcher = "shell_*"
[[after_tool]]
command = "cat > after.json; env > after.env; echo formatted"
[[before_tool]]
command = "touch never"
matcher = "read_file"
"#,
    );
    let text = bench.shell("echo hi").await;
    assert!(text.contains("hi"), "{text}");
    assert!(!text.contains("objects"), "{text}");

    let mut before: Value = serde_json::from_str(&bench.read("before.json")).unwrap();
    assert_eq!(before["session_id"], json!(bench.context.session_id));
    before["session_id"] = "ID".into();
    before["cwd"] = "CWD".into();
    expect![[r#"{"version":1,"session_id":"ID","turn_id":"turn","cwd":"CWD","model":"model","event":"before_tool","tool":{"name":"shell_command","call_id":"call","input":{"command":"echo hi"}}}"#]].assert_eq(&before.to_string());
    let after: Value = serde_json::from_str(&bench.read("after.json")).unwrap();
    assert_eq!(after["event"], "after_tool");
    assert_eq!(after["output"]["success"], true);
    assert_eq!(after["output"]["is_cut"], false);
    assert!(after["output"]["text"].as_str().unwrap().contains("hi"));
    let environment = bench.read("after.env");
    assert!(environment.contains("GREETING=hello"), "{environment}");
    assert!(environment.contains("TROUPE_HOOK_EVENT=after_tool"));
    assert!(!environment.contains("PROVIDER="), "{environment}");
    assert!(!bench.cwd.join("never").exists());
    assert_eq!(
        told(&bench),
        [
            "hook `tee before.json`: before_tool shell_command allowed",
            "hook `cat > after.json; env > after.env; echo formatted`: after_tool shell_command allowed"
        ]
    );
}

#[tokio::test]
async fn a_refused_call_does_not_run_and_says_why() {
    for (command, hook) in [
        (
            "'echo no rm here >&2; exit 2'",
            "echo no rm here >&2; exit 2",
        ),
        (
            r#"['echo', '{"decision":"refuse","reason":"no rm here"}']"#,
            r#"echo {"decision":"refuse","reason":"no rm here"}"#,
        ),
    ] {
        let bench = Bench::hooked(&format!(
            "[[before_tool]]\ncommand = {command}\n[[before_tool]]\ncommand = 'touch second'"
        ));
        let text = bench.shell("touch ran").await;
        let expected = format!("the call was refused by the user's hook `{hook}`: no rm here");
        assert_eq!(text, expected);
        assert!(!bench.cwd.join("ran").exists());
        assert!(
            !bench.cwd.join("second").exists(),
            "the first refusal counts"
        );
        let events = bench.channel.events();
        let completed = |event: &ToolEvent| matches!(event, ToolEvent::Completed(_));
        assert!(events.iter().any(completed), "people see the call");
    }
}

#[tokio::test]
async fn an_objection_after_the_call_is_added_to_its_answer() {
    let bench = Bench::hooked("[[after_tool]]\ncommand = 'echo lint fails >&2; exit 2'");
    bench.write("a.txt", "text");
    let answer = bench.text("read_file", json!({"path": "a.txt"})).await;
    assert!(answer.contains("text"), "{answer}");
    assert!(
        answer
            .ends_with("The user's hook `echo lint fails >&2; exit 2` objects to this: lint fails"),
        "{answer}"
    );
}

#[tokio::test]
async fn a_failing_hook_is_a_warning_or_a_refusal_as_it_says() {
    let bench = Bench::hooked(
        r#"
[[before_tool]]
command = "echo broken >&2; exit 1"
[[before_tool]]
command = ["no-such-program"]
[[before_tool]]
command = "sleep 60"
timeout_sec = 0.2
"#,
    );
    let text = bench.shell("echo ran").await;
    assert!(text.contains("ran"), "{text}");
    expect![[r#"
        [
            "hook `echo broken >&2; exit 1`: before_tool shell_command failed",
            "warning: hook `echo broken >&2; exit 1` (before_tool) failed and was passed over: it exited with code 1: broken",
            "hook `no-such-program`: before_tool shell_command failed",
            "warning: hook `no-such-program` (before_tool) failed and was passed over: program `no-such-program` was not found; name an existing file or one in PATH",
            "hook `sleep 60`: before_tool shell_command failed",
            "warning: hook `sleep 60` (before_tool) failed and was passed over: no end within 0.2 s (timeout_sec)",
        ]
    "#]].assert_debug_eq(&told(&bench));

    let bench = Bench::hooked("[[before_tool]]\ncommand = 'exit 1'\non_failure = 'refuse'");
    expect![[r#"the call was refused by the user's hook `exit 1`: the hook failed, and its on_failure is "refuse": it exited with code 1"#]].assert_eq(&bench.shell("touch ran").await);
    assert!(!bench.cwd.join("ran").exists());
}

#[tokio::test]
async fn a_hook_that_talks_too_much_and_reads_nothing_is_harmless() {
    let bench = Bench::hooked("[[before_tool]]\ncommand = 'exec <&-; yes | head -c 3000000'");
    let input = ToolInput::Json(json!({"command": "x".repeat(500_000)}).to_string());
    let output = tokio::time::timeout(
        std::time::Duration::from_secs(30),
        bench.call_raw("shell_command", input),
    );
    output.await.expect("the hook ends");
}

#[tokio::test]
async fn a_hook_ends_with_the_call_that_it_runs_for() {
    let bench =
        Bench::hooked("[[before_tool]]\ncommand = 'exec 9> leash; touch begun; exec sleep 300'");
    let leash = Leash::new(&bench.cwd);
    let started = bench.start("shell_command", json!({"command": "touch ran"}));
    let gone = tokio::spawn(leash.gone());
    while !bench.cwd.join("begun").exists() {
        tokio::task::yield_now().await;
    }
    let output = started.cancelled().await;
    assert_eq!(output.text(), Some("aborted before it was run"));
    gone.await.unwrap();
    assert!(!bench.cwd.join("ran").exists());
}

#[tokio::test]
async fn a_hook_may_answer_before_a_person_is_asked() {
    let bench = Bench::hooked(
        "[[on_approval]]\ncommand = 'grep -q forbidden && { echo not this >&2; exit 2; }; exit 0'",
    )
    .approval(ApprovalPolicy::Untrusted);
    let text = bench.shell("touch forbidden").await;
    assert!(!bench.cwd.join("forbidden").exists(), "{text}");
    assert!(bench.channel.asks().is_empty(), "nobody was asked");
    let warning = told(&bench).pop().unwrap();
    assert!(
        warning.ends_with("refused what you would have been asked: not this"),
        "{warning}"
    );

    bench.channel.will_answer(ReviewDecision::Approved);
    bench.shell("touch allowed").await;
    assert!(bench.cwd.join("allowed").exists());
    assert_eq!(bench.channel.asks().len(), 1);
}
