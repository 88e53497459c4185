//! An app-server that is measured, and the client that keeps it at work.

use std::io::{self, BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{ChildStdin, ChildStdout};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// What a client asks of an app-server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientWorkload {
    /// One turn. The time is from `initialize` to the turn's first event.
    FirstEvent,
    /// So many turns of one thread, one after the other.
    Turns(u32),
    /// So many threads at once, and all of them three times a turn.
    Threads(u32),
}

/// How often all threads have a turn.
pub const WAVES: u32 = 3;
/// What a turn of a wave is asked for.
pub const WAVE: &str = "run three commands in this wave";

/// The client's end of a server's standard input and output.
pub struct AppServerClient {
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    requests: u64,
    /// Turns that were told to have begun, and to have ended.
    started: u32,
    completed: u32,
}

impl AppServerClient {
    pub fn new(to: ChildStdin, from: ChildStdout) -> Self {
        Self {
            to,
            from: BufReader::new(from),
            requests: 0,
            started: 0,
            completed: 0,
        }
    }

    /// Runs the errand, and then hangs up, which ends the server. Returns the time that counts.
    pub fn run(mut self, errand: ClientWorkload, cwd: &Path) -> io::Result<Duration> {
        let begun = Instant::now();
        let client = json!({ "clientInfo": { "name": "bench", "version": "1" } });
        self.ask("initialize", client)?;
        self.tell(&json!({ "method": "initialized" }))?;
        match errand {
            ClientWorkload::FirstEvent => {
                let thread = self.thread(cwd)?;
                self.turn(&thread, "say hello")?;
                self.until(|desk| desk.started == 1)?;
                let heard = begun.elapsed();
                self.until(|desk| desk.completed == 1)?;
                return Ok(heard);
            }
            ClientWorkload::Turns(count) => {
                let thread = self.thread(cwd)?;
                for turn in 1..=count {
                    self.turn(&thread, "say hello")?;
                    self.until(|desk| desk.completed == turn)?;
                }
            }
            ClientWorkload::Threads(count) => {
                let threads = (0..count).map(|_| self.thread(cwd));
                let threads = threads.collect::<io::Result<Vec<_>>>()?;
                for wave in 1..=WAVES {
                    for thread in &threads {
                        self.turn(thread, WAVE)?;
                    }
                    self.until(|desk| desk.completed == wave * count)?;
                }
            }
        }
        Ok(begun.elapsed())
    }

    fn thread(&mut self, cwd: &Path) -> io::Result<String> {
        let wishes = json!({
            "cwd": cwd,
            "approvalPolicy": "never",
            "sandbox": "danger-full-access",
        });
        let answer = self.ask("thread/start", wishes)?;
        let id = answer["thread"]["id"].as_str();
        let id = id.ok_or_else(|| io::Error::other(format!("thread/start: {answer}")))?;
        Ok(id.to_owned())
    }

    fn turn(&mut self, thread: &str, text: &str) -> io::Result<()> {
        let input = json!([{ "type": "text", "text": text }]);
        let wishes = json!({ "threadId": thread, "input": input });
        self.ask("turn/start", wishes).map(|_| ())
    }

    fn ask(&mut self, method: &str, params: Value) -> io::Result<Value> {
        self.requests += 1;
        let id = self.requests;
        self.tell(&json!({ "id": id, "method": method, "params": params }))?;
        loop {
            let mut message = self.next()?;
            if message["id"] == id {
                return Ok(message["result"].take());
            }
        }
    }

    fn until(&mut self, is_reached: impl Fn(&Self) -> bool) -> io::Result<()> {
        while !is_reached(self) {
            self.next()?;
        }
        Ok(())
    }

    fn tell(&mut self, message: &Value) -> io::Result<()> {
        writeln!(self.to, "{message}")
    }

    /// Reads a message. An error would make the rest of the errand cheap.
    fn next(&mut self) -> io::Result<Value> {
        let mut line = String::new();
        if self.from.read_line(&mut line)? == 0 {
            return Err(io::Error::other("the server has ended early"));
        }
        let message: Value = serde_json::from_str(&line)?;
        match message["method"].as_str() {
            Some("turn/started") => self.started += 1,
            Some("turn/completed") => self.completed += 1,
            Some("error") => return Err(io::Error::other(line)),
            None if message.get("error").is_some() => return Err(io::Error::other(line)),
            _ => {}
        }
        Ok(message)
    }
}
