//! Commands that a client runs itself, beside every thread.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::policy::SandboxPolicy;

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct CommandExecParams {
    /// The program and its arguments. No shell is in between.
    pub command: Vec<String>,
    /// The client's name for the command. Whoever wants to write to it, or to hear of its
    /// output while it runs, needs one.
    #[serde(default)]
    pub process_id: Option<String>,
    /// Gives it a terminal; its input and its output are streamed then.
    #[serde(default)]
    pub tty: Option<bool>,
    #[serde(default)]
    pub stream_stdin: Option<bool>,
    /// Tells the output as it comes, and not at the end.
    #[serde(default)]
    pub stream_stdout_stderr: Option<bool>,
    /// How much of each stream counts. What comes behind it is thrown away.
    #[serde(default)]
    pub output_bytes_cap: Option<u64>,
    #[serde(default)]
    pub disable_output_cap: Option<bool>,
    #[serde(default)]
    pub disable_timeout: Option<bool>,
    #[serde(default)]
    pub timeout_ms: Option<i64>,
    /// Absolute, or relative to the directory that the server was started in.
    #[serde(default)]
    pub cwd: Option<PathBuf>,
    /// Changes to the environment; `null` takes a variable away.
    #[serde(default)]
    pub env: Option<BTreeMap<String, Option<String>>>,
    /// The size of the terminal.
    #[serde(default)]
    pub size: Option<CommandExecTerminalSize>,
    /// The configured one if absent.
    #[serde(default)]
    pub sandbox_policy: Option<SandboxPolicy>,
    /// Experimental, and refused: a policy says what a command may do.
    #[serde(default)]
    pub permission_profile: Option<Value>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct CommandExecTerminalSize {
    pub rows: u16,
    pub cols: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct CommandExecResponse {
    /// 124 if its time was up, 128 and the signal's number if a signal ended it.
    pub exit_code: i32,
    /// Empty if it was streamed.
    pub stdout: String,
    pub stderr: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct CommandExecWriteParams {
    pub process_id: String,
    #[serde(default)]
    pub delta_base64: Option<String>,
    #[serde(default)]
    pub close_stdin: Option<bool>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct CommandExecTerminateParams {
    pub process_id: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct CommandExecResizeParams {
    pub process_id: String,
    pub size: CommandExecTerminalSize,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct CommandExecOutputDeltaNotification {
    pub process_id: String,
    pub stream: CommandExecOutputStream,
    pub delta_base64: String,
    /// This is the last of the stream that counts, and more was said.
    pub cap_reached: bool,
}

/// Where output came from. All output of a terminal is `stdout`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub enum CommandExecOutputStream {
    Stdout,
    Stderr,
}
