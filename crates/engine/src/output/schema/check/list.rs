//! Validation of arrays.

use std::collections::HashMap;

use serde_json::Value;

use super::{Check, Sink};
use crate::output::schema::{ListRule, NodeId, Range, Rest, exact};

impl Check<'_> {
    pub(super) fn list(&mut self, rule: &ListRule, items: &[Value], sink: &mut Sink) {
        match rule {
            ListRule::Items { prefix, rest } => self.items(prefix, *rest, items, sink),
            ListRule::Count(range) => self.count(*range, items.len(), "item", sink),
            ListRule::Contains { node, range } => self.contains(*node, *range, items, sink),
            ListRule::Unique => self.unique(items, sink),
        }
    }

    fn items(&mut self, prefix: &[NodeId], rest: Rest, items: &[Value], sink: &mut Sink) {
        for (index, item) in items.iter().enumerate() {
            if sink.is_full() || !self.spend(1) {
                return;
            }
            let node = match (prefix.get(index), rest) {
                (Some(node), _) => *node,
                (None, Rest::Fitting(node)) => node,
                (None, Rest::Anything) => return,
                (None, Rest::Nothing) => {
                    let most = Range {
                        min: 0,
                        max: Some(prefix.len() as u64),
                    };
                    return self.count(most, items.len(), "item", sink);
                }
            };
            self.below(&index.to_string(), node, item, sink);
        }
    }

    fn contains(&mut self, node: NodeId, range: Range, items: &[Value], sink: &mut Sink) {
        let mut fitting = 0;
        for item in items {
            let mut verdict = Sink::verdict();
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

    fn unique(&mut self, items: &[Value], sink: &mut Sink) {
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
