//! `troupe models`: what comes with the program, and what a server says.

use crate::machine::Machine;

const SILENT: &str = "[[scene]]\n";

#[test]
fn the_built_in_list_marks_the_configured_model() {
    let machine = Machine::bare();
    let run = machine.run(&["models", "-c", "model=gpt-5.1"]).succeeded();
    let line = |name: &str| {
        let named = |line: &&str| line.split_whitespace().any(|word| word == name);
        run.stdout.lines().find(named).unwrap()
    };
    assert_eq!(
        line("gpt-5.1"),
        "* gpt-5.1                272000 tokens  [none] low medium high"
    );
    assert!(line("gpt-4.1").starts_with("  gpt-4.1 "), "{}", run.stdout);
    assert_eq!(run.stderr, "");
    assert!(!machine.path("home").exists(), "nothing is written");
}

#[test]
fn a_server_is_asked_for_its_own() {
    let machine = Machine::playing(SILENT);
    let arguments = ["models", "--refresh", "--json", "-c", "model=mine"];
    let run = machine.run(&arguments).succeeded();
    let lines = run.lines();
    assert_eq!(lines[0]["model"], "mine");
    assert_eq!(lines[0]["is_default"], true);
    assert_eq!(lines[1]["model"], "scripted");
    assert_eq!(lines[1]["context_window"], 272_000);
    assert_eq!(lines.len(), 2);
}

#[test]
fn a_server_that_does_not_answer_is_told_and_the_built_in_list_printed() {
    let machine = Machine::bare();
    let nowhere = "model_providers.ollama.base_url=http://127.0.0.1:1/v1";
    let arguments = ["models", "--refresh", "--provider", "ollama", "-c", nowhere];
    let run = machine.run(&arguments).succeeded();
    assert!(
        run.stderr
            .starts_with("this is the built-in list: ollama at http://127.0.0.1:1: "),
        "{}",
        run.stderr
    );
    assert!(run.stdout.contains("gpt-5.3-codex"), "{}", run.stdout);

    // Without a key nobody can be asked either.
    let run = machine.run(&["models", "--refresh"]).succeeded();
    assert!(run.stderr.contains("OPENAI_API_KEY"), "{}", run.stderr);

    let run = machine
        .run(&["models", "--refresh", "--provider", "nobody"])
        .failed_with(2);
    assert!(run.stderr.contains("known are"), "{}", run.stderr);
}
