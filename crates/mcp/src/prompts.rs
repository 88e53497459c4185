//! Prompts that servers offer. People call them `/mcp__SERVER__PROMPT words`, or `/SERVER:PROMPT
//! words`; the words are the prompt's arguments, in its order.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use tokio::time::timeout;
use troupe_tools::{callable, server_prefix};

use crate::limits::{PROMPT_BYTES_MAX, PROMPTS_MAX};
use crate::server::McpServerHandle;
use crate::server_set::McpServerSet;

/// A prompt of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerPrompt {
    pub server: String,
    /// The server's own name of it.
    pub name: String,
    pub description: Option<String>,
    pub arguments: Vec<ServerPromptArgument>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerPromptArgument {
    pub name: String,
    pub is_required: bool,
}

/// What a server made of a prompt and its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilledServerPrompt {
    pub text: String,
    /// Parts that are no text, in words.
    pub left_out: Vec<String>,
}

impl ServerPrompt {
    /// Returns what people call it by, behind a `/`.
    pub fn command(&self) -> String {
        format!("{}{}", server_prefix(&self.server), callable(&self.name))
    }

    /// Returns how its arguments are written: `<issue> [priority]`.
    pub fn usage(&self) -> String {
        let arguments = self.arguments.iter().map(|argument| {
            if argument.is_required {
                format!("<{}>", argument.name)
            } else {
                format!("[{}]", argument.name)
            }
        });
        arguments.collect::<Vec<_>>().join(" ")
    }

    /// Gives each argument its word. The last one has the rest of them, so that a sentence needs
    /// no quotes.
    fn arguments(&self, words: &[String]) -> Result<BTreeMap<String, String>, String> {
        let command = self.command();
        let Some(last) = self.arguments.len().checked_sub(1) else {
            if words.is_empty() {
                return Ok(BTreeMap::new());
            }
            return Err(format!("/{command} takes no arguments"));
        };
        let mut given = BTreeMap::new();
        for (at, argument) in self.arguments.iter().enumerate() {
            let own = match words.get(at..) {
                Some(rest) if at == last => rest.join(" "),
                Some([word, ..]) => word.clone(),
                Some([]) | None => String::new(),
            };
            if !own.is_empty() {
                given.insert(argument.name.clone(), own);
            } else if argument.is_required {
                let usage = self.usage();
                return Err(format!(
                    "/{command} needs {}: /{command} {usage}",
                    argument.name
                ));
            }
        }
        Ok(given)
    }
}

impl McpServerSet {
    /// Returns the prompts of all servers, which are started for that. What a server cannot tell
    /// is told where a session needs the server.
    pub async fn prompts(&self) -> Vec<ServerPrompt> {
        let (edition, _) = self.current().await;
        let listed = edition
            .servers
            .iter()
            .map(|server| async move { server_prompts(server).await.unwrap_or_default() });
        let listed = futures_util::future::join_all(listed).await;
        listed.into_iter().flatten().collect()
    }

    /// Has a server fill the prompt of this name with these words. Returns none if the name is
    /// not that of a server's prompt.
    pub async fn fill_prompt(
        &self,
        name: &str,
        words: &[String],
    ) -> Result<Option<FilledServerPrompt>, String> {
        let (edition, _) = self.current().await;
        let named = edition.servers.iter().filter_map(|server| {
            let own = name.strip_prefix(&server_prefix(&server.name));
            let own = own.or_else(|| name.strip_prefix(&format!("{}:", server.name)));
            Some((server, own?))
        });
        let mut missed = None;
        for (server, own) in named {
            let prompts = server_prompts(server).await.map_err(|error| {
                format!(
                    "/{name} cannot be used: MCP server {}: {error}",
                    server.name
                )
            })?;
            let found = prompts
                .iter()
                .find(|prompt| prompt.name == own || callable(&prompt.name) == own);
            let Some(prompt) = found else {
                missed.get_or_insert_with(|| no_prompt(&server.name, own, &prompts));
                continue;
            };
            let arguments = prompt.arguments(words)?;
            return filled(server, prompt, arguments)
                .await
                .map(Some)
                .map_err(|error| format!("/{name} cannot be used: {error}"));
        }
        match missed {
            Some(why) => Err(why),
            None if name.starts_with("mcp__") => Err(format!(
                "/{name} is no prompt of a configured MCP server; `troupe mcp` lists the servers"
            )),
            None => Ok(None),
        }
    }
}

fn no_prompt(server: &str, wanted: &str, prompts: &[ServerPrompt]) -> String {
    if prompts.is_empty() {
        return format!("MCP server {server} has no prompts");
    }
    let known: Vec<&str> = prompts.iter().map(|prompt| &*prompt.name).collect();
    format!(
        "MCP server {server} has no prompt {wanted}; it has {}",
        known.join(", ")
    )
}

async fn server_prompts(server: &McpServerHandle) -> Result<Vec<ServerPrompt>, String> {
    let connection = server.connect().await?;
    let listing = timeout(server.config.tool_time_max, connection.prompts()).await;
    let listed = listing.map_err(|_| "its prompts did not come in time".to_owned())?;
    let prompts = listed.map_err(|error| error.to_string())?.into_iter();
    let prompts = prompts.take(PROMPTS_MAX).map(|prompt| ServerPrompt {
        server: server.name.to_string(),
        description: prompt
            .description
            .or(prompt.title)
            .map(|text| text.replace(char::is_control, " ")),
        arguments: prompt
            .arguments
            .into_iter()
            .flatten()
            .map(|argument| ServerPromptArgument {
                is_required: argument.required == Some(true),
                name: argument.name,
            })
            .collect(),
        name: prompt.name,
    });
    Ok(prompts.collect())
}

async fn filled(
    server: &McpServerHandle,
    prompt: &ServerPrompt,
    arguments: BTreeMap<String, String>,
) -> Result<FilledServerPrompt, String> {
    let connection = server.connect().await?;
    let arguments: Map<String, Value> = arguments
        .into_iter()
        .map(|(name, word)| (name, Value::String(word)))
        .collect();
    let filling = connection.prompt(&prompt.name, arguments);
    let filling = timeout(server.config.tool_time_max, filling).await;
    let messages = filling.map_err(|_| "the prompt did not come in time".to_owned())?;
    let filled = text_of(&messages.map_err(|error| error.to_string())?);
    if filled.text.len() > PROMPT_BYTES_MAX {
        return Err(format!(
            "the prompt is longer than {PROMPT_BYTES_MAX} bytes"
        ));
    }
    if filled.text.trim().is_empty() {
        return Err("the server made nothing of it".to_owned());
    }
    Ok(filled)
}

/// Puts the messages of a prompt (`[{role, content}]`) into one text. Where the model is to have
/// said some of them, each says whose it is.
fn text_of(messages: &[Value]) -> FilledServerPrompt {
    let is_dialogue = messages
        .iter()
        .any(|message| message["role"] == "assistant");
    let mut parts = Vec::new();
    let mut left_out = Vec::new();
    for message in messages {
        let content = &message["content"];
        let text = match content["type"].as_str() {
            Some("text") => content["text"].as_str().map(ToOwned::to_owned),
            Some("resource") => resource(&content["resource"]),
            Some("resource_link") => content["uri"].as_str().map(ToOwned::to_owned),
            Some(_) | None => None,
        };
        match text {
            Some(text) if is_dialogue && message["role"] == "assistant" => {
                parts.push(format!("Assistant: {text}"));
            }
            Some(text) if is_dialogue => parts.push(format!("User: {text}")),
            Some(text) => parts.push(text),
            None => left_out.push(content["type"].as_str().unwrap_or("unknown").to_owned()),
        }
    }
    FilledServerPrompt {
        text: parts.join("\n\n"),
        left_out,
    }
}

fn resource(resource: &Value) -> Option<String> {
    let (uri, text) = (resource["uri"].as_str()?, resource["text"].as_str()?);
    Some(format!("<resource uri=\"{uri}\">\n{text}\n</resource>"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{ServerPrompt, ServerPromptArgument, text_of};

    fn prompt(arguments: &[(&str, bool)]) -> ServerPrompt {
        let arguments = arguments
            .iter()
            .map(|(name, is_required)| ServerPromptArgument {
                name: (*name).to_owned(),
                is_required: *is_required,
            });
        ServerPrompt {
            server: "my ore".to_owned(),
            name: "dig.deep".to_owned(),
            description: None,
            arguments: arguments.collect(),
        }
    }

    #[test]
    fn words_become_arguments_in_their_order() {
        let check = |prompt: &ServerPrompt, words: &str, expected: Result<&str, &str>| {
            let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
            let given = prompt.arguments(&words).map(|given| {
                let pairs = given.iter().map(|(name, word)| format!("{name}={word}"));
                pairs.collect::<Vec<_>>().join(" ")
            });
            assert_eq!(given.as_deref().map_err(String::as_str), expected);
        };
        let two = prompt(&[("a", true), ("b", false)]);
        check(&two, "x", Ok("a=x"));
        check(&two, "x y z", Ok("a=x b=y z"));
        let usage = "/mcp__my_ore__dig_deep needs a: /mcp__my_ore__dig_deep <a> [b]";
        check(&two, "", Err(usage));
        check(&prompt(&[]), "", Ok(""));
        check(
            &prompt(&[]),
            "x",
            Err("/mcp__my_ore__dig_deep takes no arguments"),
        );
    }

    #[test]
    fn messages_become_one_text_and_what_is_none_is_named() {
        let user = |text: &str| json!({"role": "user", "content": {"type": "text", "text": text}});
        assert_eq!(text_of(&[user("a"), user("b")]).text, "a\n\nb");
        let said = json!({"role": "assistant", "content": {"type": "text", "text": "c"}});
        assert_eq!(text_of(&[user("a"), said]).text, "User: a\n\nAssistant: c");
        let file = json!({"role": "user", "content": {"type": "resource",
            "resource": {"uri": "ore://a", "text": "gold"}}});
        let picture = json!({"role": "user", "content": {"type": "image", "data": ""}});
        let filled = text_of(&[file, picture]);
        assert_eq!(filled.text, "<resource uri=\"ore://a\">\ngold\n</resource>");
        assert_eq!(filled.left_out, ["image"]);
    }
}
