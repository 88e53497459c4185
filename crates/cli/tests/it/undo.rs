//! `troupe undo` after real runs.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::machine::Machine;

const EDIT: &str = r#"
[[scene]]
[[scene.turn]]
steps = [{ call = "shell_command", arguments = { command = "echo two > a; echo new > b" } }]
[[scene.turn]]
steps = [{ say = "Done." }]
"#;

fn read(machine: &Machine, name: &str) -> Option<String> {
    fs::read_to_string(machine.path("project").join(name)).ok()
}

#[test]
fn the_last_turn_is_taken_back_and_that_too_without_a_model() {
    let machine = Machine::playing(EDIT);
    machine.write("project/a", "one\n");
    machine.run(&["exec", "go"]).succeeded();
    assert_eq!(read(&machine, "a").as_deref(), Some("two\n"));

    let session = machine.run(&["sessions", "list", "--json"]).succeeded();
    let session = session.lines()[0]["id"].as_str().unwrap().to_owned();
    let shown = machine.run(&["sessions", "show", &session]).succeeded();
    let shown = machine.shown(&shown.stdout);
    let files = "── files changed\nM DIR/project/a\nA DIR/project/b\n";
    assert!(shown.contains(files), "{shown}");

    // No key, no server: a model is not needed for it.
    let undo = |arguments: &[&str]| {
        let mut command = machine.troupe(&[&["undo"], arguments].concat());
        command.env_remove("OPENAI_API_KEY");
        crate::machine::Run::of(&command.output().unwrap())
    };
    let run = undo(&["--dry-run"]).succeeded();
    assert_eq!(run.stdout, "would restore a\nwould remove b\n");
    assert_eq!(read(&machine, "a").as_deref(), Some("two\n"));
    let run = undo(&[]).succeeded();
    assert_eq!(run.stdout, "restored a\nremoved b\n");
    assert_eq!(
        (read(&machine, "a").as_deref(), read(&machine, "b")),
        (Some("one\n"), None)
    );
    let run = undo(&[]).failed_with(1);
    assert!(
        run.stderr
            .starts_with("nothing is left to undo: every turn that changed files is undone"),
        "{run:?}"
    );
    machine.write("project/a", "mine\n");
    let run = undo(&["--redo", "--json"]).failed_with(1);
    assert_eq!(
        run.lines()[0]["conflicts"][0]["reason"],
        "it was changed since"
    );
    assert_eq!(read(&machine, "b"), None, "it is all or nothing");
    undo(&["--redo", "--partly"]).succeeded();
    assert_eq!(read(&machine, "a").as_deref(), Some("mine\n"));
    assert_eq!(read(&machine, "b").as_deref(), Some("new\n"));
}

#[test]
fn what_cannot_be_undone_is_said() {
    let machine = Machine::bare();
    let run = machine.run(&["undo"]).failed_with(3);
    assert!(run.stderr.contains("no session has worked in"), "{run:?}");
    let run = machine.run(&["undo", "feedbeef"]).failed_with(3);
    assert!(run.stderr.contains("no session"), "{run:?}");
}

/// The log is as the crash left it, so the task can still be continued.
#[test]
fn a_dry_run_after_a_crash_writes_nothing_into_the_home() {
    let machine = Machine::playing(EDIT);
    machine.write("project/a", "one\n");
    machine.run(&["exec", "go"]).succeeded();
    let listed = machine.run(&["sessions", "list", "--json"]).succeeded();
    let path = listed.lines()[0]["path"].as_str().unwrap().to_owned();
    let whole = fs::read_to_string(&path).unwrap();
    // As if the engine had died before the last line about files, and the end of the task.
    let lines: Vec<&str> = whole.lines().collect();
    let end = lines
        .iter()
        .position(|line| line.contains("\"fact\":\"changed\""));
    let cut = lines[..end.unwrap()].join("\n") + "\n";
    fs::write(&path, &cut).unwrap();
    let before = contents(&machine.path("home"));
    let run = machine.run(&["undo", "--dry-run"]).succeeded();
    assert!(run.stdout.contains("would restore a"), "{run:?}");
    assert_eq!(fs::read_to_string(&path).unwrap(), cut);
    let run = machine.run(&["undo", "--dry-run", "--json"]).succeeded();
    assert_eq!(run.lines()[0]["dry_run"], true);
    assert_eq!(contents(&machine.path("home")), before);
}

/// Every file below a directory, with what it holds.
fn contents(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let metadata = path.symlink_metadata().unwrap();
        if metadata.is_dir() {
            files.extend(contents(&path));
        } else if metadata.is_file() {
            let content = fs::read(&path).unwrap();
            files.insert(path, content);
        }
    }
    files
}

/// A name that is not text is printed without loss for programs, and taken back.
#[test]
fn a_name_that_is_not_utf8_is_named_and_taken_back() {
    use std::os::unix::ffi::OsStrExt as _;
    let machine =
        Machine::playing(&EDIT.replace("echo new > b", "echo new > $(printf 'm\\\\374sli')"));
    machine.write("project/a", "one\n");
    machine.run(&["exec", "go"]).succeeded();
    let name = std::ffi::OsStr::from_bytes(b"m\xfcsli");
    assert!(machine.path("project").join(name).exists());
    let run = machine.run(&["undo", "--dry-run", "--json"]).succeeded();
    let removed = run.lines()[0]["removed"][0].as_str().unwrap().to_owned();
    assert!(
        removed.starts_with("file:") && removed.ends_with("m%FCsli"),
        "{removed}"
    );
    machine.run(&["undo"]).succeeded();
    assert!(!machine.path("project").join(name).exists());
    assert_eq!(read(&machine, "a").as_deref(), Some("one\n"));
}

/// A parent whose child works, and which does nothing itself.
const DELEGATED: &str = r#"
[[scene]]
when = "write it down"
[[scene.turn]]
steps = [{ call = "shell_command", arguments = { command = "echo new > b; echo two > a" } }]
[[scene.turn]]
steps = [{ say = "Written." }]

[[scene]]
[[scene.turn]]
steps = [{ call = "spawn_agent", arguments = { message = "write it down", task_name = "writer" } }]
[[scene.turn]]
steps = [{ call = "wait", arguments = { ids = ["1"] } }]
[[scene.turn]]
steps = [{ say = "Done." }]
"#;

/// What children changed stands in their logs: whoever undoes the parent is shown the way.
#[test]
fn agents_that_changed_files_are_named_with_the_way_to_undo_them() {
    let machine = Machine::playing(DELEGATED);
    machine.write("project/a", "one\n");
    machine.run(&["exec", "go"]).succeeded();
    let run = machine.run(&["undo"]).failed_with(1);
    let named = "agent /root/writer changed 2 files, which only an undo of its own session ";
    let (_, rest) = run.stdout.split_once(named).expect(&run.stdout);
    let child = &rest[..8];
    let run = machine.run(&["undo", "--dry-run"]).failed_with(1);
    assert!(run.stdout.contains(named), "{run:?}");
    machine.run(&["undo", child]).succeeded();
    assert_eq!(read(&machine, "a").as_deref(), Some("one\n"));
    assert_eq!(read(&machine, "b"), None);
    let run = machine.run(&["undo"]).failed_with(1);
    assert!(!run.stdout.contains("writer"), "{run:?}");
}
