//! What the program is watched at: what it does most often.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, Result};

use super::Functions;
use super::trace::{Order, watch};

/// An answer, a command, a patch and a child.
const SCREENPLAY: &str = r##"
[[scene]]
when = "say hello"
[[scene.turn]]
steps = [{ say = "Hello." }]

[[scene]]
when = "work"
[[scene.turn]]
steps = [{ call = "shell_command", arguments = { command = "echo one" } }]
[[scene.turn]]
steps = [{ custom = "apply_patch", input = """
*** Begin Patch
*** Add File: note
+one
*** End Patch
""" }]
[[scene.turn]]
steps = [{ call = "spawn_agent", arguments = { message = "say hello" } }]
[[scene.turn]]
steps = [{ call = "wait", arguments = { ids = ["/root/default"] } }]
[[scene.turn]]
steps = [{ say = "Done." }]
"##;

pub fn play(program: &Path, functions: &Functions, order: &mut Order) -> Result<()> {
    let stage = tempfile::tempdir()?;
    let model = Model::start(program, stage.path())?;
    watch(
        Command::new(program).arg("--version").stdout(Stdio::null()),
        functions,
        order,
    )?;
    for arguments in [
        &["say hello"][..],
        &["--json", "say hello"],
        &["--json", "work"],
    ] {
        let mut command = Command::new(program);
        command
            .args(["exec", "--skip-git-repo-check", "-c"])
            .arg(format!("openai_base_url={}", model.url))
            .args(arguments)
            .env("HOME", stage.path())
            .env("OPENAI_API_KEY", "none")
            .current_dir(stage.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        watch(&mut command, functions, order)?;
    }
    Ok(())
}

struct Model {
    process: Child,
    url: String,
}

impl Model {
    fn start(program: &Path, dir: &Path) -> Result<Self> {
        let screenplay = dir.join("play.toml");
        fs::write(&screenplay, SCREENPLAY)?;
        let mut process = Command::new(program)
            .arg("mock-model")
            .arg(screenplay)
            .stdout(Stdio::piped())
            .spawn()?;
        let said = process.stdout.take().context("it was asked for")?;
        let mut url = String::new();
        BufReader::new(said).read_line(&mut url)?;
        Ok(Self {
            process,
            url: url.trim().to_owned(),
        })
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        // One that has ended by itself is ended.
        self.process.kill().ok();
        self.process.wait().ok();
    }
}
