//! What the official conformance suite of the Model Context Protocol asks of a server, offered
//! through our side of the protocol: the suite then judges that, not these tools.
//!
//! Listens on a free port, and prints its address and its token. Deliberately absent: what our
//! server does not do either (pictures, sound, prompts, logging, sampling, subscriptions).

#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]
#![expect(clippy::print_stdout, reason = "tells the test where it is")]

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Map, Value, json};
use troupe_mcp::serve::{
    CallingClient, FormReply, NoSuchTool, OfferAnswer, QuestionForm, ResourceCard, ResourcePage,
    ResourceReadError, ResourceText, ServerIntroduction, ServerOffer, TemplateCard, ToolCard,
    ToolEffect,
};
use troupe_server::limits::KEEPALIVE_MS;
use troupe_server::mcp::McpListener;
use troupe_server::token::AccessToken;
use troupe_server::{ListenOptions, ListenReach, StopSignal};

const TEXT: &str = "test://static-text";

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let token = std::env::args().nth(1).unwrap();
    let listener = McpListener::bind(ListenOptions {
        listen: vec!["http:127.0.0.1:0".parse().unwrap()],
        token: Some(AccessToken::read(Path::new(&token)).unwrap()),
        reach: ListenReach::ThisMachine,
        hosts: Vec::new(),
        origins: Vec::new(),
        tls: None,
        keepalive: Duration::from_millis(KEEPALIVE_MS),
    })
    .await
    .unwrap();
    for url in listener.urls() {
        println!("{url}");
    }
    listener.run(Arc::new(Fixture), Never).await;
}

/// Runs until it is killed.
struct Never;

impl StopSignal for Never {
    async fn wanted(&mut self) {
        std::future::pending::<()>().await;
    }
}

#[derive(Debug)]
struct Fixture;

#[async_trait]
impl ServerOffer for Fixture {
    fn introduction(&self) -> ServerIntroduction {
        ServerIntroduction {
            name: "troupe-conformance".to_owned(),
            title: "What the conformance suite asks for".to_owned(),
            version: "0.0.0".to_owned(),
            instructions: String::new(),
        }
    }

    fn tools(&self) -> Vec<ToolCard> {
        let plain = || object(json!({"type": "object"}));
        let card = |name, input| ToolCard {
            name,
            title: name,
            description: "for the conformance suite",
            input,
            output: None,
            hints: ToolEffect::Reads,
        };
        let message = json!({
            "type": "object", "properties": {"message": {"type": "string"}}, "required": ["message"],
        });
        vec![
            card("test_simple_text", plain()),
            card("test_error_handling", plain()),
            card("test_tool_with_progress", plain()),
            card("test_elicitation", object(message)),
            card("test_elicitation_sep1034_defaults", plain()),
            card("test_elicitation_sep1330_enums", plain()),
            card("json_schema_2020_12_tool", object(schema_2020_12())),
        ]
    }

    async fn call(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        caller: &CallingClient,
    ) -> Result<OfferAnswer, NoSuchTool> {
        let text = match tool {
            "test_simple_text" => "This is a simple text response for testing.".to_owned(),
            "test_error_handling" => {
                let message = "This tool intentionally returns an error for testing".to_owned();
                return Ok(OfferAnswer::Failed { message });
            }
            "test_tool_with_progress" => {
                for step in ["one", "two", "three"] {
                    caller.progress(step.to_owned()).await;
                }
                "three steps".to_owned()
            }
            "test_elicitation" => {
                let message = arguments["message"].as_str().unwrap_or_default().to_owned();
                ask(caller, message, who()).await
            }
            "test_elicitation_sep1034_defaults" => {
                ask(caller, "defaults".to_owned(), defaults()).await
            }
            "test_elicitation_sep1330_enums" => ask(caller, "enums".to_owned(), enums()).await,
            "json_schema_2020_12_tool" => "ok".to_owned(),
            _ => return Err(NoSuchTool),
        };
        Ok(OfferAnswer::Done { value: None, text })
    }

    async fn resources(&self, _: Option<&str>) -> Result<ResourcePage, ResourceReadError> {
        let text = ResourceCard {
            uri: TEXT.to_owned(),
            name: "static-text".to_owned(),
            title: None,
            description: Some("a text that stays".to_owned()),
            mime_type: "text/plain",
        };
        Ok(ResourcePage {
            resources: vec![text],
            next: None,
        })
    }

    fn templates(&self) -> Vec<TemplateCard> {
        vec![TemplateCard {
            uri_template: "test://template/{id}/data",
            name: "data",
            title: "Data",
            description: "data of an id",
            mime_type: "application/json",
        }]
    }

    async fn read(&self, uri: &str) -> Result<ResourceText, ResourceReadError> {
        if uri == TEXT {
            return Ok(ResourceText {
                mime_type: "text/plain",
                text: "This is the content of the static text resource.".to_owned(),
            });
        }
        let id = uri
            .strip_prefix("test://template/")
            .and_then(|rest| rest.strip_suffix("/data"))
            .ok_or_else(|| ResourceReadError::NotFound(uri.to_owned()))?;
        let data = json!({"id": id, "templateTest": true, "data": format!("Data for ID: {id}")});
        Ok(ResourceText {
            mime_type: "application/json",
            text: data.to_string(),
        })
    }
}

async fn ask(caller: &CallingClient, message: String, schema: Value) -> String {
    let (action, content) = match caller.ask(QuestionForm { message, schema }).await {
        FormReply::Filled(fields) => ("accept", Value::Object(fields)),
        FormReply::Declined => ("decline", Value::Null),
        FormReply::Dismissed => ("cancel", Value::Null),
    };
    format!("Elicitation completed: action={action}, content={content}")
}

fn who() -> Value {
    json!({
        "type": "object",
        "properties": {
            "username": {"type": "string", "description": "User's response"},
            "email": {"type": "string", "description": "User's email address"},
        },
        "required": ["username", "email"],
    })
}

fn defaults() -> Value {
    json!({
        "type": "object",
        "properties": {
            "name": {"type": "string", "default": "John Doe"},
            "age": {"type": "integer", "default": 30},
            "score": {"type": "number", "default": 95.5},
            "status": {
                "type": "string", "enum": ["active", "inactive", "pending"], "default": "active",
            },
            "verified": {"type": "boolean", "default": true},
        },
    })
}

fn enums() -> Value {
    let titled = json!([
        {"const": "value1", "title": "First"}, {"const": "value2", "title": "Second"},
    ]);
    let plain = json!(["option1", "option2", "option3"]);
    json!({
        "type": "object",
        "properties": {
            "untitledSingle": {"type": "string", "enum": plain},
            "titledSingle": {"type": "string", "oneOf": titled},
            "legacyEnum": {
                "type": "string", "enum": ["opt1", "opt2"], "enumNames": ["One", "Two"],
            },
            "untitledMulti": {"type": "array", "items": {"type": "string", "enum": plain}},
            "titledMulti": {"type": "array", "items": {"anyOf": titled}},
        },
    })
}

fn schema_2020_12() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "type": "object",
                "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
            },
        },
        "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"}},
        "additionalProperties": false,
    })
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}
