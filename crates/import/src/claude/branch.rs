//! Which lines are on the way from the newest message to the first one.
//!
//! Every line names the one before it. Going back in the program begins a second branch; calls
//! that are made at once, and their answers, are branches too, and belong together.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::Value;

use crate::fields::{flag, text};

/// An id, short: files may have millions of lines.
type Key = u64;

/// Looks at all lines once, in their order.
#[derive(Debug, Default)]
pub struct BranchSurvey {
    nodes: Vec<SurveyNode>,
    places: HashMap<Key, usize>,
    preserved: HashSet<String>,
}

#[derive(Debug)]
struct SurveyNode {
    key: Key,
    parent: Option<Key>,
    kind: NodeKind,
}

#[derive(Debug, PartialEq, Eq)]
enum NodeKind {
    /// Part of a message of the model, by the id of the message.
    Said(Option<Key>),
    /// Answers to calls, and the line that they were made in.
    Answers(Option<Key>),
    Other,
    /// Of a sub-agent.
    Child,
}

/// What counts of a file.
#[derive(Debug, Default)]
pub struct LiveBranch {
    live: HashSet<Key>,
    children: HashSet<Key>,
    /// Lines that were met already: programs that go on in a copy write them again.
    met: HashSet<Key>,
    preserved: HashSet<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineStanding {
    Live,
    /// It was left by going back.
    Left,
    Child,
    Repeated,
}

impl BranchSurvey {
    pub fn line(&mut self, line: &Value) {
        let kind = text(line, "type").unwrap_or_default();
        if !matches!(
            kind,
            "user" | "assistant" | "system" | "attachment" | "progress"
        ) {
            return;
        }
        let Some(id) = text(line, "uuid") else { return };
        let key = key_of(id);
        if self.places.contains_key(&key) {
            return;
        }
        self.preserved.extend(preserved(line));
        let message = line.get("message").unwrap_or(&Value::Null);
        let parent = text(line, "parentUuid").or_else(|| text(line, "logicalParentUuid"));
        let kind = if flag(line, "isSidechain") {
            NodeKind::Child
        } else if kind == "assistant" {
            NodeKind::Said(text(message, "id").map(key_of))
        } else if kind == "user" && has_answers(message) {
            NodeKind::Answers(text(line, "sourceToolAssistantUUID").map(key_of))
        } else {
            NodeKind::Other
        };
        self.places.insert(key, self.nodes.len());
        self.nodes.push(SurveyNode {
            key,
            parent: parent.map(key_of),
            kind,
        });
    }

    pub fn branch(self) -> LiveBranch {
        let mut live = self.live_lines();
        self.add_siblings(&mut live);
        let children = self.nodes.iter().filter(|it| it.kind == NodeKind::Child);
        LiveBranch {
            children: children.map(|node| node.key).collect(),
            live,
            met: HashSet::new(),
            preserved: self.preserved,
        }
    }

    /// Goes up from the newest line. Where a line is missing it goes on with the one before in
    /// the file: a gap must not cost all that lies above it.
    fn live_lines(&self) -> HashSet<Key> {
        let mut live = HashSet::new();
        let mut next = self.main_before(self.nodes.len());
        while let Some(place) = next {
            let node = &self.nodes[place];
            if !live.insert(node.key) {
                break;
            }
            next = match node.parent {
                None => None,
                Some(parent) => match self.places.get(&parent) {
                    // A parent that comes later would lead in a circle.
                    Some(above) if *above < place => Some(*above),
                    Some(_) | None => self.main_before(place),
                },
            };
        }
        live
    }

    fn main_before(&self, place: usize) -> Option<usize> {
        let before = self.nodes[..place].iter();
        before
            .into_iter()
            .rposition(|it| it.kind != NodeKind::Child)
    }

    /// Adds the other parts of the model's messages on the way, and the answers to their calls.
    fn add_siblings(&self, live: &mut HashSet<Key>) {
        let messages: HashSet<Key> = self
            .nodes
            .iter()
            .filter(|node| live.contains(&node.key))
            .filter_map(|node| match node.kind {
                NodeKind::Said(message) => message,
                _ => None,
            })
            .collect();
        for node in &self.nodes {
            let belongs = match &node.kind {
                NodeKind::Said(message) => message.is_some_and(|it| messages.contains(&it)),
                NodeKind::Answers(made_in) => {
                    made_in.or(node.parent).is_some_and(|it| live.contains(&it))
                }
                NodeKind::Other | NodeKind::Child => false,
            };
            if belongs {
                live.insert(node.key);
            }
        }
    }
}

impl LiveBranch {
    /// Says what a line is, which is met for the first time or again.
    pub fn standing(&mut self, line: &Value) -> LineStanding {
        let Some(id) = text(line, "uuid") else {
            return LineStanding::Left;
        };
        let key = key_of(id);
        if self.children.contains(&key) {
            LineStanding::Child
        } else if !self.live.contains(&key) {
            LineStanding::Left
        } else if self.met.insert(key) {
            LineStanding::Live
        } else {
            LineStanding::Repeated
        }
    }

    /// Tells whether a compaction keeps this line as it is.
    pub fn is_preserved(&self, id: &str) -> bool {
        self.preserved.contains(id)
    }
}

/// Returns the lines that a compaction says it keeps.
pub fn preserved(line: &Value) -> Vec<String> {
    let ids = line
        .get("compactMetadata")
        .and_then(|compaction| compaction.get("preservedMessages"))
        .and_then(|kept| kept.get("uuids"))
        .and_then(Value::as_array);
    let ids = ids.map(Vec::as_slice).unwrap_or_default();
    ids.iter()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect()
}

fn has_answers(message: &Value) -> bool {
    let blocks = message.get("content").and_then(Value::as_array);
    blocks.is_some_and(|blocks| {
        let is_answer = |block: &Value| text(block, "type") == Some("tool_result");
        blocks.iter().any(is_answer)
    })
}

fn key_of(id: &str) -> Key {
    let mut hasher = DefaultHasher::new();
    id.hash(&mut hasher);
    hasher.finish()
}
