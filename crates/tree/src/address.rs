//! Names and addresses: every way to say which agent is meant.

use std::collections::HashMap;

use thiserror::Error;
use troupe_protocol::{AgentId, SessionId};

use crate::limits::{CANDIDATES_MAX, NAME_CHARS_MAX, SHORT_ID_CHARS_MIN};
use crate::memory::TreeMemory;

pub(crate) const ROOT_PATH: &str = "/root";

/// Words that mean an agent by its relation; no agent can have them as a name.
const PARENT: &str = "parent";
const ROOT: &str = "root";

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum AgentAddressError {
    #[error(
        "no agent \"{0}\"; give an agent number, a path such as /root/name, a session id, \
         \"parent\" or \"root\""
    )]
    Unknown(String),
    #[error("\"{text}\" could be {}; give the full path", candidates.join(" or "))]
    Ambiguous {
        text: String,
        candidates: Vec<String>,
    },
    #[error("this agent has no parent")]
    NoParent,
}

impl TreeMemory {
    /// Finds the agent that `text` means when `from` says it.
    pub fn resolve(&self, from: AgentId, text: &str) -> Result<AgentId, AgentAddressError> {
        let text = text.trim();
        let unknown = || AgentAddressError::Unknown(text.to_owned());
        match text {
            "" => return Err(unknown()),
            ROOT => return Ok(AgentId::ROOT),
            PARENT => {
                let node = self.get(from).ok_or_else(unknown)?;
                return node.parent.ok_or(AgentAddressError::NoParent);
            }
            _ => {}
        }
        if text.starts_with('/') {
            let path = text.trim_end_matches('/');
            return self.paths.get(path).copied().ok_or_else(unknown);
        }
        if let Ok(session) = text.parse::<SessionId>() {
            return self.sessions.get(&session).copied().ok_or_else(unknown);
        }
        // A short id may be all digits too; only a plain number of an agent is one.
        if let Ok(number) = text.parse::<u32>()
            && number.to_string() == text
            && self.get(AgentId(number)).is_some()
        {
            return Ok(AgentId(number));
        }
        self.resolve_loosely(from, text)
    }

    /// A relative path and a short id can look alike; what fits both ways is ambiguous.
    fn resolve_loosely(&self, from: AgentId, text: &str) -> Result<AgentId, AgentAddressError> {
        let mut found = Vec::new();
        if let Some(node) = self.get(from) {
            let path = format!("{}/{text}", node.path);
            found.extend(self.paths.get(path.trim_end_matches('/')).copied());
        }
        let hexadecimal = text.bytes().all(|byte| byte.is_ascii_hexdigit());
        if hexadecimal && text.len() >= SHORT_ID_CHARS_MIN {
            let prefix = text.to_ascii_lowercase();
            for agent in self.iter() {
                let session = agent.session.0.simple().to_string();
                if session.starts_with(&prefix) && !found.contains(&agent.id) {
                    found.push(agent.id);
                }
            }
        }
        match found.as_slice() {
            [] => Err(AgentAddressError::Unknown(text.to_owned())),
            [agent] => Ok(*agent),
            many => Err(AgentAddressError::Ambiguous {
                text: text.to_owned(),
                candidates: many
                    .iter()
                    .take(CANDIDATES_MAX)
                    .filter_map(|agent| self.get(*agent))
                    .map(|agent| agent.path.clone())
                    .collect(),
            }),
        }
    }
}

/// The last number that was given out to each name, by the path without a number. Paths are
/// never given back, so the next child of that name need not look at the lower ones again.
#[derive(Debug, Clone, Default)]
pub(crate) struct TakenNumbers(HashMap<String, u64>);

impl TakenNumbers {
    /// Returns the path for a new child: its name made regular and, if an agent ever had
    /// it, numbered.
    pub(crate) fn free_path(&mut self, memory: &TreeMemory, parent: &str, wanted: &str) -> String {
        let name = regular_name(wanted);
        let plain = format!("{parent}/{name}");
        let reserved = name == ROOT || name == PARENT;
        if !reserved && !memory.is_taken(&plain) {
            return plain;
        }
        let mut number = self.0.get(&plain).map_or(2, |last| last + 1);
        // There are more numbers than agents.
        while memory.is_taken(&format!("{plain}_{number}")) {
            number += 1;
        }
        let path = format!("{plain}_{number}");
        self.0.insert(plain, number);
        path
    }
}

/// Makes a name of lower-case letters, digits and `_`. A bare number would be read as an
/// agent's number, so it gets a word in front.
fn regular_name(wanted: &str) -> String {
    let mut name = String::new();
    for character in wanted.trim().chars() {
        let kept = character.to_ascii_lowercase();
        if kept.is_ascii_lowercase() || kept.is_ascii_digit() {
            name.push(kept);
        } else if !name.is_empty() && !name.ends_with('_') {
            name.push('_');
        }
        if name.len() >= NAME_CHARS_MAX {
            break;
        }
    }
    let name = name.trim_end_matches('_');
    if name.is_empty() {
        "agent".to_owned()
    } else if name.bytes().all(|byte| byte.is_ascii_digit()) {
        format!("agent_{name}")
    } else {
        name.to_owned()
    }
}
