use futures_util::future::join_all;
use serde_json::json;
use troupe_protocol::approval::ReviewDecision;
use troupe_protocol::command::{CommandSource, WorkStatus};
use troupe_protocol::policy::ApprovalPolicy;
use troupe_tools::{ApprovalQuestion, ToolEvent};

use crate::support::{Bench, Leash};

#[tokio::test]
async fn a_short_command_ends_within_its_call() {
    let bench = Bench::new();
    let text = bench
        .text("exec_command", json!({"cmd": "echo hi; exit 2"}))
        .await;
    assert_eq!(
        text,
        "Chunk ID: 000001\nWall time: {time}\nProcess exited with code 2\nOriginal token count: 1\nOutput:\nhi\n"
    );
    let item = bench.channel.command();
    assert_eq!(item.source, CommandSource::UnifiedExecStartup);
    assert_eq!((item.status, item.process_id), (WorkStatus::Failed, None));
}

#[tokio::test]
async fn a_conversation_with_a_terminal() {
    let bench = Bench::new();
    let script = "test -t 0 && echo a terminal; read -r name; echo \"hello $name\"; read -r _";
    let text = bench
        .text(
            "exec_command",
            json!({"cmd": script, "tty": true, "yield_time_ms": 250}),
        )
        .await;
    assert!(
        text.contains("Process running with session ID 1\n"),
        "{text}"
    );
    let item = bench.channel.command();
    assert_eq!(item.status, WorkStatus::InProgress);
    assert_eq!(item.process_id.as_deref(), Some("1"));
    assert_eq!(item.outcome.unwrap().exit_code, None);

    let typed = bench.start(
        "write_stdin",
        json!({"session_id": 1, "chars": "world\n", "yield_time_ms": 30000}),
    );
    bench.channel.until_output("hello world").await;
    let told = bench.channel.until(|events, _| {
        let typed = ToolEvent::TerminalInteraction {
            process_id: "1".into(),
            stdin: "world\n".into(),
        };
        events.contains(&typed)
    });
    told.await;
    // A second call beside the first one ends the command; both see its end.
    let ended = bench
        .text(
            "write_stdin",
            json!({"session_id": 1, "chars": "\n", "yield_time_ms": 30000}),
        )
        .await;
    assert!(ended.contains("Process exited with code 0\n"), "{ended}");
    let first = typed.task.await.unwrap();
    assert!(
        first
            .text()
            .unwrap()
            .contains("Process exited with code 0\n")
    );
    let gone = bench.text("write_stdin", json!({"session_id": 1})).await;
    assert_eq!(
        gone,
        "there is no session 1: no command runs in the background"
    );
}

#[tokio::test]
async fn looking_waits_for_the_end_and_shows_only_news() {
    let bench = Bench::new();
    let script = "echo first; read -r _ < gate; echo second";
    let made = std::process::Command::new("mkfifo")
        .arg(bench.cwd.join("gate"))
        .status();
    assert!(made.unwrap().success());
    let text = bench
        .text("exec_command", json!({"cmd": script, "yield_time_ms": 250}))
        .await;
    assert!(text.ends_with("Output:\nfirst\n"), "{text}");
    bench.write("gate", "\n");
    let text = bench.text("write_stdin", json!({"session_id": 1})).await;
    assert!(
        text.contains("Process exited with code 0\n") && text.ends_with("Output:\nsecond\n"),
        "{text}"
    );
    let item = bench.channel.command();
    assert_eq!(item.source, CommandSource::UnifiedExecInteraction);
}

#[tokio::test]
async fn without_a_terminal_only_ctrl_c_is_taken() {
    let bench = Bench::new();
    let script = "trap 'echo bye; exit 5' INT; echo ready; while :; do sleep 0.05; done";
    let text = bench
        .text("exec_command", json!({"cmd": script, "yield_time_ms": 250}))
        .await;
    assert!(text.contains("session ID 1"), "{text}");
    let refused = bench
        .text("write_stdin", json!({"session_id": 1, "chars": "x"}))
        .await;
    assert_eq!(
        refused,
        "the command has no terminal and takes no input except ctrl-C (\\u0003); start it again with tty: true"
    );
    let text = bench
        .text(
            "write_stdin",
            json!({"session_id": 1, "chars": "\u{3}", "yield_time_ms": 30000}),
        )
        .await;
    assert!(
        text.contains("Process exited with code 5\n") && text.ends_with("bye\n"),
        "{text}"
    );
}

#[tokio::test]
async fn cancelling_a_look_ends_the_command() {
    let bench = Bench::new();
    let leash = Leash::new(&bench.cwd);
    let scenario = async {
        let script = "exec 9> leash; echo ready; sleep 1000";
        bench
            .call("exec_command", json!({"cmd": script, "yield_time_ms": 250}))
            .await;
        bench.channel.events();
        let looking = bench.start("write_stdin", json!({"session_id": 1}));
        bench.channel.until(|events, _| !events.is_empty()).await;
        looking.cancelled().await
    };
    let (output, ()) = tokio::join!(scenario, leash.gone());
    assert!(output.text().unwrap().contains("Process aborted after "));
    assert_eq!(bench.channel.command().status, WorkStatus::Failed);
}

#[tokio::test]
async fn background_commands_end_with_the_session() {
    let bench = Bench::new();
    let leash = Leash::new(&bench.cwd);
    let scenario = async {
        let script = "exec 9> leash; sleep 1000 & sleep 1000";
        bench
            .call("exec_command", json!({"cmd": script, "yield_time_ms": 250}))
            .await;
        bench.registry.shutdown().await;
    };
    tokio::join!(scenario, leash.gone());
    let text = bench.text("write_stdin", json!({"session_id": 1})).await;
    assert!(text.starts_with("there is no session 1"), "{text}");
}

#[tokio::test]
async fn dropping_the_registry_ends_them_too() {
    let bench = Bench::new();
    let leash = Leash::new(&bench.cwd);
    let scenario = async {
        let script = "exec 9> leash; sleep 1000 & sleep 1000";
        bench
            .call("exec_command", json!({"cmd": script, "yield_time_ms": 250}))
            .await;
        drop(bench);
    };
    tokio::join!(scenario, leash.gone());
}

#[tokio::test]
async fn there_is_an_end_to_background_commands() {
    let bench = Bench::new();
    let start = || {
        bench.call(
            "exec_command",
            json!({"cmd": "sleep 1000", "yield_time_ms": 250}),
        )
    };
    join_all((0..64).map(|_| start())).await;
    bench.channel.events();
    start().await;
    let warned = bench.channel.events().iter().any(|event| {
        matches!(event, ToolEvent::Warning(text) if text.starts_with("too many commands run in the background: ended session "))
    });
    assert!(warned);
    bench.registry.shutdown().await;
}

/// Who let the command out has not seen what is typed into it.
#[tokio::test]
async fn what_is_typed_into_a_command_outside_of_the_sandbox_is_asked_for() {
    let bench = Bench::new();
    bench.channel.will_answer(ReviewDecision::Approved);
    let begin = json!({
        "cmd": "bash --norc",
        "tty": true,
        "yield_time_ms": 250,
        "sandbox_permissions": "require_escalated",
        "justification": "May I open a shell?",
    });
    bench.text("exec_command", begin).await;
    assert_eq!(bench.channel.asks().len(), 1);
    let file = bench.outside.join("file");
    let chars = format!("touch {}; exit\n", file.display());
    let typing = json!({"session_id": 1, "chars": chars, "yield_time_ms": 30000});
    bench.channel.will_answer(ReviewDecision::Denied);
    let refused = bench.text("write_stdin", typing.clone()).await;
    assert!(refused.starts_with("not approved"), "{refused}");
    let asks = bench.channel.asks();
    let [ApprovalQuestion::Exec(request)] = asks.as_slice() else {
        panic!("{asks:?}");
    };
    assert_eq!(request.command, ["write_stdin", "1", &chars]);
    assert!(request.outside_sandbox);
    let lasting = [
        ReviewDecision::ApprovedForSession,
        ReviewDecision::ApprovedAlways,
    ];
    assert!(
        !lasting
            .iter()
            .any(|it| request.available_decisions.contains(it))
    );
    assert!(!file.exists());
    // Looking is not typing.
    bench.text("write_stdin", json!({"session_id": 1})).await;
    assert!(bench.channel.asks().is_empty());
    let bench = bench.approval(ApprovalPolicy::Never);
    let refused = bench.text("write_stdin", typing.clone()).await;
    assert!(refused.starts_with("refused: "), "{refused}");
    let bench = bench.approval(ApprovalPolicy::OnRequest);
    bench.channel.will_answer(ReviewDecision::Approved);
    let ended = bench.text("write_stdin", typing).await;
    assert!(ended.contains("Process exited with code 0"), "{ended}");
    assert!(file.exists());
}
