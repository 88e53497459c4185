//! Validation of arrays.

use std::collections::HashMap;

use serde_json::Value;

use super::{ProblemSink, SchemaCheck};
use crate::{CountRange, ListRule, NodeId, RestRule, exact};

impl SchemaCheck<'_> {
    pub(super) fn list(&mut self, rule: &ListRule, items: &[Value], sink: &mut ProblemSink) {
        match rule {
            ListRule::Items { prefix, rest } => self.items(prefix, *rest, items, sink),
            ListRule::Count(range) => self.count(*range, items.len(), "item", sink),
            ListRule::Contains { node, range } => self.contains(*node, *range, items, sink),
            ListRule::Unique => self.unique(items, sink),
        }
    }

    fn items(
        &mut self,
        prefix: &[NodeId],
        rest: RestRule,
        items: &[Value],
        sink: &mut ProblemSink,
    ) {
        for (index, item) in items.iter().enumerate() {
            if sink.is_full() || !self.spend(1) {
                return;
            }
            let node = match (prefix.get(index), rest) {
                (Some(node), _) => *node,
                (None, RestRule::Fitting(node)) => node,
                (None, RestRule::Anything) => return,
                (None, RestRule::Nothing) => {
                    let most = CountRange {
                        min: 0,
                        max: Some(prefix.len() as u64),
                    };
                    return self.count(most, items.len(), "item", sink);
                }
            };
            self.below(&index.to_string(), node, item, sink);
        }
    }

    fn contains(
        &mut self,
        node: NodeId,
        range: CountRange,
        items: &[Value],
        sink: &mut ProblemSink,
    ) {
        let mut fitting = 0;
        for item in items {
            let mut verdict = ProblemSink::verdict();
            self.node(node, item, &mut verdict);
            fitting += usize::from(verdict.fits());
            if !self.spend(1) {
                return;
            }
        }
        if !range.admits(fitting) {
            self.tell(sink, || {
                let asked = range.asked("item");
                format!("expected {asked} that `contains` asks for, found {fitting}")
            });
        }
    }

    fn unique(&mut self, items: &[Value], sink: &mut ProblemSink) {
        let mut seen = HashMap::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            let text = exact::text(item);
            if !self.spend(1) || !self.spend_bytes(text.len()) {
                return;
            }
            if let Some(first) = seen.insert(text, index) {
                return self.tell(sink, || {
                    format!("expected different items, found the same at {first} and {index}")
                });
            }
        }
    }
}
