use expect_test::expect;
use serde_json::json;
use troupe_process::BackendChoice;
use troupe_protocol::approval::ReviewDecision;
use troupe_protocol::command::{OutputStream, WorkStatus};
use troupe_protocol::policy::{ApprovalPolicy, SandboxPolicy};
use troupe_tools::{ApprovalQuestion, ToolEvent};

use crate::support::{Bench, Leash, output_of};

#[tokio::test]
async fn a_command_is_run_shown_and_answered() {
    let bench = Bench::new();
    let text = bench.shell("echo out; exit 3").await;
    expect![[r"
        Exit code: 3
        Wall time: {time}
        Output:
        out
    "]]
    .assert_eq(&text);
    let item = bench.channel.command();
    assert_eq!(item.status, WorkStatus::Failed);
    assert_eq!(item.command[1..], ["-c", "echo out; exit 3"]);
    let outcome = item.outcome.unwrap();
    assert_eq!(outcome.exit_code, Some(3));
    assert_eq!((&*outcome.stdout, &*outcome.stderr), ("out\n", ""));
    assert!(outcome.formatted_output.ends_with("Output:\nout\n"));
}

#[tokio::test]
async fn both_streams_are_told_apart_and_shown_together() {
    let bench = Bench::new();
    let text = bench.shell("echo out; echo err >&2").await;
    let outcome = bench.channel.command().outcome.unwrap();
    assert_eq!((&*outcome.stdout, &*outcome.stderr), ("out\n", "err\n"));
    // Two pipes have no order between them.
    for shown in [&text, &outcome.aggregated_output] {
        assert!(
            shown.contains("out\n") && shown.contains("err\n"),
            "{shown}"
        );
    }
}

#[tokio::test]
async fn output_is_streamed_as_it_comes() {
    let bench = Bench::new();
    let script = "echo first; read -r line < gate; echo second";
    let status = std::process::Command::new("mkfifo")
        .arg(bench.cwd.join("gate"))
        .status();
    assert!(status.unwrap().success());
    let running = bench.start("shell_command", json!({"command": script}));
    bench.channel.until_output("first\n").await;
    assert!(!output_of(&bench.channel.events()).contains("second"));
    bench.write("gate", "go\n");
    let output = running.task.await.unwrap();
    assert!(output.success);
    assert!(output_of(&bench.channel.events()).contains("second"));
}

#[tokio::test]
async fn a_signal_is_an_exit_code_as_in_a_shell() {
    let bench = Bench::new();
    assert!(
        bench
            .shell("kill -SEGV $$")
            .await
            .starts_with("Exit code: 139\n")
    );
}

#[tokio::test]
async fn a_command_that_takes_too_long_is_killed() {
    let bench = Bench::new();
    let leash = Leash::new(&bench.cwd);
    let script = "exec 9> leash; echo before; sleep 1000 & sleep 1000";
    let call = bench.call(
        "shell_command",
        json!({"command": script, "timeout_ms": 300}),
    );
    let (output, ()) = tokio::join!(call, leash.gone());
    let text = bench.normal(output.text().unwrap());
    let (head, tail) = text.split_once("command timed out after ").unwrap();
    assert_eq!(head, "Exit code: 124\nWall time: {time}\nOutput:\n");
    assert!(tail.ends_with(" milliseconds\nbefore\n"), "{tail}");
    assert_eq!(bench.channel.command().status, WorkStatus::Failed);
}

#[tokio::test]
async fn a_command_that_never_stops_writing_is_killed_too() {
    let bench = Bench::new();
    let text = bench
        .text(
            "shell_command",
            json!({"command": "yes", "timeout_ms": 300}),
        )
        .await;
    assert!(text.starts_with("Exit code: 124\n"), "{}", &text[..100]);
    let running = bench.start("shell_command", json!({"command": "yes no"}));
    bench.channel.until_output("no\n").await;
    assert!(!running.cancelled().await.success);
}

#[tokio::test]
async fn a_command_that_floods_us_is_ended_and_told() {
    let bench = Bench::new();
    let call = json!({"command": "yes", "timeout_ms": 600_000});
    let text = bench.text("shell_command", call).await;
    assert!(text.starts_with("Exit code: 143\n"), "{}", &text[..200]);
    let told = "the command was ended: it had written more than 256 MiB";
    assert!(text.contains(told), "{}", &text[text.len() - 300..]);
    let shown = bench.channel.command().outcome.unwrap().aggregated_output;
    assert!(shown.contains(told));
}

#[tokio::test]
async fn a_cancelled_command_is_killed_and_keeps_what_it_wrote() {
    let bench = Bench::new();
    let leash = Leash::new(&bench.cwd);
    let script = "exec 9> leash; echo before; sleep 1000 & sleep 1000";
    let running = bench.start("shell_command", json!({"command": script}));
    let cancelled = async {
        bench.channel.until_output("before\n").await;
        running.cancelled().await
    };
    let (output, ()) = tokio::join!(cancelled, leash.gone());
    assert!(!output.success);
    let text = output.text().unwrap();
    assert!(text.contains("aborted after "), "{text}");
    assert!(text.ends_with("before\n"), "{text}");
    assert_eq!(bench.channel.command().status, WorkStatus::Failed);
}

#[tokio::test]
async fn long_output_is_cut_in_the_middle_and_said_so() {
    let bench = Bench::new();
    let text = bench.shell("seq 1 400000").await;
    assert!(
        text.contains("Total output lines: 400000\n"),
        "{}",
        &text[..200]
    );
    assert!(text.contains(" tokens truncated…"));
    assert!(text.contains("Output:\n1\n2\n3\n") && text.ends_with("\n399999\n400000\n"));
    assert!(text.len() < 41_000, "{}", text.len());
    let events = bench.channel.events();
    let longest = events.iter().map(|event| match event {
        ToolEvent::Output { bytes, .. } => bytes.len(),
        _ => 0,
    });
    assert!(longest.max().unwrap() <= 8 * 1024);
    let last = events.into_iter().next_back().unwrap();
    let ToolEvent::Completed(troupe_protocol::TurnItem::CommandExecution(item)) = last else {
        panic!("the item is completed last");
    };
    let kept = item.outcome.unwrap().aggregated_output;
    assert!(kept.len() < 1_100_000 && kept.contains(" bytes omitted …"));
}

#[tokio::test]
async fn output_need_not_be_text() {
    let bench = Bench::new();
    let text = bench.shell(r"printf 'a\xff\x00b\n'").await;
    assert!(text.ends_with("a\u{fffd}\0b\n"), "{text:?}");
    let bytes = bench
        .channel
        .events()
        .into_iter()
        .find_map(|event| match event {
            ToolEvent::Output {
                bytes,
                stream: OutputStream::Stdout,
            } => Some(bytes),
            _ => None,
        });
    assert_eq!(&bytes.unwrap()[..], b"a\xff\0b\n");
}

#[tokio::test]
async fn what_is_left_in_the_background_is_ended_and_said() {
    let bench = Bench::new();
    let leash = Leash::new(&bench.cwd);
    let call = bench.shell("sleep 1000 > leash & echo started");
    let (text, ()) = tokio::join!(call, leash.gone());
    assert!(
        text.contains("Background: what the command left running was ended"),
        "{text}"
    );
}

#[tokio::test]
async fn secrets_stay_out_and_the_sandbox_is_told() {
    let bench = Bench::new();
    let script = "echo \"$GREETING|$PROVIDER|$GITHUB_TOKEN|$TERM|$GIT_PAGER|$TROUPE_SANDBOX|$TROUPE_SANDBOX_NETWORK_DISABLED\"";
    let text = bench.shell(script).await;
    assert!(
        text.ends_with("Output:\nhello|||dumb|cat|workspace-write|1\n"),
        "{text}"
    );
}

#[tokio::test]
async fn a_command_runs_where_it_is_told() {
    let bench = Bench::new();
    bench.write("sub/file", "");
    let ran = bench
        .text(
            "shell_command",
            json!({"command": "pwd; ls", "workdir": "sub"}),
        )
        .await;
    assert!(ran.ends_with("Output:\n{cwd}/sub\nfile\n"), "{ran}");
    let missing = bench
        .text("shell_command", json!({"command": "ls", "workdir": "no"}))
        .await;
    expect!["cannot run in workdir {cwd}/no: No such file or directory (os error 2)"]
        .assert_eq(&missing);
    let file = bench
        .text(
            "shell_command",
            json!({"command": "ls", "workdir": "sub/file"}),
        )
        .await;
    expect!["cannot run in workdir {cwd}/sub/file: it is not a directory"].assert_eq(&file);
}

#[tokio::test]
async fn the_sandbox_holds_commands_to_the_workspace() {
    let bench = Bench::new();
    let script = format!(
        "echo in > inside; echo out > {}/file",
        bench.outside.display()
    );
    let text = bench.shell(&script).await;
    assert!(!text.starts_with("Exit code: 0"), "{text}");
    assert_eq!(bench.read("inside"), "in\n");
    assert!(!bench.outside.join("file").exists());
    assert!(bench.channel.asks().is_empty());
}

#[tokio::test]
async fn untrusted_asks_for_what_is_not_known_to_be_safe() {
    let bench = Bench::new().approval(ApprovalPolicy::Untrusted);
    assert!(bench.shell("ls").await.starts_with("Exit code: 0"));
    assert!(bench.channel.asks().is_empty());

    bench.channel.events();
    bench.channel.will_answer(ReviewDecision::Denied);
    let text = bench.shell("touch new").await;
    expect!["not approved (the user said no, or nobody was there to ask): the command was not run; do not try it again by other means, go on without it or say what you need it for"].assert_eq(&text);
    assert!(!bench.cwd.join("new").exists());
    let item = bench.channel.command();
    assert_eq!((item.status, item.outcome), (WorkStatus::Declined, None));
    let [ApprovalQuestion::Exec(ask)] = &bench.channel.asks()[..] else {
        panic!("one command is asked for");
    };
    assert_eq!(ask.command.last().unwrap(), "touch new");
    assert_eq!(ask.cwd, bench.cwd);
}

#[tokio::test]
async fn what_was_approved_for_the_session_is_not_asked_again() {
    let bench = Bench::new().approval(ApprovalPolicy::Untrusted);
    bench
        .channel
        .will_answer(ReviewDecision::ApprovedForSession);
    assert!(bench.shell("touch new").await.starts_with("Exit code: 0"));
    assert!(bench.shell("touch new").await.starts_with("Exit code: 0"));
    assert_eq!(bench.channel.asks().len(), 1);
    // Another command is another question, and a plain approval holds once.
    for _ in 0..2 {
        bench.channel.will_answer(ReviewDecision::Approved);
        assert!(bench.shell("touch other").await.starts_with("Exit code: 0"));
    }
    assert_eq!(bench.channel.asks().len(), 2);
}

/// The words stay the same while what they run is rewritten, by a command in the background too,
/// after whatever was compared.
#[tokio::test]
async fn a_command_that_runs_files_of_the_tree_is_asked_for_each_time_outside_of_the_sandbox() {
    let bench = Bench::new();
    std::fs::write(bench.cwd.join("lib.sh"), "true\n").unwrap();
    std::fs::write(bench.cwd.join("build.sh"), ". ./lib.sh\n").unwrap();
    std::fs::write(bench.cwd.join("plain.sh"), "echo plain\n").unwrap();
    for command in [
        "bash ./build.sh",
        "bash ./plain.sh",
        "make --version",
        ". ./lib.sh",
    ] {
        let build = json!({
            "command": command,
            "sandbox_permissions": "require_escalated",
            "justification": "May I build?",
        });
        for _ in 0..2 {
            // Also a client that says more than was offered has said it once.
            bench
                .channel
                .will_answer(ReviewDecision::ApprovedForSession);
            bench.text("shell_command", build.clone()).await;
            let asks = bench.channel.asks();
            let [ApprovalQuestion::Exec(request)] = asks.as_slice() else {
                panic!("{command}: {asks:?}");
            };
            let offered = &request.available_decisions;
            assert!(!offered.contains(&ReviewDecision::ApprovedForSession));
            assert!(!offered.contains(&ReviewDecision::ApprovedAlways));
            let shown = request.in_full();
            assert!(shown.contains("asked for each time"), "{shown}");
        }
    }
}

#[tokio::test]
async fn a_question_ends_with_its_call() {
    let bench = Bench::new().approval(ApprovalPolicy::Untrusted);
    let waiting = bench.start("shell_command", json!({"command": "touch new"}));
    bench.channel.until(|_, asks| !asks.is_empty()).await;
    let output = waiting.cancelled().await;
    assert!(output.text().unwrap().starts_with("aborted after "));
    let is_shown =
        |event: &ToolEvent| matches!(event, ToolEvent::Started(_) | ToolEvent::Completed(_));
    assert!(
        !bench.channel.events().iter().any(is_shown),
        "it never began"
    );
}

#[tokio::test]
async fn only_a_person_lets_a_command_out_of_the_sandbox() {
    let bench = Bench::new();
    let file = bench.outside.join("file");
    let arguments = json!({
        "command": format!("echo out > {}", file.display()),
        "sandbox_permissions": "require_escalated",
        "justification": "May I write there?",
    });
    bench.channel.will_answer(ReviewDecision::Approved);
    let text = bench.text("shell_command", arguments.clone()).await;
    assert!(text.starts_with("Exit code: 0"), "{text}");
    assert!(file.exists());
    let [ApprovalQuestion::Exec(ask)] = &bench.channel.asks()[..] else {
        panic!("one command is asked for");
    };
    assert_eq!(ask.reason.as_deref(), Some("May I write there?"));

    let bench = bench.approval(ApprovalPolicy::Never);
    let text = bench.text("shell_command", arguments).await;
    assert!(text.starts_with("refused: "), "{text}");
    assert!(bench.channel.asks().is_empty());
}

#[tokio::test]
async fn without_a_sandbox_nothing_runs_bare() {
    let bench = Bench::with_backend(BackendChoice::Disabled);
    let text = bench.shell("touch new").await;
    assert!(
        text.starts_with("the command was not started: the sandbox cannot be enforced"),
        "{text}"
    );
    assert!(!bench.cwd.join("new").exists());
    assert_eq!(bench.channel.command().status, WorkStatus::Failed);
}

#[tokio::test]
async fn on_failure_asks_to_run_what_the_sandbox_stopped() {
    let bench = Bench::with_backend(BackendChoice::Disabled).approval(ApprovalPolicy::OnFailure);
    bench.channel.will_answer(ReviewDecision::Denied);
    assert!(
        bench
            .shell("touch new")
            .await
            .starts_with("the command was not started")
    );
    assert!(!bench.cwd.join("new").exists());
    bench.channel.will_answer(ReviewDecision::Approved);
    assert!(bench.shell("touch new").await.starts_with("Exit code: 0"));
    assert!(bench.cwd.join("new").exists());
    assert_eq!(bench.channel.asks().len(), 2);
}

#[tokio::test]
async fn full_access_is_not_asked_for() {
    let bench = Bench::with_backend(BackendChoice::Disabled)
        .sandbox(SandboxPolicy::DangerFullAccess)
        .approval(ApprovalPolicy::Never);
    let file = bench.outside.join("file");
    let text = bench
        .shell(&format!(
            "echo \"[$TROUPE_SANDBOX]\"; echo out > {}",
            file.display()
        ))
        .await;
    assert!(text.ends_with("Output:\n[]\n"), "{text}");
    assert!(file.exists());
}

#[tokio::test]
async fn a_patch_sent_through_the_shell_is_applied_as_a_patch() {
    let bench = Bench::new();
    bench.write("sub/a.txt", "one\n");
    let script = "cd sub && apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+two\n*** End Patch\nEOF\n";
    let text = bench.shell(script).await;
    assert!(text.starts_with("Exit code: 0"), "{text}");
    assert_eq!(bench.read("sub/a.txt"), "two\n");
    assert_eq!(bench.channel.file_change().status, WorkStatus::Completed);
}
