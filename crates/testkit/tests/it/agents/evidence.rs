//! What the engine saw of a child's work, whatever its model says.

use std::process::Command;

use serde_json::json;
use troupe_protocol::policy::{ApprovalPolicy, SandboxPolicy};
use troupe_protocol::result::Evidence;
use troupe_testkit::Stage;
use troupe_tools::digest;

use super::play::{self, Cue, call, end, play, scene};

fn delegate() -> [Cue; 2] {
    [
        (
            "spawn_agent",
            json!({"message": "write things", "task_name": "writer"}),
        ),
        ("wait", json!({"ids": ["writer"]})),
    ]
}

fn command(script: &str) -> String {
    call(&("shell_command", json!({"command": script})))
}

/// The files of a result: name, before, after.
fn files(evidence: &Evidence) -> Vec<(String, Option<String>, Option<String>)> {
    let files = evidence.files.iter().map(|file| {
        let name = file.path.file_name().expect("it is a file");
        let name = name.to_string_lossy().into_owned();
        (name, file.before.clone(), file.after.clone())
    });
    let mut files: Vec<_> = files.collect();
    files.sort();
    files
}

fn init_repository(stage: &Stage) {
    let made = Command::new("git")
        .args(["init", "-q"])
        .current_dir(stage.cwd())
        .status();
    assert!(made.expect("git is there").success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_that_commands_changed_are_in_the_result() {
    let patch = "{ custom = 'apply_patch', input = '''\n*** Begin Patch\n*** Add File: \
                 patched\n+one\n*** End Patch''' }";
    let steps = [
        &*command("echo hi > made; rm old"),
        patch,
        &command("printf two > patched"),
        "{ say = 'written' }",
    ];
    let stage = play::stage(&scene("write things", &steps), &delegate()).await;
    stage.write("old", "old");
    init_repository(&stage);
    let actor = play(&stage).await;
    let result = actor.agents().user().result("writer", None).await.unwrap();
    let hash = |text: &str| Some(digest::of_bytes(text.as_bytes()));
    assert_eq!(
        files(&result.evidence),
        [
            ("made".to_owned(), None, hash("hi\n")),
            ("old".to_owned(), hash("old"), None),
            ("patched".to_owned(), None, hash("two")),
        ]
    );
    end(actor).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_command_that_nobody_allowed_is_told_as_refused() {
    let steps = [&*command("touch made"), "{ say = 'not written' }"];
    let stage = play::stage(&scene("write things", &steps), &delegate())
        .await
        .approval(ApprovalPolicy::Never)
        .sandbox(SandboxPolicy::workspace_write());
    let refusing = "[[rule]]\nprefix = ['touch']\ndecision = 'forbid'\n";
    std::fs::create_dir_all(stage.home()).unwrap();
    std::fs::write(stage.home().join("rules.toml"), refusing).unwrap();
    let actor = play(&stage).await;
    let result = actor.agents().user().result("writer", None).await.unwrap();
    let commands = result.evidence.commands;
    assert_eq!(commands.len(), 1, "{commands:?}");
    assert!(commands[0].refused, "{commands:?}");
    assert!(!stage.cwd().join("made").exists());
    end(actor).await;
}
