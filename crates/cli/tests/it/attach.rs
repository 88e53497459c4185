//! Sessions that other processes attach to, by the wire alone: what `troupe attach` and the
//! screen are clients of.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::machine::{Machine, Run};

/// Far more than anything here takes, on a machine that is busy with other tests.
const PATIENCE: Duration = Duration::from_mins(1);

/// A command that lasts until the test says so.
const LASTS: &str = r#"
[[scene]]
[[scene.turn]]
steps = [{ call = "shell_command", arguments = { command = "until test -e go; do sleep 0.05; done" } }]
[[scene.turn]]
steps = [{ say = "It is over." }]
[[scene.turn]]
steps = [{ say = "And once more." }]
"#;

/// Returns the socket of the one session that can be attached to, as soon as there is one.
fn socket(machine: &Machine) -> PathBuf {
    let directory = machine.path("home/run");
    let deadline = Instant::now() + PATIENCE;
    loop {
        let entries = fs::read_dir(&directory).into_iter().flatten();
        let mut paths = entries.map(|entry| entry.unwrap().path());
        let found = paths.find(|path| path.extension().is_some_and(|it| it == "attach"));
        if let Some(path) = found.filter(|path| UnixStream::connect(path).is_ok()) {
            return path;
        }
        assert!(Instant::now() < deadline, "nobody ever listened");
        // A directory has no event that could be waited for without one more crate.
        sleep(Duration::from_millis(20));
    }
}

/// A client of a session, line by line.
struct Attached {
    stream: UnixStream,
    lines: BufReader<UnixStream>,
}

impl Attached {
    fn to(socket: &Path, hello: Value) -> Self {
        let stream = UnixStream::connect(socket).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let lines = BufReader::new(stream.try_clone().unwrap());
        let mut attached = Self { stream, lines };
        attached.say(hello);
        attached
    }

    fn say(&mut self, message: Value) {
        self.stream
            .write_all(format!("{message}\n").as_bytes())
            .unwrap();
    }

    /// Returns the next line, `None` when the other side has gone.
    fn next(&mut self) -> Option<Value> {
        let mut line = String::new();
        let read = self.lines.read_line(&mut line).ok()?;
        (read > 0).then(|| serde_json::from_str(&line).unwrap())
    }

    /// Reads up to the event or the notice of this kind.
    fn until(&mut self, kind: &str) -> Value {
        while let Some(line) = self.next() {
            if line["msg"]["type"] == kind || line["type"] == kind {
                return line;
            }
        }
        panic!("{kind} never came");
    }

    fn type_prompt(&mut self, id: &str, text: &str) {
        let items = json!([{"type": "text", "text": text}]);
        self.say(json!({"id": id, "op": {"type": "user_input", "items": items}}));
    }
}

/// An engine as a screen starts it. Dropping it kills it.
struct Engine {
    process: Child,
    session: String,
}

impl Engine {
    fn start(machine: &Machine, continues: &Value) -> Self {
        Self::start_with(machine, continues, false)
    }

    fn start_with(machine: &Machine, continues: &Value, ends_with_screen: bool) -> Self {
        let base_url = format!("openai_base_url={}", machine.base_url());
        let order = json!({
            "home": machine.path("home"),
            "cwd": machine.path("project"),
            "config": [base_url, "model_providers.openai.request_max_retries=0"],
            "profile": null,
            "strict_config": false,
            "ignore_user_config": false,
            "ignore_rules": false,
            "add_dirs": [],
            "continues": continues,
            "go_on": false,
            "ends_with_screen": ends_with_screen,
        });
        let mut command = machine.troupe(&["engine"]);
        let mut process = command.stdin(Stdio::piped()).spawn().unwrap();
        let mut stdin = process.stdin.take().unwrap();
        stdin.write_all(order.to_string().as_bytes()).unwrap();
        drop(stdin);
        let mut session = String::new();
        let stdout = process.stdout.as_mut().unwrap();
        BufReader::new(stdout).read_line(&mut session).unwrap();
        assert!(!session.is_empty(), "the engine never was ready");
        Self {
            process,
            session: session.trim().to_owned(),
        }
    }

    /// Ends by itself.
    fn ended(&mut self) {
        assert!(self.process.wait().unwrap().success());
    }

    /// As a crash ends it.
    fn kill(mut self) -> String {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
        self.session.clone()
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        // It is our own child, and may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn a_run_of_exec_is_followed_and_steered_from_elsewhere() {
    let machine = Machine::playing(LASTS);
    let run = machine.troupe(&["exec", "begin"]).spawn().unwrap();
    let socket = socket(&machine);
    let mode = fs::metadata(&socket).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);

    let hello = json!({"type": "hello", "role": "follow", "history": "session"});
    let mut first = Attached::to(&socket, hello.clone());
    assert_eq!(first.until("welcome")["role"], "follow");
    first.until("session_configured");
    first.until("exec_command_begin");
    let mut second = Attached::to(&socket, hello);
    second.until("exec_command_begin");

    first.say(json!({"type": "take_seat"}));
    assert_eq!(first.until("seat")["role"], "drive");
    first.say(json!({"id": "n", "op": {"type": "set_thread_note", "note": "watched"}}));
    assert_eq!(
        second.until("thread_note_updated")["msg"]["thread_note"],
        "watched"
    );
    drop(first);
    // The seat of one who left is free, and the work goes on.
    second.until("seat");
    machine.write("project/go", "");
    second.until("task_complete");
    let run = Run::of(&run.wait_with_output().unwrap()).succeeded();
    assert_eq!(run.stdout, "It is over.\n");
    assert!(!socket.exists());
}

#[test]
fn an_engine_goes_on_without_its_screen() {
    let machine = Machine::playing(LASTS);
    let mut engine = Engine::start(&machine, &json!("New"));
    let socket = machine.path(&format!("home/run/{}.attach", engine.session));
    let drive = json!({"type": "hello", "history": "session"});
    let mut screen = Attached::to(&socket, drive.clone());
    screen.until("session_configured");
    screen.type_prompt("1", "begin");
    screen.until("exec_command_begin");
    drop(screen);

    machine.write("project/go", "");
    let mut again = Attached::to(&socket, drive);
    again.until("task_complete");
    again.say(json!({"id": "2", "op": {"type": "shutdown"}}));
    again.until("goodbye");
    engine.ended();
    assert!(!socket.exists());
}

#[test]
fn an_engine_that_is_of_no_use_without_its_screen_ends_with_it() {
    let machine = Machine::playing(LASTS);
    let mut engine = Engine::start_with(&machine, &json!("New"), true);
    let socket = machine.path(&format!("home/run/{}.attach", engine.session));
    let mut screen = Attached::to(&socket, json!({"type": "hello"}));
    screen.type_prompt("1", "begin");
    screen.until("exec_command_begin");
    drop(screen);
    engine.ended();
    assert!(!socket.exists());
}

#[test]
fn an_engine_that_was_killed_is_attached_to_again_and_nothing_is_lost() {
    let machine = Machine::playing(LASTS);
    let engine = Engine::start(&machine, &json!("New"));
    let socket = machine.path(&format!("home/run/{}.attach", engine.session));
    let mut screen = Attached::to(&socket, json!({"type": "hello", "history": "session"}));
    screen.type_prompt("1", "begin");
    let seen = screen.until("exec_command_begin")["seq"].as_u64().unwrap();
    let session = engine.kill();
    assert!(
        screen.next().is_none(),
        "the connection ends with the engine"
    );

    let engine = Engine::start(&machine, &json!({ "Resume": session }));
    assert_eq!(engine.session, session);
    let hello = json!({"type": "hello", "after": seen});
    let mut screen = Attached::to(&socket, hello);
    let aborted = screen.until("turn_aborted");
    assert!(aborted["seq"].as_u64().unwrap() > seen);
    let whole = json!({"type": "hello", "role": "follow", "history": "session"});
    let mut late = Attached::to(&socket, whole);
    assert_eq!(late.until("session_configured")["seq"], 1);
    late.until("turn_aborted");
}

#[test]
fn an_engine_that_cannot_open_its_session_says_why() {
    let machine = Machine::bare();
    let run = machine.run_with_stdin(&["engine"], b"{}").failed_with(2);
    assert!(
        run.stderr.contains("no order for an engine"),
        "{}",
        run.stderr
    );
}

#[test]
fn who_attaches_to_nothing_is_told_what_to_do() {
    let machine = Machine::bare();
    let run = machine.run(&["attach"]).failed_with(2);
    assert!(run.stderr.contains("needs a terminal"), "{}", run.stderr);
}
