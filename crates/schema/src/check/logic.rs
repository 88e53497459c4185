//! Validation by subschemas of the same value: `allOf`, `anyOf`, `oneOf`, `not`, `if`.

use serde_json::Value;

use super::{ProblemSink, SchemaCheck};
use crate::limits::{ALTERNATIVE_CHARS_MAX, ALTERNATIVES_TOLD_MAX};
use crate::problem::beginning;
use crate::{LogicRule, NodeId};

impl SchemaCheck<'_> {
    pub(super) fn logic(&mut self, logic: &LogicRule, value: &Value, sink: &mut ProblemSink) {
        match logic {
            LogicRule::Ref(node) => self.node(*node, value, sink),
            LogicRule::AllOf(nodes) => {
                for node in nodes {
                    self.node(*node, value, sink);
                }
            }
            LogicRule::AnyOf(nodes) => self.any_of(nodes, value, sink),
            LogicRule::OneOf(nodes) => self.one_of(nodes, value, sink),
            LogicRule::Not(node) => {
                if self.fits(*node, value) {
                    self.tell(sink, || "it is what `not` excludes".to_owned());
                }
            }
            LogicRule::If {
                condition,
                then,
                otherwise,
            } => {
                let holds = self.fits(*condition, value);
                if let Some(node) = if holds { then } else { otherwise } {
                    self.node(*node, value, sink);
                }
            }
        }
    }

    fn fits(&mut self, node: NodeId, value: &Value) -> bool {
        let mut verdict = ProblemSink::verdict();
        self.node(node, value, &mut verdict);
        verdict.fits()
    }

    fn any_of(&mut self, nodes: &[NodeId], value: &Value, sink: &mut ProblemSink) {
        let mut refusals = Vec::new();
        for node in nodes {
            let mut alternative = sink.alternative();
            self.node(*node, value, &mut alternative);
            if alternative.fits() {
                return;
            }
            refusals.push(alternative);
        }
        self.tell(sink, || none_fits("anyOf", refusals));
    }

    fn one_of(&mut self, nodes: &[NodeId], value: &Value, sink: &mut ProblemSink) {
        let mut refusals = Vec::new();
        let mut first = None;
        for (index, node) in nodes.iter().enumerate() {
            let mut alternative = sink.alternative();
            self.node(*node, value, &mut alternative);
            match (alternative.fits(), first) {
                (false, _) => refusals.push(alternative),
                (true, None) => first = Some(index),
                (true, Some(first)) => {
                    return self.tell(sink, || {
                        let (first, second) = (first + 1, index + 1);
                        format!(
                            "it fits the alternatives {first} and {second} of `oneOf`; expected \
                             exactly one"
                        )
                    });
                }
            }
        }
        if first.is_none() {
            self.tell(sink, || none_fits("oneOf", refusals));
        }
    }
}

/// Tells the first problem of each alternative, since nobody knows which one was meant.
fn none_fits(keyword: &str, refusals: Vec<ProblemSink>) -> String {
    let all = refusals.len();
    let told = refusals
        .into_iter()
        .take(ALTERNATIVES_TOLD_MAX)
        .flat_map(ProblemSink::into_problems)
        .enumerate()
        .map(|(index, problem)| {
            let problem = beginning(&problem.to_string(), ALTERNATIVE_CHARS_MAX);
            format!("({}) {problem}", index + 1)
        });
    let mut told: Vec<String> = told.collect();
    if all > ALTERNATIVES_TOLD_MAX {
        told.push(format!("and {} more", all - ALTERNATIVES_TOLD_MAX));
    }
    format!("it fits no alternative of `{keyword}`: {}", told.join("; "))
}
