//! The bounds of a schema and of a check, and what happens when they are met.

/// Schemas in one schema, itself included. A larger one is refused.
pub(crate) const NODES_MAX: usize = 4_096;

/// Patterns in one schema; over it the schema is refused.
pub(crate) const PATTERNS_MAX: usize = 64;

/// What a pattern may take when it is compiled, and again when it is searched for.
pub(crate) const PATTERN_BYTES_MAX: usize = 512 * 1024;

/// How deep an answer and its schema may be nested together. Over it the answer does not fit.
pub(crate) const DEPTH_MAX: usize = 256;

/// What may be looked at to check one answer. Over it the answer does not fit.
pub(crate) const STEPS_MAX: usize = 1_000_000;

/// What is quoted of an answer or a schema at once; more is cut.
pub(crate) const QUOTE_CHARS_MAX: usize = 120;

/// Alternatives of which it is told why they do not fit; the rest is counted.
pub(crate) const ALTERNATIVES_TOLD_MAX: usize = 4;

/// What is told of one of them; more is cut.
pub(crate) const ALTERNATIVE_CHARS_MAX: usize = 200;
