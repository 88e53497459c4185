//! A validator for JSON Schema: what models and people write to describe an answer.
//!
//! ```text
//! Value ─compile─► AnswerSchema (nodes of rules) ─check(answer)─► problems, each with its place
//! ```
//!
//! The words are those of draft 2020-12, `definitions` included. A schema is understood whole
//! or refused: a keyword that is skipped lets answers pass that its author meant to keep
//! out. Nodes refer to each other by number, so a recursive schema is as finite as its
//! text.
//!
//! Reading order: [`AnswerSchema`] and the rules → `compile` (what is understood) → `impossible` (what
//! contradicts itself) → `check` (what does not fit) → `number`, `exact`, `pattern` (where JSON and Rust differ).
//!
//! Deliberately absent: IO, references to other documents and anchors, `unevaluated*`, formats
//! (they are annotations), and every draft's older spelling of what 2020-12 says differently. What
//! is asked of a model whose answer does not fit is decided by `engine`.

mod check;
mod compile;
mod endless;
mod exact;
mod impossible;
mod keywords;
mod limits;
mod number;
mod pattern;
mod place;
mod problem;
mod source;

use std::collections::BTreeMap;

use regex::Regex;
use serde_json::{Number, Value};

pub use problem::{SchemaDefect, SchemaError, ValueProblem};

/// A schema that was understood.
#[derive(Debug, Clone)]
pub struct AnswerSchema {
    /// The first one is the root.
    nodes: Vec<SchemaNode>,
}

impl AnswerSchema {
    /// Understands a schema that some value can fit, or says what is wrong with it and where.
    pub fn compile(schema: &Value) -> Result<Self, SchemaError> {
        let schema = Self::understand(schema)?;
        impossible::refuse(&schema.nodes)?;
        Ok(schema)
    }

    fn understand(schema: &Value) -> Result<Self, SchemaError> {
        let nodes = compile::nodes(schema)?;
        endless::refuse(&nodes)?;
        Ok(Self { nodes })
    }

    /// Returns what is wrong with a value, at most `limit` problems and nothing if it fits.
    /// A limit of zero counts as one.
    pub fn check(&self, value: &Value, limit: usize) -> Vec<ValueProblem> {
        check::problems(&self.nodes, value, limit)
    }
}

/// A schema at one place of the text. A value fits if it keeps every rule.
#[derive(Debug, Clone)]
struct SchemaNode {
    /// A JSON pointer.
    place: String,
    rules: Vec<SchemaRule>,
}

/// A node, by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct NodeId(usize);

impl NodeId {
    const ROOT: Self = Self(0);
}

#[derive(Debug, Clone)]
enum SchemaRule {
    /// The schema `false`.
    Never,
    Type(Vec<JsonType>),
    /// `enum` and `const`: the texts of what is allowed, see [`exact`].
    Choice(Vec<String>),
    Number(NumberRule),
    Text(TextRule),
    List(ListRule),
    Object(ObjectRule),
    Logic(LogicRule),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum JsonType {
    Null,
    Boolean,
    Integer,
    Number,
    String,
    Array,
    Object,
}

#[derive(Debug, Clone)]
enum NumberRule {
    Bound(NumberBound, Number),
    MultipleOf(Number),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NumberBound {
    Minimum,
    ExclusiveMinimum,
    Maximum,
    ExclusiveMaximum,
}

#[derive(Debug, Clone)]
enum TextRule {
    /// In characters.
    Length(CountRange),
    Pattern(TextPattern),
}

/// A pattern as it was written, and as it is searched for.
#[derive(Debug, Clone)]
struct TextPattern {
    written: String,
    regex: Regex,
}

/// How many there may be of something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct CountRange {
    min: u64,
    max: Option<u64>,
}

#[derive(Debug, Clone)]
enum ListRule {
    /// `prefixItems`, then `items` for the rest.
    Items {
        prefix: Vec<NodeId>,
        rest: RestRule,
    },
    Count(CountRange),
    Contains {
        node: NodeId,
        range: CountRange,
    },
    Unique,
}

#[derive(Debug, Clone)]
enum ObjectRule {
    /// `properties` and `patternProperties`, then `additionalProperties` for the rest.
    Members {
        named: BTreeMap<String, NodeId>,
        matching: Vec<(TextPattern, NodeId)>,
        rest: RestRule,
    },
    Required(Vec<String>),
    Names(NodeId),
    Count(CountRange),
    /// What else is required when a key is there.
    DependentRequired(Vec<(String, Vec<String>)>),
}

/// What may be there besides what is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RestRule {
    Anything,
    Nothing,
    Fitting(NodeId),
}

/// Rules about the same value by other nodes.
#[derive(Debug, Clone)]
enum LogicRule {
    Ref(NodeId),
    AllOf(Vec<NodeId>),
    AnyOf(Vec<NodeId>),
    OneOf(Vec<NodeId>),
    Not(NodeId),
    If {
        condition: NodeId,
        then: Option<NodeId>,
        otherwise: Option<NodeId>,
    },
}

#[cfg(test)]
mod tests;
