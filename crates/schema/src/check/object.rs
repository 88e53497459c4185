//! Validation of objects.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::{BYTES_PER_STEP, ProblemSink, SchemaCheck, listed};
use crate::problem::quoted;
use crate::{NodeId, ObjectRule, RestRule, TextPattern};

type Members = Map<String, Value>;

impl SchemaCheck<'_> {
    pub(super) fn object(&mut self, rule: &ObjectRule, members: &Members, sink: &mut ProblemSink) {
        match rule {
            ObjectRule::Members {
                named,
                matching,
                rest,
            } => self.members(named, matching, *rest, members, sink),
            ObjectRule::Required(keys) => self.required(keys, members, sink),
            ObjectRule::Names(node) => self.names(*node, members, sink),
            ObjectRule::Count(range) => self.count(*range, members.len(), "key", sink),
            ObjectRule::DependentRequired(lists) => {
                for (key, required) in lists {
                    if self.spend(1) && members.contains_key(key) {
                        self.required(required, members, sink);
                    }
                }
            }
        }
    }

    fn required(&mut self, keys: &[String], members: &Members, sink: &mut ProblemSink) {
        self.spend_bytes(keys.len());
        for key in keys.iter().filter(|key| !members.contains_key(*key)) {
            self.tell(sink, || format!("the key {} is missing", quoted(key)));
        }
    }

    fn members(
        &mut self,
        named: &BTreeMap<String, NodeId>,
        matching: &[(TextPattern, NodeId)],
        rest: RestRule,
        members: &Members,
        sink: &mut ProblemSink,
    ) {
        for (key, value) in members {
            if sink.is_full() || !self.spend(1) {
                return;
            }
            let mut is_known = false;
            if let Some(node) = named.get(key) {
                is_known = true;
                self.below(key, *node, value, sink);
            }
            for (pattern, node) in matching {
                if self.spend_bytes(BYTES_PER_STEP + key.len()) && pattern.fits(key) {
                    is_known = true;
                    self.below(key, *node, value, sink);
                }
            }
            match rest {
                RestRule::Fitting(node) if !is_known => self.below(key, node, value, sink),
                RestRule::Nothing if !is_known => self.tell(sink, || not_allowed(key, named)),
                RestRule::Anything | RestRule::Nothing | RestRule::Fitting(_) => {}
            }
        }
    }

    fn names(&mut self, node: NodeId, members: &Members, sink: &mut ProblemSink) {
        for key in members.keys() {
            let mut alternative = sink.alternative();
            self.node(node, &Value::from(key.as_str()), &mut alternative);
            if !alternative.fits() {
                self.tell(sink, || {
                    let problems = alternative.into_problems();
                    let why = problems.first().map_or("", |problem| &problem.text);
                    format!("the key {} is not allowed: {why}", quoted(key))
                });
            }
            if sink.is_full() || !self.spend(1) {
                return;
            }
        }
    }
}

fn not_allowed(key: &str, named: &BTreeMap<String, NodeId>) -> String {
    let key = quoted(key);
    if named.is_empty() {
        return format!("the key {key} is not allowed");
    }
    let known: Vec<String> = named.keys().map(|key| quoted(key)).collect();
    format!(
        "the key {key} is not allowed; expected only {}",
        listed(&known)
    )
}
