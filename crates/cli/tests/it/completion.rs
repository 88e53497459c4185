//! What a real bash is offered when somebody presses Tab.

use std::process::{Command, Stdio};

use crate::machine::Machine;

/// A parent with one child.
const DELEGATE: &str = r#"
[[scene]]
when = "say hello"
[[scene.turn]]
steps = [{ say = "Hello." }]

[[scene]]
when = "delegate"
[[scene.turn]]
steps = [{ call = "spawn_agent", arguments = { message = "say hello", task_name = "greeter" } }]
[[scene.turn]]
steps = [{ call = "wait", arguments = { ids = ["/root/greeter"] } }]
[[scene.turn]]
steps = [{ say = "It said hello." }]
"#;

/// Completes its arguments as bash does: the last one is what stands before the cursor.
const PRESS_TAB: &str = r#"
source <("$TROUPE" completion bash)
troupe() { "$TROUPE" "$@"; }
COMP_WORDS=(troupe "$@")
COMP_CWORD=$#
COMP_TYPE=9
_clap_complete_troupe troupe "${COMP_WORDS[COMP_CWORD]}"
printf '%s\n' "${COMPREPLY[@]}"
"#;

fn offered(machine: &Machine, typed: &[&str]) -> Vec<String> {
    let troupe = machine.troupe(&[]);
    let mut bash = Command::new("bash");
    bash.args(["-c", PRESS_TAB, "bash"]).args(typed);
    bash.env("TROUPE", troupe.get_program());
    bash.envs(
        troupe
            .get_envs()
            .filter_map(|(name, value)| Some((name, value?))),
    );
    bash.current_dir(troupe.get_current_dir().unwrap());
    let output = bash.stderr(Stdio::inherit()).output().unwrap();
    let told = String::from_utf8(output.stdout).unwrap();
    told.lines().map(|line| line.trim().to_owned()).collect()
}

#[test]
fn commands_and_options_are_offered() {
    let machine = Machine::bare();
    assert_eq!(offered(&machine, &["mock-"]), ["mock-model"]);
    assert_eq!(
        offered(&machine, &["exec", "--output-s"]),
        ["--output-schema"]
    );
}

#[test]
fn sessions_agents_roles_and_models_are_offered_as_there_are() {
    let machine = Machine::playing(DELEGATE);
    let run = machine.run(&["exec", "--json", "delegate"]).succeeded();
    let session = run.thread_id();
    let short = &session[..8];
    assert_eq!(
        offered(&machine, &["sessions", "show", &short[..4]]),
        [short]
    );
    assert_eq!(offered(&machine, &["resume", &short[..4]]), [short]);
    assert_eq!(
        offered(&machine, &["agents", "send", "/"]),
        ["/root/greeter"]
    );
    assert_eq!(offered(&machine, &["roles", "show", "rev"]), ["reviewer"]);
    let models = offered(&machine, &["exec", "--model", "claude-opus"]);
    assert!(!models.is_empty());
    assert!(
        models.iter().all(|it| it.starts_with("claude-opus")),
        "{models:?}"
    );
}

#[test]
fn looking_for_something_to_offer_makes_no_home() {
    let machine = Machine::bare();
    let home = machine.path("home");
    std::fs::remove_dir_all(&home).ok();
    offered(&machine, &["sessions", "show", "a"]);
    assert!(!home.exists());
}
