//! Changes to `[mcp_servers]` of a configuration file that keep everything else as it is.

use std::path::Path;

use toml_edit::{Array, DocumentMut, Item, Table, value};
use troupe_mcp::Door;

use crate::config_file::ConfigFile;
use crate::failure::Failure;

const SERVERS: &str = "mcp_servers";

/// Adds a server, unless there is one of that name.
pub(super) fn add(file: &Path, name: &str, door: &Door) -> Result<(), Failure> {
    if name.is_empty() || name.chars().any(char::is_control) {
        return Err(Failure::usage(
            "the name of a server is one or more characters",
        ));
    }
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
            return Err(Failure::usage(format!(
                "{} has a server {name} already; remove it first",
                file.display()
            )));
        }
        servers.insert(name, Item::Table(table(door)));
        Ok(())
    })
}

/// Removes a server.
pub(super) fn remove(file: &Path, name: &str) -> Result<(), Failure> {
    change(file, |document| {
        let servers = document.get_mut(SERVERS).and_then(Item::as_table_like_mut);
        match servers.and_then(|servers| servers.remove(name)) {
            Some(_) => Ok(()),
            None => Err(Failure::usage(format!(
                "{} has no server {name}; `troupe mcp` lists all, also those of other files",
                file.display()
            ))),
        }
    })
}

fn table(door: &Door) -> Table {
    let mut table = Table::new();
    match door {
        Door::Stdio {
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
        Door::Http {
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
    edit: impl FnOnce(&mut DocumentMut) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut file = ConfigFile::take(path)?;
    let mut document = file.document()?;
    edit(&mut document)?;
    file.write(&document)
}

fn not_a_table(file: &Path) -> Failure {
    Failure::usage(format!("{SERVERS} of {} is not a table", file.display()))
}
