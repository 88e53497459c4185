//! `troupe models`: what comes with the program, and what a server says.

use crate::machine::Machine;

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
    let machine = Machine::playing("[[model]]\nid = \"scripted\"\n[[scene]]\n");
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
    assert!(run.stdout.contains("gpt-6.1-sol"), "{}", run.stdout);

    // Without a key nobody can be asked either.
    let run = machine.run(&["models", "--refresh"]).succeeded();
    assert!(run.stderr.contains("OPENAI_API_KEY"), "{}", run.stderr);

    let run = machine
        .run(&["models", "--refresh", "--provider", "nobody"])
        .failed_with(2);
    assert!(run.stderr.contains("known are"), "{}", run.stderr);
}

const LOCAL: &str = r#"
[[model]]
id = "my-own"
context_window = 8192
[[scene]]
[[scene.turn]]
steps = [{ say = "well" }]
"#;

/// Returns the arguments by which the scripted server is a local one without a model's name.
fn local(machine: &Machine) -> Vec<String> {
    let provider = "model_providers.local={base_url='BASE', wire_api='chat'}";
    [
        "model_provider=local",
        &provider.replace("BASE", machine.base_url()),
    ]
    .iter()
    .flat_map(|setting| ["-c".to_owned(), (*setting).to_owned()])
    .collect()
}

#[test]
fn without_a_name_the_one_model_of_the_server_is_used() {
    let machine = Machine::playing(LOCAL);
    let settings = local(&machine);
    let mut arguments = vec!["exec"];
    arguments.extend(settings.iter().map(String::as_str));
    arguments.push("hello");
    let run = machine.run(&arguments).succeeded();
    assert!(run.stderr.contains("my-own (local"), "{}", run.stderr);
    assert!(!run.stderr.contains("assumed"), "{}", run.stderr);
}

#[test]
fn without_a_name_several_models_of_the_server_are_told() {
    let several = format!("[[model]]\nid = \"another\"\n{LOCAL}");
    let machine = Machine::playing(&several);
    let settings = local(&machine);
    let mut arguments = vec!["exec"];
    arguments.extend(settings.iter().map(String::as_str));
    arguments.push("hello");
    let run = machine.run(&arguments);
    assert!(
        run.stderr
            .contains("has several: another, my-own; name one: -m NAME"),
        "{}",
        run.stderr
    );
}

#[test]
fn a_model_alone_is_asked_where_the_catalogue_has_it() {
    let machine = Machine::bare();
    let run = machine.run(&["exec", "-m", "claude-opus-5-5", "hello"]);
    assert!(run.stderr.contains("ANTHROPIC_API_KEY"), "{}", run.stderr);
    // Who names the provider, or another address for it, knows why.
    for setting in [
        "model_provider=openai",
        "openai_base_url=http://127.0.0.1:1/v1",
    ] {
        let run = machine.run(&["exec", "-m", "claude-opus-5-5", "-c", setting, "hello"]);
        assert!(run.stderr.contains("OPENAI_API_KEY"), "{}", run.stderr);
    }
}
