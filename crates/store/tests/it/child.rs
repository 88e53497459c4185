//! Child processes of the tests: this test binary again, told what to do.

use std::env;
use std::future::Future;
use std::io::{BufRead, BufReader, Lines};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use super::{faults, kill, lease, resume};

const PART: &str = "STORE_TEST_PART";
const HOME: &str = "STORE_TEST_HOME";

/// What a child process can be told to do with a home.
pub const HOLD_A_LEASE: &str = "hold a lease";
pub const APPEND_UNTIL_KILLED: &str = "append until killed";
pub const RUN_OUT_OF_SPACE: &str = "run out of space";
pub const RESUME_A_LONG_SESSION: &str = "resume a long session";
pub const MEET_A_READ_ONLY_HOME: &str = "meet a read-only home";

/// The entry of the child processes. Without a part to play it has nothing to check.
#[test]
fn play_part() {
    let (Ok(part), Some(home)) = (env::var(PART), env::var_os(HOME)) else {
        return;
    };
    let home = Path::new(&home);
    match part.as_str() {
        HOLD_A_LEASE => run(lease::hold(home)),
        APPEND_UNTIL_KILLED => run(kill::append_forever(home)),
        RUN_OUT_OF_SPACE => run(faults::run_out_of_space(home)),
        RESUME_A_LONG_SESSION => run(resume::resume_a_long_session(home)),
        MEET_A_READ_ONLY_HOME => run(faults::meet_a_read_only_home(home)),
        other => panic!("no such part: {other}"),
    }
}

fn run(part: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    runtime.unwrap().block_on(part);
}

/// A child that dies with its test, and the lines that it prints.
pub struct Actor {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Actor {
    pub fn start(part: &str, home: &Path) -> Self {
        let mut child = Command::new(env::current_exe().unwrap())
            .args(["--exact", "it::child::play_part", "--nocapture"])
            .env(PART, part)
            .env(HOME, home)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits for a line of the form `word: rest` and returns the rest.
    pub fn told(&mut self, word: &str) -> String {
        loop {
            let line = self.lines.next().expect("the child ended early").unwrap();
            if let Some((_, rest)) = line.split_once(&format!("{word}: ")) {
                return rest.to_owned();
            }
        }
    }

    /// SIGKILL.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub fn succeeds(mut self) {
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for Actor {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
