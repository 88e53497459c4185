//! Keys that are stored, and where they are not.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use crate::machine::{Machine, Run};

const KEY: &str = "sk-stored-9f2";

/// A model that says which variables a command sees.
const LOOK: &str = r#"
[[scene]]
[[scene.turn]]
steps = [{ call = "shell_command", arguments = { command = "env; cat \"$HOME/home/keys.toml\"; echo looked" } }]
[[scene.turn]]
expect = "looked"
steps = [{ say = "Looked." }]
"#;

fn stored(machine: &Machine) -> Run {
    machine.run_with_stdin(&["login", "openai"], format!("{KEY}\n").as_bytes())
}

/// The same machine, on which no variable holds a key.
fn without_variable(machine: &Machine, arguments: &[&str]) -> Run {
    let output = machine
        .troupe(arguments)
        .env_remove("OPENAI_API_KEY")
        .output()
        .unwrap();
    Run::of(&output)
}

#[test]
fn a_stored_key_is_used_and_seen_by_nobody_else() {
    let machine = Machine::playing(LOOK);
    stored(&machine).succeeded();
    let run = without_variable(&machine, &["exec", "--json", "look around"]).succeeded();
    assert!(run.stdout.contains("looked"), "{}", run.stdout);
    assert!(!run.stdout.contains(KEY), "{}", run.stdout);
    assert!(!run.stderr.contains(KEY), "{}", run.stderr);
    let exported = machine.run(&["sessions", "export", &run.thread_id()]);
    assert!(!exported.succeeded().stdout.contains(KEY));
}

#[test]
fn the_file_of_keys_is_its_owners_and_no_other_is_used() {
    let machine = Machine::playing(LOOK);
    let told = stored(&machine).succeeded();
    assert!(!told.stdout.contains(KEY), "{}", told.stdout);
    let file = machine.path("home/keys.toml");
    let mode_of = |path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode_of(&file), 0o600);
    assert_eq!(mode_of(&machine.path("home")), 0o700);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    let refused = without_variable(&machine, &["exec", "look around"]).failed_with(3);
    assert!(
        refused.stderr.contains("run: chmod 600"),
        "{}",
        refused.stderr
    );
    fs::write(&file, format!("openai = {KEY}\n")).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    let refused = without_variable(&machine, &["exec", "look around"]).failed_with(3);
    assert!(
        refused.stderr.contains("not a list of lines"),
        "{}",
        refused.stderr
    );
    assert!(!refused.stderr.contains(KEY), "{}", refused.stderr);
}

#[test]
fn login_tells_who_has_a_key_and_logout_takes_it_away() {
    let machine = Machine::bare();
    stored(&machine).succeeded();
    let told = machine.run(&["login"]).succeeded().stdout;
    assert!(
        told.contains("openai       stored by `troupe login`"),
        "{told}"
    );
    assert!(
        told.contains("anthropic    no key; run: troupe login anthropic"),
        "{told}"
    );
    assert!(told.contains("ollama       needs no key"), "{told}");
    let doctor = machine.run(&["doctor", "--offline"]);
    assert!(
        doctor.stdout.contains("stored by `troupe login`"),
        "{}",
        doctor.stdout
    );
    machine.run(&["logout", "openai"]).succeeded();
    let again = machine.run(&["logout", "openai"]).failed_with(2);
    assert!(
        again.stderr.contains("no key is stored for openai"),
        "{}",
        again.stderr
    );
}

#[test]
fn what_is_no_key_or_no_provider_is_refused() {
    let machine = Machine::bare();
    for (provider, typed, told) in [
        ("openai", "", "no key was given"),
        ("openai", "two words", "a key has no spaces"),
        (
            "opnai",
            KEY,
            "there is no model provider \"opnai\"; known are",
        ),
        ("ollama", KEY, "ollama needs no key"),
    ] {
        let run = machine.run_with_stdin(&["login", provider], typed.as_bytes());
        let run = run.failed_with(2);
        assert!(run.stderr.contains(told), "{}", run.stderr);
    }
    assert!(!machine.path("home/keys.toml").exists());
}

#[test]
fn without_a_key_every_interface_names_the_same_ways() {
    let machine = Machine::bare();
    let doctor = machine.run(&["doctor", "--offline"]).failed_with(1).stdout;
    let exec = machine.run(&["exec", "hello"]).failed_with(3).stderr;
    let ways = |text: &str| {
        text[text.find("Choose one:").unwrap()..]
            .trim_end()
            .to_owned()
    };
    assert_eq!(ways(&doctor), ways(&exec));
    assert!(ways(&exec).contains("troupe login anthropic"), "{exec}");
}
