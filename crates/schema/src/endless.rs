//! Schemas that refer to themselves without going into the value, and so would never end.

use super::problem::{SchemaDefect, SchemaError};
use super::{LogicRule, NodeId, SchemaNode, SchemaRule};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum VisitMark {
    New,
    /// On the way that is being walked.
    Open,
    Done,
}

/// Refuses nodes that come back to themselves for the same value.
pub(super) fn refuse(nodes: &[SchemaNode]) -> Result<(), SchemaError> {
    let mut marks = vec![VisitMark::New; nodes.len()];
    for start in 0..nodes.len() {
        if marks[start] != VisitMark::New {
            continue;
        }
        marks[start] = VisitMark::Open;
        let mut way = vec![(NodeId(start), same_value(&nodes[start]))];
        while let Some((here, ahead)) = way.last_mut() {
            match ahead.pop() {
                None => {
                    marks[here.0] = VisitMark::Done;
                    way.pop();
                }
                Some(next) => match marks[next.0] {
                    VisitMark::Done => {}
                    VisitMark::Open => return Err(SchemaDefect::Endless.at(&nodes[next.0].place)),
                    VisitMark::New => {
                        marks[next.0] = VisitMark::Open;
                        way.push((next, same_value(&nodes[next.0])));
                    }
                },
            }
        }
    }
    Ok(())
}

/// Returns the nodes that a node asks about the value that it is asked about.
fn same_value(node: &SchemaNode) -> Vec<NodeId> {
    let logic = node.rules.iter().filter_map(|rule| match rule {
        SchemaRule::Logic(logic) => Some(logic),
        SchemaRule::Never
        | SchemaRule::Type(_)
        | SchemaRule::Choice(_)
        | SchemaRule::Number(_)
        | SchemaRule::Text(_)
        | SchemaRule::List(_)
        | SchemaRule::Object(_) => None,
    });
    logic.flat_map(LogicRule::nodes).collect()
}

impl LogicRule {
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
