//! `.mcp.json`: the MCP servers of a project, in the file that Claude Code and editors share. It is
//! read as if the project's own settings named them.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value as Json;

use crate::entry::{ConfigEntry, ConfigValue, Table, ValueLayer, ValueOrigin, ValuePlace};
use crate::error::SyntaxError;

/// Below each directory of a project.
pub const MCP_JSON: &str = ".mcp.json";

/// What a file says.
#[derive(Debug)]
pub struct McpServers {
    /// `mcp_servers`, as a table of the configuration.
    pub table: Table,
    /// What of the file does not count, and why.
    pub left_out: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct McpJsonFile {
    #[serde(rename = "mcpServers")]
    servers: BTreeMap<String, McpJsonServer>,
}

#[derive(Debug, Deserialize)]
struct McpJsonServer {
    #[serde(rename = "type")]
    transport: Option<String>,
    command: Option<String>,
    args: Option<Vec<String>>,
    env: Option<BTreeMap<String, String>>,
    url: Option<String>,
    headers: Option<BTreeMap<String, String>>,
    #[serde(flatten)]
    others: BTreeMap<String, Json>,
}

/// Reads the file. `${NAME}` and `${NAME:-default}` stand for variables of the environment.
pub fn parse(
    text: &str,
    path: &Path,
    variables: &dyn Fn(&str) -> Option<String>,
) -> Result<McpServers, SyntaxError> {
    let file: McpJsonFile = serde_json::from_str(text).map_err(|error| SyntaxError {
        source: path.display().to_string(),
        line: error.line(),
        column: error.column(),
        message: format!("it does not list MCP servers: {error}"),
        snippet: text
            .lines()
            .nth(error.line().saturating_sub(1))
            .unwrap_or_default()
            .to_owned(),
    })?;
    let mut read = McpServers {
        table: Table::new(),
        left_out: Vec::new(),
    };
    let shared: Arc<Path> = Arc::from(path);
    for (name, server) in file.servers {
        let told = |what: String| format!("{}: {what}", path.display());
        for key in server.others.keys() {
            read.left_out.push(told(format!(
                "the key {key} of the server {name} is not known here"
            )));
        }
        let place = ValuePlace::File {
            path: Arc::clone(&shared),
            line: line_of(text, &name),
        };
        let writer = EntryBuilder {
            origin: ValueOrigin {
                layer: ValueLayer::Project,
                place,
            },
            variables,
        };
        match writer.server(server) {
            Ok(entry) => {
                read.table.insert(name, entry);
            }
            Err(why) => read
                .left_out
                .push(told(format!("the server {name} is left out: {why}"))),
        }
    }
    Ok(read)
}

/// Where a server begins, for whoever looks for it; JSON's reader does not say.
fn line_of(text: &str, name: &str) -> usize {
    let quoted = Json::from(name).to_string();
    let before = text.split_once(&quoted).map_or("", |(before, _)| before);
    before.matches('\n').count() + 1
}

/// Makes values of the configuration.
struct EntryBuilder<'a> {
    origin: ValueOrigin,
    variables: &'a dyn Fn(&str) -> Option<String>,
}

impl EntryBuilder<'_> {
    fn server(&self, server: McpJsonServer) -> Result<ConfigEntry, String> {
        if let Some(transport) = &server.transport
            && !["stdio", "http", "streamable-http"].contains(&transport.as_str())
        {
            return Err(format!(
                "its type is {transport:?}; servers over stdio and http can be used"
            ));
        }
        let mut table = Table::new();
        if let Some(command) = server.command {
            table.insert("command".to_owned(), self.text(&command)?);
        }
        if let Some(arguments) = server.args {
            let arguments = arguments.iter().map(|it| self.text(it));
            let arguments = arguments.collect::<Result<Vec<ConfigEntry>, String>>()?;
            table.insert("args".to_owned(), self.entry(ConfigValue::Array(arguments)));
        }
        if let Some(variables) = server.env {
            table.insert("env".to_owned(), self.texts(variables)?);
        }
        if let Some(url) = server.url {
            table.insert("url".to_owned(), self.text(&url)?);
        }
        if let Some(headers) = server.headers {
            table.insert("http_headers".to_owned(), self.texts(headers)?);
        }
        Ok(self.entry(ConfigValue::Table(table)))
    }

    fn texts(&self, texts: BTreeMap<String, String>) -> Result<ConfigEntry, String> {
        let texts = texts.into_iter();
        let table = texts.map(|(name, text)| Ok((name, self.text(&text)?)));
        Ok(self.entry(ConfigValue::Table(
            table.collect::<Result<Table, String>>()?,
        )))
    }

    fn text(&self, text: &str) -> Result<ConfigEntry, String> {
        let expanded = expand(text, self.variables)?;
        Ok(self.entry(ConfigValue::String(expanded)))
    }

    fn entry(&self, value: ConfigValue) -> ConfigEntry {
        ConfigEntry {
            value,
            origin: self.origin.clone(),
        }
    }
}

fn expand(text: &str, variables: &dyn Fn(&str) -> Option<String>) -> Result<String, String> {
    let mut expanded = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let Some((inside, after)) = after.split_once('}') else {
            break;
        };
        let (name, default) = match inside.split_once(":-") {
            Some((name, default)) => (name, Some(default.to_owned())),
            None => (inside, None),
        };
        let value = variables(name).or(default);
        let value = value.ok_or_else(|| {
            format!("the variable {name} is not set; set it, or write ${{{name}:-default}}")
        })?;
        expanded.push_str(before);
        expanded.push_str(&value);
        rest = after;
    }
    expanded.push_str(rest);
    Ok(expanded)
}
