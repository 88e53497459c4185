//! A machine of its own for each test: a home, a repository, and a scripted model.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;

pub struct Machine {
    directory: tempfile::TempDir,
    model: Option<Model>,
}

struct Model {
    process: Child,
    base_url: String,
}

impl Drop for Model {
    fn drop(&mut self) {
        // It is our own child and has nothing to lose.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Machine {
    /// A machine without a model.
    pub fn bare() -> Self {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir_all(directory.path().join("project/.git")).unwrap();
        Self {
            directory,
            model: None,
        }
    }

    /// A machine whose model plays a screenplay.
    pub fn playing(screenplay: &str) -> Self {
        let mut machine = Self::bare();
        let path = machine.path("screenplay.toml");
        fs::write(&path, screenplay).unwrap();
        let mut process = machine
            .troupe(&["mock-model", path.to_str().unwrap()])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        machine.model = Some(Model {
            process,
            base_url: line.trim().to_owned(),
        });
        machine
    }

    pub fn base_url(&self) -> &str {
        &self.model.as_ref().unwrap().base_url
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    /// The binary, in the project, with an environment that holds nothing of ours.
    pub fn troupe(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin!("troupe"));
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.directory.path())
            .env("TROUPE_HOME", self.path("home"))
            .current_dir(self.path("project"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        if let Some(model) = &self.model {
            command
                .env("OPENAI_API_KEY", "sk-test")
                .args(["-c", &format!("openai_base_url={}", model.base_url)])
                .args(["-c", "model_providers.openai.request_max_retries=0"])
                .args(["-c", "model_providers.openai.stream_max_retries=0"]);
        }
        command.args(arguments);
        command
    }

    pub fn run(&self, arguments: &[&str]) -> Run {
        Run::of(&self.troupe(arguments).output().unwrap())
    }

    pub fn run_with_stdin(&self, arguments: &[&str], input: &[u8]) -> Run {
        let mut child = self
            .troupe(arguments)
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        std::io::Write::write_all(&mut stdin, input).unwrap();
        drop(stdin);
        Run::of(&child.wait_with_output().unwrap())
    }

    /// Replaces the temporary path, which differs from run to run.
    pub fn shown(&self, text: &str) -> String {
        text.replace(&self.directory.path().display().to_string(), "DIR")
    }
}

#[derive(Debug)]
pub struct Run {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Run {
    pub fn of(output: &Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout.clone()).unwrap(),
            stderr: String::from_utf8(output.stderr.clone()).unwrap(),
        }
    }

    pub fn succeeded(self) -> Self {
        assert_eq!(self.code, Some(0), "{self:#?}");
        self
    }

    pub fn failed_with(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self:#?}");
        self
    }

    pub fn lines(&self) -> Vec<Value> {
        let lines = self.stdout.lines();
        lines
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    /// The kinds of the JSON lines, items with theirs.
    pub fn kinds(&self) -> Vec<String> {
        let kind = |line: &Value| {
            let kind = line["type"].as_str().unwrap().to_owned();
            match line["item"]["type"].as_str() {
                Some(item) => format!("{kind} {item}"),
                None => kind,
            }
        };
        self.lines().iter().map(kind).collect()
    }

    pub fn thread_id(&self) -> String {
        self.lines()[0]["thread_id"].as_str().unwrap().to_owned()
    }
}
