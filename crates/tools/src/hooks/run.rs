//! One run of one hook.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use tokio::time::timeout;
use troupe_process::{
    CommandSpec, Confinement, Launcher, Process, ProcessEvent, ProcessExit, SpawnError, StdinMode,
};
use troupe_protocol::command::OutputStream;

use super::event::HookEventName;
use super::settings::{Hook, HookCommand};
use crate::limits::{HOOK_OUTPUT_BYTES_MAX, HOOK_REASON_BYTES_MAX};

#[derive(Debug)]
pub(super) struct HookRunner {
    pub launcher: Launcher,
    pub environment: BTreeMap<String, String>,
    pub shell: PathBuf,
}

/// How it went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum HookOutcome {
    Allowed,
    Refused { reason: String },
    Failed { why: String },
}

/// The exit code that refuses.
const REFUSAL_CODE: i32 = 2;

impl HookRunner {
    /// Runs the hook to its end, or to the end of its time. Dropping the future ends it too.
    pub(super) async fn run(
        &self,
        hook: &Hook,
        moment: HookEventName,
        input: &[u8],
        cwd: &Path,
    ) -> HookOutcome {
        let failed = |why: String| HookOutcome::Failed { why };
        let mut process = match self.start(hook, moment, cwd).await {
            Ok(process) => process,
            Err(error) => return failed(error.to_string()),
        };
        let limit = Duration::from_secs_f64(hook.timeout_sec);
        match timeout(limit, exchange(&mut process, input)).await {
            Ok(Ok(told)) => told.verdict(),
            Ok(Err(error)) => failed(error.to_string()),
            Err(_) => {
                process.kill().await;
                failed(format!(
                    "no end within {} s (timeout_sec)",
                    hook.timeout_sec
                ))
            }
        }
    }

    async fn start(
        &self,
        hook: &Hook,
        moment: HookEventName,
        cwd: &Path,
    ) -> Result<Process, SpawnError> {
        let argv = match &hook.command {
            HookCommand::Argv(argv) => argv.clone(),
            HookCommand::Shell(text) => {
                let shell = self.shell.to_string_lossy().into_owned();
                vec![shell, "-c".to_owned(), text.clone()]
            }
        };
        let mut env = self.environment.clone();
        env.insert("TROUPE_HOOK_EVENT".to_owned(), moment.to_string());
        let spec = CommandSpec {
            argv,
            cwd: cwd.to_owned(),
            env,
            confinement: Confinement::Unconfined,
            terminal: None,
            stdin: StdinMode::Pipe,
        };
        self.launcher.spawn(spec).await
    }
}

/// What a hook left behind.
#[derive(Debug)]
struct HookOutput {
    exit: ProcessExit,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
}

async fn exchange(process: &mut Process, input: &[u8]) -> io::Result<HookOutput> {
    match process.write_stdin(input).await {
        Ok(()) => {}
        // Not every hook reads what it is told.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
        Err(error) => return Err(error),
    }
    process.close_stdin();
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    while let Some(event) = process.next().await {
        match event {
            ProcessEvent::Output { stream, bytes } => {
                let kept = match stream {
                    OutputStream::Stdout => &mut stdout,
                    OutputStream::Stderr => &mut stderr,
                };
                let room = HOOK_OUTPUT_BYTES_MAX.saturating_sub(kept.len());
                kept.extend_from_slice(&bytes[..bytes.len().min(room)]);
            }
            ProcessEvent::Exited(exit) => {
                return Ok(HookOutput {
                    exit,
                    stdout,
                    stderr,
                });
            }
        }
    }
    Err(io::Error::other("its end was not seen"))
}

#[derive(Deserialize)]
struct HookDecision {
    decision: Option<String>,
    reason: Option<String>,
}

impl HookOutput {
    fn verdict(&self) -> HookOutcome {
        let said = shown(&self.stderr);
        match (self.exit.code, self.exit.signal) {
            (Some(0), _) => self.decision(),
            (Some(REFUSAL_CODE), _) => refused(said),
            (Some(code), _) => HookOutcome::Failed {
                why: format!("it exited with code {code}{}", reason_text(&said)),
            },
            (None, signal) => HookOutcome::Failed {
                why: format!(
                    "it was ended by signal {}{}",
                    signal.unwrap_or_default(),
                    reason_text(&said)
                ),
            },
        }
    }

    /// Reads the standard output, which may be anything; only an object with a decision
    /// counts.
    fn decision(&self) -> HookOutcome {
        let Ok(HookDecision { decision, reason }) = serde_json::from_slice(&self.stdout) else {
            return HookOutcome::Allowed;
        };
        match decision.as_deref() {
            None | Some("allow") => HookOutcome::Allowed,
            Some("refuse") => refused(shown(reason.unwrap_or_default().as_bytes())),
            Some(other) => HookOutcome::Failed {
                why: format!("its decision {other:?} is neither \"allow\" nor \"refuse\""),
            },
        }
    }
}

fn refused(reason: String) -> HookOutcome {
    let reason = match reason.as_str() {
        "" => "no reason was given".to_owned(),
        _ => reason,
    };
    HookOutcome::Refused { reason }
}

fn reason_text(said: &str) -> String {
    match said {
        "" => String::new(),
        said => format!(": {said}"),
    }
}

fn shown(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let text = text.trim();
    let end = text.floor_char_boundary(HOOK_REASON_BYTES_MAX);
    if end < text.len() {
        format!("{}… ({} bytes)", &text[..end], text.len())
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use troupe_process::LeftBehind;

    use super::*;

    #[track_caller]
    fn check(code: Option<i32>, stdout: &str, stderr: &str, expected: Expect) {
        let told = HookOutput {
            exit: ProcessExit {
                code,
                signal: code.is_none().then_some(9),
                denial: None,
                left_behind: LeftBehind::Nothing,
                wall: Duration::ZERO,
                cpu: Duration::ZERO,
                memory_peak_bytes: 0,
            },
            stdout: stdout.into(),
            stderr: stderr.into(),
        };
        expected.assert_eq(&format!("{:?}", told.verdict()));
    }

    #[test]
    fn exit_codes_and_decisions() {
        check(Some(0), "", "noise", expect!["Allowed"]);
        check(Some(0), "formatted 3 files", "", expect!["Allowed"]);
        check(Some(0), r#"{"decision":"allow"}"#, "", expect!["Allowed"]);
        check(
            Some(0),
            r#"{"decision":"refuse","reason":"not on a Friday","extra":1}"#,
            "",
            expect![[r#"Refused { reason: "not on a Friday" }"#]],
        );
        check(
            Some(0),
            r#"{"decision":"maybe"}"#,
            "",
            expect![[
                r#"Failed { why: "its decision \"maybe\" is neither \"allow\" nor \"refuse\"" }"#
            ]],
        );
        check(
            Some(2),
            "ignored",
            " no rm \n",
            expect![[r#"Refused { reason: "no rm" }"#]],
        );
        check(
            Some(2),
            "",
            "",
            expect![[r#"Refused { reason: "no reason was given" }"#]],
        );
        check(
            Some(1),
            "",
            "boom",
            expect![[r#"Failed { why: "it exited with code 1: boom" }"#]],
        );
        check(
            None,
            "",
            "",
            expect![[r#"Failed { why: "it was ended by signal 9" }"#]],
        );
    }
}
