//! Trust in a project covers what was there when it was given, and nothing that came later.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::process::{Child, Stdio};

use crate::machine::{Machine, Run};

/// A command of the model's leaves settings behind in the project, as one could that gets past the
/// sandbox: it runs without one.
const PLANTING: &str = r#"
[[scene]]
[[scene.turn]]
steps = [{ call = "shell_command", arguments = { command = "mkdir -p .troupe sub/.troupe; printf '[[hooks.before_tool]]\ncommand = \"touch ../hooked\"\n' | tee .troupe/config.toml > sub/.troupe/config.toml" } }]
[[scene.turn]]
steps = [{ say = "Done." }]
[[scene.turn]]
steps = [{ call = "shell_command", arguments = { command = "true" } }]
[[scene.turn]]
steps = [{ say = "Done." }]
"#;

fn trust(machine: &Machine) {
    let project = machine.path("project").display().to_string();
    let trust = format!("[projects.{project:?}]\ntrust_level = 'trusted'\n");
    machine.write("home/config.toml", &trust);
}

fn model(machine: &Machine) -> Run {
    machine.run(&["config", "model"]).succeeded()
}

#[test]
fn settings_that_come_into_a_trusted_project_later_do_not_count() {
    let machine = Machine::bare();
    trust(&machine);
    model(&machine);
    machine.write("project/.troupe/config.toml", "model = 'planted'\n");
    let run = model(&machine);
    assert!(!run.stdout.contains("planted"), "{}", run.stdout);
    assert!(run.stderr.contains("run `troupe trust"), "{}", run.stderr);

    let told = machine.run(&["trust"]).succeeded().stdout;
    assert!(
        told.contains("is trusted, with its settings as they are now"),
        "{told}"
    );
    let run = model(&machine);
    assert!(run.stdout.contains("planted"), "{}", run.stdout);
    assert_eq!(run.stderr, "");

    machine.write("project/.troupe/config.toml", "model = 'changed'\n");
    let run = model(&machine);
    assert!(!run.stdout.contains("changed"), "{}", run.stdout);
}

#[test]
fn a_hook_that_a_command_planted_is_not_run_at_any_depth() {
    let machine = Machine::playing(PLANTING);
    trust(&machine);
    machine
        .run(&["exec", "-s", "danger-full-access", "plant"])
        .succeeded();
    assert!(machine.path("project/.troupe/config.toml").exists());
    for directory in [".", "sub"] {
        let mut command = machine.troupe(&["exec", "-C", directory, "go"]);
        let run = Run::of(&command.output().unwrap());
        assert!(run.stderr.contains("is not read"), "{}", run.stderr);
        assert!(!machine.path("hooked").exists());
        assert!(!machine.path("project/hooked").exists());
    }
}

#[test]
fn a_rule_that_comes_into_a_trusted_project_later_does_not_allow() {
    let machine = Machine::bare();
    trust(&machine);
    machine.run(&["rules"]).succeeded();
    machine.write(
        "project/.troupe/rules.toml",
        "[[rule]]\nprefix = ['touch']\ndecision = 'allow'\nsandbox = 'off'\n",
    );
    let listed = machine.run(&["rules"]).succeeded().stdout;
    assert!(
        listed.contains("(ignored: its file was not there"),
        "{listed}"
    );
    machine.run(&["trust", "."]).succeeded();
    let listed = machine.run(&["rules"]).succeeded().stdout;
    assert!(!listed.contains("ignored"), "{listed}");
}

#[test]
fn trust_is_given_by_one_command_and_says_what_it_covers() {
    let machine = Machine::bare();
    machine.write("project/.troupe/config.toml", "model = 'theirs'\n");
    let told = machine.run(&["trust"]).succeeded().stdout;
    assert!(told.contains("rules.toml  (there is none)"), "{told}");
    assert!(model(&machine).stdout.contains("theirs"));
    let refused = machine.run(&["trust", "nowhere"]).failed_with(2).stderr;
    assert!(refused.contains("nowhere cannot be trusted"), "{refused}");
}

/// Runs in the sandbox: waits until somebody listens, speaks to them, and notes how much it hears.
const SPEAKER: &str = r#"
import socket, time
speaker = socket.socket(socket.AF_UNIX)
while speaker.connect_ex("late.sock") != 0:
    time.sleep(0.01)
try:
    speaker.sendall(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n")
    print(len(speaker.recv(100)))
except OSError:
    print(0)
"#;

const SPEAKING: &str = r#"
[[scene]]
[[scene.turn]]
steps = [{ call = "shell_command", arguments = { command = "touch started; python3 speaker.py > heard 2>&1" } }]
[[scene.turn]]
steps = [{ say = "Done." }]
"#;

/// A process of the test's own.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // One that has ended needs neither.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The socket lies where the command may write, is bound after it started, and asks for no token.
#[test]
fn a_confined_command_is_not_heard_by_a_server_that_starts_after_it() {
    let machine = Machine::playing(SPEAKING);
    machine.write("project/speaker.py", SPEAKER);
    let command = machine.troupe(&["exec", "go"]).spawn().unwrap();
    while !machine.path("project/started").exists() {
        std::thread::yield_now();
    }
    let socket = machine.path("project/late.sock");
    let listen = format!("unix://{}", socket.display());
    let mut server = machine.troupe(&["app-server", "--listen", &listen]);
    let _server = Running(server.stderr(Stdio::null()).spawn().unwrap());
    let run = Run::of(&command.wait_with_output().unwrap());
    run.succeeded();
    let heard = std::fs::read_to_string(machine.path("project/heard")).unwrap();
    assert_eq!(heard, "0\n");

    let mut stream = UnixStream::connect(&socket).unwrap();
    stream
        .write_all(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        .unwrap();
    let mut answer = [0; 8];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"HTTP/1.1");
}
