//! What a client wants, checked: parameters that contradict each other are refused before
//! anything runs.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use troupe_process::{StdinMode, TerminalSize};
use troupe_protocol::policy::SandboxPolicy;
use troupe_transport::rpc::RpcError;

use crate::limits::{
    COMMAND_OUTPUT_BYTES_DEFAULT, COMMAND_OUTPUT_COLLECTED_BYTES_MAX, COMMAND_TIME_MS_DEFAULT,
};
use crate::wire::command::{CommandExecParams, CommandExecTerminalSize};

/// A terminal that a client opens can do what those of today can.
const TERMINAL_KIND: &str = "xterm-256color";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CommandOptions {
    pub argv: Vec<String>,
    pub process_id: Option<String>,
    pub terminal: Option<TerminalSize>,
    pub stdin: StdinMode,
    pub streams_output: bool,
    /// Of each stream.
    pub output_bytes_max: u64,
    pub time_max: Option<Duration>,
    pub cwd: Option<PathBuf>,
    pub sandbox_policy: Option<SandboxPolicy>,
    changes: BTreeMap<String, Option<String>>,
}

impl CommandOptions {
    pub(super) fn check(params: CommandExecParams) -> Result<Self, RpcError> {
        if params.command.is_empty() {
            return Err(wrong("command must not be empty"));
        }
        if params.permission_profile.is_some() {
            return Err(wrong(
                "permissionProfile: there are none; use sandboxPolicy",
            ));
        }
        let is_on = |flag: Option<bool>| flag == Some(true);
        let tty = is_on(params.tty);
        let streams_stdin = tty || is_on(params.stream_stdin);
        let streams_output = tty || is_on(params.stream_stdout_stderr);
        if (streams_stdin || streams_output) && params.process_id.is_none() {
            let message = "tty, streamStdin and streamStdoutStderr require a processId";
            return Err(wrong(message));
        }
        if params.size.is_some() && !tty {
            return Err(wrong("size requires tty"));
        }
        let size = params.size.map(terminal_size).transpose()?;
        Ok(Self {
            terminal: tty.then(|| size.unwrap_or_default()),
            stdin: if streams_stdin {
                StdinMode::Pipe
            } else {
                StdinMode::Null
            },
            streams_output,
            output_bytes_max: output_bytes_max(
                params.output_bytes_cap,
                is_on(params.disable_output_cap),
                streams_output,
            )?,
            time_max: time_max(params.timeout_ms, is_on(params.disable_timeout))?,
            argv: params.command,
            process_id: params.process_id,
            cwd: params.cwd,
            sandbox_policy: params.sandbox_policy.map(Into::into),
            changes: params.env.unwrap_or_default(),
        })
    }

    /// Returns the environment of the command, made of what commands find here.
    pub(super) fn environment(
        &self,
        mut env: BTreeMap<String, String>,
    ) -> BTreeMap<String, String> {
        if self.terminal.is_some() {
            // What models read has no colours; what people read may.
            env.remove("NO_COLOR");
            env.insert("TERM".to_owned(), TERMINAL_KIND.to_owned());
        }
        for (name, value) in &self.changes {
            match value {
                Some(value) => env.insert(name.clone(), value.clone()),
                None => env.remove(name),
            };
        }
        env
    }
}

fn output_bytes_max(cap: Option<u64>, disabled: bool, streamed: bool) -> Result<u64, RpcError> {
    match (cap, disabled) {
        (Some(_), true) => Err(wrong(
            "outputBytesCap and disableOutputCap exclude each other",
        )),
        (Some(cap), false) if streamed => Ok(cap),
        (Some(cap), false) => Ok(cap.min(COMMAND_OUTPUT_COLLECTED_BYTES_MAX)),
        (None, false) => Ok(COMMAND_OUTPUT_BYTES_DEFAULT),
        (None, true) if streamed => Ok(u64::MAX),
        // It is kept until the end, and must fit into one message then.
        (None, true) => Ok(COMMAND_OUTPUT_COLLECTED_BYTES_MAX),
    }
}

fn time_max(ms: Option<i64>, disabled: bool) -> Result<Option<Duration>, RpcError> {
    match (ms, disabled) {
        (Some(_), true) => Err(wrong("timeoutMs and disableTimeout exclude each other")),
        (None, true) => Ok(None),
        (None, false) => Ok(Some(Duration::from_millis(COMMAND_TIME_MS_DEFAULT))),
        (Some(ms), false) => match u64::try_from(ms) {
            Ok(ms) => Ok(Some(Duration::from_millis(ms))),
            Err(_) => Err(wrong("timeoutMs must not be negative")),
        },
    }
}

pub(super) fn terminal_size(size: CommandExecTerminalSize) -> Result<TerminalSize, RpcError> {
    let CommandExecTerminalSize { rows, cols } = size;
    if rows == 0 || cols == 0 {
        return Err(wrong("size: rows and cols must be greater than 0"));
    }
    Ok(TerminalSize { rows, cols })
}

fn wrong(what: &str) -> RpcError {
    RpcError::invalid_params(format!("invalid params: {what}"))
}

#[cfg(test)]
mod tests;
