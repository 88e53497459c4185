//! What somebody meets who has configured nothing.

use crate::machine::Machine;

#[test]
fn without_a_key_one_screen_says_what_to_do() {
    let run = Machine::bare().run(&["exec", "hello"]).failed_with(3);
    assert_eq!(run.stdout, "");
    for word in [
        "OPENAI_API_KEY",
        "llama.cpp",
        "Ollama",
        "vLLM",
        "troupe demo",
    ] {
        assert!(
            run.stderr.contains(word),
            "{word} is missing:\n{}",
            run.stderr
        );
    }
    assert!(
        run.stderr.lines().count() < 35,
        "more than a screen:\n{}",
        run.stderr
    );
}

#[test]
fn alone_it_prints_help() {
    let run = Machine::bare().run(&[]).succeeded();
    assert!(run.stdout.contains("Usage: troupe"), "{}", run.stdout);
}

#[test]
fn the_version_is_the_same_however_it_is_asked_for() {
    let machine = Machine::bare();
    let version = machine.run(&["--version"]).succeeded().stdout;
    assert_eq!(version, concat!("troupe ", env!("CARGO_PKG_VERSION"), "\n"));
    assert_eq!(machine.run(&["-V"]).succeeded().stdout, version);
    // Beside other options it is the parser that answers.
    let beside = machine.run(&["--strict-config", "--version"]);
    assert_eq!(beside.succeeded().stdout, version);
}

#[test]
fn the_demo_repairs_its_project() {
    let machine = Machine::bare();
    let run = machine.run(&["demo"]).succeeded();
    assert!(
        run.stderr.contains("The model is scripted"),
        "{}",
        run.stderr
    );
    assert!(
        run.stderr.contains("FAIL  3600 -> 1:60:0"),
        "{}",
        run.stderr
    );
    assert!(
        run.stderr.contains("ok    86399 -> 23:59:59"),
        "{}",
        run.stderr
    );
    assert!(
        run.stdout.starts_with("All five tests pass."),
        "{}",
        run.stdout
    );
    assert!(
        !machine.path("home").exists(),
        "the demo left something in the home"
    );
}

#[test]
fn the_demo_as_json() {
    let run = Machine::bare().run(&["demo", "--json"]).succeeded();
    let kinds = run.kinds();
    assert_eq!(kinds.first().map(String::as_str), Some("thread.started"));
    assert_eq!(kinds.last().map(String::as_str), Some("turn.completed"));
    let edits = kinds
        .iter()
        .filter(|kind| *kind == "item.completed file_change");
    assert_eq!(edits.count(), 2, "{kinds:?}");
}

#[test]
fn doctor_fails_without_a_key_and_never_prints_one() {
    let run = Machine::bare().run(&["doctor", "--offline"]).failed_with(1);
    assert!(
        run.stdout
            .contains("run `troupe login openai`, or set OPENAI_API_KEY"),
        "{}",
        run.stdout
    );

    let machine = Machine::bare();
    let output = machine
        .troupe(&["doctor", "--offline"])
        .env("OPENAI_API_KEY", "sk-very-secret")
        .output()
        .unwrap();
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(shown.contains("OPENAI_API_KEY is set"), "{shown}");
    assert!(!shown.contains("sk-very-secret"), "{shown}");
}

#[test]
fn apply_patch_takes_an_argument_or_stdin() {
    let machine = Machine::bare();
    let patch =
        |line: &str| format!("*** Begin Patch\n*** Add File: {line}.txt\n+{line}\n*** End Patch\n");
    machine.run(&["apply-patch", &patch("one")]).succeeded();
    machine
        .run_with_stdin(&["apply-patch"], patch("two").as_bytes())
        .succeeded();
    let read = |name: &str| std::fs::read_to_string(machine.path(name)).unwrap();
    assert_eq!(read("project/one.txt"), "one\n");
    assert_eq!(read("project/two.txt"), "two\n");
    machine.run(&["apply-patch", "nonsense"]).failed_with(1);
}

#[test]
fn the_help_of_exec_begins_with_its_own_options_and_is_short() {
    let run = Machine::bare().run(&["exec", "--help"]).succeeded();
    let place = |text: &str| {
        let found = run.stdout.find(text);
        found.unwrap_or_else(|| panic!("{text} is missing: {}", run.stdout))
    };
    assert!(place("--output-last-message") < place("--strict-config"));
    assert!(place("--sandbox") < place("--config <KEY=VALUE>"));
    assert!(run.stdout.contains("docs/exec.md"), "{}", run.stdout);
    let after = run.stdout[place("Progress goes to stderr")..]
        .lines()
        .count();
    assert!(after < 25, "{after} lines after the options");
}
