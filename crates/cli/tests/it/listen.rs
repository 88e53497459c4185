//! `troupe proto --listen`: the real binary, over every transport.

use std::fs;
use std::io::{BufRead, BufReader, Read as _};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::process::{Child, Stdio};
use std::sync::mpsc::{self, Receiver};

use serde_json::{Value, json};
use troupe_client::{Client, ClientOptions, ClientUpdate};
use troupe_protocol::link::Secret;
use troupe_protocol::op::{ConfigureSession, Op, Submission};
use troupe_protocol::{Event, EventMsg};
use troupe_transport::SessionAddress;

use crate::client::PATIENCE;
use crate::machine::Machine;

const PLAY: &str = "[[scene]]\n[[scene.turn]]\nsteps = [{ say = 'Hello to you.' }]\n";

const CONVERSATION: [&str; 3] = [
    r#"{"id":"1","op":{"type":"configure_session"}}"#,
    r#"{"id":"2","op":{"type":"user_input","items":[{"type":"text","text":"hello"}]}}"#,
    r#"{"id":"3","op":{"type":"set_thread_note","note":"greeted"}}"#,
];

/// A running `troupe proto --listen …`. Dropping it kills the process.
struct Listening {
    process: Child,
    stderr: Receiver<String>,
}

impl Listening {
    fn start(machine: &Machine, arguments: &[&str]) -> Self {
        let arguments: Vec<&str> = ["proto"]
            .into_iter()
            .chain(arguments.iter().copied())
            .collect();
        let mut process = machine
            .troupe(&arguments)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let (sender, stderr) = mpsc::channel();
        let lines = BufReader::new(process.stderr.take().unwrap()).lines();
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                // The test may have heard enough.
                let _ = sender.send(line);
            }
        });
        Self { process, stderr }
    }

    /// Returns the next address that the program says it listens on.
    fn address(&self) -> SessionAddress {
        let line = self.stderr.recv_timeout(PATIENCE).unwrap();
        let address = line.strip_prefix("listening on ");
        address.unwrap_or_else(|| panic!("{line}")).parse().unwrap()
    }

    fn signal(&self, signal: &str) {
        let sent = std::process::Command::new("kill")
            .args([signal, &self.process.id().to_string()])
            .status();
        assert!(sent.unwrap().success());
    }

    fn code(&mut self) -> Option<i32> {
        self.process.wait().unwrap().code()
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        // It is our own child; one that has ended needs neither.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// What an event says, without what differs from run to run.
fn shown(event: &Value) -> String {
    let msg = &event["msg"];
    let text = [&msg["message"], &msg["delta"], &msg["thread_note"]];
    let text = text.into_iter().find_map(Value::as_str).unwrap_or_default();
    format!("{} {} {} {text}", event["seq"], event["id"], msg["type"])
}

/// Has the conversation, and ends it; returns what was told.
async fn converse(address: SessionAddress, token: Option<Secret>) -> Vec<String> {
    let options = ClientOptions {
        token,
        ..ClientOptions::default()
    };
    let mut client = Client::connect(address, options).await.unwrap();
    let mut told = Vec::new();
    for line in CONVERSATION {
        let Submission { id, op } = serde_json::from_str(line).unwrap();
        let end = match &op {
            Op::ConfigureSession(_) => "session_configured",
            Op::UserInput { .. } => "task_complete",
            _ => "thread_note_updated",
        };
        client.submit(id, op).await.unwrap();
        loop {
            let ClientUpdate::Event(event) = client.next().await.unwrap().unwrap() else {
                continue;
            };
            let event = serde_json::to_value(event).unwrap();
            told.push(shown(&event));
            if event["msg"]["type"] == json!(end) {
                break;
            }
        }
    }
    client.submit("end", Op::Shutdown).await.unwrap();
    while let Some(event) = client.next_event().await.unwrap() {
        told.push(shown(&serde_json::to_value(event).unwrap()));
    }
    told
}

/// The conversation on standard input and output, one submission after the other.
fn converse_on_stdio() -> Vec<String> {
    let machine = Machine::playing(PLAY);
    let mut client = crate::client::Client::start(machine.troupe(&["proto"]));
    for (line, end) in
        CONVERSATION
            .iter()
            .zip(["session_configured", "task_complete", "thread_note_updated"])
    {
        client.send_bytes(format!("{line}\n").as_bytes());
        client.until(end);
    }
    client.send("end", &json!({"type": "shutdown"}));
    let events = client.finish();
    let shown = |event| shown(&serde_json::to_value(event).unwrap());
    events.iter().map(shown).collect()
}

#[test]
fn the_same_conversation_over_every_transport() {
    let expected = converse_on_stdio();
    assert!(expected.len() > 10, "{expected:#?}");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    for kind in ["unix", "tcp", "ws", "http", "grpc"] {
        let machine = Machine::playing(PLAY);
        let address = match kind {
            "unix" => format!("unix:{}", machine.path("t.sock").display()),
            kind => format!("{kind}:127.0.0.1:0"),
        };
        let mut server = Listening::start(&machine, &["--listen", &address]);
        let address = server.address();
        let token = if matches!(address, SessionAddress::Unix(_)) {
            None
        } else {
            // Told once it is there.
            server.stderr.recv_timeout(PATIENCE).unwrap();
            let file = machine.path("home/run/proto.token");
            let mode = fs::metadata(&file).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
            let token = fs::read_to_string(file).unwrap().trim().to_owned();
            Some(Secret(token))
        };
        let told = runtime.block_on(async {
            let told = converse(address, token);
            tokio::time::timeout(PATIENCE, told).await.unwrap()
        });
        assert_eq!(told, expected, "{kind}");
        assert_eq!(server.code(), Some(0), "{kind}");
    }
}

#[test]
fn a_signal_ends_the_server_and_takes_its_socket_along() {
    let machine = Machine::playing(PLAY);
    let socket = machine.path("t.sock");
    let address = format!("unix:{}", socket.display());
    for (signal, code) in [("-TERM", 143), ("-INT", 0)] {
        let mut server = Listening::start(&machine, &["--listen", &address]);
        server.address();
        assert!(fs::metadata(&socket).unwrap().file_type().is_socket());
        server.signal(signal);
        assert_eq!(server.code(), Some(code));
        assert!(!socket.exists());
    }
}

#[test]
fn a_living_server_is_not_replaced_and_a_dead_one_is() {
    let machine = Machine::playing(PLAY);
    let address = format!("unix:{}", machine.path("t.sock").display());
    let mut first = Listening::start(&machine, &["--listen", &address]);
    first.address();
    let second = machine.run(&["proto", "--listen", &address]).failed_with(3);
    assert!(
        second.stderr.contains("somebody listens there"),
        "{}",
        second.stderr
    );
    first.signal("-KILL");
    first.code();
    assert!(
        machine.path("t.sock").exists(),
        "it had no time to clean up"
    );
    let third = Listening::start(&machine, &["--listen", &address]);
    third.address();
}

/// Returns the events up to and including the first of this kind.
async fn until(client: &mut Client, kind: &str) -> Vec<Event> {
    let mut events = Vec::new();
    while let Some(event) = client.next_event().await.unwrap() {
        let value = serde_json::to_value(&event.msg).unwrap();
        events.push(event);
        if value["type"] == kind {
            return events;
        }
    }
    panic!("the session ended; these events came: {events:#?}");
}

#[test]
fn after_a_crash_a_client_hears_what_it_had_missed() {
    let machine = Machine::playing(PLAY);
    let address = format!("unix:{}", machine.path("t.sock").display());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let mut server = Listening::start(&machine, &["--listen", &address]);
    let place = server.address();
    let (configured, mut missed) = runtime.block_on(async {
        let mut client = Client::connect(place, ClientOptions::default())
            .await
            .unwrap();
        let op = Op::ConfigureSession(ConfigureSession::default());
        client.submit("1", op).await.unwrap();
        let configured = until(&mut client, "session_configured").await;
        let Submission { id, op } = serde_json::from_str(CONVERSATION[1]).unwrap();
        client.submit(id, op).await.unwrap();
        (configured, until(&mut client, "task_complete").await)
    });
    server.signal("-KILL");
    server.code();
    let Some(EventMsg::SessionConfigured(session)) = configured.last().map(|event| &event.msg)
    else {
        panic!("it was waited for: {configured:?}");
    };
    missed.retain(|event| !event.msg.is_delta());

    let server = Listening::start(&machine, &["--listen", &address]);
    let options = ClientOptions {
        after: configured.last().unwrap().seq,
        ..ClientOptions::default()
    };
    let place = server.address();
    let mut told = runtime.block_on(async {
        let mut client = Client::connect(place, options).await.unwrap();
        let resume = ConfigureSession {
            resume: Some(session.session_id),
            ..ConfigureSession::default()
        };
        client
            .submit("1", Op::ConfigureSession(resume))
            .await
            .unwrap();
        until(&mut client, "session_configured").await
    });
    told.pop();
    assert_eq!(told, missed);
}

fn refused(arguments: &[&str], code: i32) -> String {
    let machine = Machine::playing(PLAY);
    let all: Vec<&str> = ["proto"]
        .into_iter()
        .chain(arguments.iter().copied())
        .collect();
    let mut child = machine.troupe(&all).spawn().unwrap();
    // It ends with its process; one that starts after all must not keep the test waiting.
    let (sender, stderr) = mpsc::channel();
    let mut pipe = child.stderr.take().unwrap();
    std::thread::spawn(move || {
        let mut text = String::new();
        let read = pipe.read_to_string(&mut text);
        // The test may have given up.
        let _ = sender.send(read.map(|_| text));
    });
    let stderr = stderr.recv_timeout(PATIENCE);
    if stderr.is_err() {
        child.kill().unwrap();
    }
    assert_eq!(child.wait().unwrap().code(), Some(code), "{stderr:?}");
    stderr.unwrap().unwrap()
}

#[test]
fn what_is_wrong_with_an_address_is_said_at_once() {
    for (arguments, code, words) in [
        (&["--listen", "ftp:x:1"][..], 2, "unix:PATH"),
        (&["--listen", "tcp:localhost"], 2, "has no port"),
        (
            &["--listen", "stdio", "--listen", "stdio"],
            2,
            "given twice",
        ),
        (&["--listen", "tcp:0.0.0.0:0"], 3, "--allow-remote"),
        (
            &["--listen", "ws:127.0.0.1:0", "--token-file", "/no/such"],
            3,
            "/no/such",
        ),
        (
            &["--listen", "ws:127.0.0.1:0", "--tls-cert", "x"],
            2,
            "--tls-key",
        ),
    ] {
        let stderr = refused(arguments, code);
        assert!(stderr.contains(words), "{arguments:?}: {stderr}");
    }
}
