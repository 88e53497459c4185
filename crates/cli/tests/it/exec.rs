//! `troupe exec` against a scripted model.

use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::machine::{Machine, Run};

const GREETING: &str = r#"
[[scene]]
[[scene.turn]]
response_id = "resp_1"
usage = { input = 10, output = 5 }
steps = [{ say = "Hello there." }]
[[scene.turn]]
expect = "go on"
usage = { input = 20, output = 5 }
steps = [{ say = "I went on." }]
[[scene.turn]]
steps = [{ say = "And on." }]
"#;

const COMMAND: &str = r#"
[[scene]]
[[scene.turn]]
steps = [{ call = "shell_command", arguments = { command = "echo made > file; echo done" } }]
[[scene.turn]]
expect = "done"
steps = [{ say = "Made." }]
"#;

#[test]
fn the_final_message_is_on_stdout_and_nothing_else() {
    let run = Machine::playing(GREETING).run(&["exec", "hi"]).succeeded();
    assert_eq!(run.stdout, "Hello there.\n");
    assert!(run.stderr.contains("tokens: 10 in"), "{}", run.stderr);
    assert!(!run.stderr.contains("Hello there."), "{}", run.stderr);
}

#[test]
fn json_lines_of_a_task_with_a_command() {
    let machine = Machine::playing(COMMAND);
    let run = machine.run(&["exec", "--json", "make it"]).succeeded();
    assert_eq!(
        run.kinds(),
        [
            "thread.started",
            "turn.started",
            "item.started command_execution",
            "item.completed command_execution",
            "item.completed agent_message",
            "turn.completed",
        ]
    );
    let command = &run.lines()[3]["item"];
    assert_eq!(command["exit_code"], 0);
    assert_eq!(command["aggregated_output"], "done\n");
    let made = std::fs::read_to_string(machine.path("project/file")).unwrap();
    assert_eq!(made, "made\n");
}

#[test]
fn a_read_only_sandbox_keeps_files_as_they_are() {
    let machine = Machine::playing(COMMAND);
    let run = machine
        .run(&["exec", "-s", "read-only", "--json", "make it"])
        .succeeded();
    let output = &run.lines()[3]["item"]["aggregated_output"];
    assert!(output.as_str().unwrap().contains("done"), "{output}");
    assert!(!machine.path("project/file").exists());
}

#[test]
fn resume_continues_with_cumulative_usage() {
    let machine = Machine::playing(GREETING);
    let first = machine.run(&["exec", "--json", "hi"]).succeeded();
    let id = first.thread_id();
    let second = machine
        .run_with_stdin(&["exec", "--experimental-json", "resume", &id], b"go on")
        .succeeded();
    assert_eq!(second.thread_id(), id);
    let end = second.lines().pop().unwrap();
    assert_eq!(end["usage"]["input_tokens"], 30);
    assert_eq!(end["turn_usage"]["input_tokens"], 20);

    let third = machine.run(&["exec", "resume", "--last", "on"]).succeeded();
    assert_eq!(third.stdout, "And on.\n");
}

#[test]
fn fork_begins_a_session_of_its_own() {
    let machine = Machine::playing(GREETING);
    let first = machine.run(&["exec", "--json", "hi"]).succeeded();
    let id = first.thread_id();
    let fork = machine
        .run(&["fork", &id[..8], "--json", "--at", "resp_1", "other"])
        .succeeded();
    assert_ne!(fork.thread_id(), id);

    let run = machine
        .run(&["fork", &id[..8], "--at", "resp_x", "other"])
        .failed_with(3);
    let told = "troupe: no bookmark resp_x in this home; use the response_id of a response\n";
    assert_eq!(run.stderr, told);
}

#[test]
fn an_unknown_session_is_refused() {
    let machine = Machine::playing(GREETING);
    let run = machine
        .run(&["exec", "resume", "feedbeef", "x"])
        .failed_with(3);
    assert!(
        run.stderr.contains("no session \"feedbeef\""),
        "{}",
        run.stderr
    );
    let run = machine
        .run(&["exec", "resume", "--last", "x"])
        .failed_with(3);
    assert!(
        run.stderr.contains("no session has worked in"),
        "{}",
        run.stderr
    );
}

#[test]
fn the_last_message_goes_to_a_file() {
    let machine = Machine::playing(GREETING);
    let path = machine.path("last.txt");
    machine
        .run(&["exec", "-o", path.to_str().unwrap(), "hi"])
        .succeeded();
    assert_eq!(std::fs::read_to_string(path).unwrap(), "Hello there.");
}

/// Only who reads the answer counts, and the file has a reader of its own.
#[test]
fn a_reader_of_the_progress_that_goes_away_costs_no_answer() {
    let machine = Machine::playing(GREETING);
    let full = || std::fs::OpenOptions::new().write(true).open("/dev/full");
    let file = machine.path("answer.txt");
    let line = ["exec", "-o", file.to_str().unwrap(), "hi"];
    let output = machine
        .troupe(&line)
        .stderr(full().unwrap())
        .output()
        .unwrap();
    assert_eq!(Run::of(&output).succeeded().stdout, "Hello there.\n");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "Hello there.");

    std::fs::remove_file(&file).unwrap();
    let output = machine.troupe(&line).stdout(full().unwrap()).output();
    Run::of(&output.unwrap()).failed_with(1);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "Hello there.");
}

#[test]
fn a_file_that_is_no_picture_is_refused_before_the_session() {
    let machine = Machine::playing(GREETING);
    let notes = machine.write("notes.txt", "not a picture");
    let run = machine
        .run(&["exec", "-i", notes.to_str().unwrap(), "hi"])
        .failed_with(2);
    let told = machine.shown(&run.stderr);
    assert!(
        told.contains("--image: DIR/notes.txt is not a PNG"),
        "{told}"
    );
    assert!(!machine.path("home/sessions").exists());
}

#[test]
fn directories_that_cannot_be_written_are_told() {
    let machine = Machine::playing(GREETING);
    let line = ["exec", "--add-dir", ".", "-s"];
    let run = machine
        .run(&[&line[..], &["read-only", "hi"]].concat())
        .succeeded();
    assert!(
        run.stderr.contains("--add-dir does nothing"),
        "{}",
        run.stderr
    );
    let run = machine
        .run(&[&line[..], &["workspace-write", "hi"]].concat())
        .succeeded();
    assert!(!run.stderr.contains("--add-dir"), "{}", run.stderr);
}

#[test]
fn a_file_that_cannot_be_written_is_refused_before_the_task() {
    let machine = Machine::playing(GREETING);
    for name in ["missing/last.txt", "project"] {
        let path = machine.path(name);
        let run = machine
            .run(&["exec", "--json", "-o", path.to_str().unwrap(), "hi"])
            .failed_with(2);
        assert_eq!(run.stdout, "");
        assert!(run.stderr.contains(name), "{}", run.stderr);
    }
}

#[test]
fn an_output_schema_reaches_the_model_and_a_bad_one_is_refused() {
    let machine = Machine::playing("[[scene]]\n[[scene.turn]]\nsteps = [{ say = '{}' }]\n");
    let good = machine.write("good.json", r#"{"type": "object", "properties": {}}"#);
    machine
        .run(&["exec", "--output-schema", good.to_str().unwrap(), "hi"])
        .succeeded();
    let unusable = machine.write("unusable.json", r#"{"type": "objekt"}"#);
    let run = machine
        .run(&["exec", "--output-schema", unusable.to_str().unwrap(), "hi"])
        .failed_with(2);
    assert!(run.stderr.contains("objekt"), "{}", run.stderr);
    let impossible = r#"{"allOf": [{"type": "object"}, {"type": "string"}]}"#;
    let impossible = machine.write("impossible.json", impossible);
    let run = machine
        .run(&[
            "exec",
            "--output-schema",
            impossible.to_str().unwrap(),
            "hi",
        ])
        .failed_with(2);
    assert!(run.stderr.contains("contradicts itself"), "{}", run.stderr);
    let run = machine.run(&["exec", "\u{200b}\u{feff}\u{202e} "]);
    run.failed_with(2);
    let bad = machine.write("bad.json", "[1]");
    let run = machine
        .run(&["exec", "--output-schema", bad.to_str().unwrap(), "hi"])
        .failed_with(2);
    assert!(
        run.stderr.contains("a JSON Schema is a JSON object"),
        "{}",
        run.stderr
    );
}

#[test]
fn ephemeral_runs_leave_nothing() {
    let machine = Machine::playing(GREETING);
    machine.run(&["exec", "--ephemeral", "hi"]).succeeded();
    assert!(!machine.path("home").exists());
    let run = machine
        .run(&["exec", "--ephemeral", "resume", "--last", "x"])
        .failed_with(2);
    assert!(
        run.stderr.contains("cannot continue a session"),
        "{}",
        run.stderr
    );
}

#[test]
fn outside_a_repository_it_asks_for_a_word() {
    let machine = Machine::playing(GREETING);
    let outside = tempfile::tempdir().unwrap();
    let directory = outside.path().to_str().unwrap();
    let run = machine.run(&["exec", "-C", directory, "hi"]).failed_with(2);
    assert!(
        run.stderr.contains("--skip-git-repo-check"),
        "{}",
        run.stderr
    );
    machine
        .run(&["exec", "-C", directory, "--skip-git-repo-check", "hi"])
        .succeeded();
}

#[test]
fn a_failing_model_is_told_and_exits_with_1() {
    let machine = Machine::playing(
        "[[scene]]\n[[scene.turn]]\nsteps = [{ status = 400, message = 'no such model' }]\n",
    );
    let run = machine.run(&["exec", "--json", "hi"]).failed_with(1);
    let lines = run.lines();
    let end = lines.last().unwrap();
    assert_eq!(end["type"], "turn.failed");
    assert!(
        end["error"]["message"]
            .as_str()
            .unwrap()
            .contains("no such model"),
        "{end}"
    );
}

#[test]
fn a_prompt_that_is_refused_ends_the_run() {
    let machine = Machine::playing(GREETING);
    let too_long = vec![b'a'; 1_048_577];
    let run = machine
        .run_with_stdin(&["exec", "--json"], &too_long)
        .failed_with(2);
    assert!(run.stderr.contains("1048576 characters"), "{run:?}");

    // What only the session can tell is refused by it.
    let skills: Vec<String> = (0..=20).map(|number| format!("skill-{number}")).collect();
    for name in &skills {
        let text = format!("---\nname: {name}\ndescription: d\n---\ndo\n");
        machine.write(&format!("project/.agents/skills/{name}/SKILL.md"), &text);
    }
    let all = format!("${}", skills.join(" $"));
    let run = machine.run(&["exec", "--json", &all]).failed_with(1);
    let last = run.lines().pop().unwrap();
    assert_eq!(last["type"], "error", "{last}");
    assert!(
        last["message"].as_str().unwrap().contains("skills"),
        "{last}"
    );
}

#[test]
fn a_cassette_replays_the_same_events() {
    let machine = Machine::playing(GREETING);
    let tape = machine.path("tape.jsonl");
    let tape = tape.to_str().unwrap();
    let recorded = machine
        .run(&["exec", "--json", "--record", tape, "hi"])
        .succeeded();
    let bare = Machine::bare();
    let replayed = bare
        .run(&["exec", "--json", "--replay", tape, "hi"])
        .succeeded();
    let without_id = |lines: Vec<Value>| -> Vec<Value> { lines.into_iter().skip(1).collect() };
    assert_eq!(without_id(recorded.lines()), without_id(replayed.lines()));
}

const SLEEP: &str = r#"
[[scene]]
[[scene.turn]]
steps = [{ call = "shell_command", arguments = { command = "sleep 600" } }]
[[scene.turn]]
steps = [{ say = "I was stopped." }]
"#;

/// Starts a run whose command never ends, and reads until the command runs.
fn sleeping(machine: &Machine) -> (std::process::Child, BufReader<std::process::ChildStdout>) {
    let mut child = machine
        .troupe(&["exec", "--json", "wait"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while !line.contains("item.started") {
        line.clear();
        assert!(stdout.read_line(&mut line).unwrap() > 0);
    }
    (child, stdout)
}

#[test]
fn a_run_that_a_person_stops_ends_with_turn_failed() {
    let machine = Machine::playing(SLEEP);
    let (mut child, mut stdout) = sleeping(&machine);
    signal(&child, "-INT");
    let mut rest = String::new();
    stdout.read_to_string(&mut rest).unwrap();
    let last: Value = serde_json::from_str(rest.lines().last().unwrap()).unwrap();
    let failed = json!({"type": "turn.failed", "error": {"message": "interrupted"}});
    assert_eq!(last, failed);
    assert_eq!(child.wait().unwrap().code(), Some(1));
}

/// A program that gives up has an error of its own for that.
#[test]
fn a_run_that_a_program_stops_ends_in_silence_and_in_order() {
    let machine = Machine::playing(SLEEP);
    let (mut child, mut stdout) = sleeping(&machine);
    signal(&child, "-TERM");
    let mut rest = String::new();
    stdout.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "");
    assert_eq!(child.wait().unwrap().code(), Some(143));
    let run = machine
        .run(&["exec", "--json", "resume", "--last", "what happened?"])
        .succeeded();
    let kinds = run.kinds();
    assert!(
        !kinds.contains(&"item.completed error".to_owned()),
        "{kinds:?}"
    );
}

/// A session is left in order by a reader that goes away, too.
#[test]
fn a_reader_that_goes_away_interrupts_the_task() {
    let machine = Machine::playing(SLEEP);
    let (mut child, stdout) = sleeping(&machine);
    drop(stdout);
    signal(&child, "-INT");
    assert_eq!(child.wait().unwrap().code(), Some(1));
    let run = machine
        .run(&["exec", "--json", "resume", "--last", "what happened?"])
        .succeeded();
    assert!(
        !run.kinds().contains(&"item.completed error".to_owned()),
        "the session was found crashed: {:?}",
        run.lines()
    );
}

const ESCALATION: &str = r#"
[[scene]]
[[scene.turn]]
steps = [{ call = "shell_command", arguments = { command = "id -u", sandbox_permissions = "require_escalated", justification = "to see" } }]
[[scene.turn]]
steps = [{ say = "It said: {{last_output}}" }]
"#;

#[test]
fn nobody_is_there_to_approve_unless_the_configuration_is() {
    let refused = Machine::playing(ESCALATION)
        .run(&["exec", "--json", "who?"])
        .succeeded();
    let item = &refused.lines()[3]["item"];
    assert_eq!(item["status"], "declined", "{item}");

    let approved = Machine::playing(ESCALATION)
        .run(&["exec", "--json", "-c", "headless_approvals=approve", "who?"])
        .succeeded();
    let item = &approved.lines()[3]["item"];
    assert_eq!(item["status"], "completed", "{item}");
}

#[test]
fn a_session_is_continued_at_the_provider_it_began_with() {
    let machine = Machine::playing(&format!("[[model]]\nid = \"scripted\"\n{GREETING}"));
    let base_url = machine.base_url();
    let provider = format!("model_providers.mine.base_url={base_url}");
    let chosen = ["-c", provider.as_str(), "-c", "model_provider=mine"];
    let first = machine
        .run(&[&["exec", "--json"], &chosen[..], &["hi"]].concat())
        .succeeded();
    let id = first.thread_id();
    let line = ["exec", "resume", &id, "go on"];
    // The provider is not configured any more, and it is not silently replaced.
    let run = machine.run(&line).failed_with(3);
    assert!(
        run.stderr.contains("no model provider \"mine\""),
        "{}",
        run.stderr
    );
    machine
        .run(&[&["-c", provider.as_str()], &line[..]].concat())
        .succeeded();
    machine
        .run(&[&["-c", "model_provider=openai"], &line[..]].concat())
        .succeeded();
}

fn signal(child: &std::process::Child, name: &str) {
    let pid = child.id().to_string();
    let status = std::process::Command::new("kill")
        .args([name, &pid])
        .status()
        .unwrap();
    assert!(status.success());
}

#[test]
fn configuration_warnings_are_items() {
    let machine = Machine::playing(GREETING);
    machine.write("home/config.toml", "modle = 'x'\n");
    let run = machine.run(&["exec", "--json", "hi"]).succeeded();
    let notes: Vec<String> = run
        .lines()
        .iter()
        .filter(|line| line["item"]["type"] == "error")
        .map(|line| machine.shown(line["item"]["message"].as_str().unwrap()))
        .collect();
    assert_eq!(
        notes,
        ["DIR/home/config.toml:1: unknown key modle (did you mean model?)"]
    );
}
