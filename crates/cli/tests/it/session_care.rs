//! Sessions as people keep them: found again, moved, shortened, taken out of.

use std::fs;

use crate::machine::Machine;

const FRUIT: &str = r#"
[[scene]]
when = "(?m)^delegate"
[[scene.turn]]
usage = { input = 12000, output = 300 }
steps = [{ call = "spawn_agent", arguments = { message = "peel it", task_name = "peeler" } }]
[[scene.turn]]
steps = [{ call = "wait", arguments = { ids = ["peeler"], timeout_ms = 60000 } }]
[[scene.turn]]
steps = [{ say = "Peeled." }]

[[scene]]
when = "peel it"
[[scene.turn]]
steps = [{ say = "Done." }]

[[scene]]
[[scene.turn]]
steps = [{ call = "shell_command", arguments = { command = "echo '```'" } }]
[[scene.turn]]
steps = [{ say = "Apples it is." }]
[[scene.turn]]
steps = [{ say = "Or pears." }]
[[scene.turn]]
steps = [{ say = "Later." }]
"#;

#[test]
fn the_list_says_where_with_what_and_at_which_cost_and_begins_with_this_directory() {
    let machine = Machine::playing(FRUIT);
    let here = machine.run(&["exec", "--json", "delegate"]).succeeded();
    fs::create_dir_all(machine.path("other/.git")).unwrap();
    let other = machine.path("other");
    let other = other.to_str().unwrap();
    let there = machine
        .run(&["exec", "--json", "-C", other, "apples"])
        .succeeded();
    let fork = machine
        .run(&[
            "exec",
            "--json",
            "-C",
            other,
            "fork",
            &there.thread_id(),
            "pears",
        ])
        .succeeded();
    let run = machine.run(&["sessions", "list"]).succeeded();
    let lines: Vec<&str> = run.stdout.lines().collect();
    assert_eq!(lines.len(), 3, "{}", run.stdout);
    let begins = |line: &str, id: &str| assert!(line.starts_with(&id[..8]), "{}", run.stdout);
    begins(lines[0], &here.thread_id());
    begins(lines[1], &fork.thread_id());
    begins(lines[2], &there.thread_id());
    for part in ["  .  ", "gpt-6.1-sol", "12k", "1 agent  ", "delegate"] {
        assert!(lines[0].contains(part), "{part}: {}", run.stdout);
    }
    let mark = format!("(fork of {})", &there.thread_id()[..8]);
    assert!(lines[1].contains(&mark), "{}", run.stdout);
    assert!(lines[2].contains("~/other"), "{}", run.stdout);
    let run = machine.run(&["sessions", "list", "--json"]).succeeded();
    let agents: Vec<u64> = run
        .lines()
        .iter()
        .map(|line| line["agents"].as_u64().unwrap())
        .collect();
    assert_eq!(agents, [0, 0, 1], "{}", run.stdout);
}

#[test]
fn a_session_that_goes_on_elsewhere_says_so() {
    let machine = Machine::playing(FRUIT);
    let first = machine.run(&["exec", "--json", "apples"]).succeeded();
    let id = first.thread_id();
    let run = machine.run(&["exec", "resume", &id, "more"]).succeeded();
    assert!(!run.stderr.contains("worked in"), "{}", run.stderr);
    fs::create_dir_all(machine.path("other/.git")).unwrap();
    let other = machine.path("other");
    let run = machine
        .run(&["exec", "-C", other.to_str().unwrap(), "resume", &id, "more"])
        .succeeded();
    let told = format!(
        "note: session {} worked in DIR/project; it goes on in DIR/other",
        &id[..8]
    );
    let shown = machine.shown(&run.stderr);
    assert!(shown.contains(&told), "{shown}");
}

#[test]
fn a_rollback_takes_turns_out_of_the_history() {
    let machine = Machine::playing(FRUIT);
    machine.run(&["exec", "apples"]).succeeded();
    machine
        .run(&["exec", "resume", "--last", "pears?"])
        .succeeded();
    let run = machine.run(&["rollback"]).succeeded();
    assert!(
        run.stdout.contains("no longer knows of the last turn"),
        "{}",
        run.stdout
    );
    let shown = machine.run(&["sessions", "export", "--markdown", last(&machine).as_str()]);
    assert!(!shown.stdout.contains("Or pears."), "{}", shown.stdout);
    assert!(shown.stdout.contains("Apples it is."), "{}", shown.stdout);
    let run = machine.run(&["rollback", "-n", "0"]).failed_with(2);
    assert!(run.stderr.contains("invalid value"), "{}", run.stderr);
}

#[test]
fn a_session_is_compacted_on_request() {
    let machine = Machine::playing(FRUIT);
    machine.run(&["exec", "apples"]).succeeded();
    let run = machine.run(&["compact"]).succeeded();
    assert!(
        run.stderr.contains("the conversation was summarised"),
        "{run:#?}"
    );
    let shown = machine.run(&["sessions", "show", last(&machine).as_str()]);
    assert!(
        shown.stdout.contains("summary of what came before"),
        "{}",
        shown.stdout
    );
}

#[test]
fn a_conversation_is_exported_as_markdown() {
    let machine = Machine::playing(FRUIT);
    machine.run(&["exec", "apples"]).succeeded();
    let file = machine.path("talk.md");
    let id = last(&machine);
    machine
        .run(&[
            "sessions",
            "export",
            &id,
            "--markdown",
            "-o",
            file.to_str().unwrap(),
        ])
        .succeeded();
    let text = fs::read_to_string(file).unwrap();
    assert!(text.starts_with("# apples\n"), "{text}");
    for part in [
        "\n## User\n\napples\n",
        "\n## Assistant\n\nApples it is.\n",
        "`shell_command`:",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(
        text.contains("\n````\n"),
        "the fence is longer than what it holds: {text}"
    );
    assert!(!text.contains("environment_context"), "{text}");
}

#[test]
fn who_deletes_a_session_reads_its_title() {
    let machine = Machine::playing(FRUIT);
    machine.run(&["exec", "apples"]).succeeded();
    let id = last(&machine);
    let run = machine.run(&["sessions", "delete", &id]).failed_with(2);
    assert!(run.stderr.contains("“apples”"), "{}", run.stderr);
    machine.run(&["sessions", "name", &id, "fruit"]).succeeded();
    let run = machine.run(&["sessions", "delete", &id]).failed_with(2);
    assert!(run.stderr.contains("“fruit”"), "{}", run.stderr);
}

fn last(machine: &Machine) -> String {
    let run = machine.run(&["sessions", "list", "--json"]).succeeded();
    run.lines()[0]["id"].as_str().unwrap().to_owned()
}
