//! Schemas that refer to themselves without going into the value, and so would never end.

use super::problem::{SchemaDefect, SchemaError};
use super::{Logic, Node, NodeId, Rule};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mark {
    New,
    /// On the way that is being walked.
    Open,
    Done,
}

/// Refuses nodes that come back to themselves for the same value.
pub(super) fn refuse(nodes: &[Node]) -> Result<(), SchemaError> {
    let mut marks = vec![Mark::New; nodes.len()];
    for start in 0..nodes.len() {
        if marks[start] != Mark::New {
            continue;
        }
        marks[start] = Mark::Open;
        let mut way = vec![(NodeId(start), same_value(&nodes[start]))];
        while let Some((here, ahead)) = way.last_mut() {
            match ahead.pop() {
                None => {
                    marks[here.0] = Mark::Done;
                    way.pop();
                }
                Some(next) => match marks[next.0] {
                    Mark::Done => {}
                    Mark::Open => return Err(SchemaDefect::Endless.at(&nodes[next.0].place)),
                    Mark::New => {
                        marks[next.0] = Mark::Open;
                        way.push((next, same_value(&nodes[next.0])));
                    }
                },
            }
        }
    }
    Ok(())
}

/// Returns the nodes that a node asks about the value that it is asked about.
fn same_value(node: &Node) -> Vec<NodeId> {
    let logic = node.rules.iter().filter_map(|rule| match rule {
        Rule::Logic(logic) => Some(logic),
        Rule::Never
        | Rule::Type(_)
        | Rule::Choice(_)
        | Rule::Number(_)
        | Rule::Text(_)
        | Rule::List(_)
        | Rule::Object(_) => None,
    });
    logic.flat_map(Logic::nodes).collect()
}

impl Logic {
    fn nodes(&self) -> Vec<NodeId> {
        match self {
            Self::Ref(node) | Self::Not(node) => vec![*node],
            Self::AllOf(nodes) | Self::AnyOf(nodes) | Self::OneOf(nodes) => nodes.clone(),
            Self::If {
                condition,
                then,
                otherwise,
            } => [Some(*condition), *then, *otherwise]
                .into_iter()
                .flatten()
                .collect(),
        }
    }
}
