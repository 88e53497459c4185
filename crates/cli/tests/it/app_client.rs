//! A client of `troupe app-server` on standard input and output.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::machine::Machine;

/// A running `troupe app-server`, spoken to one request at a time.
pub struct Server {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    requests: u32,
}

impl Server {
    pub fn start(machine: &Machine) -> Self {
        Self::with(machine, &["app-server"])
    }

    /// Starts it by these arguments.
    pub fn with(machine: &Machine, arguments: &[&str]) -> Self {
        let mut command = machine.troupe(arguments);
        let mut process = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut server = Self {
            input: process.stdin.take().unwrap(),
            output: BufReader::new(process.stdout.take().unwrap()),
            process,
            requests: 0,
        };
        let info = json!({"name": "test", "version": "1"});
        let capabilities = json!({"experimentalApi": true});
        let hello = json!({"clientInfo": info, "capabilities": capabilities});
        server.call("initialize", hello).unwrap();
        server
    }

    pub fn call(&mut self, method: &str, params: Value) -> Result<Value, Value> {
        self.requests += 1;
        let request = json!({"id": self.requests, "method": method, "params": params});
        writeln!(self.input, "{request}").unwrap();
        loop {
            let mut message = self.read().expect("it goes on");
            if message["id"] == self.requests {
                return match message.get("error") {
                    Some(error) => Err(error.clone()),
                    None => Ok(message["result"].take()),
                };
            }
        }
    }

    /// Opens a thread and returns its id.
    pub fn thread(&mut self) -> String {
        let opened = self.call("thread/start", json!({})).unwrap();
        opened["thread"]["id"].as_str().unwrap().to_owned()
    }

    /// Begins a turn.
    pub fn turn(&mut self, thread: &str, text: &str) {
        let input = json!([{"type": "text", "text": text}]);
        let params = json!({"threadId": thread, "input": input});
        self.call("turn/start", params).unwrap();
    }

    /// Returns the parameters of the next notification of this name; what is before it is
    /// passed over.
    pub fn told(&mut self, method: &str) -> Value {
        loop {
            let mut message = self.read().expect("it goes on");
            if message["method"] == method {
                return message["params"].take();
            }
        }
    }

    fn read(&mut self) -> Option<Value> {
        let mut line = String::new();
        let bytes = self.output.read_line(&mut line).unwrap();
        (bytes > 0).then(|| serde_json::from_str(&line).unwrap())
    }

    pub fn signal(&self, signal: &str) {
        let id = self.process.id().to_string();
        let sent = Command::new("kill").args([signal, &id]).status();
        assert!(sent.unwrap().success());
    }

    /// Reads to the end, without closing the input, and returns the exit code.
    pub fn code(mut self) -> Option<i32> {
        while self.read().is_some() {}
        self.process.wait().unwrap().code()
    }

    pub fn end(mut self) {
        drop(self.input);
        assert!(self.process.wait().unwrap().success());
    }
}
