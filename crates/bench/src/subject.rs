//! A program that is measured.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::screen::Household;

#[derive(Debug)]
pub struct BenchSubject {
    pub name: String,
    path: PathBuf,
    home_variable: &'static str,
}

/// What commands may do in a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandRights {
    Everything,
    Workspace,
}

impl CommandRights {
    fn arguments(self) -> &'static [&'static str] {
        match self {
            Self::Everything => &["--dangerously-bypass-approvals-and-sandbox"],
            Self::Workspace => &["-s", "workspace-write", "-c", "approval_policy=\"never\""],
        }
    }
}

impl BenchSubject {
    pub fn troupe(path: PathBuf) -> Self {
        Self {
            name: "troupe".to_owned(),
            path,
            home_variable: "TROUPE_HOME",
        }
    }

    pub fn other(name: &str, path: PathBuf) -> Self {
        Self {
            name: name.to_owned(),
            path,
            home_variable: "CODEX_HOME",
        }
    }

    pub fn is_troupe(&self) -> bool {
        self.home_variable == "TROUPE_HOME"
    }

    pub fn version(&self) -> Command {
        let mut command = Command::new(&self.path);
        command.arg("--version");
        command
    }

    pub fn reindex(&self, home: &Path) -> Command {
        let mut command = Command::new(&self.path);
        command.arg("reindex").env(self.home_variable, home);
        command
    }

    pub fn search(&self, home: &Path, words: &str) -> Command {
        let mut command = Command::new(&self.path);
        command
            .args(["sessions", "search", words])
            .env(self.home_variable, home);
        command
    }

    /// A headless run against the scripted model. The same words work for all subjects.
    pub fn exec(&self, base_url: &str, home: &Path, cwd: &Path, rights: CommandRights) -> Command {
        let mut command = Command::new(&self.path);
        command
            .current_dir(cwd)
            .arg("exec")
            .arg("--json")
            .arg("--skip-git-repo-check")
            .args(rights.arguments())
            .args(["--model", "bench-model"]);
        self.on_stage(&mut command, base_url, home);
        command
    }

    /// A session that clients reach by a socket.
    pub fn proto(&self, base_url: &str, home: &Path, cwd: &Path, socket: &Path) -> Command {
        let mut command = Command::new(&self.path);
        command
            .current_dir(cwd)
            .arg("proto")
            .arg("--listen")
            .arg(format!("unix:{}", socket.display()))
            .args(["-c", "model=\"bench-model\""]);
        self.on_stage(&mut command, base_url, home);
        command
    }

    /// The screen, before a new session. What follows is a command of it.
    pub fn screen(&self, base_url: &str, home: &Path, cwd: &Path) -> Command {
        let mut command = Command::new(&self.path);
        command
            .current_dir(cwd)
            .args(["-c", "model=\"bench-model\""])
            .args(["-c", "approval_policy=\"never\""])
            .args(["-c", "sandbox_mode=\"danger-full-access\""]);
        self.on_stage(&mut command, base_url, home);
        command
    }

    /// The processes of a home.
    pub fn household(&self, home: &Path) -> Household {
        Household::new(self.home_variable, home)
    }

    /// A server of threads on standard input and output.
    pub fn app_server(&self, base_url: &str, home: &Path, cwd: &Path) -> Command {
        let mut command = Command::new(&self.path);
        command
            .current_dir(cwd)
            .arg("app-server")
            .args(["-c", "model=\"bench-model\""]);
        self.on_stage(&mut command, base_url, home);
        command
    }

    /// Gives a run a home of its own, and the scripted model.
    fn on_stage(&self, command: &mut Command, base_url: &str, home: &Path) {
        let provider = |key: &str, value: &str| format!("model_providers.bench.{key}={value}");
        command
            .env(self.home_variable, home)
            // The user's login profile is read once per session; what it costs is not ours.
            .env("HOME", home)
            .env("BENCH_KEY", "none")
            .args(["-c", "model_provider=\"bench\""])
            .args(["-c", &provider("name", "\"bench\"")])
            .args(["-c", &provider("base_url", &format!("\"{base_url}\""))])
            .args(["-c", &provider("env_key", "\"BENCH_KEY\"")])
            .args(["-c", &provider("wire_api", "\"responses\"")]);
    }
}
