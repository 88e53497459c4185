//! What a request asks, as far as a screenplay looks at it. All wires.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

/// The parts of a request that choose and check a turn.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct ScriptedRequest {
    /// Names the conversation.
    pub conversation: Option<String>,
    /// How many items the request carries.
    pub items: usize,
    /// The texts of the user's messages.
    pub user_text: String,
    /// Everything that came after the model spoke last.
    pub news: String,
    /// The answers of tools, oldest first.
    pub outputs: Vec<String>,
}

#[derive(Deserialize)]
struct RequestBody<'a> {
    #[serde(default)]
    stream: bool,
    prompt_cache_key: Option<String>,
    #[serde(borrow)]
    input: Option<&'a RawValue>,
    #[serde(borrow)]
    messages: Option<Vec<&'a RawValue>>,
}

/// One input item or one chat message.
#[derive(Deserialize)]
struct RequestItem<'a> {
    #[serde(borrow, default, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    role: Cow<'a, str>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    #[serde(borrow)]
    output: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct RequestPart<'a> {
    #[serde(borrow, default, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(default)]
    text: String,
    /// Of a tool's answer among the parts.
    #[serde(borrow)]
    content: Option<&'a RawValue>,
}

enum ItemSpeaker {
    Model,
    Tool,
    User,
    Other,
}

impl ScriptedRequest {
    pub(crate) fn parse(body: &[u8]) -> Result<Self, String> {
        let body: RequestBody<'_> = serde_json::from_slice(body)
            .map_err(|error| format!("the body is not JSON: {error}"))?;
        if !body.stream {
            return Err("only streamed responses are played: set \"stream\": true".to_owned());
        }
        let mut asked = Self {
            conversation: body.prompt_cache_key,
            ..Self::default()
        };
        let list = match (body.input, body.messages) {
            (Some(input), _) => {
                let Ok(list) = serde_json::from_str::<Vec<&RawValue>>(input.get()) else {
                    asked.user_text = text(input);
                    asked.news.clone_from(&asked.user_text);
                    asked.items = 1;
                    return Ok(asked);
                };
                list
            }
            (None, Some(messages)) => messages,
            (None, None) => return Err("the body has neither input nor messages".to_owned()),
        };
        asked.items = list.len();
        asked.read(&list)?;
        Ok(asked)
    }

    fn read(&mut self, list: &[&RawValue]) -> Result<(), String> {
        let mut users = Vec::new();
        let mut news = Vec::new();
        for raw in list {
            let item: RequestItem<'_> = serde_json::from_str(raw.get())
                .map_err(|error| format!("an item of the request is not an object: {error}"))?;
            let said = || item.content.or(item.output).map(text).unwrap_or_default();
            match item.speaker() {
                ItemSpeaker::Model => news.clear(),
                ItemSpeaker::User => {
                    let answers = item.answers_within();
                    let said = said();
                    let is_silent = said.is_empty() && !answers.is_empty();
                    news.extend(answers.iter().cloned());
                    self.outputs.extend(answers);
                    if !is_silent {
                        users.push(said.clone());
                        news.push(said);
                    }
                }
                ItemSpeaker::Tool => {
                    let said = said();
                    self.outputs.push(said.clone());
                    news.push(said);
                }
                ItemSpeaker::Other => {}
            }
        }
        self.user_text = users.join("\n");
        self.news = news.join("\n");
        Ok(())
    }
}

impl RequestItem<'_> {
    fn speaker(&self) -> ItemSpeaker {
        match (&*self.kind, &*self.role) {
            ("function_call" | "custom_tool_call" | "reasoning", _) | (_, "assistant") => {
                ItemSpeaker::Model
            }
            ("function_call_output" | "custom_tool_call_output", _) | (_, "tool") => {
                ItemSpeaker::Tool
            }
            (_, "user") => ItemSpeaker::User,
            _ => ItemSpeaker::Other,
        }
    }

    /// Returns the answers of tools that one wire puts into the user's message.
    fn answers_within(&self) -> Vec<String> {
        let parts = self.content.map(parts).unwrap_or_default();
        parts
            .into_iter()
            .filter(|part| part.kind == "tool_result")
            .map(|part| part.content.map(text).unwrap_or_default())
            .collect()
    }
}

/// Reads text, or the texts of parts.
fn text(raw: &RawValue) -> String {
    if let Ok(text) = serde_json::from_str::<String>(raw.get()) {
        return text;
    }
    let texts: Vec<_> = parts(raw)
        .into_iter()
        .filter(|part| part.kind != "tool_result")
        .map(|part| part.text)
        .collect();
    texts.join("\n")
}

fn parts(raw: &RawValue) -> Vec<RequestPart<'_>> {
    serde_json::from_str(raw.get()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_wires_tell_the_same() {
        let responses = br#"{"stream":true,"prompt_cache_key":"k","input":[
            {"type":"message","role":"user","content":[{"type":"input_text","text":"go"}]},
            {"type":"function_call","name":"shell","arguments":"{}","call_id":"1"},
            {"type":"function_call_output","call_id":"1","output":"done"},
            {"type":"message","role":"user","content":[{"type":"input_text","text":"and?"}]}]}"#;
        let chat = br#"{"stream":true,"prompt_cache_key":"k","messages":[
            {"role":"user","content":"go"},
            {"role":"assistant","content":null,"tool_calls":[]},
            {"role":"tool","tool_call_id":"1","content":"done"},
            {"role":"user","content":[{"type":"text","text":"and?"}]}]}"#;
        let messages = br#"{"stream":true,"prompt_cache_key":"k","messages":[
            {"role":"user","content":[{"type":"text","text":"go"}]},
            {"role":"assistant","content":[{"type":"tool_use","id":"1","name":"shell","input":{}}]},
            {"role":"user","content":[
                {"type":"tool_result","tool_use_id":"1","content":"done"},
                {"type":"text","text":"and?"}]}]}"#;
        let expected = ScriptedRequest {
            conversation: Some("k".into()),
            items: 4,
            user_text: "go\nand?".into(),
            news: "done\nand?".into(),
            outputs: vec!["done".into()],
        };
        assert_eq!(ScriptedRequest::parse(responses).as_ref(), Ok(&expected));
        assert_eq!(ScriptedRequest::parse(chat).as_ref(), Ok(&expected));
        let expected = ScriptedRequest {
            items: 3,
            ..expected
        };
        assert_eq!(ScriptedRequest::parse(messages), Ok(expected));
    }

    #[test]
    fn a_request_that_makes_no_sense_is_refused_in_words() {
        for body in [
            &b"{"[..],
            b"{}",
            br#"{"stream":true}"#,
            br#"{"stream":true,"input":[1]}"#,
        ] {
            assert!(ScriptedRequest::parse(body).is_err());
        }
        let text = ScriptedRequest::parse(br#"{"stream":true,"input":"hi"}"#).unwrap();
        assert_eq!(text.user_text, "hi");
    }
}
