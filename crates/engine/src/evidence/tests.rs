use expect_test::{Expect, expect};
use tempfile::TempDir;
use troupe_protocol::command::WorkStatus;
use troupe_protocol::item::CommandOutcome;

use super::*;

/// A command of the model: what it was, under which number it goes on, how it ended.
fn command(script: &str, process: Option<&str>, exit_code: Option<i32>) -> TurnItem {
    TurnItem::CommandExecution(CommandExecutionItem {
        id: "c".into(),
        command: ["bash", "-lc", script].map(ToOwned::to_owned).to_vec(),
        cwd: "/".into(),
        parsed_cmd: Vec::new(),
        source: CommandSource::Agent,
        process_id: process.map(ToOwned::to_owned),
        status: WorkStatus::Completed,
        outcome: Some(CommandOutcome {
            exit_code,
            stdout: String::new(),
            stderr: String::new(),
            aggregated_output: String::new(),
            formatted_output: String::new(),
            duration_ms: 1,
        }),
    })
}

/// A later look at a command in the background.
fn look(script: &str, process: &str, exit_code: Option<i32>) -> TurnItem {
    match command(script, Some(process), exit_code) {
        TurnItem::CommandExecution(item) => TurnItem::CommandExecution(CommandExecutionItem {
            source: CommandSource::UnifiedExecInteraction,
            ..item
        }),
        other => other,
    }
}

fn check(items: &[TurnItem], expected: Expect) {
    let mut seen = EvidenceCollector::default();
    for item in items {
        seen.completed(item);
    }
    let lines: Vec<String> = seen
        .evidence
        .commands
        .iter()
        .map(|command| format!("{} {:?}", command.command, command.exit_code))
        .collect();
    expected.assert_eq(&lines.join("\n"));
}

#[test]
fn commands_are_told_with_how_they_ended() {
    check(
        &[
            command("make", None, Some(0)),
            command("make test", None, Some(2)),
        ],
        expect![[r#"
            make Some(0)
            make test Some(2)"#]],
    );
}

#[test]
fn a_command_in_the_background_is_told_once() {
    check(
        &[
            command("serve", Some("7"), None),
            look("serve", "7", None),
            look("serve", "7", Some(143)),
        ],
        expect!["serve Some(143)"],
    );
    check(&[command("serve", Some("7"), None)], expect!["serve None"]);
}

#[test]
fn a_command_of_an_earlier_task_is_told_when_it_ends() {
    check(
        &[look("serve", "7", None), look("serve", "7", Some(0))],
        expect!["serve Some(0)"],
    );
}

#[test]
fn what_is_too_much_is_counted() {
    let mut seen = EvidenceCollector::default();
    for _ in 0..EVIDENCE_ENTRIES_MAX + 3 {
        seen.completed(&command("true", None, Some(0)));
    }
    assert_eq!(seen.evidence.commands.len(), EVIDENCE_ENTRIES_MAX);
    assert_eq!(seen.evidence.omitted, 3);
}

#[tokio::test]
async fn files_are_compared_with_what_the_task_found() {
    let dir = TempDir::new().unwrap();
    let path = |name: &str| dir.path().join(name);
    std::fs::write(path("kept"), "a").unwrap();
    std::fs::write(path("changed"), "a").unwrap();
    std::fs::write(path("gone"), "a").unwrap();
    let mut seen = EvidenceCollector::default();
    let names = ["kept", "changed", "gone", "new"];
    seen.touched(names.map(|name| FileDigest::look(path(name))).to_vec());
    std::fs::write(path("changed"), "b").unwrap();
    // A second look does not move the beginning.
    seen.touched(vec![FileDigest::look(path("changed"))]);
    std::fs::remove_file(path("gone")).unwrap();
    std::fs::write(path("new"), "n").unwrap();

    let evidence = seen.finish(5).await;
    let lines: Vec<String> = evidence
        .files
        .iter()
        .map(|file| {
            let short = |hash: &Option<String>| hash.as_ref().map(|hash| hash[..8].to_owned());
            let name = file.path.file_name().unwrap().display();
            format!("{name} {:?} {:?}", short(&file.before), short(&file.after))
        })
        .collect();
    expect![[r#"
        changed Some("ca978112") Some("3e23e816")
        gone Some("ca978112") None
        new None Some("1b16b1df")"#]]
    .assert_eq(&lines.join("\n"));
    assert_eq!(evidence.ended_at_ms, 5);
}

#[tokio::test]
async fn a_patch_that_failed_has_touched_nothing() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("of_another");
    std::fs::write(&path, "a").unwrap();
    let mut seen = EvidenceCollector::default();
    seen.editing(vec![FileDigest::look(path.clone())]);
    seen.patched(WorkStatus::Failed);
    std::fs::write(&path, "b").unwrap();
    assert_eq!(seen.finish(5).await.files, []);
}

#[tokio::test]
async fn what_commands_changed_is_told_with_what_the_files_were() {
    let state = |sha256: &str| FileState::File {
        sha256: sha256.to_owned(),
        mode: 0o644,
    };
    let file = |path: &str, before, after| ChangedFile {
        path: path.into(),
        before,
        after,
    };
    let mut seen = EvidenceCollector::default();
    // The patch met what a command had made of the file before.
    seen.touched(vec![FileDigest {
        path: "/patched".into(),
        sha256: Some("between".to_owned()),
    }]);
    seen.touched(vec![FileDigest {
        path: "/unkept".into(),
        sha256: Some("large".to_owned()),
    }]);
    let unkept = FileState::Other {
        what: "it is too large".to_owned(),
    };
    seen.filed(&FileFact::Changed {
        turn_id: "task".into(),
        files: vec![
            file("/made", FileState::Absent, state("new")),
            file("/gone", state("old"), FileState::Absent),
            file("/patched", state("first"), state("last")),
            file("/unkept", unkept, state("small")),
        ],
        directories: Vec::new(),
        unseen: Vec::new(),
    });
    let evidence = seen.finish(5).await;
    let lines: Vec<String> = evidence
        .files
        .iter()
        .map(|file| format!("{} {:?} {:?}", file.path.display(), file.before, file.after))
        .collect();
    expect![[r#"
        /made None Some("new")
        /gone Some("old") None
        /patched Some("first") Some("last")
        /unkept Some("large") Some("small")"#]]
    .assert_eq(&lines.join("\n"));
}

#[test]
fn a_command_that_was_refused_is_told_from_one_that_was_killed() {
    let with = |status| match command("make", None, None) {
        TurnItem::CommandExecution(item) => {
            TurnItem::CommandExecution(CommandExecutionItem { status, ..item })
        }
        other => other,
    };
    let mut seen = EvidenceCollector::default();
    seen.completed(&with(WorkStatus::Declined));
    seen.completed(&with(WorkStatus::Failed));
    let refused: Vec<bool> = seen.evidence.commands.iter().map(|it| it.refused).collect();
    assert_eq!(refused, [true, false]);
}
