//! Plan mode through the binary: chosen, shown, kept, left.

use crate::machine::Machine;
use crate::terminal::Terminal;

const PLAN: &str = r#"
[[scene]]
[[scene.turn]]
expect = "Plan mode"
steps = [{ say = """
I looked.
<proposed_plan>
# Split it
1. Cut
</proposed_plan>""" }]
[[scene.turn]]
expect = "Default mode"
steps = [{ say = "Split." }]
"#;

#[test]
fn the_plan_is_part_of_the_final_message_and_is_shown_once() {
    let machine = Machine::playing(PLAN);
    let run = machine.run(&["exec", "--plan", "split it"]).succeeded();
    assert_eq!(run.stdout, "I looked.\n# Split it\n1. Cut\n");
    assert!(run.stderr.contains("mode  plan"), "{}", run.stderr);
    assert!(!run.stderr.contains("1. Cut"), "{}", run.stderr);

    // The mode is the session's until somebody leaves it.
    let run = machine
        .run(&["exec", "resume", "--last", "--no-plan", "do it"])
        .succeeded();
    assert_eq!(run.stdout, "Split.\n");
    assert!(!run.stderr.contains("mode  plan"), "{}", run.stderr);
}

/// What is said is known by how it was recorded: words that begin like a note of the engine's are
/// still the user's, and the note that explains the tags of a plan has them.
#[test]
fn a_transcript_shows_words_as_they_were_said_and_notes_as_they_were_told() {
    let machine = Machine::playing(PLAN);
    let typed = "<environment_context> in my logs, what is that?";
    machine.run(&["exec", "--plan", typed]).succeeded();
    let listed = machine.run(&["sessions", "list", "--json"]).succeeded();
    let id = listed.lines()[0]["id"].as_str().unwrap().to_owned();
    let shown = machine.run(&["sessions", "show", &id]).succeeded().stdout;
    assert!(shown.contains(&format!("── user\n{typed}")), "{shown}");
    let (_, note) = shown.split_once("── note (mode)").unwrap();
    let (note, _) = note.split_once("\n── ").unwrap();
    assert!(note.contains("<proposed_plan>"), "{note}");
    let (_, answer) = shown.split_once("── assistant").unwrap();
    assert!(!answer.contains("<proposed_plan>"), "{answer}");
}

#[test]
fn programs_get_the_plan_as_an_item() {
    let machine = Machine::playing(PLAN);
    let key = "collaboration_mode=plan";
    let run = machine
        .run(&["exec", "--json", "-c", key, "split it"])
        .succeeded();
    assert_eq!(
        run.kinds(),
        [
            "thread.started",
            "turn.started",
            "item.completed agent_message",
            "item.completed plan",
            "turn.completed",
        ]
    );
    let lines = run.lines();
    assert_eq!(lines[2]["item"]["text"], "I looked.\n");
    assert_eq!(lines[3]["item"]["text"], "# Split it\n1. Cut\n");
}

#[test]
fn a_mode_that_does_not_exist_is_refused_with_those_that_do() {
    let run = Machine::bare()
        .run(&["exec", "-c", "collaboration_mode=planning", "x"])
        .failed_with(2);
    assert!(run.stderr.contains("planning"), "{}", run.stderr);
    assert!(run.stderr.contains("default"), "{}", run.stderr);
}

#[test]
fn agents_of_a_planning_run_can_only_read() {
    let play = r#"
[[scene]]
when = "think"
[[scene.turn]]
steps = [{ call = "spawn_agent", arguments = { message = "look around", task_name = "scout" } }]
[[scene.turn]]
steps = [{ call = "wait", arguments = { ids = ["scout"], timeout_ms = 60000 } }]
[[scene.turn]]
steps = [{ say = "{{last_output}}" }]

[[scene]]
when = "look around"
[[scene.turn]]
steps = [{ call = "shell_command", arguments = { command = "touch mine" } }]
[[scene.turn]]
expect = "Read-only file system"
steps = [{ say = "looked" }]
"#;
    let machine = Machine::playing(play);
    let run = machine.run(&["exec", "--plan", "think"]).succeeded();
    assert!(run.stdout.contains("looked"), "{run:#?}");
    assert!(!machine.path("project/mine").exists());
}

const PLANNER_WRITES: &str = r#"
[[scene]]
[[scene.turn]]
steps = [{ call = "shell_command", arguments = { command = "touch mine; grep -q . mine || ls mine" } }]
[[scene.turn]]
steps = [{ say = "{{last_output}}" }]
[[scene.turn]]
steps = [{ call = "shell_command", arguments = { command = "touch mine && echo made" } }]
[[scene.turn]]
steps = [{ say = "{{last_output}}" }]
"#;

#[test]
fn the_kernel_keeps_a_planner_from_writing_until_the_plan_is_left() {
    let machine = Machine::playing(PLANNER_WRITES);
    let run = machine.run(&["exec", "--plan", "think"]).succeeded();
    assert!(run.stdout.contains("Read-only file system"), "{run:#?}");
    assert!(run.stderr.contains("sandbox  read-only"), "{run:#?}");
    assert!(!machine.path("project/mine").exists());
    let run = machine
        .run(&["exec", "resume", "--last", "--no-plan", "do it"])
        .succeeded();
    assert!(run.stdout.contains("made"), "{run:#?}");
    assert!(run.stderr.contains("sandbox  workspace-write"), "{run:#?}");
    assert!(machine.path("project/mine").exists());
}

#[test]
fn an_explicit_sandbox_counts_for_a_planner_too_also_when_the_session_goes_on() {
    let machine = Machine::playing(PLANNER_WRITES);
    let run = machine
        .run(&["exec", "--plan", "-s", "workspace-write", "think"])
        .succeeded();
    assert!(run.stderr.contains("sandbox  workspace-write"), "{run:#?}");
    assert!(machine.path("project/mine").exists());
    std::fs::remove_file(machine.path("project/mine")).unwrap();
    let run = machine
        .run(&["exec", "resume", "--last", "more"])
        .succeeded();
    assert!(run.stdout.contains("made"), "{run:#?}");
    // A mode that is chosen anew begins without it.
    let machine = Machine::playing(PLANNER_WRITES);
    machine.write("home/config.toml", "sandbox_mode = 'workspace-write'\n");
    let run = machine.run(&["exec", "--plan", "think"]).succeeded();
    assert!(run.stderr.contains("sandbox  read-only"), "{run:#?}");
}

const QUESTION: &str = r#"
[[scene]]
[[scene.turn]]
steps = [{ call = "request_user_input", arguments = { questions = [{ id = "db", header = "Database", question = "Which database?", options = [{ value = "sqlite", label = "SQLite", description = "one file" }, { value = "postgres", label = "Postgres", description = "a server" }] }] } }]
[[scene.turn]]
steps = [{ say = "They said {{last_output}}" }]
"#;

#[test]
fn a_question_of_the_model_is_answered_at_the_terminal() {
    let machine = Machine::playing(QUESTION);
    let terminal = Terminal::running(&machine, &["exec", "--plan", "think"]);
    let screen = terminal.shows(&[
        "Which database?",
        "[2] Postgres: a server",
        "(empty: none) >",
    ]);
    assert!(screen.contains("[1] SQLite: one file"), "{screen}");
    terminal.types(&["2", "Enter"]);
    let screen = terminal.shows(&["They said", "exit 0"]);
    assert!(screen.contains("postgres"), "{screen}");
}

#[test]
fn a_question_that_nobody_can_be_asked_is_shown() {
    let machine = Machine::playing(QUESTION);
    let run = machine.run(&["exec", "--plan", "think"]).succeeded();
    let told = "asked this, and nobody is at a terminal to be asked:\n  Which database? (SQLite, Postgres)";
    assert!(run.stderr.contains(told), "{}", run.stderr);
}
