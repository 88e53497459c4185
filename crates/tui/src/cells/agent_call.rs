//! Calls by which agents have to do with agents, in words: whom they concern comes first.

use serde_json::Value;

use super::tool::arguments_text;

/// How a call is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallWords<'a> {
    /// While it runs, and after.
    pub runs: &'a str,
    pub ran: &'a str,
    /// Whom or what it concerns.
    pub about: String,
}

/// A tool, its words, and the arguments that are told, in their order.
type CallRow = (
    &'static str,
    &'static str,
    &'static str,
    &'static [&'static str],
);

const NAMES: &[&str] = &[
    "id",
    "agent_id",
    "session_id",
    "ids",
    "agent_ids",
    "target",
    "name",
];

#[rustfmt::skip]
const CALLS: &[CallRow] = &[
    ("spawn_agent", "Spawns", "Spawned", &["task_name", "name", "agent_type", "model", "message"]),
    ("create_session", "Creates", "Created", &["task_name", "name", "role", "model", "message", "prompt"]),
    ("wait", "Waits for", "Waited for", NAMES),
    ("wait_agent", "Waits for", "Waited for", NAMES),
    ("send_input", "Tells", "Told", &["id", "agent_id", "target", "message"]),
    ("resume_agent", "Resumes", "Resumed", NAMES),
    ("close_agent", "Closes", "Closed", NAMES),
    ("cancel_agent", "Cancels", "Cancelled", NAMES),
    ("agent_result", "Reads the result of", "Read the result of", NAMES),
    ("list_agents", "Lists agents", "Listed agents", &[]),
    ("list_active_agents", "Lists agents", "Listed agents", &[]),
];

/// Returns the words of a call of any tool.
pub fn call_words<'a>(tool: &'a str, arguments: &Value) -> CallWords<'a> {
    let row = CALLS.iter().find(|(name, ..)| *name == tool);
    let Some((_, runs, ran, keys)) = row else {
        return CallWords {
            runs: tool,
            ran: tool,
            about: arguments_text(arguments),
        };
    };
    let told = keys.iter().filter_map(|key| arguments.get(key));
    let told: Vec<String> = told.map(in_words).filter(|text| !text.is_empty()).collect();
    CallWords {
        runs,
        ran,
        about: told.join("  "),
    }
}

fn in_words(value: &Value) -> String {
    match value {
        Value::String(text) => text.lines().next().unwrap_or_default().to_owned(),
        Value::Array(values) => {
            let texts: Vec<String> = values.iter().map(in_words).collect();
            texts.join(", ")
        }
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn calls_of_agents_are_told_in_words() {
        let spawn = json!({"message": "find it\nsoon", "task_name": "finder"});
        let words = call_words("spawn_agent", &spawn);
        assert_eq!((words.ran, &*words.about), ("Spawned", "finder  find it"));
        let wait = json!({"ids": ["finder", "writer"], "timeout_ms": 5});
        let words = call_words("wait", &wait);
        assert_eq!((words.runs, &*words.about), ("Waits for", "finder, writer"));
        let other = call_words("frob", &json!({"a": 1}));
        assert_eq!((other.ran, &*other.about), ("frob", "a: 1"));
    }
}
