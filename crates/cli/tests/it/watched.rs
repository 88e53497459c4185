//! A run that is watched while it goes on, and ends with whoever watches it.

use std::io::{BufRead, BufReader, Lines};
use std::process::{Child, ChildStdout, Command, Stdio};

use serde_json::Value;

use crate::machine::Machine;

/// A run that says in lines of JSON what it does.
pub struct Watched {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Watched {
    pub fn start(machine: &Machine, arguments: &[&str]) -> Self {
        let mut child = machine
            .troupe(arguments)
            // Nobody reads it, and a full pipe would hold the run up.
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    /// Returns the first line that is meant.
    pub fn until(&mut self, is_meant: impl Fn(&Value) -> bool) -> Value {
        for line in self.lines.by_ref() {
            let line: Value = serde_json::from_str(&line.unwrap()).unwrap();
            if is_meant(&line) {
                return line;
            }
        }
        panic!("the run ended before the line came");
    }

    pub fn until_the_turn_is_over(&mut self) {
        self.until(|line| line["type"] == "turn.completed");
    }

    /// Sends a signal, such as `-INT`.
    pub fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        let sent = Command::new("kill").args([name, &pid]).status().unwrap();
        assert!(sent.success());
    }

    /// Ends it as a crash does.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Returns what it says until its end, and the code that it ends with.
    pub fn rest(mut self) -> (Vec<Value>, Option<i32>) {
        let lines = self.lines.by_ref();
        let rest = lines.map(|line| serde_json::from_str(&line.unwrap()).unwrap());
        (rest.collect(), self.child.wait().unwrap().code())
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        // It is our own child; one that has ended needs neither.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
