//! `troupe mcp`: the servers that bring further tools.

mod edit;
mod login;

use std::collections::BTreeMap;
use std::env;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::json;
use troupe_mcp::{
    McpLoginStore, McpServerPool, McpServerPoolDeps, ServerConfig, ServerEndpoint, ServerInspection,
};
use troupe_process::{Launcher, LauncherOptions};

use crate::arguments::{ConfigOverrides, LayerSelection};
use crate::commands::{block_on, print, tell};
use crate::failure::{CommandExit, CommandFailure, Outcome};
use crate::home::{TroupeHome, here, repository_root};
use crate::layers::{ConfigSource, LoadedConfig};
use crate::settings::Settings;

/// Where a project lists servers for every agent.
const MCP_JSON: &str = ".mcp.json";

#[derive(Debug, Args)]
#[command(
    after_help = "Servers are [mcp_servers.NAME] tables of config.toml, with a command to start or a url to connect to.
Their tools are offered to the model as mcp__NAME__TOOL. A server starts when a session first needs
it, is shared by all agents of the session, and gets no variables but the likes of PATH and those
that env and env_vars name.

Examples:
  troupe mcp                                          all servers of the configuration
  troupe mcp add files -- npx -y @modelcontextprotocol/server-filesystem .
  troupe mcp add docs --url https://example.com/mcp --bearer-token-env-var DOCS_TOKEN
  troupe mcp add --project lint -- npx eslint-mcp     for everybody who works here, in .mcp.json
  troupe mcp test files                               start it and list its tools
  troupe mcp login docs                               log in to a server that wants OAuth"
)]
pub struct McpArguments {
    #[command(subcommand)]
    action: Option<McpAction>,
    #[command(flatten)]
    overrides: ConfigOverrides,
}

#[derive(Debug, Subcommand)]
enum McpAction {
    /// List the configured servers (the default).
    List {
        /// One JSON object per server.
        #[arg(long)]
        json: bool,
    },
    /// Start servers, list their tools and end them.
    Test {
        /// One server; all that are enabled if absent.
        name: Option<String>,
        /// One JSON object per server.
        #[arg(long)]
        json: bool,
    },
    /// Add a server to your own configuration, or to the project's.
    Add(McpAddArguments),
    /// Log in to a server that wants OAuth, in a browser.
    Login(login::McpLoginArguments),
    /// Forget what a server gave for a login.
    Logout {
        /// The server's name.
        name: String,
    },
    /// Remove a server from your own configuration.
    Remove {
        /// The server's name.
        name: String,
    },
}

#[derive(Debug, Args)]
struct McpAddArguments {
    /// What the server is called here; its tools are mcp__NAME__TOOL.
    name: String,
    /// The address of a server that speaks streamable HTTP.
    #[arg(long, conflicts_with_all = ["command", "env"], required_unless_present = "command")]
    url: Option<String>,
    /// The variable that holds the token for the address.
    #[arg(long, value_name = "VARIABLE", requires = "url")]
    bearer_token_env_var: Option<String>,
    /// A variable that the program gets.
    #[arg(long, value_name = "NAME=VALUE", value_parser = variable)]
    env: Vec<(String, String)>,
    /// Into `.mcp.json` at the root of this project, which other agents read too. It counts once you
    /// trust the project.
    #[arg(long)]
    project: bool,
    /// The program to start, and its arguments.
    #[arg(last = true)]
    command: Vec<String>,
}

pub fn run(arguments: McpArguments, overrides: ConfigOverrides, layers: LayerSelection) -> Outcome {
    let source = ConfigSource {
        home: TroupeHome::find()?,
        overrides: overrides.then(arguments.overrides),
        layers,
        flags: Vec::new(),
    };
    match arguments.action.unwrap_or(McpAction::List { json: false }) {
        McpAction::List { json } => list(&source, json),
        McpAction::Test { name, json } => test(&source, name.as_deref(), json),
        McpAction::Add(arguments) => add(&source, arguments),
        McpAction::Login(arguments) => login::login(&source, arguments),
        McpAction::Logout { name } => login::logout(&source, &name),
        McpAction::Remove { name } => remove(&source, &name),
    }
}

/// Reads the servers for the current directory.
fn servers(
    source: &ConfigSource,
) -> Result<(BTreeMap<String, ServerConfig>, PathBuf), CommandFailure> {
    let cwd = here()?;
    let LoadedConfig { config, warnings } = source.load(&cwd)?;
    for warning in &warnings {
        tell(&format!("warning: {warning}"));
    }
    Ok((Settings::read(&config)?.integrations.mcp_servers, cwd))
}

fn list(source: &ConfigSource, as_json: bool) -> Outcome {
    let (servers, _) = servers(source)?;
    if servers.is_empty() && !as_json {
        print("no MCP servers; `troupe mcp add` makes one\n")?;
        return Ok(CommandExit::Success);
    }
    let width = servers.keys().map(|name| name.chars().count()).max();
    let width = width.unwrap_or_default();
    let logins = McpLoginStore::in_home(source.home.path());
    let is_logged_in = |name: &str, config: &ServerConfig| match &config.door {
        ServerEndpoint::Http { url, .. } => logins.has(name, url),
        ServerEndpoint::Stdio { .. } => false,
    };
    let line = |(name, config): (&String, &ServerConfig)| {
        if as_json {
            let (kind, target) = described(&config.door);
            let object = json!({
                "name": name, "transport": kind, "target": target, "enabled": config.enabled,
                "required": config.required, "logged_in": is_logged_in(name, config),
            });
            return format!("{object}\n");
        }
        let state = match (config.enabled, config.required) {
            (false, _) => "  (disabled)",
            (true, true) => "  (required)",
            (true, false) => "",
        };
        let (kind, target) = described(&config.door);
        let login = if is_logged_in(name, config) {
            "  (logged in)"
        } else {
            ""
        };
        format!("{name:width$}  {kind:5}  {target}{state}{login}\n")
    };
    print(&servers.iter().map(line).collect::<String>())?;
    Ok(CommandExit::Success)
}

/// Names the kind of a door, and where it leads.
fn described(door: &ServerEndpoint) -> (&'static str, String) {
    match door {
        ServerEndpoint::Stdio { command, args, .. } => {
            let words = std::iter::once(command).chain(args);
            let words: Vec<&str> = words.map(String::as_str).collect();
            // A word with a NUL byte could not be quoted, nor run.
            let line = shlex::try_join(words.iter().copied());
            ("stdio", line.unwrap_or_else(|_| words.join(" ")))
        }
        ServerEndpoint::Http { url, .. } => ("http", url.clone()),
    }
}

fn test(source: &ConfigSource, name: Option<&str>, as_json: bool) -> Outcome {
    let (mut servers, cwd) = servers(source)?;
    if let Some(name) = name {
        servers.retain(|known, _| known == name);
        let Some(server) = servers.get_mut(name) else {
            return Err(unknown(name));
        };
        // Whoever names it wants to see it.
        server.enabled = true;
    }
    let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
        Some((name.into_string().ok()?, value.into_string().ok()?))
    };
    let deps = McpServerPoolDeps {
        launcher: Launcher::new(LauncherOptions {
            troupe_home: Some(source.home.path().to_owned()),
            ..LauncherOptions::default()
        }),
        environment: env::vars_os().filter_map(text).collect(),
        cwd,
        logins: Some(McpLoginStore::in_home(source.home.path())),
    };
    let inspections = block_on(async {
        let hub = McpServerPool::new(deps);
        Ok(hub.inspect(&servers).await)
    })?;
    if inspections.is_empty() && !as_json {
        print("no MCP server is enabled\n")?;
    }
    let show = if as_json { as_object } else { as_text };
    print(&inspections.iter().map(show).collect::<String>())?;
    let failed = inspections.iter().any(|one| one.tools.is_err());
    Ok(if failed {
        CommandExit::Failed
    } else {
        CommandExit::Success
    })
}

fn unknown(name: &str) -> CommandFailure {
    CommandFailure::usage(format!(
        "no MCP server is called {name:?}; `troupe mcp` lists them"
    ))
}

fn as_text(inspection: &ServerInspection) -> String {
    let ServerInspection {
        server,
        took,
        tools,
        has_resources,
    } = inspection;
    let took = took.as_secs_f64();
    match tools {
        Err(error) => format!("{server}: failed after {took:.1} s: {error}\n"),
        Ok(tools) => {
            let resources = if *has_resources { ", resources" } else { "" };
            let count = tools.len();
            let head = format!("{server}: ready after {took:.1} s, {count} tools{resources}\n");
            let tools = tools.iter().map(|tool| format!("  {tool}\n"));
            std::iter::once(head).chain(tools).collect()
        }
    }
}

fn as_object(inspection: &ServerInspection) -> String {
    let object = json!({
        "name": inspection.server,
        "ready": inspection.tools.is_ok(),
        "tools": inspection.tools.as_ref().ok(),
        "resources": inspection.has_resources,
        "error": inspection.tools.as_ref().err(),
    });
    format!("{object}\n")
}

fn add(source: &ConfigSource, arguments: McpAddArguments) -> Outcome {
    let McpAddArguments {
        name,
        url,
        bearer_token_env_var,
        env,
        project,
        command,
    } = arguments;
    let door = if let Some(url) = url {
        ServerEndpoint::Http {
            url,
            bearer_token_env_var,
            http_headers: BTreeMap::new(),
            env_http_headers: BTreeMap::new(),
        }
    } else {
        let mut words = command.into_iter();
        let Some(program) = words.next() else {
            return Err(CommandFailure::usage("name the program to start after --"));
        };
        ServerEndpoint::Stdio {
            command: program,
            args: words.collect(),
            env: env.into_iter().collect(),
            env_vars: Vec::new(),
            cwd: None,
        }
    };
    if project {
        let cwd = here()?;
        let file = repository_root(&cwd).unwrap_or(&cwd).join(MCP_JSON);
        edit::add_to_project(&file, &name, &door)?;
        print(&format!(
            "added {name} to {}; it counts once you agree to the project's settings: troupe trust\n",
            file.display()
        ))?;
        return Ok(CommandExit::Success);
    }
    let file = source.home.config_file();
    edit::add(&file, &name, &door)?;
    let shown = file.display();
    print(&format!(
        "added {name} to {shown}; `troupe mcp test {name}` tries it\n"
    ))?;
    Ok(CommandExit::Success)
}

fn remove(source: &ConfigSource, name: &str) -> Outcome {
    let file = source.home.config_file();
    edit::remove(&file, name)?;
    print(&format!("removed {name} from {}\n", file.display()))?;
    Ok(CommandExit::Success)
}

fn variable(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        Some(_) | None => Err("write it as NAME=VALUE".to_owned()),
    }
}
