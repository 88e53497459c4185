//! Configuration of an MCP server: `[mcp_servers.NAME]`.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserialize;

use crate::approval::ApprovalMode;
use crate::limits::{STARTUP_TIME_DEFAULT, TOOL_TIME_DEFAULT};
use crate::name::names;

/// A server's configuration, checked. Equal ones mean the same server.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "ServerKeys")]
pub struct ServerConfig {
    pub door: ServerEndpoint,
    pub enabled: bool,
    /// Without it a task fails.
    pub required: bool,
    pub startup_time_max: Duration,
    pub tool_time_max: Duration,
    pub choice: ToolSelection,
    /// Calls may run beside other calls of the same turn.
    pub parallel: bool,
    pub approval: ApprovalMode,
    /// By the tool's own name.
    pub tool_approval: BTreeMap<String, ApprovalMode>,
}

/// How a server is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerEndpoint {
    /// A program that is started, and spoken to through its stdin and stdout.
    Stdio {
        command: String,
        args: Vec<String>,
        env: BTreeMap<String, String>,
        /// Variables that it gets from the engine's environment.
        env_vars: Vec<String>,
        cwd: Option<PathBuf>,
    },
    Http {
        url: String,
        /// Names of variables, not their values.
        bearer_token_env_var: Option<String>,
        http_headers: BTreeMap<String, String>,
        env_http_headers: BTreeMap<String, String>,
    },
}

/// Which of a server's tools are offered.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolSelection {
    /// None allows all.
    pub enabled: Option<BTreeSet<String>>,
    pub disabled: BTreeSet<String>,
}

impl ToolSelection {
    pub(crate) fn allows(&self, tool: &str) -> bool {
        let enabled = self.enabled.as_ref();
        enabled.is_none_or(|enabled| enabled.contains(tool)) && !self.disabled.contains(tool)
    }
}

impl ServerConfig {
    pub(crate) fn approval(&self, tool: &str) -> ApprovalMode {
        let own = self.tool_approval.get(tool);
        own.copied().unwrap_or(self.approval)
    }

    /// Returns the names by which models call the tools of the server of this name, if the
    /// configuration lists them and no other server has the like.
    pub fn tool_names(&self, server: &str) -> Option<Vec<String>> {
        let tools = self.listed_tools()?;
        let tools: Vec<_> = tools.map(|tool| (server, tool)).collect();
        Some(names(&tools))
    }

    /// Returns the tools by their own names, if the configuration lists them.
    pub(crate) fn listed_tools(&self) -> Option<impl Iterator<Item = &str>> {
        let enabled = self.choice.enabled.as_ref()?;
        let tools = enabled.union(&self.choice.disabled);
        Some(tools.map(String::as_str))
    }

    /// Returns the variables whose values are meant for the server alone.
    pub fn secret_variables(&self) -> Vec<String> {
        match &self.door {
            ServerEndpoint::Stdio { .. } => Vec::new(),
            ServerEndpoint::Http {
                bearer_token_env_var,
                env_http_headers,
                ..
            } => bearer_token_env_var
                .iter()
                .chain(env_http_headers.values())
                .cloned()
                .collect(),
        }
    }
}

impl JsonSchema for ServerConfig {
    fn schema_name() -> Cow<'static, str> {
        ServerKeys::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        ServerKeys::json_schema(generator)
    }
}

/// A server of the Model Context Protocol. It has either a `command` or a `url`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[schemars(rename = "McpServer")]
struct ServerKeys {
    /// The program to start.
    command: Option<String>,
    /// Its arguments.
    args: Option<Vec<String>>,
    /// Variables that the program gets. Besides these and `env_vars` it gets only the likes of
    /// PATH and HOME.
    env: Option<BTreeMap<String, String>>,
    /// Names of variables that the program gets from the environment.
    env_vars: Option<Vec<EnvVariable>>,
    /// Where the program is started; the directory that troupe works in if absent.
    cwd: Option<PathBuf>,
    /// The address of a server that speaks streamable HTTP.
    url: Option<String>,
    /// The name of the variable with the token for the `Authorization` header.
    bearer_token_env_var: Option<String>,
    /// Headers that are sent with every request.
    http_headers: Option<BTreeMap<String, String>>,
    /// Headers whose values are in variables, by the name of the header.
    env_http_headers: Option<BTreeMap<String, String>>,
    /// Whether it is used; true if absent.
    enabled: Option<bool>,
    /// Whether a task fails that cannot have it; false if absent.
    required: Option<bool>,
    /// How long it may take to start; 30 if absent.
    startup_timeout_sec: Option<f64>,
    /// How long a call may take; 300 if absent.
    tool_timeout_sec: Option<f64>,
    /// The tools that are offered; all if absent.
    enabled_tools: Option<Vec<String>>,
    /// Tools that are not offered.
    disabled_tools: Option<Vec<String>>,
    /// Whether calls may run beside others; false if absent.
    supports_parallel_tool_calls: Option<bool>,
    /// When a person is asked before a call; `auto` if absent.
    default_tools_approval_mode: Option<ApprovalMode>,
    /// Settings of single tools, by the server's name for them.
    #[serde(default)]
    tools: BTreeMap<String, ToolKeys>,
}

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[schemars(rename = "McpServerTool")]
struct ToolKeys {
    approval_mode: Option<ApprovalMode>,
}

/// A variable by its name, alone or with where it comes from.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(untagged)]
enum EnvVariable {
    Name(String),
    From {
        name: String,
        source: Option<VariableSource>,
    },
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum VariableSource {
    /// The environment of this program.
    Local,
}

impl EnvVariable {
    fn into_name(self) -> String {
        match self {
            Self::Name(name)
            | Self::From {
                name,
                source: None | Some(VariableSource::Local),
            } => name,
        }
    }
}

impl TryFrom<ServerKeys> for ServerConfig {
    type Error = String;

    fn try_from(mut keys: ServerKeys) -> Result<Self, String> {
        let door = door(&mut keys)?;
        let startup = keys.startup_timeout_sec;
        let call = keys.tool_timeout_sec;
        let tools = keys.tools.into_iter();
        Ok(Self {
            door,
            enabled: keys.enabled.unwrap_or(true),
            required: keys.required.unwrap_or(false),
            startup_time_max: time("startup_timeout_sec", startup, STARTUP_TIME_DEFAULT)?,
            tool_time_max: time("tool_timeout_sec", call, TOOL_TIME_DEFAULT)?,
            choice: ToolSelection {
                enabled: keys.enabled_tools.map(BTreeSet::from_iter),
                disabled: keys.disabled_tools.into_iter().flatten().collect(),
            },
            parallel: keys.supports_parallel_tool_calls.unwrap_or(false),
            approval: keys.default_tools_approval_mode.unwrap_or_default(),
            tool_approval: tools
                .filter_map(|(tool, keys)| Some((tool, keys.approval_mode?)))
                .collect(),
        })
    }
}

fn door(keys: &mut ServerKeys) -> Result<ServerEndpoint, String> {
    let stdio_only = [
        ("args", keys.args.is_some()),
        ("env", keys.env.is_some()),
        ("env_vars", keys.env_vars.is_some()),
        ("cwd", keys.cwd.is_some()),
    ];
    let http_only = [
        ("bearer_token_env_var", keys.bearer_token_env_var.is_some()),
        ("http_headers", keys.http_headers.is_some()),
        ("env_http_headers", keys.env_http_headers.is_some()),
    ];
    match (keys.command.take(), keys.url.take()) {
        (Some(_), Some(_)) => Err("it has both command and url; keep one of them".to_owned()),
        (None, None) => Err("it has neither command nor url; set one of them".to_owned()),
        (Some(command), None) => {
            refuse(&http_only, "a server with a url")?;
            if command.trim().is_empty() {
                return Err("command is empty; name the program to start".to_owned());
            }
            let variables = keys.env_vars.take().into_iter().flatten();
            Ok(ServerEndpoint::Stdio {
                command,
                args: keys.args.take().unwrap_or_default(),
                env: keys.env.take().unwrap_or_default(),
                env_vars: variables.map(EnvVariable::into_name).collect(),
                cwd: keys.cwd.take(),
            })
        }
        (None, Some(url)) => {
            refuse(&stdio_only, "a server with a command")?;
            if !url.starts_with("http://") && !url.starts_with("https://") {
                return Err(format!(
                    "url {url:?} begins neither with http:// nor https://"
                ));
            }
            Ok(ServerEndpoint::Http {
                url,
                bearer_token_env_var: keys.bearer_token_env_var.take(),
                http_headers: keys.http_headers.take().unwrap_or_default(),
                env_http_headers: keys.env_http_headers.take().unwrap_or_default(),
            })
        }
    }
}

fn refuse(keys: &[(&str, bool)], whose: &str) -> Result<(), String> {
    match keys.iter().find(|(_, is_set)| *is_set) {
        Some((key, _)) => Err(format!("{key} belongs to {whose}; remove it")),
        None => Ok(()),
    }
}

fn time(key: &str, seconds: Option<f64>, default: Duration) -> Result<Duration, String> {
    let Some(seconds) = seconds else {
        return Ok(default);
    };
    match Duration::try_from_secs_f64(seconds) {
        Ok(time) if !time.is_zero() => Ok(time),
        Ok(_) | Err(_) => Err(format!(
            "{key} is {seconds}; set a number of seconds above 0"
        )),
    }
}

#[cfg(test)]
mod tests;
