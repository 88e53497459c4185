//! From a value to what is wrong with it.
//!
//! One walk over value and schema together. It is bounded in depth and in steps, since a few
//! lines of schema can ask for more comparisons than there is time: what is over a bound is
//! a problem that says so, never an answer that passes.

mod list;
mod logic;
mod object;
mod sink;

use serde_json::{Number, Value};

use super::number::ExactNumber;
use super::problem::{ValueProblem, shortened};
use super::{
    CountRange, JsonType, NodeId, NumberBound, NumberRule, SchemaNode, SchemaRule, TextRule, exact,
    number, place,
};
use crate::limits::{DEPTH_MAX, STEPS_MAX};

use sink::ProblemSink;

/// What is looked at in one step, where looking takes time by length.
const BYTES_PER_STEP: usize = 16;

pub(super) fn problems(nodes: &[SchemaNode], value: &Value, limit: usize) -> Vec<ValueProblem> {
    let mut check = SchemaCheck {
        nodes,
        place: String::new(),
        depth: 0,
        steps: 0,
        stopped: None,
    };
    let mut sink = ProblemSink::telling(limit);
    check.node(NodeId::ROOT, value, &mut sink);
    let mut problems = sink.into_problems();
    if let Some(stopped) = check.stopped {
        problems.truncate(limit.saturating_sub(1));
        problems.push(stopped.into_problem());
    }
    problems
}

/// Tells whether a value fits a node; none if the steps that are left do not suffice to know.
pub(super) fn fits(
    nodes: &[SchemaNode],
    id: NodeId,
    value: &Value,
    steps_left: &mut usize,
) -> Option<bool> {
    let mut check = SchemaCheck {
        nodes,
        place: String::new(),
        depth: 0,
        steps: STEPS_MAX.saturating_sub(*steps_left),
        stopped: None,
    };
    let mut sink = ProblemSink::telling(1);
    check.node(id, value, &mut sink);
    *steps_left = STEPS_MAX.saturating_sub(check.steps);
    let is_fitting = sink.into_problems().is_empty();
    check.stopped.is_none().then_some(is_fitting)
}

struct SchemaCheck<'s> {
    nodes: &'s [SchemaNode],
    /// Where in the value the walk is.
    place: String,
    depth: usize,
    steps: usize,
    stopped: Option<CheckCutoff>,
}

/// Why a walk was not finished.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CheckCutoff {
    Depth,
    Steps,
}

impl CheckCutoff {
    fn into_problem(self) -> ValueProblem {
        let text = match self {
            Self::Depth => format!(
                "value and schema are nested more than {DEPTH_MAX} levels deep; answer with \
                 less nesting"
            ),
            Self::Steps => {
                format!("to check it takes more than {STEPS_MAX} steps; answer with less")
            }
        };
        ValueProblem {
            place: String::new(),
            text,
        }
    }
}

impl SchemaCheck<'_> {
    /// Holds a value against a node.
    fn node(&mut self, id: NodeId, value: &Value, sink: &mut ProblemSink) {
        if self.depth == DEPTH_MAX {
            self.stopped.get_or_insert(CheckCutoff::Depth);
            return;
        }
        self.depth += 1;
        let nodes = self.nodes;
        for rule in &nodes[id.0].rules {
            if sink.is_full() || !self.spend(1) {
                break;
            }
            self.rule(rule, value, sink);
        }
        self.depth -= 1;
    }

    fn rule(&mut self, rule: &SchemaRule, value: &Value, sink: &mut ProblemSink) {
        match (rule, value) {
            (SchemaRule::Never, _) => self.tell(sink, || "nothing is allowed here".to_owned()),
            (SchemaRule::Type(types), _) => self.types(types, value, sink),
            (SchemaRule::Choice(choices), _) => self.choices(choices, value, sink),
            (SchemaRule::Logic(logic), _) => self.logic(logic, value, sink),
            (SchemaRule::Number(rule), Value::Number(number)) => self.number(rule, number, sink),
            (SchemaRule::Text(rule), Value::String(text)) => self.text(rule, text, sink),
            (SchemaRule::List(rule), Value::Array(items)) => self.list(rule, items, sink),
            (SchemaRule::Object(rule), Value::Object(members)) => self.object(rule, members, sink),
            // Rules about one type say nothing about the others.
            (
                SchemaRule::Number(_)
                | SchemaRule::Text(_)
                | SchemaRule::List(_)
                | SchemaRule::Object(_),
                _,
            ) => {}
        }
    }

    /// Holds what stands below the current place against a node.
    fn below(&mut self, key: &str, id: NodeId, value: &Value, sink: &mut ProblemSink) {
        let here = self.place.len();
        place::push(&mut self.place, key);
        self.node(id, value, sink);
        self.place.truncate(here);
    }

    /// Notes a problem at the current place. After a stop nothing that is found counts.
    fn tell(&self, sink: &mut ProblemSink, text: impl FnOnce() -> String) {
        if self.stopped.is_none() {
            sink.tell(&self.place, text);
        }
    }

    /// Takes steps, and tells whether there were enough.
    fn spend(&mut self, steps: usize) -> bool {
        self.steps = self.steps.saturating_add(steps);
        if self.steps > STEPS_MAX {
            self.stopped.get_or_insert(CheckCutoff::Steps);
        }
        self.stopped.is_none()
    }

    fn spend_bytes(&mut self, bytes: usize) -> bool {
        self.spend(bytes / BYTES_PER_STEP)
    }

    fn types(&self, types: &[JsonType], value: &Value, sink: &mut ProblemSink) {
        if !types.iter().any(|one| one.is_of(value)) {
            self.tell(sink, || {
                let names: Vec<&str> = types.iter().map(|one| one.name()).collect();
                format!("expected {}, found {}", or(&names), found(value))
            });
        }
    }

    fn choices(&mut self, choices: &[String], value: &Value, sink: &mut ProblemSink) {
        let text = exact::text(value);
        if self.spend_bytes(text.len() + choices.len()) && !choices.contains(&text) {
            self.tell(sink, || match choices {
                [only] => format!("expected {}, found {}", shortened(only), shortened(&text)),
                [] => "nothing is allowed here: the list of choices is empty".to_owned(),
                _ => format!(
                    "expected one of {}, found {}",
                    listed(choices),
                    shortened(&text)
                ),
            });
        }
    }

    fn number(&self, rule: &NumberRule, found: &Number, sink: &mut ProblemSink) {
        match rule {
            NumberRule::Bound(bound, limit) => {
                if !bound.admits(found, limit) {
                    let asked = bound.asked();
                    self.tell(sink, || format!("expected {asked} {limit}, found {found}"));
                }
            }
            NumberRule::MultipleOf(of) => {
                if !number::is_multiple(found, of) {
                    self.tell(sink, || {
                        format!("expected a multiple of {of}, found {found}")
                    });
                }
            }
        }
    }

    fn text(&mut self, rule: &TextRule, text: &str, sink: &mut ProblemSink) {
        if !self.spend_bytes(text.len()) {
            return;
        }
        match rule {
            TextRule::Length(range) => self.count(*range, text.chars().count(), "character", sink),
            TextRule::Pattern(pattern) => {
                if !pattern.fits(text) {
                    self.tell(sink, || {
                        format!(
                            "expected a text that matches {}, found {}",
                            pattern.written,
                            found(&Value::from(text))
                        )
                    });
                }
            }
        }
    }

    /// Holds a count against its range.
    fn count(&self, range: CountRange, count: usize, of: &str, sink: &mut ProblemSink) {
        if !range.admits(count) {
            self.tell(sink, || {
                format!("expected {}, found {count}", range.asked(of))
            });
        }
    }
}

impl JsonType {
    fn is_of(self, value: &Value) -> bool {
        match (self, value) {
            (Self::Integer, Value::Number(number)) => ExactNumber::of(number).is_integer(),
            (Self::Null, Value::Null)
            | (Self::Boolean, Value::Bool(_))
            | (Self::Number, Value::Number(_))
            | (Self::String, Value::String(_))
            | (Self::Array, Value::Array(_))
            | (Self::Object, Value::Object(_)) => true,
            _ => false,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean => "true or false",
            Self::Integer => "an integer",
            Self::Number => "a number",
            Self::String => "a string",
            Self::Array => "an array",
            Self::Object => "an object",
        }
    }
}

impl NumberBound {
    fn admits(self, number: &Number, limit: &Number) -> bool {
        let order = number::compare(number, limit);
        match self {
            Self::Minimum => order.is_ge(),
            Self::ExclusiveMinimum => order.is_gt(),
            Self::Maximum => order.is_le(),
            Self::ExclusiveMaximum => order.is_lt(),
        }
    }

    fn asked(self) -> &'static str {
        match self {
            Self::Minimum => "at least",
            Self::ExclusiveMinimum => "more than",
            Self::Maximum => "at most",
            Self::ExclusiveMaximum => "less than",
        }
    }
}

impl CountRange {
    fn admits(self, count: usize) -> bool {
        let count = count as u64;
        count >= self.min && self.max.is_none_or(|max| count <= max)
    }

    /// Returns what is expected, such as "1 to 3 items".
    fn asked(self, of: &str) -> String {
        let plural = |count| if count == 1 { "" } else { "s" };
        match self {
            Self { min, max: None } => format!("at least {min} {of}{}", plural(min)),
            Self {
                min: 0,
                max: Some(max),
            } => format!("at most {max} {of}{}", plural(max)),
            Self {
                min,
                max: Some(max),
            } if min == max => format!("{min} {of}{}", plural(min)),
            Self {
                min,
                max: Some(max),
            } => format!("{min} to {max} {of}s"),
        }
    }
}

/// Returns a value as it is quoted.
fn found(value: &Value) -> String {
    match value {
        Value::Array(items) => format!("an array of {}", items.len()),
        Value::Object(_) => "an object".to_owned(),
        simple => shortened(&simple.to_string()),
    }
}

fn or(names: &[&str]) -> String {
    names.join(" or ")
}

/// Returns texts one after the other, and not too many of them.
fn listed(texts: &[String]) -> String {
    shortened(&texts.join(", "))
}
