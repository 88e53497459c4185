//! Clients, model servers and commands that misbehave: it is told, and the session goes on.

use std::fs;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::client::{Client, user_turn};
use crate::machine::{Machine, Run};

/// A model that answers so many times.
fn answers(count: usize) -> String {
    let turn = "[[scene.turn]]\nsteps = [{ say = 'Fine.' }]\n";
    format!("[[scene]]\n{}", turn.repeat(count))
}

/// A client whose session is open.
fn opened(machine: &Machine) -> Client {
    let mut client = Client::start(machine.troupe(&["proto"]));
    client.send("open", &json!({"type": "configure_session"}));
    client.until("session_configured");
    client
}

const OVERSIZED_BYTES: usize = 50 << 20;

/// Lines that are no submissions, each with a word of the answer.
fn bad_lines() -> Vec<(Vec<u8>, &'static str)> {
    let turn = |text: &str| {
        let op = user_turn(text);
        json!({"id": "bad", "op": op}).to_string().into_bytes()
    };
    let cut = &turn("cut off")[..20];
    let replaced = |from: &str, to: &[u8]| {
        let line = turn("MARK");
        let at = line
            .windows(from.len())
            .position(|it| it == from.as_bytes());
        let at = at.unwrap();
        [&line[..at], to, &line[at + from.len()..]].concat()
    };
    vec![
        (cut.to_vec(), "JSON"),
        (b"not json".to_vec(), "JSON"),
        (replaced("MARK", b"\xff\xfe"), "UTF-8"),
        (b"\xff\xfe\x00".to_vec(), ""),
        (replaced("MARK", b"a\0b"), "NUL"),
        (vec![0; 1000], "NUL"),
        (vec![b'['; 100_000], ""),
        (replaced("\"MARK\"", &[b'['; 100_000]), ""),
        (br#"{"id":"bad","op":{"type":"dance"}}"#.to_vec(), "dance"),
        (
            br#"{"id":"bad","op":{"type":"user_turn"}}"#.to_vec(),
            "items",
        ),
        (br#"{"id":"bad"}"#.to_vec(), "op"),
        (br#"{"op":{"type":"interrupt"}}"#.to_vec(), "id"),
        (br#"{"id":7,"op":{"type":"interrupt"}}"#.to_vec(), "id"),
        (b"null".to_vec(), ""),
        (turn(&"x".repeat(OVERSIZED_BYTES)), "bytes"),
        (vec![b'x'; OVERSIZED_BYTES], "bytes"),
    ]
}

#[test]
fn a_bad_line_is_refused_and_the_next_turn_works() {
    let lines = bad_lines();
    let machine = Machine::playing(&answers(lines.len()));
    let mut client = opened(&machine);
    for (nth, (line, word)) in lines.iter().enumerate() {
        client.send_bytes(b"\n  \n");
        client.send_bytes(line);
        client.send_bytes(b"\n\r\n");
        let error = client.until("error");
        let shown = String::from_utf8_lossy(&line[..line.len().min(60)]).into_owned();
        assert_eq!(error["msg"]["error_info"], "invalid_submission", "{shown}");
        assert_eq!(error["msg"]["fatal"], false, "{shown}");
        let message = error["msg"]["message"].as_str().unwrap();
        assert!(message.contains(word), "{shown}: {message}");
        assert!(message.len() < 2_000, "{shown}: {message}");

        client.send(&format!("turn {nth}"), &user_turn("go on"));
        let complete = client.until("task_complete");
        assert_eq!(complete["msg"]["last_agent_message"], "Fine.", "{shown}");
    }
    let kept = peak_memory_bytes(client.pid());
    assert!(kept < 150 << 20, "{kept} bytes for lines that are not kept");
    let told = client.seen.iter().filter(|event| {
        let value = serde_json::to_value(event).unwrap();
        value["msg"]["type"] == "error"
    });
    assert_eq!(told.count(), lines.len(), "blank lines are no submissions");
    assert_eq!(client.end(), "");
}

fn peak_memory_bytes(pid: u32) -> usize {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let kibibytes = line.unwrap().split_whitespace().nth(1).unwrap();
    kibibytes.parse::<usize>().unwrap() << 10
}

#[test]
fn a_bad_line_does_not_disturb_a_running_task() {
    let machine = Machine::playing(
        r#"
[[scene]]
[[scene.turn]]
steps = [{ call = "shell_command", arguments = { command = "until test -e go; do sleep 0.02; done" } }]
[[scene.turn]]
steps = [{ say = "It went on." }]
"#,
    );
    let mut client = opened(&machine);
    client.send("task", &user_turn("wait"));
    client.until("exec_command_begin");
    for (line, _) in bad_lines() {
        client.send_bytes(&line);
        client.send_bytes(b"\n");
        client.until("error");
    }
    machine.write("project/go", "");
    let complete = client.until("task_complete");
    assert_eq!(complete["msg"]["last_agent_message"], "It went on.");
    client.end();
}

/// Runs a task against a model that does this, and returns why it failed.
fn failure(steps: &str, options: &[&str]) -> String {
    let machine = Machine::playing(&format!("[[scene]]\n[[scene.turn]]\nsteps = [{steps}]\n"));
    failure_of(&machine.run(&[options, &["exec", "--json", "hi"]].concat()))
}

fn failure_of(run: &Run) -> String {
    assert_eq!(run.code, Some(1), "{run:#?}");
    let last: Value = run.lines().pop().unwrap();
    assert_eq!(last["type"], "turn.failed", "{run:#?}");
    last["error"]["message"].as_str().unwrap().to_owned()
}

#[test]
fn a_stream_that_fails_is_told_and_exits_with_1() {
    let impatient = ["-c", "model_providers.openai.stream_idle_timeout_ms=200"];
    let begun = "{ say = 'I begin', unfinished = true }";
    for said in ["", "{ say = 'All.' }, ", &format!("{begun}, ")] {
        let message = failure(&format!("{said}{{ end = 'stall' }}"), &impatient);
        assert!(message.contains("200 ms"), "{message}");
        let message = failure(&format!("{said}{{ end = 'drop' }}"), &[]);
        assert!(message.contains("the stream broke"), "{message}");
        let message = failure(&format!("{said}{{ malformed = '{{\"type\":' }}"), &[]);
        assert!(message.contains("malformed event"), "{message}");
    }
}

#[test]
fn a_session_goes_on_after_its_model_failed() {
    let machine = Machine::playing(
        r#"
[[scene]]
[[scene.turn]]
steps = [{ think = "Hm." }, { say = "Half a", unfinished = true }, { end = "drop" }]
[[scene.turn]]
expect = "again"
steps = [{ say = "Whole." }]
"#,
    );
    let mut client = opened(&machine);
    client.send("1", &user_turn("hi"));
    let error = client.until("error");
    assert_eq!(error["msg"]["fatal"], true, "{error}");
    client.until("turn_aborted");
    client.send("2", &user_turn("again"));
    let complete = client.until("task_complete");
    assert_eq!(complete["msg"]["last_agent_message"], "Whole.");
    client.end();
}

#[test]
fn a_model_server_that_is_not_there_is_named() {
    let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = free.local_addr().unwrap();
    drop(free);
    let machine = Machine::bare();
    let base_url = format!("openai_base_url=http://{address}/v1");
    let retries = "model_providers.openai.request_max_retries=0";
    let arguments = ["-c", &base_url, "-c", retries, "exec", "--json", "hi"];
    let output = machine
        .troupe(&arguments)
        .env("OPENAI_API_KEY", "sk-test")
        .output()
        .unwrap();
    let message = failure_of(&Run::of(&output));
    assert!(message.contains(&address.to_string()), "{message}");
    assert!(message.contains("refused"), "{message}");
}

const SECRET: &str = "sk-fault-0123456789abcdef";

#[test]
fn the_key_is_nowhere_but_in_the_request() {
    let machine = Machine::playing(&format!(
        r#"
[[scene]]
[[scene.turn]]
steps = [{{ call = "shell_command", arguments = {{ command = "env; cat /proc/self/environ; cat /proc/$PPID/environ; set" }} }}]
[[scene.turn]]
steps = [{{ call = "exec_command", arguments = {{ cmd = "env", tty = true }} }}]
[[scene.turn]]
steps = [{{ status = 401, message = "your key {SECRET} is not one of ours" }}]
"#
    ));
    let output = machine
        .troupe(&["exec", "--json", "hi"])
        .env("OPENAI_API_KEY", SECRET)
        .output()
        .unwrap();
    let run = Run::of(&output);
    let message = failure_of(&run);
    assert!(message.contains("401"), "{message}");
    assert!(run.stdout.contains("PATH="), "the commands ran: {run:#?}");
    let human = machine
        .troupe(&["exec", "resume", "--last", "again"])
        .env("OPENAI_API_KEY", SECRET)
        .output()
        .unwrap();
    let human = Run::of(&human);
    for text in [&run.stdout, &run.stderr, &human.stdout, &human.stderr] {
        assert!(!text.contains(SECRET), "{text}");
    }
    let files = files_below(&machine.path("home"));
    assert!(files.len() >= 2, "{files:?}");
    for path in files {
        let bytes = fs::read(&path).unwrap();
        let found = bytes
            .windows(SECRET.len())
            .any(|it| it == SECRET.as_bytes());
        assert!(!found, "{} holds the key", path.display());
    }
}

fn files_below(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap().flatten();
    let below = entries.flat_map(|entry| {
        if entry.file_type().unwrap().is_dir() {
            files_below(&entry.path())
        } else {
            vec![entry.path()]
        }
    });
    below.collect()
}
