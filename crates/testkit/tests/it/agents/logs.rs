//! What the logs of a tree say.

use std::collections::VecDeque;
use std::path::PathBuf;

use serde_json::Value;
use troupe_protocol::tree::{AgentLine, MessageId, TaskEnding, TreeFact};
use troupe_protocol::{AgentId, SessionId};
use troupe_store::SessionStore;
use troupe_testkit::Stage;

/// Reads the lines of a whole tree, in its order.
pub async fn read(store: &dyn SessionStore, root: SessionId) -> Vec<AgentLine> {
    let mut found = Vec::new();
    let mut open = VecDeque::from([root]);
    while let Some(session) = open.pop_front() {
        // A child that never opened has no log.
        let Ok(lines) = store.agent_lines(session).await else {
            continue;
        };
        for (_, line) in lines.lines {
            if let TreeFact::Born(birth) = &line.record.fact {
                open.push_back(birth.session);
            }
            found.push(line);
        }
    }
    found.sort_by_key(|line| line.record.order);
    found
}

/// The callbacks for one agent, in the order in which the tasks ended.
pub fn callbacks_for(lines: &[AgentLine], target: AgentId) -> Vec<MessageId> {
    let facts = lines.iter().map(|line| &line.record.fact);
    facts
        .filter_map(|fact| match fact {
            TreeFact::Ended { callback, .. } => {
                callback.filter(|callback| callback.target == target)
            }
            _ => None,
        })
        .map(|callback| callback.id)
        .collect()
}

/// The messages with which an agent began tasks.
pub fn begun_with(lines: &[AgentLine], by: AgentId) -> Vec<MessageId> {
    let facts = lines.iter().map(|line| &line.record.fact);
    facts
        .filter_map(|fact| match fact {
            TreeFact::Started { agent, message, .. } if *agent == by => *message,
            _ => None,
        })
        .collect()
}

/// The messages that answers of waits have told.
pub fn consumed(lines: &[AgentLine]) -> Vec<MessageId> {
    let facts = lines.iter().map(|line| &line.record.fact);
    facts
        .filter_map(|fact| match fact {
            TreeFact::Consumed { messages, .. } => Some(messages.clone()),
            _ => None,
        })
        .flatten()
        .collect()
}

/// How the tasks of an agent ended.
pub fn ends_of(lines: &[AgentLine], of: AgentId) -> Vec<TaskEnding> {
    let facts = lines.iter().map(|line| &line.record.fact);
    facts
        .filter_map(|fact| match fact {
            TreeFact::Ended { agent, end, .. } if *agent == of => Some(*end),
            _ => None,
        })
        .collect()
}

/// The session of an agent.
pub fn session_of(lines: &[AgentLine], agent: AgentId) -> SessionId {
    let facts = lines.iter().map(|line| &line.record.fact);
    let mut births = facts.filter_map(|fact| match fact {
        TreeFact::Born(birth) if birth.agent == agent => Some(birth.session),
        _ => None,
    });
    births.next().expect("the agent was born")
}

/// The file of a session.
pub fn path_of(stage: &Stage, session: SessionId) -> PathBuf {
    let mut open = vec![stage.home().join("sessions")];
    while let Some(directory) = open.pop() {
        for entry in std::fs::read_dir(directory).expect("it is a directory") {
            let path = entry.expect("it can be listed").path();
            let name = path.to_string_lossy().into_owned();
            if path.is_dir() {
                open.push(path);
            } else if name.contains(&session.to_string())
                && path.extension() == Some("jsonl".as_ref())
            {
                return path;
            }
        }
    }
    panic!("{session} has no log");
}

/// The last request of one conversation.
pub fn last_body(stage: &Stage, session: SessionId) -> Value {
    let bodies =
        stage.requests().into_iter().rev().map(|request| {
            serde_json::from_slice::<Value>(&request.body).expect("a request is JSON")
        });
    let mut own = bodies.filter(|body| body["prompt_cache_key"] == session.to_string());
    own.next().expect("the session asked its model")
}

/// What the last request of one conversation sent along.
pub fn last_request(stage: &Stage, session: SessionId) -> Vec<Value> {
    let body = last_body(stage, session);
    body["input"].as_array().cloned().unwrap_or_default()
}

/// The texts of items of one type.
pub fn texts(input: &[Value], kind: &str) -> Vec<String> {
    let items = input.iter().filter(|item| item["type"] == kind);
    items
        .map(|item| match kind {
            "function_call_output" => item["output"].to_string(),
            _ => item["content"].to_string(),
        })
        .collect()
}
