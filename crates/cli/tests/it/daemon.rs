//! A running `troupe serve`, and requests to it as `curl` makes them.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;

use serde_json::Value;

use crate::client::PATIENCE;
use crate::machine::Machine;

/// Dropping it kills the process.
pub struct ServedHome {
    process: Child,
    stderr: Receiver<String>,
    address: String,
    token: String,
}

/// What the daemon answered.
#[derive(Debug)]
pub struct HttpAnswer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Value,
}

impl ServedHome {
    pub fn start(machine: &Machine) -> Self {
        Self::start_with(machine, &[])
    }

    pub fn start_with(machine: &Machine, further: &[&str]) -> Self {
        let arguments = ["serve", "--listen", "http:127.0.0.1:0"];
        let arguments: Vec<&str> = arguments.iter().chain(further).copied().collect();
        let mut process = machine
            .troupe(&arguments)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let (sender, stderr) = mpsc::channel();
        let lines = BufReader::new(process.stderr.take().unwrap()).lines();
        thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                // The test may have heard enough.
                let _ = sender.send(line);
            }
        });
        let line = stderr.recv_timeout(PATIENCE).unwrap();
        let address = line.strip_prefix("listening on http://");
        let address = address.unwrap_or_else(|| panic!("{line}")).to_owned();
        let token = fs::read_to_string(machine.path("home/run/serve.token")).unwrap();
        Self {
            process,
            stderr,
            address,
            token: token.trim().to_owned(),
        }
    }

    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    pub fn get(&self, path: &str) -> HttpAnswer {
        self.ask("GET", path, None, &[])
    }

    pub fn post(&self, path: &str, body: Value) -> HttpAnswer {
        self.ask("POST", path, Some(body), &[])
    }

    pub fn patch(&self, path: &str, body: Value) -> HttpAnswer {
        self.ask("PATCH", path, Some(body), &[])
    }

    /// Asks with the token.
    pub fn ask(
        &self,
        method: &str,
        path: &str,
        body: Option<Value>,
        headers: &[(&str, &str)],
    ) -> HttpAnswer {
        let bearer = format!("Bearer {}", self.token);
        let mut all = vec![("Authorization", bearer.as_str())];
        all.extend(headers);
        self.bare(method, path, body, &all)
    }

    /// Asks with no other headers than these.
    pub fn bare(
        &self,
        method: &str,
        path: &str,
        body: Option<Value>,
        headers: &[(&str, &str)],
    ) -> HttpAnswer {
        let mut stream = self.send(method, path, body, headers);
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        HttpAnswer::read(&answer)
    }

    /// Returns the lines of an answer as they come. They are in chunks, whose sizes are lines too.
    pub fn lines(&self, path: &str, headers: &[(&str, &str)]) -> impl Iterator<Item = String> {
        let bearer = format!("Bearer {}", self.token);
        let mut all = vec![("Authorization", bearer.as_str())];
        all.extend(headers);
        let stream = self.send("GET", path, None, &all);
        BufReader::new(stream).lines().map_while(Result::ok)
    }

    fn send(
        &self,
        method: &str,
        path: &str,
        body: Option<Value>,
        headers: &[(&str, &str)],
    ) -> TcpStream {
        let body = body.map(|body| body.to_string()).unwrap_or_default();
        let is_named = |wanted: &str| {
            let mut names = headers.iter().map(|(name, _)| name);
            names.any(|name| name.eq_ignore_ascii_case(wanted))
        };
        let mut lines = vec![
            format!("{method} {path} HTTP/1.1"),
            "Connection: close".to_owned(),
            format!("Content-Length: {}", body.len()),
        ];
        if !is_named("Host") {
            lines.push(format!("Host: {}", self.address));
        }
        if !body.is_empty() && !is_named("Content-Type") {
            lines.push("Content-Type: application/json".to_owned());
        }
        let given = headers.iter();
        lines.extend(given.map(|(name, value)| format!("{name}: {value}")));
        let request = format!("{}\r\n\r\n{body}", lines.join("\r\n"));
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        stream
    }

    pub fn signal(&self, signal: &str) {
        let sent = std::process::Command::new("kill")
            .args([signal, &self.pid().to_string()])
            .status();
        assert!(sent.unwrap().success());
    }

    /// Returns how it ended, and what it said on stderr after its first address.
    pub fn end(mut self) -> (Option<i32>, Vec<String>) {
        let code = self.process.wait().unwrap().code();
        (code, self.stderr.iter().collect())
    }
}

impl Drop for ServedHome {
    fn drop(&mut self) {
        // It is our own child; one that has ended needs neither.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl HttpAnswer {
    fn read(text: &str) -> Self {
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        let mut lines = head.lines();
        let status = lines.next().unwrap().split(' ').nth(1).unwrap();
        let headers = lines.filter_map(|line| {
            let (name, value) = line.split_once(": ")?;
            Some((name.to_ascii_lowercase(), value.to_owned()))
        });
        Self {
            status: status.parse().unwrap(),
            headers: headers.collect(),
            body: serde_json::from_str(body).unwrap_or(Value::String(body.to_owned())),
        }
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Returns the body of an answer with this status.
    #[track_caller]
    pub fn with(self, status: u16) -> Value {
        assert_eq!(self.status, status, "{:#}", self.body);
        self.body
    }

    /// Returns status, code and field of a problem.
    #[track_caller]
    pub fn problem(self) -> (u16, String, String) {
        assert_eq!(
            self.header("content-type"),
            Some("application/problem+json"),
            "{self:?}"
        );
        assert_eq!(self.body["status"], self.status);
        let text = |name: &str| self.body[name].as_str().unwrap_or_default().to_owned();
        (self.status, text("code"), text("field"))
    }
}
