//! An agent of the Agent Client Protocol for scenarios, on stdin and stdout: it does what good
//! agents do, and what bad ones do. Which, the first word of a prompt's last line says.
//!
//! `--silent` never answers; `--ancient` speaks another version. `STARTS` names a file that gets
//! the process id of each start.
//!
//! It is written without the types of the protocol, so that it is a second opinion of them.

use std::fs::{self, OpenOptions};
use std::io::{self, BufRead as _, Write as _};
use std::process::{Command, exit};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use serde_json::{Value, json};

const VERSION: u32 = 1;
const ANCIENT_VERSION: u32 = 0;

/// More chunks than any queue on the way holds.
const FLOOD_CHUNKS: usize = 20_000;

/// More than one message may have.
const LINE_BYTES: usize = 40 * 1024 * 1024;

fn main() -> io::Result<()> {
    if let Ok(path) = std::env::var("STARTS") {
        let mut file = OpenOptions::new().create(true).append(true).open(path)?;
        writeln!(file, "{}", std::process::id())?;
    }
    let has = |flag: &str| std::env::args().any(|argument| argument == flag);
    let mut agent = Agent {
        lines: io::stdin().lock().lines(),
        version: if has("--ancient") {
            ANCIENT_VERSION
        } else {
            VERSION
        },
        requests: 0,
        prompts: 0,
    };
    while let Some(message) = agent.hear()? {
        if !has("--silent") {
            agent.take(&message)?;
        }
    }
    Ok(())
}

struct Agent {
    lines: io::Lines<io::StdinLock<'static>>,
    version: u32,
    requests: u64,
    prompts: u64,
}

impl Agent {
    fn hear(&mut self) -> io::Result<Option<Value>> {
        match self.lines.next() {
            Some(line) => Ok(Some(serde_json::from_str(&line?)?)),
            None => Ok(None),
        }
    }

    fn take(&mut self, message: &Value) -> io::Result<()> {
        let id = &message["id"];
        match message["method"].as_str() {
            Some("initialize") => answer(id, &json!({"protocolVersion": self.version})),
            Some("session/new") => answer(id, &json!({"sessionId": "only"})),
            Some("session/prompt") => {
                self.prompts += 1;
                let prompt = said(&message["params"]["prompt"]);
                if let Some(text) = prompt.strip_prefix("object ") {
                    tool_done()?;
                    let error = json!({"code": -32000, "message": text});
                    return send(&json!({"jsonrpc": "2.0", "id": id, "error": error}));
                }
                let reason = self.act(&prompt)?;
                answer(id, &json!({"stopReason": reason, "usage": self.usage()}))
            }
            _ => Ok(()),
        }
    }

    /// As the protocol has it: of all prompts so far.
    fn usage(&self) -> Value {
        let (input, output) = (100 * self.prompts, 10 * self.prompts);
        json!({"inputTokens": input, "outputTokens": output, "totalTokens": input + output})
    }

    /// Does what a prompt says, and returns why it stopped.
    fn act(&mut self, prompt: &str) -> io::Result<&'static str> {
        let (word, rest) = prompt.split_once(' ').unwrap_or((prompt, ""));
        match word {
            "ask" => return self.ask(rest),
            "wait" => return self.wait(),
            "gush" => return self.gush(),
            "nothing" => {}
            "toil" => tool_done()?,
            "refuse" => {
                tool_done()?;
                return Ok("refusal");
            }
            "quit" => return Ok("cancelled"),
            "exhaust" => {
                say("so far")?;
                tool_done()?;
                return Ok("max_tokens");
            }
            "hold" => hold()?,
            "write" => say(&match fs::write(rest, "written") {
                Ok(()) => "written".to_owned(),
                Err(error) => format!("not written: {}", error.kind()),
            })?,
            "crash" => {
                writeln!(io::stderr(), "out of luck")?;
                exit(3);
            }
            "flood" => {
                for _ in 0..FLOOD_CHUNKS {
                    say("drop ")?;
                }
            }
            "line" => say(&"x".repeat(LINE_BYTES))?,
            "garble" => {
                writeln!(io::stdout(), "warning: not a message\n{{\"half\":")?;
                say("still here")?;
            }
            _ => say(&format!("you said: {prompt}"))?,
        }
        Ok("end_turn")
    }

    /// Wants to make a file, and makes it if it may.
    fn ask(&mut self, file: &str) -> io::Result<&'static str> {
        let call = json!({
            "toolCallId": "make", "title": format!("make {file}"), "kind": "edit",
            "status": "pending", "rawInput": {"command": ["touch", file]},
        });
        update("tool_call", call.clone())?;
        self.requests += 1;
        let option = |id: &str| json!({"optionId": id, "name": id, "kind": id});
        let params = json!({
            "sessionId": "only",
            "toolCall": call,
            "options": [option("allow_once"), option("allow_always"), option("reject_once")],
        });
        send(&json!({
            "jsonrpc": "2.0", "id": self.requests,
            "method": "session/request_permission", "params": params,
        }))?;
        let Some(outcome) = self.outcome()? else {
            return Ok("cancelled");
        };
        let status = if outcome.starts_with("allow") {
            fs::write(file, "")?;
            "completed"
        } else {
            "failed"
        };
        update(
            "tool_call_update",
            json!({"toolCallId": "make", "status": status}),
        )?;
        say(&outcome)?;
        Ok("end_turn")
    }

    /// Returns the option that was chosen; none if the prompt was cancelled.
    fn outcome(&mut self) -> io::Result<Option<String>> {
        while let Some(message) = self.hear()? {
            let outcome = &message["result"]["outcome"];
            match outcome["outcome"].as_str() {
                Some("selected") => return Ok(outcome["optionId"].as_str().map(str::to_owned)),
                Some(_) => return Ok(None),
                None => {}
            }
        }
        exit(0);
    }

    /// Talks until it is told to stop.
    fn gush(&mut self) -> io::Result<&'static str> {
        work()?;
        let is_told = AtomicBool::new(false);
        thread::scope(|scope| {
            let talk = scope.spawn(|| {
                while !is_told.load(Ordering::Relaxed) {
                    say("drop ")?;
                }
                io::Result::Ok(())
            });
            let heard = self.until_cancelled();
            is_told.store(true, Ordering::Relaxed);
            talk.join().unwrap_or(Ok(()))?;
            heard
        })
    }

    /// Works until it is told to stop.
    fn wait(&mut self) -> io::Result<&'static str> {
        work()?;
        self.until_cancelled()
    }

    fn until_cancelled(&mut self) -> io::Result<&'static str> {
        while let Some(message) = self.hear()? {
            if message["method"] == "session/cancel" {
                return Ok("cancelled");
            }
        }
        exit(0);
    }
}

/// Works, and does not listen any more.
fn hold() -> io::Result<()> {
    work()?;
    loop {
        thread::park();
    }
}

/// Starts a program that lives for long, as agents do, and tells of it.
fn work() -> io::Result<()> {
    let child = Command::new("sleep").arg("300").spawn()?;
    fs::write("worker.part", child.id().to_string())?;
    fs::rename("worker.part", "worker")?;
    let call = json!({"toolCallId": "sleep", "title": "sleep", "status": "in_progress"});
    update("tool_call", call)
}

/// Makes a call that is over, and says nothing of it.
fn tool_done() -> io::Result<()> {
    let call = json!({"toolCallId": "dig", "title": "dig", "kind": "execute", "status": "pending"});
    update("tool_call", call)?;
    let done = json!({"toolCallId": "dig", "status": "completed"});
    update("tool_call_update", done)
}

/// Returns the last line of a prompt.
fn said(prompt: &Value) -> String {
    let last = prompt.as_array().and_then(|blocks| blocks.last());
    let text = last.and_then(|block| block["text"].as_str());
    let line = text.and_then(|text| text.trim_end().lines().last());
    line.unwrap_or_default().to_owned()
}

fn say(text: &str) -> io::Result<()> {
    let content = json!({"type": "text", "text": text});
    update("agent_message_chunk", json!({"content": content}))
}

fn update(kind: &str, mut update: Value) -> io::Result<()> {
    update["sessionUpdate"] = kind.into();
    let params = json!({"sessionId": "only", "update": update});
    send(&json!({"jsonrpc": "2.0", "method": "session/update", "params": params}))
}

fn answer(id: &Value, result: &Value) -> io::Result<()> {
    send(&json!({"jsonrpc": "2.0", "id": id, "result": result}))
}

fn send(message: &Value) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{message}")?;
    out.flush()
}
