//! How a run ends: what it came to is true, and what it lacks is told.

use std::fs;

use crate::machine::Machine;
use crate::watched::Watched;

/// Answers with these, one after the other.
fn answers(texts: &[&str]) -> Machine {
    let turn = |text: &&str| format!("[[scene.turn]]\nsteps = [{{ say = '''{text}''' }}]\n");
    let turns: String = texts.iter().map(turn).collect();
    Machine::playing(&format!("[[scene]]\n{turns}"))
}

const NUMBER: &str =
    r#"{"type": "object", "required": ["number"], "properties": {"number": {"type": "integer"}}}"#;

#[test]
fn an_answer_that_does_not_fit_is_asked_for_again_once() {
    let machine = answers(&["It is seven.", "```json\n{\"number\": 7}\n```"]);
    let schema = machine.write("schema.json", NUMBER);
    let file = machine.path("answer.json");
    let (schema, file) = (schema.to_str().unwrap(), file.to_str().unwrap());
    let run = machine
        .run(&["exec", "--output-schema", schema, "-o", file, "how many?"])
        .succeeded();
    assert_eq!(run.stdout, "{\"number\": 7}\n", "without the fence");
    assert_eq!(fs::read_to_string(file).unwrap(), "{\"number\": 7}");
    let told = "does not fit its output schema; it is asked for again";
    assert!(run.stderr.contains(told), "{}", run.stderr);
}

#[test]
fn an_answer_that_never_fits_fails_the_run_and_is_not_written() {
    let words: &[&str] = &["It is seven.", "{\"number\": \"seven\"}"];
    for json in [&[][..], &["--json"]] {
        let machine = answers(words);
        let schema = machine.write("schema.json", NUMBER);
        let file = machine.path("answer.json");
        let line = ["exec", "--output-schema", schema.to_str().unwrap(), "-o"];
        let line = [&line[..], &[file.to_str().unwrap(), "how many?"], json].concat();
        let run = machine.run(&line).failed_with(1);
        assert!(!file.exists());
        let told = "also not after it was asked for again";
        if json.is_empty() {
            assert_eq!(run.stdout, "");
            assert!(run.stderr.contains(told), "{}", run.stderr);
            assert!(run.stderr.contains("--continue"), "{}", run.stderr);
        } else {
            let lines = run.lines();
            let end = lines.last().unwrap();
            assert_eq!(end["type"], "turn.failed", "{end}");
            assert!(run.stdout.contains(told), "{}", run.stdout);
        }
    }
}

#[test]
fn a_stop_hook_that_still_refuses_at_its_limit_fails_the_task_and_each_refusal_is_shown() {
    let machine = answers(&["done"; 6]);
    machine.write(
        "home/config.toml",
        "[[hooks.on_stop]]\ncommand = 'echo the tests fail >&2; exit 2'\n",
    );
    let run = machine.run(&["exec", "go"]).failed_with(1);
    let told = "on_stop: the tests fail";
    assert_eq!(run.stderr.matches(told).count(), 6, "{}", run.stderr);
    let end = "refuses the end of this task, also after the model went on 5 times: the tests fail";
    assert!(run.stderr.contains(end), "{}", run.stderr);
    assert_eq!(run.stdout, "");
}

#[test]
fn a_refusal_of_a_hook_is_shown_with_its_reason() {
    let machine = Machine::playing(
        r#"
[[scene]]
[[scene.turn]]
steps = [{ call = "shell_command", arguments = { command = "touch ran" } }]
[[scene.turn]]
steps = [{ say = "Well." }]
"#,
    );
    machine.write(
        "home/config.toml",
        "[[hooks.before_tool]]\ncommand = 'echo not today >&2; exit 2'\n",
    );
    let run = machine.run(&["exec", "go"]).succeeded();
    let told = "refused before_tool shell_command: not today";
    assert!(run.stderr.contains(told), "{}", run.stderr);
}

const THREE_CALLS: &str = r#"
[[scene]]
[[scene.turn]]
steps = [{ call = "shell_command", arguments = { command = "echo 1 >> count" } }]
[[scene.turn]]
steps = [{ call = "shell_command", arguments = { command = "echo 2 >> count" } }]
[[scene.turn]]
expect = "You were stopped before your task was done"
steps = [{ say = "Two are enough." }]
"#;

#[test]
fn max_turns_ends_a_run_with_its_own_code_and_says_how_to_go_on() {
    let machine = Machine::playing(THREE_CALLS);
    let run = machine
        .run(&["exec", "--max-turns", "2", "count"])
        .failed_with(6);
    let count = fs::read_to_string(machine.path("project/count")).unwrap();
    assert_eq!(count, "1\n2\n", "the calls of the last answer are made");
    let told = "the model was asked 2 times, which is as often as it may be";
    assert!(run.stderr.contains(told), "{}", run.stderr);
    assert!(run.stderr.contains("--continue\n"), "{}", run.stderr);
    let run = machine
        .run(&["exec", "resume", "--last", "--continue"])
        .succeeded();
    assert_eq!(run.stdout, "Two are enough.\n");

    let machine = Machine::playing(THREE_CALLS);
    let run = machine
        .run(&["exec", "--json", "--max-turns", "1", "count"])
        .failed_with(6);
    let end = run.lines().pop().unwrap();
    assert_eq!(end["type"], "turn.failed", "{end}");
    machine
        .run(&["exec", "--max-turns", "0", "count"])
        .failed_with(2);
}

#[test]
fn max_turns_stops_the_children_of_the_run_too() {
    let machine = Machine::playing(
        r#"
[[scene]]
when = "lead"
[[scene.turn]]
steps = [{ call = "spawn_agent", arguments = { message = "sleep long", task_name = "sleeper" } }]
[[scene]]
when = "sleep long"
[[scene.turn]]
steps = [{ call = "shell_command", arguments = { command = "sleep 600" } }]
[[scene.turn]]
steps = [{ say = "I slept." }]
"#,
    );
    let run = machine
        .run(&["exec", "--json", "--max-turns", "1", "lead"])
        .failed_with(6);
    let end = run.lines().pop().unwrap();
    assert_eq!(end["type"], "agents.finished", "{end}");
    assert_eq!(end["cancelled"], 1, "{end}");
}

#[test]
fn continue_goes_on_after_ctrl_c() {
    let machine = Machine::playing(
        r#"
[[scene]]
[[scene.turn]]
steps = [{ say = "I begin.", unfinished = true }, { end = "stall" }]
[[scene.turn]]
expect = "You were stopped before your task was done"
steps = [{ say = "I went on." }]
"#,
    );
    let mut run = Watched::start(&machine, &["exec", "--json", "--include-partial", "begin"]);
    // Not before: a task that has asked nothing has had no answer to stop.
    run.until(|line| line["item"]["text"] == "I begin.");
    run.signal("-INT");
    let (_, code) = run.rest();
    assert_eq!(code, Some(1));
    let again = ["exec", "resume", "--last", "--continue"];
    let run = machine.run(&again).succeeded();
    assert_eq!(run.stdout, "I went on.\n");
    let run = machine.run(&again).succeeded();
    assert!(run.stderr.contains("Nothing to continue"), "{run:#?}");
}

#[test]
fn a_key_on_the_command_line_that_nobody_knows_is_refused() {
    let machine = Machine::playing("[[scene]]\n[[scene.turn]]\nsteps = [{ say = 'Hi.' }]\n");
    let run = machine.run(&["exec", "-c", "modle=x", "hi"]).failed_with(2);
    let told = "unknown key modle (did you mean model?)";
    assert!(run.stderr.contains(told), "{}", run.stderr);
    let run = machine
        .run(&["exec", "-c", "undo={enabeld=true}", "hi"])
        .failed_with(2);
    assert!(run.stderr.contains("undo.enabeld"), "{}", run.stderr);
    // Also where the command does not look at the configuration.
    let run = machine.run(&["sessions", "list", "-c", "modle=x"]).code;
    assert_eq!(run, Some(2));
    // A file may be of another version.
    machine.write("home/config.toml", "modle = 'x'\n");
    let run = machine.run(&["exec", "hi"]).succeeded();
    assert!(run.stderr.contains(told), "{}", run.stderr);
}

#[test]
fn a_recording_is_not_replaced() {
    let machine = Machine::playing("[[scene]]\n[[scene.turn]]\nsteps = [{ say = 'Hi.' }]\n");
    let tape = machine.write("tape.jsonl", "precious\n");
    let run = machine
        .run(&["exec", "--record", tape.to_str().unwrap(), "hi"])
        .failed_with(2);
    assert!(run.stderr.contains("tape.jsonl"), "{}", run.stderr);
    assert_eq!(fs::read_to_string(tape).unwrap(), "precious\n");
}

#[test]
fn options_that_a_review_would_ignore_are_refused() {
    let machine = Machine::bare();
    let schema = machine.write("schema.json", NUMBER);
    for options in [
        &["--max-turns", "3"][..],
        &["--output-schema", schema.to_str().unwrap()],
        &["--json", "--include-partial"],
    ] {
        let line = [&["review"], options].concat();
        let run = machine.run(&line).failed_with(2);
        assert!(run.stderr.contains("does not go with a review"), "{run:#?}");
    }
}

#[test]
fn who_goes_on_answers_in_the_shape_that_is_asked_for() {
    let machine = Machine::playing(
        r#"
[[scene]]
[[scene.turn]]
steps = [{ call = "shell_command", arguments = { command = "true" } }]
[[scene.turn]]
steps = [{ say = "seven" }]
[[scene.turn]]
steps = [{ say = '{"number": 7}' }]
"#,
    );
    let schema = machine.write("schema.json", NUMBER);
    let schema = schema.to_str().unwrap();
    machine
        .run(&["exec", "--max-turns", "1", "how many?"])
        .failed_with(6);
    let run = machine
        .run(&[
            "exec",
            "--output-schema",
            schema,
            "resume",
            "--last",
            "--continue",
        ])
        .succeeded();
    assert_eq!(run.stdout, "{\"number\": 7}\n");
}

#[test]
fn who_goes_on_after_a_misfit_is_held_to_the_same_shape() {
    let machine = answers(&["seven", "7", "still seven", r#"{"number": 7}"#]);
    let schema = machine.write("schema.json", NUMBER);
    machine
        .run(&[
            "exec",
            "--output-schema",
            schema.to_str().unwrap(),
            "how many?",
        ])
        .failed_with(1);
    let run = machine
        .run(&["exec", "resume", "--last", "--continue"])
        .succeeded();
    assert_eq!(run.stdout, "{\"number\": 7}\n", "{run:#?}");
}
