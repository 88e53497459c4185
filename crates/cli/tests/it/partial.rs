//! Work in progress as other programs see it: growing texts, and the output of running commands.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use crate::machine::Machine;
use crate::watched::Watched;

#[test]
fn with_include_partial_a_message_is_told_while_it_grows() {
    let machine = Machine::playing(
        r#"
[[scene]]
[[scene.turn]]
steps = [{ say = "One two ", unfinished = true }, { end = "stall" }]
"#,
    );
    let line = ["exec", "--json", "--include-partial", "count"];
    let mut run = Watched::start(&machine, &line);
    let partial = run.until(|line| {
        let is_told = line["item"]["text"] == "One two ";
        is_told && line["item"]["type"] == "agent_message"
    });
    let kind = partial["type"].as_str().unwrap();
    assert!(matches!(kind, "item.started" | "item.updated"), "{partial}");
    run.signal("-INT");
    let (_, code) = run.rest();
    assert_eq!(code, Some(1));
}

#[test]
fn a_growing_message_and_the_whole_one_are_one_item() {
    let words = "word ".repeat(12);
    let machine = Machine::playing(&format!(
        "[[scene]]\n[[scene.turn]]\nsteps = [{{ say = '{words}', pace_ms = 60 }}]\n"
    ));
    let run = machine
        .run(&["exec", "--json", "--include-partial", "count"])
        .succeeded();
    let lines = run.lines();
    let of_message = |line: &&serde_json::Value| line["item"]["type"] == "agent_message";
    let told: Vec<_> = lines.iter().filter(of_message).collect();
    assert_eq!(told.first().unwrap()["type"], "item.started", "{told:#?}");
    assert!(told.iter().any(|line| line["type"] == "item.updated"));
    assert_eq!(told.last().unwrap()["type"], "item.completed", "{told:#?}");
    assert!(told.iter().all(|line| line["item"]["id"] == "item_0"));
    let length = |line: &serde_json::Value| line["item"]["text"].as_str().unwrap().len();
    assert!(told.is_sorted_by_key(|line| length(line)), "{told:#?}");
    // Nobody gets it who did not ask.
    let machine = Machine::playing("[[scene]]\n[[scene.turn]]\nsteps = [{ say = 'a b c' }]\n");
    let run = machine.run(&["exec", "--json", "count"]).succeeded();
    assert!(!run.stdout.contains("item.updated"), "{}", run.stdout);
    machine
        .run(&["exec", "--include-partial", "count"])
        .failed_with(2);
}

#[test]
fn the_log_of_a_child_shows_what_its_command_writes_while_it_runs() {
    let machine = Machine::playing(
        r#"
[[scene]]
when = "lead"
[[scene.turn]]
steps = [{ call = "spawn_agent", arguments = { message = "build it", task_name = "builder" } }]
[[scene.turn]]
steps = [{ call = "wait", arguments = { ids = ["builder"], timeout_ms = 600000 } }]
[[scene.turn]]
steps = [{ say = "Built." }]

[[scene]]
when = "build it"
[[scene.turn]]
steps = [{ call = "shell_command", arguments = { command = "until test -e watched; do sleep 0.02; done; n=0; until test -e go; do n=$((n+1)); echo line $n; sleep 0.05; done", timeout_ms = 600000 } }]
[[scene.turn]]
steps = [{ say = "It is built." }]
"#,
    );
    let mut run = Watched::start(&machine, &["exec", "--json", "lead"]);
    run.until(|line| line["type"] == "agent.created");
    let mut logs = machine
        .troupe(&["agents", "logs", "builder", "--follow"])
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    machine.write("project/watched", "");
    let mut lines = BufReader::new(logs.stdout.take().unwrap()).lines();
    let seen = lines.any(|line| line.unwrap().contains("│ line "));
    assert!(seen, "the command still runs");
    machine.write("project/go", "");
    let (_, code) = run.rest();
    assert_eq!(code, Some(0));
    let rest: Vec<String> = lines.map(Result::unwrap).collect();
    let rest = rest.join("\n");
    assert!(rest.contains("→ 0"), "{rest}");
    assert!(logs.wait().unwrap().success());
}

#[test]
fn the_log_of_a_root_does_too() {
    let machine = Machine::playing(
        r#"
[[scene]]
when = "lead"
[[scene.turn]]
steps = [{ call = "spawn_agent", arguments = { message = "wait a moment", task_name = "waiter" } }]
[[scene.turn]]
steps = [{ call = "shell_command", arguments = { command = "n=0; until test -e go; do n=$((n+1)); echo line $n; sleep 0.05; done", timeout_ms = 600000 } }]
[[scene.turn]]
steps = [{ say = "Built." }]
[[scene.turn]]
steps = [{ say = "Built." }]

[[scene]]
when = "wait a moment"
[[scene.turn]]
steps = [{ say = "I waited." }]
"#,
    );
    let mut run = Watched::start(&machine, &["exec", "--json", "lead"]);
    run.until(|line| line["type"] == "item.started");
    run.until(|line| line["item"]["type"] == "command_execution");
    let mut logs = machine
        .troupe(&["agents", "logs", "--follow"])
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(logs.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("│ line ")));
    machine.write("project/go", "");
    let (_, code) = run.rest();
    assert_eq!(code, Some(0));
    drop(lines);
    logs.kill().unwrap();
    logs.wait().unwrap();
}
