//! The first things that somebody types who has read nothing.

use crate::machine::{Machine, Run};
use crate::terminal::Terminal;

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

#[test]
fn init_fails_if_the_model_writes_no_file() {
    let machine = Machine::playing("[[scene]]\n[[scene.turn]]\nsteps = [{ say = 'Done.' }]\n");
    let run = machine.run(&["init"]).failed_with(1);
    let told = "did not write";
    assert!(run.stderr.contains(told), "{}", run.stderr);
    assert!(
        run.stderr.contains("troupe exec resume --last"),
        "{}",
        run.stderr
    );
}

/// Writes a file, and asks to commit it.
const COMMIT: &str = r##"
[[scene]]
when = "greet the world"
[[scene.turn]]
steps = [{ call = "shell_command", arguments = { command = "echo Hello > greeting.txt" } }]
[[scene.turn]]
steps = [{ call = "shell_command", arguments = { command = "git add greeting.txt && git commit -q -m 'Greet the world'", sandbox_permissions = "require_escalated", justification = "May I commit the greeting?" } }]
[[scene.turn]]
steps = [{ say = "Committed." }]
"##;

/// Words of ours that a newcomer would have to look up.
const RIDDLES: [&str; 8] = [
    "the engine",
    "queue pair",
    "nobody is asked",
    "is told",
    "aborted",
    "errored",
    "headless",
    "rollout",
];

#[test]
fn a_newcomer_gets_from_an_empty_home_to_a_commit_that_they_approved() {
    let machine = Machine::playing(COMMIT);
    machine.write(
        ".gitconfig",
        "[user]\nname = Newcomer\nemail = newcomer@example.com\n[init]\ndefaultBranch = main\n",
    );
    let git = |arguments: &[&str]| {
        let output = std::process::Command::new("git")
            .args(arguments)
            .current_dir(machine.path("project"))
            .env("HOME", machine.path(""))
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    git(&["init", "-q"]);
    assert!(!machine.path("home").exists());
    let mut read = Vec::new();

    // They type what they want, and are told how it is said.
    let task = "greet the world";
    let run = Machine::bare().run(&[task]).failed_with(2);
    let next = format!("troupe exec {task:?}");
    assert!(run.stderr.contains(&next), "{}", run.stderr);
    read.push(run.stderr);

    // There is no key yet, and they are told how one is stored.
    let mut without_a_key = machine.troupe(&["exec", task]);
    let output = without_a_key.env_remove("OPENAI_API_KEY").output().unwrap();
    let run = Run::of(&output).failed_with(3);
    assert!(run.stderr.contains("troupe login openai"), "{}", run.stderr);
    read.push(run.stderr);
    let run = machine
        .run_with_stdin(&["login", "openai"], b"sk-test\n")
        .succeeded();
    read.push(run.stdout + &run.stderr);

    // They do it, are asked, see what they agree to, and agree.
    let terminal = Terminal::running(&machine, &["exec", task]);
    let screen = terminal.shows(&["[n] no  [w] no, and say why >"]);
    for part in [
        "Greet the world",
        "outside the sandbox",
        "why: May I commit the greeting?",
    ] {
        assert!(screen.contains(part), "{part}: {screen}");
    }
    assert_eq!(git(&["log", "--format=%s"]), "");
    terminal.types(&["y", "Enter"]);
    let screen = terminal.shows(&["Committed.\nexit 0"]);
    read.push(screen);
    assert_eq!(git(&["log", "--format=%s"]), "Greet the world\n");
    assert_eq!(git(&["status", "--porcelain"]), "");
    for text in read {
        for riddle in RIDDLES {
            assert!(!text.contains(riddle), "{riddle}: {text}");
        }
    }
}
