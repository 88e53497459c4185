//! A server of the Model Context Protocol for scenarios, on stdin and stdout: it does what good
//! servers do, and what bad ones do. Which, its tools and its arguments say.
//!
//! `--silent` never answers; `--refuse` complains and exits. `STARTS` names a file that gets a line
//! for each start, `CANCELLED` one that gets the ids of calls that were withdrawn.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::{self, BufRead as _, Write as _};
use std::process::exit;

use serde_json::{Value, json};

fn main() -> io::Result<()> {
    note("STARTS", &std::process::id().to_string());
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|argument| argument == "--refuse") {
        writeln!(io::stderr(), "no such database: ore.db")?;
        exit(3);
    }
    let is_silent = arguments.iter().any(|argument| argument == "--silent");
    let mut server = Server::default();
    for line in io::stdin().lock().lines() {
        let message: Value = serde_json::from_str(&line?)?;
        if !is_silent {
            server.take(&message)?;
        }
    }
    Ok(())
}

#[derive(Default)]
struct Server {
    /// Calls that wait for the user, by the id of our question.
    asking: BTreeMap<u64, Value>,
    questions: u64,
    /// Has tools that it did not have at first.
    has_grown: bool,
}

impl Server {
    fn take(&mut self, message: &Value) -> io::Result<()> {
        let id = &message["id"];
        match message["method"].as_str() {
            Some("initialize") => answer(id, &greeting(&message["params"])),
            Some("tools/list") => answer(id, &json!({ "tools": self.tools() })),
            Some("tools/call") => self.call(id, &message["params"]),
            Some("resources/list") => answer(id, &json!({ "resources": [resource()] })),
            Some("resources/templates/list") => {
                let template = json!({"uriTemplate": "ore://{kind}", "name": "Ore"});
                answer(id, &json!({ "resourceTemplates": [template] }))
            }
            Some("resources/read") => {
                let contents = json!({"uri": message["params"]["uri"], "text": "iron, gold"});
                answer(id, &json!({ "contents": [contents] }))
            }
            Some("notifications/cancelled") => {
                note("CANCELLED", &message["params"]["requestId"].to_string());
                Ok(())
            }
            Some(_) if id.is_null() => Ok(()),
            Some(method) => {
                let error = json!({"code": -32601, "message": format!("no {method} here")});
                send(&json!({"jsonrpc": "2.0", "id": id, "error": error}))
            }
            None => self.answered(message),
        }
    }

    fn tools(&self) -> Vec<Value> {
        let tool = |name: &str, annotations: Value| {
            json!({
                "name": name, "description": format!("Does {name}."),
                "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}},
                "annotations": annotations,
            })
        };
        let plain = [
            "echo",
            "pid",
            "variables",
            "fail",
            "crash",
            "hang",
            "garble",
            "much",
            "flood",
            "work",
            "ask",
            "grow",
            "picture",
        ];
        let plain = plain.iter().map(|name| tool(name, json!({})));
        let hinted = [
            tool("look", json!({"readOnlyHint": true})),
            tool("wipe", json!({"destructiveHint": true})),
        ];
        let grown = self.has_grown.then(|| tool("grown", json!({})));
        plain.chain(hinted).chain(grown).collect()
    }

    fn call(&mut self, id: &Value, params: &Value) -> io::Result<()> {
        match params["name"].as_str().unwrap_or_default() {
            "crash" => {
                writeln!(io::stderr(), "out of ore")?;
                exit(7);
            }
            "hang" => Ok(()),
            // The beginning of a PNG, and no more of it.
            "picture" => {
                let half = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ";
                let image = json!({"type": "image", "data": half, "mimeType": "image/png"});
                answer(id, &json!({"content": [text("see"), image]}))
            }
            "fail" => answer(id, &json!({"content": [text("no ore")], "isError": true})),
            "garble" => {
                writeln!(io::stdout().lock(), "not JSON at all")?;
                send(&json!({"jsonrpc": "1.0", "id": id, "result": {}}))
            }
            "much" => say(id, &"ore ".repeat(100_000)),
            "flood" => say(id, &"x".repeat(17 * 1024 * 1024)),
            "pid" => say(id, &std::process::id().to_string()),
            "variables" => {
                let names: Vec<String> = std::env::vars().map(|(name, _)| name).collect();
                say(id, &names.join(" "))
            }
            "work" => {
                let token = &params["_meta"]["progressToken"];
                for step in 1..=3 {
                    let params = json!({
                        "progressToken": token, "progress": step, "total": 3,
                        "message": format!("step {step}"),
                    });
                    tell("notifications/progress", &params)?;
                }
                say(id, "worked")
            }
            "ask" => {
                self.questions += 1;
                self.asking.insert(self.questions, id.clone());
                let schema = json!({"type": "object", "properties": {"name": {"type": "string"}}});
                let params = json!({"message": "Whose ore?", "requestedSchema": schema});
                let method = "elicitation/create";
                let id = format!("q{}", self.questions);
                send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
            }
            "grow" => {
                self.has_grown = true;
                tell("notifications/tools/list_changed", &json!({}))?;
                say(id, "grown")
            }
            _ => say(
                id,
                params["arguments"]["text"].as_str().unwrap_or("nothing"),
            ),
        }
    }

    /// The user's answer to a question of ours becomes the answer to the call.
    fn answered(&mut self, message: &Value) -> io::Result<()> {
        let id = message["id"].as_str().and_then(|id| id.strip_prefix('q'));
        let call = id.and_then(|id| self.asking.remove(&id.parse().ok()?));
        match call {
            Some(call) => say(&call, &message["result"].to_string()),
            None => Ok(()),
        }
    }
}

fn greeting(params: &Value) -> Value {
    json!({
        "protocolVersion": params["protocolVersion"],
        "capabilities": {"tools": {"listChanged": true}, "resources": {}},
        "serverInfo": {"name": "ore", "version": "1"},
    })
}

fn resource() -> Value {
    json!({"uri": "ore://list", "name": "list", "mimeType": "text/plain"})
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn say(id: &Value, said: &str) -> io::Result<()> {
    answer(id, &json!({ "content": [text(said)] }))
}

fn answer(id: &Value, result: &Value) -> io::Result<()> {
    send(&json!({"jsonrpc": "2.0", "id": id, "result": result}))
}

fn tell(method: &str, params: &Value) -> io::Result<()> {
    send(&json!({"jsonrpc": "2.0", "method": method, "params": params}))
}

fn send(message: &Value) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    writeln!(stdout, "{message}")?;
    stdout.flush()
}

/// Appends a line to the file that a variable names.
fn note(variable: &str, line: &str) {
    let Ok(file) = std::env::var(variable) else {
        return;
    };
    let opened = OpenOptions::new().create(true).append(true).open(file);
    let noted = opened.and_then(|mut file| writeln!(file, "{line}"));
    noted.expect("the scenario gave a file that can be written");
}
