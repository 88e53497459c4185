//! Schemas that no value fits: whoever is given one tries in vain.
//!
//! ```text
//! every node: no kind of value yet ─► the kinds that its rules leave ─► again, until nothing is new
//! ```
//!
//! What is found impossible is so; not everything that is impossible is found. Patterns, `if` and
//! what `not` says beyond a type are taken to leave room. A value is built from the inside, so a
//! node that needs itself inside of itself never gets a kind.

use serde_json::{Number, Value};

use super::number::ExactNumber;
use super::problem::{SchemaDefect, SchemaError};
use super::{
    CountRange, JsonType, ListRule, LogicRule, NodeId, NumberBound, NumberRule, ObjectRule,
    RestRule, SchemaNode, SchemaRule, TextRule, check, number,
};
use crate::limits::STEPS_MAX;

/// Refuses a schema that no value fits. One that takes too long to look at passes.
pub(super) fn refuse(nodes: &[SchemaNode]) -> Result<(), SchemaError> {
    let mut survey = NodeSurvey {
        nodes,
        found: vec![NodeFinding::default(); nodes.len()],
        steps: STEPS_MAX,
    };
    if survey.finish().is_none() || !survey.is_impossible(NodeId::ROOT) {
        return Ok(());
    }
    // The place to change is where the contradiction begins, not where it ends.
    let mut at = NodeId::ROOT;
    let mut left = nodes.len();
    while let Some(inner) = survey.found[at.0].because_of.filter(|_| left > 0) {
        at = inner;
        left -= 1;
    }
    Err(SchemaDefect::Impossible.at(&nodes[at.0].place))
}

/// Kinds of values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct ValueKinds(u8);

impl ValueKinds {
    const NONE: Self = Self(0);
    const WHOLE: Self = Self(1);
    const FRACTION: Self = Self(1 << 1);
    const TEXT: Self = Self(1 << 2);
    const LIST: Self = Self(1 << 3);
    const OBJECT: Self = Self(1 << 4);
    const NULL: Self = Self(1 << 5);
    const BOOLEAN: Self = Self(1 << 6);
    const NUMBER: Self = Self(Self::WHOLE.0 | Self::FRACTION.0);
    const ALL: Self = Self(0x7f);

    fn of(one: JsonType) -> Self {
        match one {
            JsonType::Null => Self::NULL,
            JsonType::Boolean => Self::BOOLEAN,
            JsonType::Integer => Self::WHOLE,
            JsonType::Number => Self::NUMBER,
            JsonType::String => Self::TEXT,
            JsonType::Array => Self::LIST,
            JsonType::Object => Self::OBJECT,
        }
    }

    fn of_any(types: &[JsonType]) -> Self {
        let kinds = types.iter().map(|one| Self::of(*one));
        kinds.fold(Self::NONE, Self::or)
    }

    fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

/// Findings about a node so far.
#[derive(Debug, Clone, Copy, Default)]
struct NodeFinding {
    kinds: ValueKinds,
    /// An impossible node because of which it has fewer.
    because_of: Option<NodeId>,
}

struct NodeSurvey<'s> {
    nodes: &'s [SchemaNode],
    found: Vec<NodeFinding>,
    /// How many rules may still be looked at.
    steps: usize,
}

impl<'s> NodeSurvey<'s> {
    /// Looks at all nodes until nothing is new; none if there are too many for that. What is
    /// inside comes after what is around it, so most are known after one look.
    fn finish(&mut self) -> Option<()> {
        loop {
            let mut is_new = false;
            for index in (0..self.nodes.len()).rev() {
                let before = self.found[index].kinds;
                let found = self.look(NodeId(index))?;
                self.found[index] = found;
                is_new |= before != found.kinds;
            }
            if !is_new {
                return Some(());
            }
        }
    }

    fn is_impossible(&self, id: NodeId) -> bool {
        self.found[id.0].kinds == ValueKinds::NONE
    }

    fn look(&mut self, id: NodeId) -> Option<NodeFinding> {
        let rules = self.rules(id)?;
        let mut left = RemainingKinds {
            survey: self,
            kinds: ValueKinds::ALL,
            because_of: None,
        };
        left.by_kind(&rules);
        left.numbers(&rules);
        left.texts(&rules);
        left.lists(&rules);
        left.objects(&rules);
        let RemainingKinds {
            kinds, because_of, ..
        } = left;
        let kinds = self.chosen(id, &rules, kinds)?;
        Some(NodeFinding { kinds, because_of })
    }

    /// Returns the rules of a node and of all that it also asks of the same value.
    fn rules(&mut self, id: NodeId) -> Option<Vec<&'s SchemaRule>> {
        let nodes = self.nodes;
        let mut rules = Vec::new();
        let mut ahead = vec![id];
        while let Some(here) = ahead.pop() {
            for rule in &nodes[here.0].rules {
                self.steps = self.steps.checked_sub(1)?;
                match rule {
                    SchemaRule::Logic(LogicRule::Ref(node)) => ahead.push(*node),
                    SchemaRule::Logic(LogicRule::AllOf(all)) => ahead.extend(all),
                    rule => rules.push(rule),
                }
            }
        }
        Some(rules)
    }

    /// Returns the kinds of the listed values that fit, where values are listed.
    fn chosen(
        &mut self,
        id: NodeId,
        rules: &[&SchemaRule],
        kinds: ValueKinds,
    ) -> Option<ValueKinds> {
        let listed = rules.iter().find_map(|rule| match rule {
            SchemaRule::Choice(choices) => Some(choices),
            _ => None,
        });
        let Some(choices) = listed.filter(|_| kinds != ValueKinds::NONE) else {
            return Some(kinds);
        };
        let mut fitting = ValueKinds::NONE;
        for choice in choices {
            let Ok(value) = serde_json::from_str::<Value>(choice) else {
                return Some(kinds);
            };
            if check::fits(self.nodes, id, &value, &mut self.steps)? {
                fitting = fitting.or(kind_of(&value));
            }
        }
        Some(fitting)
    }
}

fn kind_of(value: &Value) -> ValueKinds {
    match value {
        Value::Null => ValueKinds::NULL,
        Value::Bool(_) => ValueKinds::BOOLEAN,
        Value::Number(number) if ExactNumber::of(number).is_integer() => ValueKinds::WHOLE,
        Value::Number(_) => ValueKinds::FRACTION,
        Value::String(_) => ValueKinds::TEXT,
        Value::Array(_) => ValueKinds::LIST,
        Value::Object(_) => ValueKinds::OBJECT,
    }
}

/// The kinds that are left of a node while its rules are looked at.
struct RemainingKinds<'a, 's> {
    survey: &'a NodeSurvey<'s>,
    kinds: ValueKinds,
    because_of: Option<NodeId>,
}

impl RemainingKinds<'_, '_> {
    fn by_kind(&mut self, rules: &[&SchemaRule]) {
        for rule in rules {
            match rule {
                SchemaRule::Never => self.kinds = ValueKinds::NONE,
                SchemaRule::Type(types) => self.kinds = self.kinds.and(ValueKinds::of_any(types)),
                SchemaRule::Logic(LogicRule::AnyOf(nodes) | LogicRule::OneOf(nodes)) => {
                    self.any_of(nodes);
                }
                SchemaRule::Logic(LogicRule::Not(node)) => {
                    match &self.survey.nodes[node.0].rules[..] {
                        [] => self.kinds = ValueKinds::NONE,
                        [SchemaRule::Type(types)] => {
                            self.kinds = self.kinds.without(ValueKinds::of_any(types));
                        }
                        _ => {}
                    }
                }
                SchemaRule::Logic(
                    LogicRule::Ref(_) | LogicRule::AllOf(_) | LogicRule::If { .. },
                )
                | SchemaRule::Choice(_)
                | SchemaRule::Number(_)
                | SchemaRule::Text(_)
                | SchemaRule::List(_)
                | SchemaRule::Object(_) => {}
            }
        }
    }

    fn any_of(&mut self, nodes: &[NodeId]) {
        let kinds = nodes.iter().map(|node| self.survey.found[node.0].kinds);
        let kinds = kinds.fold(ValueKinds::NONE, ValueKinds::or);
        if kinds == ValueKinds::NONE {
            self.because_of = self.because_of.or(nodes.first().copied());
        }
        self.kinds = self.kinds.and(kinds);
    }

    fn numbers(&mut self, rules: &[&SchemaRule]) {
        let bounds = rules.iter().filter_map(|rule| match rule {
            SchemaRule::Number(NumberRule::Bound(bound, number)) => Some((*bound, number)),
            _ => None,
        });
        let (below, above): (Vec<_>, Vec<_>) = bounds.partition(|(bound, _)| {
            matches!(bound, NumberBound::Minimum | NumberBound::ExclusiveMinimum)
        });
        let crossed = |(low, least): &(NumberBound, &Number),
                       (high, most): &(NumberBound, &Number)| {
            let is_open =
                *low == NumberBound::ExclusiveMinimum || *high == NumberBound::ExclusiveMaximum;
            let order = number::compare(least, most);
            order.is_gt() || (order.is_eq() && is_open)
        };
        if below
            .iter()
            .any(|low| above.iter().any(|high| crossed(low, high)))
        {
            self.kinds = self.kinds.without(ValueKinds::NUMBER);
        }
    }

    fn texts(&mut self, rules: &[&SchemaRule]) {
        let lengths = rules.iter().filter_map(|rule| match rule {
            SchemaRule::Text(TextRule::Length(range)) => Some(*range),
            _ => None,
        });
        if both(lengths).is_empty() {
            self.kinds = self.kinds.without(ValueKinds::TEXT);
        }
    }

    fn lists(&mut self, rules: &[&SchemaRule]) {
        let lists = || rules.iter().filter_map(|rule| rule.list());
        let count = both(lists().filter_map(|rule| match rule {
            ListRule::Count(range) => Some(*range),
            _ => None,
        }));
        let mut is_empty = count.is_empty();
        for rule in lists() {
            match rule {
                ListRule::Items { prefix, rest } => {
                    let needed = usize::try_from(count.min).unwrap_or(usize::MAX);
                    is_empty |= self.needs(prefix.iter().take(needed));
                    is_empty |= needed > prefix.len()
                        && match rest {
                            RestRule::Anything => false,
                            RestRule::Nothing => true,
                            RestRule::Fitting(node) => self.needs([node]),
                        };
                }
                ListRule::Contains { node, range } => {
                    is_empty |= range.is_empty() || (range.min > 0 && self.needs([node]));
                }
                ListRule::Count(_) | ListRule::Unique => {}
            }
        }
        if is_empty {
            self.kinds = self.kinds.without(ValueKinds::LIST);
        }
    }

    fn objects(&mut self, rules: &[&SchemaRule]) {
        let objects = || rules.iter().filter_map(|rule| rule.object());
        let count = both(objects().filter_map(|rule| match rule {
            ObjectRule::Count(range) => Some(*range),
            _ => None,
        }));
        let mut required: Vec<&str> = objects()
            .filter_map(|rule| match rule {
                ObjectRule::Required(names) => Some(names),
                _ => None,
            })
            .flatten()
            .map(String::as_str)
            .collect();
        required.sort_unstable();
        required.dedup();
        let needed = count.min.max(required.len() as u64);
        let mut is_empty = CountRange {
            min: needed,
            ..count
        }
        .is_empty();
        for rule in objects() {
            match rule {
                ObjectRule::Members {
                    named,
                    matching,
                    rest,
                } => {
                    let room = named.len() as u64;
                    let is_closed = *rest == RestRule::Nothing && matching.is_empty();
                    is_empty |= is_closed && needed > room;
                    for name in &required {
                        let matching = matching.iter().filter(|(it, _)| it.regex.is_match(name));
                        let mut asked: Vec<NodeId> = matching.map(|(_, node)| *node).collect();
                        asked.extend(named.get(*name));
                        match rest {
                            RestRule::Nothing if asked.is_empty() => is_empty = true,
                            RestRule::Fitting(node) if asked.is_empty() => asked.push(*node),
                            RestRule::Nothing | RestRule::Anything | RestRule::Fitting(_) => {}
                        }
                        is_empty |= self.needs(&asked);
                    }
                }
                ObjectRule::Names(node) => is_empty |= needed > 0 && self.needs([node]),
                ObjectRule::Required(_)
                | ObjectRule::Count(_)
                | ObjectRule::DependentRequired(_) => {}
            }
        }
        if is_empty {
            self.kinds = self.kinds.without(ValueKinds::OBJECT);
        }
    }

    /// Tells whether one of the nodes that a value needs is impossible, and notes which.
    fn needs<'n>(&mut self, nodes: impl IntoIterator<Item = &'n NodeId>) -> bool {
        let mut nodes = nodes.into_iter();
        let impossible = nodes.find(|node| self.survey.is_impossible(**node));
        self.because_of = self.because_of.or(impossible.copied());
        impossible.is_some()
    }
}

impl SchemaRule {
    fn list(&self) -> Option<&ListRule> {
        match self {
            Self::List(rule) => Some(rule),
            _ => None,
        }
    }

    fn object(&self) -> Option<&ObjectRule> {
        match self {
            Self::Object(rule) => Some(rule),
            _ => None,
        }
    }
}

impl CountRange {
    fn is_empty(self) -> bool {
        self.max.is_some_and(|max| self.min > max)
    }
}

/// Returns what lies in all of the ranges.
fn both(ranges: impl Iterator<Item = CountRange>) -> CountRange {
    let any = CountRange { min: 0, max: None };
    ranges.fold(any, |left, right| CountRange {
        min: left.min.max(right.min),
        max: left.max.into_iter().chain(right.max).min(),
    })
}
