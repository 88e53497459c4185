//! The tools: their cards, and how arguments become a [`SessionToolCall`].

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use troupe_mcp::serve::{ToolCard, ToolEffect};

use super::answers::{
    SessionAnswer, SessionCancelAnswer, SessionList, SessionPromptAnswer, SessionSpawnAnswer,
    SessionWaitAnswer, TaskAnswer, TaskList, TreeAnswer,
};
use super::arguments::{
    CancelArguments, GetArguments, ListSessionsArguments, PromptArguments, SpawnArguments,
    TaskArguments, TasksArguments, TreeArguments, WaitArguments,
};
use super::error::SessionToolError;

const SPAWN: &str = "troupe_sessions_spawn";
const PROMPT: &str = "troupe_sessions_prompt";
const LIST: &str = "troupe_sessions_list";
const GET: &str = "troupe_sessions_get";
const CANCEL: &str = "troupe_sessions_cancel";
const WAIT: &str = "troupe_sessions_wait";
const TASK: &str = "troupe_tasks_get";
const TASKS: &str = "troupe_tasks_list";
const TREE: &str = "troupe_agents_tree";

/// A call whose arguments make sense.
#[derive(Debug)]
pub(super) enum SessionToolCall {
    Spawn(Box<SpawnArguments>),
    Prompt(PromptArguments),
    List(ListSessionsArguments),
    Get(GetArguments),
    Cancel(CancelArguments),
    Wait(WaitArguments),
    Task(TaskArguments),
    Tasks(TasksArguments),
    Tree(TreeArguments),
}

impl SessionToolCall {
    /// Reads a call; `None` if there is no such tool.
    pub(super) fn read(
        tool: &str,
        arguments: Map<String, Value>,
    ) -> Option<Result<Self, SessionToolError>> {
        Some(match tool {
            SPAWN => read(SPAWN, arguments).map(|read| Self::Spawn(Box::new(read))),
            PROMPT => read(PROMPT, arguments).map(Self::Prompt),
            LIST => read(LIST, arguments).map(Self::List),
            GET => read(GET, arguments).map(Self::Get),
            CANCEL => read(CANCEL, arguments).map(Self::Cancel),
            WAIT => read(WAIT, arguments).map(Self::Wait),
            TASK => read(TASK, arguments).map(Self::Task),
            TASKS => read(TASKS, arguments).map(Self::Tasks),
            TREE => read(TREE, arguments).map(Self::Tree),
            _ => return None,
        })
    }
}

/// Unknown arguments are refused by name, so that a misspelt one is not silently ignored.
fn read<T: DeserializeOwned>(
    tool: &'static str,
    arguments: Map<String, Value>,
) -> Result<T, SessionToolError> {
    serde_json::from_value(Value::Object(arguments)).map_err(|error| SessionToolError::Arguments {
        tool,
        problem: error.to_string(),
    })
}

pub(super) fn cards() -> Vec<ToolCard> {
    vec![
        card::<SpawnArguments, SessionSpawnAnswer>(
            SPAWN,
            "Spawn a session",
            "Starts an agent on a prompt and answers at once with its sessionId. It works by \
             itself; use troupe_sessions_wait for its result. With parentSessionId it is a child \
             in that session's tree, and the parent is called back when it is done.",
            ToolEffect::Works,
        ),
        card::<PromptArguments, SessionPromptAnswer>(
            PROMPT,
            "Prompt a session",
            "Sends a prompt to a session, also to one from earlier, and answers with what it came \
             to. A prompt to a session at work joins its task. Cancelling this call interrupts \
             the session's task; with wait false it answers at once.",
            ToolEffect::Works,
        ),
        card::<WaitArguments, SessionWaitAnswer>(
            WAIT,
            "Wait for sessions",
            "Waits until one of the sessions is done, or all are, and answers with their last \
             messages. It costs nothing. Cancelling this call ends the wait; the sessions go on.",
            ToolEffect::Reads,
        ),
        card::<GetArguments, SessionAnswer>(
            GET,
            "Look at a session",
            "Tells how a session stands: status, what it does and waits on, its last message, its \
             parent and children, and what waits for a person's approval.",
            ToolEffect::Reads,
        ),
        card::<ListSessionsArguments, SessionList>(
            LIST,
            "List sessions",
            "Lists the sessions of this machine's user, those that changed last first.",
            ToolEffect::Reads,
        ),
        card::<CancelArguments, SessionCancelAnswer>(
            CANCEL,
            "Cancel a session",
            "Stops a session and all of its children: their tasks are interrupted and their \
             processes killed. What was done is kept, and a prompt goes on with it.",
            ToolEffect::Stops,
        ),
        card::<TaskArguments, TaskAnswer>(
            TASK,
            "Look at a task",
            "Tells what a task of a session came to, with the evidence that the engine gathered: \
             commands with exit codes, files changed, tokens, children.",
            ToolEffect::Reads,
        ),
        card::<TasksArguments, TaskList>(
            TASKS,
            "List tasks",
            "Lists the tasks of a session, the newest first.",
            ToolEffect::Reads,
        ),
        card::<TreeArguments, TreeAnswer>(
            TREE,
            "Show an agent tree",
            "Shows all agents of the tree that a session belongs to, and what each does.",
            ToolEffect::Reads,
        ),
    ]
}

fn card<Arguments: JsonSchema, Answer: JsonSchema>(
    name: &'static str,
    title: &'static str,
    description: &'static str,
    hints: ToolEffect,
) -> ToolCard {
    ToolCard {
        name,
        title,
        description,
        input: schema::<Arguments>(),
        output: Some(schema::<Answer>()),
        hints,
    }
}

/// Returns the schema of a type in words that every client knows: nothing is referred to,
/// what is absent is left out rather than null, and numbers have no widths.
fn schema<T: JsonSchema>() -> Map<String, Value> {
    let mut settings = SchemaSettings::draft2020_12();
    settings.inline_subschemas = true;
    settings.meta_schema = None;
    let schema = settings.into_generator().into_root_schema_for::<T>();
    let mut schema = schema.to_value();
    simplify(&mut schema);
    match schema {
        Value::Object(mut fields) => {
            fields.remove("title");
            fields
        }
        // A type that takes anything.
        _ => Map::new(),
    }
}

fn simplify(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            let is_width = |format: &Value| {
                let format = format.as_str().unwrap_or_default();
                format.starts_with("int") || format.starts_with("uint")
            };
            if fields.get("format").is_some_and(is_width) {
                fields.remove("format");
            }
            if let Some(Value::Array(types)) = fields.get_mut("type") {
                types.retain(|one| one != "null");
                if let [one] = types.as_slice() {
                    let one = one.clone();
                    fields.insert("type".to_owned(), one);
                }
            }
            if let Some(Value::Array(choices)) = fields.get_mut("anyOf") {
                choices.retain(|choice| choice.get("type") != Some(&Value::from("null")));
                if let [Value::Object(one)] = choices.as_slice() {
                    let one = one.clone();
                    fields.remove("anyOf");
                    for (name, value) in one {
                        fields.entry(name).or_insert(value);
                    }
                }
            }
            if fields.get("default").is_some_and(Value::is_null) {
                fields.remove("default");
            }
            fields.values_mut().for_each(simplify);
        }
        Value::Array(values) => values.iter_mut().for_each(simplify),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests;
