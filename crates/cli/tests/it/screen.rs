//! The screen at a real terminal (tmux): one agent, a grandchild's question, a second terminal, a
//! killed engine, a closed window.

use std::fs;
use std::process::Command;

use super::machine::Machine;
use super::terminal::{Terminal, WindowSize};

const WINDOW: WindowSize = WindowSize {
    columns: 100,
    rows: 30,
};

const COMPOSER: &str = "Message, /command";

const FOLLOWS: &str = "another client drives; /drive asks for the seat";

fn screen(machine: &Machine) -> Terminal {
    let terminal = Terminal::sized(machine, WINDOW, &[]);
    terminal.shows(&[COMPOSER]);
    terminal
}

fn beside(machine: &Machine, arguments: &[&str]) -> Terminal {
    Terminal::named(machine, "second.sock", WINDOW, arguments)
}

/// A command that a person must allow, and that lasts until the test says so.
const ASKS: &str = r#"
[[scene]]
[[scene.turn]]
steps = [{ call = "shell_command", arguments = { command = "echo out > ../out; until test -e go; do sleep 0.05; done", sandbox_permissions = "require_escalated", justification = "May I write there?" } }]
[[scene.turn]]
steps = [{ say = "It is **written**." }]
[[scene.turn]]
steps = [{ say = "You are welcome." }]
"#;

/// A grandchild that wants to leave the sandbox.
const GRANDCHILD_ASKS: &str = r#"
[[scene]]
when = "lead it"
[[scene.turn]]
steps = [{ call = "spawn_agent", arguments = { message = "pass on", task_name = "middle" } }]
[[scene.turn]]
steps = [{ call = "wait", arguments = { ids = ["middle"], timeout_ms = 600000 } }]
[[scene.turn]]
steps = [{ say = "All is done." }]

[[scene]]
when = "pass on"
[[scene.turn]]
steps = [{ call = "spawn_agent", arguments = { message = "leave", task_name = "leaf" } }]
[[scene.turn]]
steps = [{ call = "wait", arguments = { ids = ["leaf"], timeout_ms = 600000 } }]
[[scene.turn]]
steps = [{ say = "Passed on." }]

[[scene]]
when = "leave"
[[scene.turn]]
steps = [{ call = "shell_command", arguments = { command = "echo out > ../out", sandbox_permissions = "require_escalated", justification = "May I write there?" } }]
[[scene.turn]]
steps = [{ say = "It said: {{last_output}}" }]
"#;

#[test]
fn a_task_is_given_a_command_allowed_and_the_screen_left() {
    let machine = Machine::playing(ASKS);
    machine.write("project/go", "");
    let terminal = screen(&machine);
    terminal.submits("write it");
    terminal.shows(&["run outside the sandbox", "y once"]);
    assert!(!machine.path("out").exists());
    terminal.waits_until_it_hears();
    // Enter alone never approves.
    terminal.types(&["Enter"]);
    terminal.shows(&["y once"]);
    terminal.waits_until_it_hears();
    terminal.types(&["y"]);
    terminal.shows(&["It is written.", COMPOSER]);
    assert!(machine.path("out").exists());
    terminal.types(&["C-c"]);
    terminal.shows(&["Ctrl+C again: leave"]);
    terminal.types(&["C-c"]);
    terminal.shows(&["Go on with: troupe resume", "exit 0"]);
    let sessions = machine.run(&["sessions", "list"]).succeeded();
    assert!(sessions.stdout.contains("write it"), "{}", sessions.stdout);
}

#[test]
fn a_grandchild_is_answered_and_what_was_typed_stays() {
    let machine = Machine::playing(GRANDCHILD_ASKS);
    let terminal = screen(&machine);
    terminal.submits("lead it");
    terminal.types(&["and then"]);
    terminal.shows(&["leaf: run outside the sandbox", "› and then"]);
    // Letters go to the draft as long as there is one.
    terminal.types(&["y"]);
    terminal.shows(&["› and theny", "y once"]);
    assert!(!machine.path("out").exists());
    // The draft is put away, and comes back.
    terminal.types(&["C-c"]);
    terminal.shows(&["y once", "Enter: with the next request"]);
    terminal.waits_until_it_hears();
    terminal.types(&["y"]);
    terminal.shows(&["All is done.", COMPOSER]);
    assert!(machine.path("out").exists());
    terminal.types(&["Up"]);
    terminal.shows(&["› and theny"]);
}

#[test]
fn a_second_terminal_follows_takes_over_and_leaves_without_an_end() {
    let machine = Machine::playing(ASKS);
    let first = screen(&machine);
    first.submits("write it");
    first.shows(&["y once"]);
    let second = beside(&machine, &["attach"]);
    second.shows(&["write it", "run outside the sandbox", FOLLOWS]);

    second.submits("/drive");
    first.shows(&["asks to drive; /follow hands over"]);
    first.submits("/follow");
    first.shows(&[FOLLOWS]);
    second.shows(&["y once"]);
    second.waits_until_it_hears();
    second.types(&["y"]);
    first.shows(&["somebody else allowed"]);
    assert!(!machine.path("project/go").exists());
    second.close();
    machine.write("project/go", "");
    first.shows(&["It is written."]);
}

#[test]
fn an_engine_that_is_killed_is_missed_and_found_again() {
    let machine = Machine::playing(ASKS);
    let terminal = screen(&machine);
    terminal.submits("write it");
    terminal.shows(&["y once"]);
    let engine = engine_of(&machine);
    // Ours alone: it was started by the screen of this test.
    assert!(
        Command::new("kill")
            .args(["-9", &engine])
            .status()
            .unwrap()
            .success()
    );
    terminal.shows(&["the connection is lost"]);

    let again = beside(&machine, &["resume", "--last"]);
    again.shows(&["write it"]);
    terminal.shows(&[FOLLOWS]);
    let screen = terminal.screen();
    assert!(!screen.contains("connection is lost"), "{screen}");
}

/// A child with a child that lasts, and one that is made by hand.
const THREE_LEVELS: &str = r#"
[[scene]]
when = "lead it"
[[scene.turn]]
steps = [{ call = "spawn_agent", arguments = { message = "pass on", task_name = "middle" } }]
[[scene.turn]]
steps = [{ call = "wait", arguments = { ids = ["middle"], timeout_ms = 600000 } }]
[[scene.turn]]
steps = [{ say = "All is done." }]

[[scene]]
when = "pass on"
[[scene.turn]]
steps = [{ call = "spawn_agent", arguments = { message = "last long", task_name = "leaf" } }]
[[scene.turn]]
steps = [{ call = "wait", arguments = { ids = ["leaf"], timeout_ms = 600000 } }]

[[scene]]
when = "last long"
[[scene.turn]]
steps = [{ call = "shell_command", arguments = { command = "until test -e go; do sleep 0.05; done", timeout_ms = 600000 } }]

[[scene]]
when = "count files"
[[scene.turn]]
steps = [{ call = "shell_command", arguments = { command = "until test -e counted; do sleep 0.05; done", timeout_ms = 600000 } }]
[[scene.turn]]
steps = [{ say = "One file." }]
"#;

#[test]
fn a_tree_is_made_steered_and_stopped_from_the_screen_alone() {
    let machine = Machine::playing(THREE_LEVELS);
    let terminal = screen(&machine);
    terminal.submits("lead it");
    terminal.shows(&["Waits for middle", "1 works", "1 waits"]);
    terminal.submits("/spawn count files");
    terminal.shows(&["2 work", "1 waits"]);

    // By place in the tree: the one made by hand, then the child, then its child.
    terminal.types(&["M-a"]);
    terminal.shows(&["AGENTS", "leaf"]);
    terminal.types(&["C-s"]);
    terminal.shows(&["by place"]);
    terminal.types(&["Up", "Up", "Down"]);
    terminal.shows(&["| /root/middle\n"]);
    terminal.types(&["x"]);
    terminal.shows(&["STOP middle", "stops 1 agent"]);
    terminal.types(&["Down"]);
    terminal.shows(&["› cancel", "stops 2 agents:", "/root/middle/leaf"]);
    terminal.types(&["Enter"]);
    terminal.shows(&["= 2 stopped"]);

    terminal.types(&["Up", "Space"]);
    terminal.shows(&["count files", "Enter: with its next request"]);
    terminal.submits("faster");
    terminal.shows(&["number 1 in its queue"]);
    machine.write("project/counted", "");
    terminal.shows(&["› faster", "One file."]);
}

#[test]
fn a_saved_prompt_is_sent_and_rights_are_chosen_from_a_list() {
    let machine = Machine::playing(ASKS);
    machine.write("project/.troupe/commands/ship.md", "Ship $ARGUMENTS now.\n");
    let terminal = screen(&machine);
    terminal.types(&["/sh"]);
    terminal.shows(&["› /ship"]);
    terminal.types(&["ip it"]);
    terminal.shows(&["› /ship it"]);
    terminal.types(&["Enter"]);
    terminal.shows(&["› Ship it now.", "y once"]);
    terminal.submits("/permissions");
    terminal.shows(&["What agents may do", "› on-request", "read-only"]);
    terminal.types(&["Down", "Enter"]);
    terminal.shows(&["untrusted, from the next task on"]);
}

#[test]
fn a_closed_window_ends_no_work() {
    let machine = Machine::playing(ASKS);
    let terminal = screen(&machine);
    terminal.submits("write it");
    terminal.shows(&["y once"]);
    terminal.waits_until_it_hears();
    terminal.types(&["y"]);
    terminal.shows(&["you allowed"]);
    terminal.close();

    let again = beside(&machine, &["attach"]);
    again.shows(&["write it", "allowed root"]);
    machine.write("project/go", "");
    again.shows(&["It is written."]);
    again.submits("thanks");
    again.shows(&["You are welcome."]);
}

#[test]
fn a_misspelt_command_is_no_prompt() {
    let machine = Machine::playing(ASKS);
    let terminal = Terminal::sized(&machine, WINDOW, &["sesions"]);
    terminal.shows(&["'sessions'", "exit 2"]);
}

/// Returns the number of the process that runs the one session of a machine.
fn engine_of(machine: &Machine) -> String {
    let home = machine.path("home").display().to_string();
    let processes = fs::read_dir("/proc").unwrap();
    let is_engine = |pid: &String| {
        let file = |name: &str| fs::read(format!("/proc/{pid}/{name}")).unwrap_or_default();
        let environment = String::from_utf8_lossy(&file("environ")).into_owned();
        file("cmdline").ends_with(b"\0engine\0")
            && environment.contains(&format!("TROUPE_HOME={home}\0"))
    };
    let pids = processes.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    pids.into_iter().find(is_engine).unwrap()
}
