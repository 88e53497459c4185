//! Hooks of the configuration: the user's own count, a project's only if it is trusted.

use crate::machine::Machine;

const PLAY: &str = r#"
[[scene]]
[[scene.turn]]
steps = [{ call = "shell_command", arguments = { command = "touch ran" } }]
[[scene.turn]]
steps = [{ say = "It said: {{last_output}}" }]
"#;

const REFUSAL: &str = r#"
[[hooks.before_tool]]
matcher = "shell_*"
command = "env > ../hook.env; echo not today >&2; exit 2"
"#;

#[test]
fn a_hook_of_the_user_refuses_a_call_without_knowing_the_key() {
    let machine = Machine::playing(PLAY);
    machine.write("home/config.toml", REFUSAL);
    let run = machine.run(&["exec", "go"]).succeeded();
    assert!(run.stdout.contains("not today"), "{}", run.stdout);
    assert!(!machine.path("project/ran").exists());
    let environment = std::fs::read_to_string(machine.path("hook.env")).unwrap();
    assert!(environment.contains("TROUPE_HOOK_EVENT=before_tool"));
    assert!(!environment.contains("sk-test"), "{environment}");
}

#[test]
fn a_project_that_is_not_trusted_has_no_hooks() {
    let machine = Machine::playing(PLAY);
    machine.write("project/.troupe/config.toml", REFUSAL);
    machine.run(&["exec", "go"]).succeeded();
    assert!(!machine.path("hook.env").exists());
    assert!(machine.path("project/ran").exists());
}

#[test]
fn a_hook_that_is_not_one_is_named_with_its_place() {
    let machine = Machine::bare();
    machine.write("home/config.toml", "[[hooks.before_tool]]\ncommand = 1\n");
    let run = machine.run(&["exec", "go"]);
    assert_eq!(run.code, Some(2), "{}", run.stderr);
    assert!(run.stderr.contains("config.toml"), "{}", run.stderr);
    assert!(run.stderr.contains("hooks"), "{}", run.stderr);
}
