//! The environment that the user's login shell makes.
//!
//! Profiles set PATH for version managers, proxies, locales. Running a login shell for each
//! command would give commands the same and cost its start-up each time; so it is run once, and
//! the caller keeps what it printed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::time::timeout;
use troupe_protocol::command::OutputStream;

use crate::launcher::{Launcher, SpawnError};
use crate::limits::{LOGIN_BYTES_MAX, LOGIN_WAIT_MS};
use crate::process::{Process, ProcessEvent};
use crate::spec::{CommandSpec, Confinement, StdinMode};

/// Precedes the environment in the shell's output; profiles may print anything before it.
const MARK: &str = "--troupe-login-environment--";

/// Why a login shell told no environment.
#[derive(Debug, thiserror::Error)]
pub enum LoginError {
    #[error(transparent)]
    Spawn(#[from] SpawnError),
    #[error("{} did not finish within {LOGIN_WAIT_MS} ms; look for a prompt or a slow command in its profile", shell.display())]
    TimedOut { shell: PathBuf },
    #[error("{} printed no environment; try `{} -lc env`", shell.display(), shell.display())]
    NoEnvironment { shell: PathBuf },
}

/// Runs `shell` once as a login shell in `cwd`, starting from `base`, and returns the environment
/// that it ends up with. The shell is the user's own and runs unconfined.
pub async fn login_environment(
    launcher: &Launcher,
    shell: &Path,
    cwd: &Path,
    base: &BTreeMap<String, String>,
) -> Result<BTreeMap<String, String>, LoginError> {
    let script = format!("printf %s {MARK}; exec env -0");
    let spec = CommandSpec {
        argv: vec![shell.to_string_lossy().into_owned(), "-lc".into(), script],
        cwd: cwd.to_path_buf(),
        env: base.clone(),
        confinement: Confinement::Unconfined,
        terminal: None,
        stdin: StdinMode::Null,
    };
    let mut process = launcher.spawn(spec).await?;
    let output = timeout(
        Duration::from_millis(LOGIN_WAIT_MS),
        stdout_of(&mut process),
    )
    .await
    .map_err(|_| LoginError::TimedOut {
        shell: shell.to_path_buf(),
    })?;
    parse(&output).ok_or_else(|| LoginError::NoEnvironment {
        shell: shell.to_path_buf(),
    })
}

async fn stdout_of(process: &mut Process) -> Vec<u8> {
    let mut output = Vec::new();
    while let Some(event) = process.next().await {
        if let ProcessEvent::Output {
            stream: OutputStream::Stdout,
            bytes,
        } = event
        {
            let room = LOGIN_BYTES_MAX - output.len();
            output.extend_from_slice(&bytes[..room.min(bytes.len())]);
        }
    }
    output
}

/// Takes the variables after the last mark. One that is no UTF-8 cannot be passed on.
fn parse(output: &[u8]) -> Option<BTreeMap<String, String>> {
    let start = output
        .windows(MARK.len())
        .rposition(|window| window == MARK.as_bytes())?;
    let variables: BTreeMap<_, _> = output[start + MARK.len()..]
        .split(|byte| *byte == 0)
        .filter_map(|entry| std::str::from_utf8(entry).ok()?.split_once('='))
        .filter(|(name, _)| !name.is_empty() && !is_of_the_shell(name))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    (!variables.is_empty()).then_some(variables)
}

/// Variables that describe the login shell itself and would be wrong in a command.
fn is_of_the_shell(name: &str) -> bool {
    matches!(name, "_" | "SHLVL" | "PWD" | "OLDPWD")
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(output: &[u8], expected: Expect) {
        expected.assert_eq(&format!("{:?}", parse(output)));
    }

    #[test]
    fn only_what_follows_the_mark_counts() {
        check(b"X=1\0", expect!["None"]);
        check(b"--troupe-login-environment--", expect!["None"]);
        check(
            b"hi --troupe-login-environment--A=1\0B=two\nlines=x\0SHLVL=1\0_=/bin/env\0",
            expect![[r#"Some({"A": "1", "B": "two\nlines=x"})"#]],
        );
    }

    #[test]
    fn what_is_no_text_is_left_out() {
        check(
            b"--troupe-login-environment--A=\xff\0B=1\0nonsense\0=x\0",
            expect![[r#"Some({"B": "1"})"#]],
        );
    }
}
