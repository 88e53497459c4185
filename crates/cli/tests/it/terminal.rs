//! `exec` at a real terminal (tmux): what a person sees while it works, and being asked.

use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::machine::{Machine, Run};
use super::watched::Watched;

/// Far more than anything here takes, on a machine that is busy with other tests.
const PATIENCE: Duration = Duration::from_mins(1);

/// A terminal of its own server, which ends with the test.
pub struct Terminal {
    socket: String,
}

#[derive(Debug, Clone, Copy)]
pub struct WindowSize {
    pub columns: u16,
    pub rows: u16,
}

impl Terminal {
    /// Runs the binary in it, with the machine's model.
    pub fn running(machine: &Machine, arguments: &[&str]) -> Self {
        let window = WindowSize {
            columns: 100,
            rows: 40,
        };
        Self::sized(machine, window, arguments)
    }

    pub fn sized(machine: &Machine, window: WindowSize, arguments: &[&str]) -> Self {
        Self::named(machine, "tmux.sock", window, arguments)
    }

    /// A terminal beside others of the same machine.
    pub fn named(machine: &Machine, name: &str, window: WindowSize, arguments: &[&str]) -> Self {
        let terminal = Self {
            socket: machine.path(name).display().to_string(),
        };
        let troupe = machine.troupe(arguments);
        let mut command = terminal.tmux(&["-f", "/dev/null", "new-session", "-d"]);
        command
            .args(["-x", &window.columns.to_string()])
            .args(["-y", &window.rows.to_string(), "-c"])
            .arg(machine.path("project"));
        for (name, value) in troupe.get_envs() {
            let value = value.unwrap_or_default().to_string_lossy();
            command.args(["-e", &format!("{}={value}", name.to_string_lossy())]);
        }
        let words = std::iter::once(troupe.get_program()).chain(troupe.get_args());
        let words: Vec<_> = words.map(|word| word.to_string_lossy()).collect();
        let line = shlex::try_join(words.iter().map(|word| &**word)).unwrap();
        // The screen stays to be read after the run, also where a shell would end with a Ctrl-C
        // that was meant for the run.
        command.arg(format!("trap : INT; {line}; echo exit $?; cat"));
        assert!(command.status().expect(INSTALL_TMUX).success());
        terminal
    }

    fn tmux(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("tmux");
        command.args(["-S", &self.socket]).args(arguments);
        command.env("TERM", "xterm-256color").stdin(Stdio::null());
        command
    }

    pub fn screen(&self) -> String {
        let output = self.tmux(&["capture-pane", "-p"]).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    }

    /// Returns the screen as soon as it has all of these at once.
    pub fn shows(&self, texts: &[&str]) -> String {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let screen = self.screen();
            if texts.iter().all(|text| screen.contains(text)) {
                return screen;
            }
            assert!(Instant::now() < deadline, "{texts:?} never came:\n{screen}");
            // A terminal has no event that could be waited for.
            sleep(Duration::from_millis(20));
        }
    }

    pub fn types(&self, keys: &[&str]) {
        let sent = self.tmux(&["send-keys"]).args(keys).status().unwrap();
        assert!(sent.success());
    }
}

impl Terminal {
    /// Writes a text, and sends it once it is on the screen: keys that come all at once are a
    /// paste.
    pub fn submits(&self, text: &str) {
        self.types(&[text]);
        self.shows(&[text]);
        self.types(&["Enter"]);
    }

    /// Lets the second pass for which a question hears no letters after one was typed: the rule
    /// is one about time, and nothing on the screen changes with it.
    #[expect(
        clippy::unused_self,
        reason = "it reads as what a person at this terminal does"
    )]
    pub fn waits_until_it_hears(&self) {
        sleep(Duration::from_millis(1_500));
    }

    /// Closes it, as a person closes a window.
    pub fn close(self) {
        drop(self);
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // It is gone already if the run ended it.
        let _ = self.tmux(&["kill-server"]).status();
    }
}

const INSTALL_TMUX: &str = "tmux is needed for this test; `cargo xtask test` installs it as root";

#[test]
fn a_silent_model_is_seen_to_think_and_its_words_are_read_as_they_come() {
    let words = "slowly ".repeat(2_000);
    let machine = Machine::playing(&format!(
        "[[scene]]\n[[scene.turn]]\nsteps = [{{ pause_ms = 4000 }}, {{ say = \"{words}\", pace_ms = 50 }}]\n"
    ));
    let terminal = Terminal::running(&machine, &["exec", "hello"]);
    terminal.shows(&["thinking 2 s · Ctrl-C stops"]);
    terminal.shows(&["slowly slowly", "tokens · Ctrl-C stops"]);
    terminal.types(&["C-c"]);
    let screen = terminal.shows(&["Stopped. Files stay as they are", "exit 1"]);
    assert!(
        screen.contains("Go on with: troupe exec resume"),
        "{screen}"
    );
    assert!(
        !screen.contains("Ctrl-C stops"),
        "the rows are gone: {screen}"
    );
}

#[test]
fn a_running_command_shows_its_last_lines_and_how_long_it_runs() {
    let machine = Machine::playing(
        r#"
[[scene]]
[[scene.turn]]
steps = [{ call = "shell_command", arguments = { command = "for i in 1 2 3 4 5 6 7 8; do echo line $i; done; until test -e go; do sleep 0.05; done" } }]
[[scene.turn]]
steps = [{ say = "Done." }]
"#,
    );
    let terminal = Terminal::running(&machine, &["exec", "count"]);
    let screen = terminal.shows(&["  line 8\nrunning for i in", "0:01 · Ctrl-C stops"]);
    assert!(!screen.contains("line 1\n"), "only the end: {screen}");
    machine.write("project/go", "");
    let screen = terminal.shows(&["line 1\n", "ok in", "Done.\nexit 0"]);
    assert!(!screen.contains("Ctrl-C stops"), "{screen}");
}

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
[[scene.turn]]
steps = [{ say = "I read your reason." }]
"#;

#[test]
fn a_grandchild_asks_the_person_at_the_terminal_and_goes_on_with_the_answer() {
    let machine = Machine::playing(GRANDCHILD_ASKS);
    let terminal = Terminal::running(&machine, &["exec", "lead it"]);
    let screen = terminal.shows(&["[n] no  [w] no, and say why >"]);
    for part in [
        "/root/middle/leaf asks to run a command",
        "echo out > ../out",
        "  outside the sandbox",
        "  why: May I write there?",
    ] {
        assert!(screen.contains(part), "{part}: {screen}");
    }
    assert!(!machine.path("out").exists());
    terminal.types(&["maybe", "Enter"]);
    terminal.shows(&["> maybe\n  [y] yes"]);
    terminal.types(&["y", "Enter"]);
    terminal.shows(&["All is done.\nexit 0"]);
    assert!(machine.path("out").exists());
}

#[test]
fn a_question_at_a_terminal_can_be_answered_from_another_one() {
    let machine = Machine::playing(
        r#"
[[scene]]
[[scene.turn]]
steps = [{ call = "shell_command", arguments = { command = "echo out > ../out", sandbox_permissions = "require_escalated", justification = "May I?" } }]
[[scene.turn]]
steps = [{ say = "Done." }]
"#,
    );
    let asking = Terminal::running(&machine, &["exec", "write it"]);
    asking.shows(&["asks to run a command", "[n] no"]);
    let deadline = Instant::now() + PATIENCE;
    let question = loop {
        let listed = machine.run(&["agents", "answer", "--json"]).succeeded();
        let listed: serde_json::Value = serde_json::from_str(&listed.stdout).unwrap();
        if let Some(question) = listed["questions"][0]["id"].as_str() {
            break question.to_owned();
        }
        assert!(Instant::now() < deadline, "it is never listed");
    };
    let answer = ["agents", "answer", &question, "approve"];
    machine.run(&answer).succeeded();
    asking.shows(&["exit 0"]);
    assert!(machine.path("out").exists());
}

#[test]
fn ctrl_c_is_heard_at_a_question_which_shows_every_letter_of_what_is_asked() {
    let machine = Machine::playing(
        r#"
[[scene]]
[[scene.turn]]
steps = [{ call = "shell_command", arguments = { command = "rm -rf 'a\u202Eb\u001b[31mc'" } }]
[[scene.turn]]
steps = [{ say = "Done." }]
"#,
    );
    let terminal = Terminal::running(&machine, &["exec", "clean"]);
    terminal.shows(&["asks to run a command", r"a\u{202e}b\u{1b}[31mc", "[n] no"]);
    terminal.types(&["C-c"]);
    terminal.shows(&["Stopped. Files stay as they are", "exit 1"]);
}

#[test]
fn a_no_with_a_reason_reaches_the_agent_that_asked() {
    let machine = Machine::playing(GRANDCHILD_ASKS);
    let terminal = Terminal::running(&machine, &["exec", "lead it"]);
    terminal.shows(&["say why >"]);
    terminal.types(&["w", "Enter"]);
    terminal.shows(&["why? the agent reads it:"]);
    terminal.types(&["not outside of the project", "Enter"]);
    terminal.shows(&["All is done.\nexit 0"]);
    assert!(!machine.path("out").exists());
    let logs = machine.run(&["agents", "logs", "leaf"]).succeeded();
    let told = logs.stdout.contains("not outside of the project");
    assert!(told, "{}", logs.stdout);
}

#[test]
fn where_nobody_can_be_asked_a_refusal_names_the_command_that_would_allow_it() {
    let machine = Machine::playing(
        r#"
[[scene]]
[[scene.turn]]
steps = [{ call = "shell_command", arguments = { command = "touch ../out", sandbox_permissions = "require_escalated", justification = "May I?" } }]
[[scene.turn]]
steps = [{ say = "Well." }]
"#,
    );
    // A home that commands can write to, as one in a temporary directory is, has no lasting yes.
    let mut command = machine.troupe(&["exec", "leave"]);
    let output = command.env("HOME", "/nonexistent").output().unwrap();
    let run = Run::of(&output).succeeded();
    let told = "allow it: troupe rules add allow --outside -- touch ../out";
    assert!(run.stderr.contains(told), "{}", run.stderr);
    assert!(
        !run.stderr.contains('\u{1b}'),
        "no rows in a file: {}",
        run.stderr
    );
    machine
        .run(&[
            "rules",
            "add",
            "allow",
            "--outside",
            "--",
            "touch",
            "../out",
        ])
        .succeeded();
    // The rule is looked at again where it is used, so it counts only with such a home.
    let mut command = machine.troupe(&["exec", "leave"]);
    let output = command.env("HOME", "/nonexistent").output().unwrap();
    Run::of(&output).succeeded();
    assert!(machine.path("out").exists());
}

#[test]
fn a_tree_that_is_taller_than_the_window_stays_on_the_screen() {
    let spawn = |number: u32| {
        format!(
            r#"{{ call = "spawn_agent", arguments = {{ message = "quick {number}", task_name = "quick{number}" }} }}"#
        )
    };
    let spawns = (1..=6).map(spawn).collect::<Vec<_>>().join(", ");
    // Each of them may be told in a turn of its own.
    let words = "[[scene.turn]]\nsteps = [{ say = 'All is done.' }]\n".repeat(8);
    let machine = Machine::playing(&format!(
        r#"
[[scene]]
when = "lead"
[[scene.turn]]
steps = [{spawns}, {{ call = "spawn_agent", arguments = {{ message = "slow", task_name = "slow_one_with_a_rather_long_name" }} }}]
[[scene.turn]]
steps = [{{ call = "wait", arguments = {{ ids = ["slow_one_with_a_rather_long_name"], timeout_ms = 600000 }} }}]
{words}
[[scene]]
when = "quick"
[[scene.turn]]
steps = [{{ say = "A quick answer that is longer than the window of this test is wide, so that it is cut." }}]

[[scene]]
when = "slow"
[[scene.turn]]
steps = [{{ call = "shell_command", arguments = {{ command = "until test -e go; do sleep 0.05; done", timeout_ms = 600000 }} }}]
[[scene.turn]]
steps = [{{ say = "At last." }}]
"#
    ));
    let mut run = Watched::start(&machine, &["exec", "--json", "lead"]);
    run.until(|line| line["type"] == "agent.created");
    let window = WindowSize {
        columns: 60,
        rows: 7,
    };
    let terminal = Terminal::sized(&machine, window, &["agents", "tree", "--watch"]);
    let screen = terminal.shows(&["session", "6 completed", "waits for 1"]);
    assert!(screen.contains('…'), "long lines are cut: {screen}");
    assert!(screen.contains("slow_one"), "who works is shown: {screen}");
    machine.write("project/go", "");
    let (_, code) = run.rest();
    assert_eq!(code, Some(0));
    terminal.shows(&["exit 0"]);
}
