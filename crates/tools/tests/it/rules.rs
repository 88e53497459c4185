//! Rules and the way out of the sandbox, with real files in the real sandbox.

use std::path::Path;

use serde_json::json;
use troupe_process::BackendChoice;
use troupe_protocol::approval::ReviewDecision::{self, ApprovedAlways};
use troupe_protocol::command::WorkStatus;
use troupe_protocol::policy::{ApprovalPolicy, SandboxPolicy};
use troupe_tools::{ApprovalQuestion, ToolEvent};

use crate::support::Bench;

fn rule(decision: &str, words: &[&str]) -> String {
    format!("[[rule]]\nprefix = {words:?}\ndecision = {decision:?}\nreason = 'so be it'\n\n")
}

fn write_rules(file: &Path, text: &str) {
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(file, text).unwrap();
}

fn user_rules(bench: &Bench, text: &str) {
    write_rules(&bench.home().join("rules.toml"), text);
}

fn only_ask(bench: &Bench) -> (String, Vec<ReviewDecision>) {
    let [ApprovalQuestion::Exec(ask)] = &bench.channel.asks()[..] else {
        panic!("one command is asked for");
    };
    (
        bench.normal(ask.reason.as_deref().unwrap()),
        ask.available_decisions.clone(),
    )
}

fn warnings(bench: &Bench) -> Vec<String> {
    let warning = |event| match event {
        ToolEvent::Warning(text) => Some(text),
        _ => None,
    };
    bench
        .channel
        .events()
        .into_iter()
        .filter_map(warning)
        .collect()
}

#[tokio::test]
async fn on_failure_runs_outside_what_the_sandbox_stopped() {
    for backend in [BackendChoice::Namespaces, BackendChoice::Landlock] {
        let bench = Bench::with_backend(backend).approval(ApprovalPolicy::OnFailure);
        let file = bench.outside.join("file");
        let script = format!("echo tried >> log; touch {}", file.display());

        bench.channel.will_answer(ReviewDecision::Denied);
        let text = bench.shell(&script).await;
        assert!(!text.starts_with("Exit code: 0"), "{text}");
        let told = "Sandbox: stopped write to {outside}/file; the user was asked and did not let \
                    it run without the sandbox\n";
        assert!(text.contains(told), "{text}");
        assert!(!file.exists());
        let (reason, _) = only_ask(&bench);
        assert_eq!(
            reason,
            "the sandbox stopped it (write to {outside}/file); run it again without the sandbox?"
        );

        bench.channel.will_answer(ReviewDecision::Approved);
        let text = bench.shell(&script).await;
        assert!(text.starts_with("Exit code: 0"), "{text}");
        assert!(!text.contains("Sandbox:"), "{text}");
        assert!(file.exists());
        assert_eq!(bench.read("log"), "tried\n".repeat(3));
        assert_eq!(bench.channel.command().status, WorkStatus::Completed);
    }
}

#[tokio::test]
async fn what_failed_by_itself_or_went_well_is_not_asked_for() {
    let bench = Bench::new().approval(ApprovalPolicy::OnFailure);
    // Without an answer prepared, a question would never end.
    let text = bench.shell("echo 'Permission denied'; exit 1").await;
    assert!(text.starts_with("Exit code: 1"), "{text}");
    let script = format!("touch {}/file; true", bench.outside.display());
    let text = bench.shell(&script).await;
    assert!(
        text.starts_with("Exit code: 0") && !text.contains("Sandbox:"),
        "{text}"
    );
}

#[tokio::test]
async fn on_request_the_model_is_told_how_to_ask() {
    let bench = Bench::new();
    let text = bench
        .shell(&format!("touch {}/file", bench.outside.display()))
        .await;
    let told = "Sandbox: stopped write to {outside}/file; if it must run outside of the sandbox, \
                call again with sandbox_permissions \"require_escalated\" and a justification\n";
    assert!(text.contains(told), "{text}");
    let text = bench.shell(": > /dev/tcp/127.0.0.1/9").await;
    assert!(
        text.contains("Sandbox: stopped network access (IPv4); if"),
        "{text}"
    );
}

#[tokio::test]
async fn what_is_forbidden_is_not_run_under_any_policy() {
    for policy in [ApprovalPolicy::OnRequest, ApprovalPolicy::Never] {
        for sandbox in [
            SandboxPolicy::workspace_write(),
            SandboxPolicy::DangerFullAccess,
        ] {
            let bench = Bench::new().approval(policy).sandbox(sandbox);
            user_rules(&bench, &rule("forbid", &["touch"]));
            let text = bench.shell("x=$(touch new)").await;
            assert!(text.starts_with("refused: the rule `touch` ("), "{text}");
            assert!(
                text.contains("rules.toml:1: so be it) forbids this command"),
                "{text}"
            );
            assert!(!bench.cwd.join("new").exists());
            assert_eq!(bench.channel.command().status, WorkStatus::Declined);
        }
    }
}

#[tokio::test]
async fn rules_may_change_while_commands_run() {
    let bench = Bench::new();
    assert!(bench.shell("touch new").await.starts_with("Exit code: 0"));
    user_rules(&bench, &rule("ask", &["touch", "new"]));
    bench.channel.will_answer(ReviewDecision::Denied);
    assert!(bench.shell("touch new").await.starts_with("not approved"));
    let (reason, decisions) = only_ask(&bench);
    assert!(
        reason.contains("rules.toml:1: so be it) says to ask"),
        "{reason}"
    );
    assert!(
        !decisions.contains(&ApprovedAlways),
        "a rule would not help"
    );
    user_rules(&bench, "");
    assert!(bench.shell("touch new").await.starts_with("Exit code: 0"));
}

#[tokio::test]
async fn always_is_a_rule_in_the_users_file() {
    let bench = Bench::new().approval(ApprovalPolicy::Untrusted);
    bench.channel.will_answer(ApprovedAlways);
    assert!(bench.shell("touch new").await.starts_with("Exit code: 0"));
    let (_, decisions) = only_ask(&bench);
    assert!(decisions.contains(&ApprovedAlways));
    let file = std::fs::read_to_string(bench.home().join("rules.toml")).unwrap();
    assert_eq!(
        file,
        "[[rule]]\nprefix = [\"touch\", \"new\"]\ndecision = \"allow\"\n"
    );
    let text = bench.shell("cd . && touch new").await;
    assert!(text.starts_with("Exit code: 0"), "{text}");
    assert!(bench.channel.asks().is_empty());
    // What was remembered is forgotten with the file.
    std::fs::remove_file(bench.home().join("rules.toml")).unwrap();
    bench.channel.will_answer(ReviewDecision::Denied);
    assert!(bench.shell("touch new").await.starts_with("not approved"));
}

#[tokio::test]
async fn always_outside_of_the_sandbox_stays_outside() {
    let bench = Bench::new().approval(ApprovalPolicy::OnFailure);
    let script = format!("touch {}/file", bench.outside.display());
    bench.channel.will_answer(ApprovedAlways);
    assert!(bench.shell(&script).await.starts_with("Exit code: 0"));
    assert_eq!(bench.channel.asks().len(), 1);
    let file = std::fs::read_to_string(bench.home().join("rules.toml")).unwrap();
    assert!(
        file.ends_with("decision = \"allow\"\nsandbox = \"off\"\n"),
        "{file}"
    );
    let bench = bench.approval(ApprovalPolicy::Never);
    assert!(bench.shell(&script).await.starts_with("Exit code: 0"));
    // Whoever chose to change nothing is not overruled.
    let bench = bench.sandbox(SandboxPolicy::read_only());
    let text = bench.shell(&script).await;
    assert!(text.contains("Sandbox: stopped write to"), "{text}");
}

#[tokio::test]
async fn always_is_not_offered_where_no_rule_is_sound() {
    let bench = Bench::new().approval(ApprovalPolicy::Untrusted);
    for script in ["bash", "rm new", "touch $HOME", "python3 -c", "./run.sh"] {
        bench.channel.will_answer(ReviewDecision::Denied);
        bench.shell(script).await;
        let (_, decisions) = only_ask(&bench);
        assert!(!decisions.contains(&ApprovedAlways), "{script}");
    }
    // Who says it all the same is told, and is not asked again in this session.
    bench.channel.events();
    bench.channel.will_answer(ApprovedAlways);
    bench.shell("touch $PWD/new").await;
    assert_eq!(
        warnings(&bench),
        ["no rule can stand for this command; what you allowed holds for this session"]
    );
    bench.shell("touch $PWD/new").await;
    assert_eq!(bench.channel.asks().len(), 1);
    assert!(!bench.home().join("rules.toml").exists());
}

#[tokio::test]
async fn a_project_that_is_not_trusted_may_only_tighten() {
    let bench = Bench::new().approval(ApprovalPolicy::Untrusted);
    let rules = rule("allow", &["touch"]) + &rule("forbid", &["ls"]);
    write_rules(&bench.cwd.join(".troupe/rules.toml"), &rules);
    bench.channel.will_answer(ReviewDecision::Denied);
    assert!(bench.shell("touch new").await.starts_with("not approved"));
    let told = warnings(&bench);
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(
        told[0].contains("/.troupe/rules.toml:1: so be it) is ignored"),
        "{told:?}"
    );
    assert!(
        bench
            .shell("ls")
            .await
            .starts_with("refused: the rule `ls`")
    );
    assert!(warnings(&bench).is_empty(), "told once");
}

#[tokio::test]
async fn rules_that_cannot_be_read_ask_for_everything_that_is_not_safe() {
    let bench = Bench::new();
    user_rules(&bench, "[[rule]]\nprefix = 'touch'\n");
    assert!(bench.shell("ls").await.starts_with("Exit code: 0"));
    let told = warnings(&bench);
    assert!(
        told.len() == 1 && told[0].contains("rules.toml:2: invalid type"),
        "{told:?}"
    );
    bench.channel.will_answer(ReviewDecision::Approved);
    assert!(bench.shell("touch new").await.starts_with("Exit code: 0"));
    let (reason, decisions) = only_ask(&bench);
    assert!(reason.starts_with("the rules cannot be read ("), "{reason}");
    assert!(!decisions.contains(&ApprovedAlways));
    let bench = bench.approval(ApprovalPolicy::Never);
    assert!(bench.shell("touch new").await.starts_with("refused: "));
}

#[tokio::test]
async fn commands_that_go_on_are_held_to_the_rules_too() {
    let bench = Bench::new();
    user_rules(&bench, &rule("forbid", &["sleep"]));
    let text = bench
        .text("exec_command", json!({"cmd": "sleep 1000"}))
        .await;
    assert!(text.starts_with("refused: the rule `sleep`"), "{text}");
}

fn git(bench: &Bench, arguments: &[&str], directory: &str) {
    let done = std::process::Command::new("git")
        .args(arguments)
        .current_dir(bench.cwd.join(directory))
        .output()
        .unwrap();
    assert!(done.status.success(), "{done:?}");
}

/// A rule stands for its words. What git runs for them is up to the repository that it finds.
#[tokio::test]
async fn a_rule_lets_git_out_only_where_no_command_can_have_written_what_it_runs() {
    let bench = Bench::new();
    let out = "sandbox = 'off'\n";
    user_rules(
        &bench,
        &(rule("allow", &["git", "status"]).trim_end().to_owned() + "\n" + out),
    );
    let touched = bench.outside.join("touched");
    git(&bench, &["init", "-q"], ".");
    std::fs::create_dir(bench.cwd.join("sub")).unwrap();
    assert!(bench.shell("git status").await.starts_with("Exit code: 0"));
    assert!(bench.channel.asks().is_empty());
    let plant = format!(
        "mkdir own && cd own && git init -q && git config core.fsmonitor 'touch {}'",
        touched.display()
    );
    let planted = bench.shell(&plant).await;
    assert!(planted.starts_with("Exit code: 0"), "{planted}");
    bench.channel.will_answer(ReviewDecision::Denied);
    let status = json!({"command": "git status", "workdir": "own"});
    let text = bench.text("shell_command", status.clone()).await;
    assert!(text.starts_with("not approved"), "{text}");
    let (reason, decisions) = only_ask(&bench);
    assert!(reason.contains("commands in the sandbox can"), "{reason}");
    assert!(!decisions.contains(&ApprovedAlways));
    assert!(!decisions.contains(&ReviewDecision::ApprovedForSession));
    let bench = bench.approval(ApprovalPolicy::Never);
    let text = bench.text("shell_command", status).await;
    assert!(text.starts_with("refused: "), "{text}");
    assert!(!touched.exists());
}

/// With Landlock alone a command can put a hook there.
#[tokio::test]
async fn with_landlock_alone_a_rule_for_git_is_asked_for_again() {
    let bench = Bench::with_backend(BackendChoice::Landlock);
    git(&bench, &["init", "-q"], ".");
    let out = "sandbox = 'off'\n";
    user_rules(
        &bench,
        &(rule("allow", &["git", "commit"]).trim_end().to_owned() + "\n" + out),
    );
    bench.channel.will_answer(ReviewDecision::Denied);
    let text = bench.shell("git commit --allow-empty -m x").await;
    assert!(text.starts_with("not approved"), "{text}");
}
