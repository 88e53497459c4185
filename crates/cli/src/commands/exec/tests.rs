//! Command lines as clients write them.

use clap::Parser;
use troupe_agents::RecoveryPolicy;
use troupe_protocol::op::ReviewTarget;

use super::positionals::{ExecPositionals, PromptSource, aim};
use super::{ExecArguments, SandboxArgument};
use crate::arguments::{Cli, CliCommand};
use crate::exec::request::SessionChoice;

fn parse(line: &[&str]) -> (ExecArguments, Vec<String>) {
    let cli = Cli::try_parse_from([&["troupe"], line].concat()).unwrap();
    match cli.command {
        Some(CliCommand::Exec(arguments)) => (*arguments, cli.overrides.config),
        Some(CliCommand::Resume(command)) => (command.into_exec(), cli.overrides.config),
        Some(CliCommand::Fork(command)) => (command.into_exec(), cli.overrides.config),
        Some(CliCommand::Review(command)) => (command.into_exec(), cli.overrides.config),
        other => panic!("{other:?}"),
    }
}

fn check(line: &[&str], continues: SessionChoice, prompt: Option<&str>) {
    let (arguments, _) = parse(line);
    let found = aim(arguments.action, arguments.prompt, arguments.repeated).unwrap();
    let PromptSource::Required(text) = found.prompt else {
        panic!("{line:?} is for {:?}", found.prompt);
    };
    assert_eq!(
        (found.continues, text.as_deref()),
        (continues, prompt),
        "{line:?}"
    );
}

fn id(text: &str) -> SessionChoice {
    SessionChoice::Resume(text.to_owned())
}

#[test]
fn positionals() {
    let last = SessionChoice::Last {
        any_directory: false,
    };
    check(&["exec", "fix it"], SessionChoice::New, Some("fix it"));
    check(&["exec"], SessionChoice::New, None);
    check(&["exec", "-"], SessionChoice::New, Some("-"));
    check(&["exec", "resume", "abc"], id("abc"), None);
    check(
        &["exec", "resume", "abc", "go on"],
        id("abc"),
        Some("go on"),
    );
    check(&["exec", "resume", "--last"], last.clone(), None);
    check(
        &["exec", "resume", "--last", "go on"],
        last.clone(),
        Some("go on"),
    );
    check(&["resume", "--last", "go on"], last, Some("go on"));
    check(
        &["exec", "resume", "--last", "--all", "go on"],
        SessionChoice::Last {
            any_directory: true,
        },
        Some("go on"),
    );
    check(
        &["fork", "abc", "--at", "resp_1", "try again"],
        SessionChoice::Fork {
            session: "abc".to_owned(),
            at: Some("resp_1".into()),
        },
        Some("try again"),
    );
}

#[test]
fn children_can_go_on_without_a_prompt() {
    let (arguments, _) = parse(&["resume", "abc", "--continue"]);
    let ExecPositionals { prompt, .. } = aim(arguments.action, None, arguments.repeated).unwrap();
    assert!(matches!(prompt, PromptSource::Optional(None)), "{prompt:?}");
    assert_eq!(prompt.recovery(), Some(RecoveryPolicy::Continue));
}

#[test]
fn a_prompt_takes_the_place_of_what_the_first_agent_was_at() {
    let recovery = |line: &[&str]| {
        let (arguments, _) = parse(line);
        let aim = aim(arguments.action, None, arguments.repeated).unwrap();
        aim.prompt.recovery()
    };
    let with_a_prompt = recovery(&["resume", "abc", "--continue", "and then?"]);
    assert_eq!(with_a_prompt, Some(RecoveryPolicy::ContinueChildren));
    assert_eq!(recovery(&["resume", "abc", "and then?"]), None);
}

#[test]
fn what_is_reviewed() {
    let check = |line: &[&str], expected: ReviewTarget| {
        let (arguments, _) = parse(line);
        let aim = aim(arguments.action, None, arguments.repeated).unwrap();
        let PromptSource::Review(review) = aim.prompt else {
            panic!("{line:?} is for {:?}", aim.prompt);
        };
        assert_eq!(review.target().unwrap(), expected, "{line:?}");
    };
    check(&["review"], ReviewTarget::UncommittedChanges);
    check(
        &["exec", "review", "--uncommitted"],
        ReviewTarget::UncommittedChanges,
    );
    let branch = "main".to_owned();
    check(
        &["review", "--base", "main", "--json"],
        ReviewTarget::BaseBranch { branch },
    );
    let (sha, title) = ("HEAD~1".to_owned(), None);
    check(
        &["exec", "--json", "review", "--commit", "HEAD~1"],
        ReviewTarget::Commit { sha, title },
    );
    for line in [
        ["review", "--base=main", "--commit=x"],
        ["review", "--uncommitted", "what I wrote"],
    ] {
        assert!(Cli::try_parse_from([&["troupe"], &line[..]].concat()).is_err());
    }
}

#[test]
fn resume_without_a_session_is_refused() {
    let (arguments, _) = parse(&["exec", "resume"]);
    let refused = aim(arguments.action, None, arguments.repeated).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "which session? give an id or a name, or use --last"
    );
}

/// The line that the TypeScript SDK of the Codex family writes.
#[test]
fn the_sdk_line() {
    let (arguments, _) = parse(&[
        "exec",
        "--experimental-json",
        "--config",
        "a.b=1",
        "--config",
        "openai_base_url=\"http://127.0.0.1:1/v1\"",
        "--model",
        "m",
        "--sandbox",
        "workspace-write",
        "--cd",
        "/tmp",
        "--add-dir",
        "/a",
        "--add-dir",
        "/b",
        "--skip-git-repo-check",
        "--output-schema",
        "/s.json",
        "--config",
        "model_reasoning_effort=\"high\"",
        "--config",
        "sandbox_workspace_write.network_access=true",
        "--config",
        "approval_policy=\"never\"",
        "resume",
        "3f2a9c1e-0000-4000-8000-000000000000",
        "--image",
        "/1.png",
        "--image",
        "/2.png",
    ]);
    let options = arguments.options.clone();
    assert!(options.json && options.skip_git_repo_check);
    assert_eq!(options.sandbox, Some(SandboxArgument::WorkspaceWrite));
    assert_eq!(options.model.as_deref(), Some("m"));
    let ExecPositionals {
        continues,
        prompt,
        repeated,
    } = aim(arguments.action, arguments.prompt, arguments.repeated).unwrap();
    assert_eq!(continues, id("3f2a9c1e-0000-4000-8000-000000000000"));
    assert!(matches!(prompt, PromptSource::Required(None)), "{prompt:?}");
    assert_eq!(repeated.images.len(), 2);
    assert_eq!(repeated.add_dirs.len(), 2);
    assert_eq!(repeated.overrides.config.len(), 5);
}

#[test]
fn repeated_options_add_up_on_both_sides_of_resume() {
    let (arguments, before) = parse(&[
        "-c",
        "a=1",
        "exec",
        "-c",
        "b=2",
        "-i",
        "x.png",
        "resume",
        "abc",
        "-c",
        "c=3",
        "-i",
        "y.png,z.png",
        "prompt",
    ]);
    let ExecPositionals {
        prompt, repeated, ..
    } = aim(arguments.action, arguments.prompt, arguments.repeated).unwrap();
    assert_eq!(before, ["a=1"]);
    assert_eq!(repeated.overrides.config, ["b=2", "c=3"]);
    assert_eq!(repeated.images.len(), 3);
    let PromptSource::Required(prompt) = prompt else {
        panic!("a prompt is needed here: {prompt:?}");
    };
    assert_eq!(prompt.as_deref(), Some("prompt"));
}

#[test]
fn options_work_after_resume_and_under_their_older_names() {
    let (arguments, _) = parse(&["exec", "resume", "abc", "--json", "--yolo", "-o", "out"]);
    assert!(arguments.options.json && arguments.options.bypass);
    assert!(arguments.options.output_last_message.is_some());
    let clash = Cli::try_parse_from(["troupe", "exec", "--yolo", "-s", "read-only", "x"]);
    assert!(clash.is_err());
}

#[test]
fn the_command_line_is_well_formed() {
    <Cli as clap::CommandFactory>::command().debug_assert();
}

#[test]
fn a_model_on_this_machine_needs_one_word() {
    let flags = |line: &[&str]| -> Vec<(String, String)> {
        let (arguments, _) = parse(line);
        let flags = super::flags(&arguments.options).into_iter();
        flags
            .map(|flag| (flag.key.to_string(), flag.value))
            .collect()
    };
    let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    let provider = |id| pair("model_provider", id);
    assert_eq!(
        flags(&["exec", "--oss", "x"]),
        [provider("ollama"), pair("model", "gpt-oss:20b")]
    );
    // What comes later wins.
    assert_eq!(
        flags(&["exec", "--local-provider", "vllm", "-m", "mine", "x"]),
        [
            provider("vllm"),
            pair("model", "openai/gpt-oss-20b"),
            pair("model", "mine")
        ]
    );
}
