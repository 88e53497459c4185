//! A client of the queue pair that no misbehaving server can hang.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use troupe_protocol::Event;

/// How long anything is waited for. It is long, because it is only met when something is
/// broken.
pub const PATIENCE: Duration = Duration::from_mins(1);

/// A running `troupe proto`. Dropping it kills the process.
pub struct Client {
    process: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    readers: Vec<JoinHandle<()>>,
    stderr: Receiver<String>,
    pub seen: Vec<Event>,
}

impl Client {
    pub fn start(mut command: Command) -> Self {
        let mut process = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (stdout, out) = (process.stdout.take().unwrap(), mpsc::channel());
        let (stderr, err) = (process.stderr.take().unwrap(), mpsc::channel());
        let readers = vec![
            std::thread::spawn(move || pass_lines(stdout, &out.0)),
            std::thread::spawn(move || pass_lines(stderr, &err.0)),
        ];
        Self {
            stdin: process.stdin.take(),
            process,
            lines: out.1,
            stderr: err.1,
            readers,
            seen: Vec::new(),
        }
    }

    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    pub fn send(&mut self, id: &str, op: &Value) {
        self.send_bytes(format!("{}\n", json!({"id": id, "op": op})).as_bytes());
    }

    /// Sends what need not be a submission.
    pub fn send_bytes(&mut self, bytes: &[u8]) {
        self.stdin.as_mut().unwrap().write_all(bytes).unwrap();
    }

    /// Returns the next event; `None` when it does not come in time, or never will.
    pub fn next_before(&mut self, deadline: Instant) -> Option<&Event> {
        let time = deadline.saturating_duration_since(Instant::now());
        match self.lines.recv_timeout(time) {
            Ok(line) => self.take(&line),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => None,
        }
    }

    /// Reads until an event of this kind, and returns it as JSON.
    pub fn until(&mut self, kind: &str) -> Value {
        let deadline = Instant::now() + PATIENCE;
        while let Some(event) = self.next_before(deadline) {
            let event = serde_json::to_value(event).unwrap();
            if event["msg"]["type"] == kind {
                return event;
            }
        }
        panic!(
            "no {kind} after {:#?}\nstderr: {}",
            self.seen,
            self.stderr.try_iter().collect::<String>()
        );
    }

    /// Shuts the session down in order; returns what went to stderr.
    pub fn end(mut self) -> String {
        self.send("end", &json!({"type": "shutdown"}));
        self.until("shutdown_complete");
        drop(self.stdin.take());
        let status = self.process.wait().unwrap();
        self.join();
        let stderr: String = self.stderr.try_iter().collect();
        assert_eq!(status.code(), Some(0), "{stderr}");
        stderr
    }

    /// Says that nothing more comes, and returns everything that was said until the end.
    pub fn finish(mut self) -> Vec<Event> {
        drop(self.stdin.take());
        self.until("shutdown_complete");
        assert_eq!(self.process.wait().unwrap().code(), Some(0));
        self.join();
        std::mem::take(&mut self.seen)
    }

    /// `kill -9`. What the process had written until then is read to its end.
    pub fn kill(mut self) -> Vec<Event> {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
        self.join();
        while let Ok(line) = self.lines.try_recv() {
            self.take(&line);
        }
        std::mem::take(&mut self.seen)
    }

    fn take(&mut self, line: &str) -> Option<&Event> {
        let whole = line.strip_suffix('\n')?;
        let event = serde_json::from_str(whole).unwrap_or_else(|why| panic!("{why}: {whole}"));
        self.seen.push(event);
        self.seen.last()
    }

    fn join(&mut self) {
        for reader in self.readers.drain(..) {
            reader.join().unwrap();
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // It is our own child; one that has ended needs neither.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Passes lines on until the other end is closed or nobody listens. The last one may be torn.
fn pass_lines(source: impl std::io::Read, lines: &mpsc::Sender<String>) {
    let mut source = BufReader::new(source);
    loop {
        let mut line = Vec::new();
        let read = source.read_until(b'\n', &mut line).unwrap();
        let line = String::from_utf8_lossy(&line).into_owned();
        if read == 0 || lines.send(line).is_err() {
            return;
        }
    }
}

pub fn user_turn(text: &str) -> Value {
    json!({"type": "user_turn", "items": [{"type": "text", "text": text}]})
}
