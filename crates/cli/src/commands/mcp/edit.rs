//! Changes to the servers of a configuration file that keep everything else as it is.

use std::fmt::Display;
use std::path::Path;
use std::{fs, io};

use serde_json::{Value as Json, json};
use toml_edit::{Array, DocumentMut, Item, Table, value};
use troupe_mcp::ServerEndpoint;

use crate::config_file::ConfigFileEditor;
use crate::failure::CommandFailure;

const SERVERS: &str = "mcp_servers";

/// The same in a `.mcp.json`.
const PROJECT_SERVERS: &str = "mcpServers";

fn check(name: &str) -> Result<(), CommandFailure> {
    if name.is_empty() || name.chars().any(char::is_control) {
        return Err(CommandFailure::usage(
            "the name of a server is one or more characters",
        ));
    }
    Ok(())
}

/// Adds a server, unless there is one of that name.
pub(super) fn add(file: &Path, name: &str, door: &ServerEndpoint) -> Result<(), CommandFailure> {
    check(name)?;
    change(file, |document| {
        let servers = document.entry(SERVERS).or_insert_with(|| {
            let mut servers = Table::new();
            servers.set_implicit(true);
            Item::Table(servers)
        });
        let servers = servers
            .as_table_like_mut()
            .ok_or_else(|| not_a_table(file))?;
        if servers.contains_key(name) {
            return Err(CommandFailure::usage(format!(
                "{} has a server {name} already; remove it first",
                file.display()
            )));
        }
        servers.insert(name, Item::Table(table(door)));
        Ok(())
    })
}

/// Adds a server to the `.mcp.json` of a project, unless there is one of that name. What else the
/// file says stays, in its order.
pub(super) fn add_to_project(
    file: &Path,
    name: &str,
    door: &ServerEndpoint,
) -> Result<(), CommandFailure> {
    check(name)?;
    let shown = file.display();
    let mended =
        |why: &dyn Display| CommandFailure::usage(format!("{shown}: {why}; mend it first"));
    let text = match fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => "{}".to_owned(),
        Err(error) => return Err(mended(&error)),
    };
    let mut document: Json = serde_json::from_str(&text).map_err(|error| mended(&error))?;
    let servers = document
        .as_object_mut()
        .map(|object| object.entry(PROJECT_SERVERS).or_insert_with(|| json!({})));
    let servers = servers
        .and_then(Json::as_object_mut)
        .ok_or_else(|| mended(&format!("{PROJECT_SERVERS} is not a table of servers")))?;
    if servers.contains_key(name) {
        return Err(CommandFailure::usage(format!(
            "{shown} has a server {name} already; remove it first"
        )));
    }
    servers.insert(name.to_owned(), shared(door));
    let mut text = serde_json::to_string_pretty(&document).map_err(CommandFailure::failed)?;
    text.push('\n');
    fs::write(file, text).map_err(|error| {
        CommandFailure::failed(anyhow::Error::new(error).context(format!("cannot write {shown}")))
    })
}

/// Returns a server as `.mcp.json` has it. A token stays where it is: the file goes into git.
fn shared(door: &ServerEndpoint) -> Json {
    match door {
        ServerEndpoint::Stdio {
            command, args, env, ..
        } => {
            let mut server = json!({ "command": command, "args": args });
            if !env.is_empty() {
                server["env"] = json!(env);
            }
            server
        }
        ServerEndpoint::Http {
            url,
            bearer_token_env_var,
            ..
        } => {
            let mut server = json!({ "type": "http", "url": url });
            if let Some(variable) = bearer_token_env_var {
                server["headers"] = json!({ "Authorization": format!("Bearer ${{{variable}}}") });
            }
            server
        }
    }
}

/// Removes a server.
pub(super) fn remove(file: &Path, name: &str) -> Result<(), CommandFailure> {
    change(file, |document| {
        let servers = document.get_mut(SERVERS).and_then(Item::as_table_like_mut);
        match servers.and_then(|servers| servers.remove(name)) {
            Some(_) => Ok(()),
            None => Err(CommandFailure::usage(format!(
                "{} has no server {name}; `troupe mcp` lists all, also those of other files",
                file.display()
            ))),
        }
    })
}

fn table(door: &ServerEndpoint) -> Table {
    let mut table = Table::new();
    match door {
        ServerEndpoint::Stdio {
            command, args, env, ..
        } => {
            table.insert("command", value(command));
            if !args.is_empty() {
                table.insert("args", value(args.iter().collect::<Array>()));
            }
            if !env.is_empty() {
                let mut variables = Table::new();
                for (name, text) in env {
                    variables.insert(name, value(text));
                }
                table.insert("env", Item::Table(variables));
            }
        }
        ServerEndpoint::Http {
            url,
            bearer_token_env_var,
            ..
        } => {
            table.insert("url", value(url));
            if let Some(variable) = bearer_token_env_var {
                table.insert("bearer_token_env_var", value(variable));
            }
        }
    }
    table
}

fn change(
    path: &Path,
    edit: impl FnOnce(&mut DocumentMut) -> Result<(), CommandFailure>,
) -> Result<(), CommandFailure> {
    let mut file = ConfigFileEditor::take(path)?;
    let mut document = file.document()?;
    edit(&mut document)?;
    file.write(&document)
}

fn not_a_table(file: &Path) -> CommandFailure {
    CommandFailure::usage(format!("{SERVERS} of {} is not a table", file.display()))
}
