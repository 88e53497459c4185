//! The first things that somebody types who has read nothing.

use crate::machine::Machine;

const WRITE: &str = r##"
[[scene]]
when = "Write the file AGENTS.md"
[[scene.turn]]
steps = [{ call = "shell_command", arguments = { command = "echo '# Notes' > AGENTS.md" } }]
[[scene.turn]]
steps = [{ say = "AGENTS.md is written." }]
"##;

#[test]
fn a_task_without_a_command_is_told_how_to_be_given() {
    let machine = Machine::bare();
    for task in ["fix the bug", "perkele"] {
        let run = machine.run(&[task]).failed_with(2);
        let told = format!("To have it done: troupe exec {task:?}");
        assert!(run.stderr.contains(&told), "{}", run.stderr);
    }
    let run = machine.run(&["perkele", "on", "rikki"]).failed_with(2);
    let told = "troupe exec \"perkele on rikki\"";
    assert!(run.stderr.contains(told), "{}", run.stderr);
    let run = machine.run(&["exce", "fix the bug"]).failed_with(2);
    assert!(run.stderr.contains("'exec'"), "{}", run.stderr);
    let run = machine.run(&["sessions", "shwo"]).failed_with(2);
    assert!(run.stderr.contains("'show'"), "{}", run.stderr);
}

#[test]
fn init_has_the_file_written_once() {
    let machine = Machine::playing(WRITE);
    machine.run(&["init"]).succeeded();
    let file = machine.path("project/AGENTS.md");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "# Notes\n");
    let again = machine.run(&["init"]).failed_with(2);
    assert!(
        again.stderr.contains("exists and is left alone"),
        "{}",
        again.stderr
    );
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "# Notes\n");
}
