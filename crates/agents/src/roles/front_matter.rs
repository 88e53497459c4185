//! The YAML at the top of a role file, as its fields say it must be.
//!
//! A key that is there has a value: `read_only:` without one is an error, because taking it
//! for absent would turn a locked role into an open one.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_saphyr::budget::BudgetBreach;
use serde_saphyr::options::{DuplicateKeyPolicy, MergeKeyPolicy};
use serde_saphyr::{Error, Location, Options, Spanned};
use troupe_protocol::policy::ReasoningEffort;

use super::document::FRONT_MATTER_OFFSET;
use super::error::{RoleFault, RoleProblem};
use super::limits::{QUOTE_CHARS_MAX, YAML_DEPTH_MAX, YAML_NODES_MAX};
use super::role::{RoleApprovals, RoleMessages};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RoleFrontMatter {
    pub description: Spanned<String>,
    #[serde(default, deserialize_with = "given")]
    pub model: Option<Spanned<String>>,
    #[serde(default, deserialize_with = "given")]
    pub reasoning_effort: Option<ReasoningEffort>,
    #[serde(default, deserialize_with = "given")]
    pub read_only: Option<bool>,
    #[serde(default, deserialize_with = "given")]
    pub allow_list: Option<Vec<Spanned<String>>>,
    #[serde(default, deserialize_with = "given")]
    pub deny_list: Option<Vec<Spanned<String>>>,
    #[serde(default, deserialize_with = "given")]
    pub agent_names: Option<Vec<AgentName>>,
    #[serde(default, deserialize_with = "given")]
    pub approvals: Option<RoleApprovals>,
    #[serde(default, deserialize_with = "given")]
    pub messages: Option<RoleMessages>,
    #[serde(default, deserialize_with = "given")]
    pub output_schema: Option<Spanned<Value>>,
    #[serde(default, deserialize_with = "given")]
    pub mcp_servers: Option<Vec<Spanned<String>>>,
    #[serde(default, deserialize_with = "given")]
    pub backend: Option<Spanned<String>>,
}

/// An entry of `agent_names`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AgentName {
    pub name: Spanned<String>,
    #[serde(default, deserialize_with = "given")]
    pub description: Option<Spanned<String>>,
    #[serde(default, deserialize_with = "given")]
    pub model: Option<Spanned<String>>,
    #[serde(default, deserialize_with = "given")]
    pub reasoning_effort: Option<ReasoningEffort>,
}

/// Reads the value of a key that is there. Nothing is not one, though YAML would read it as
/// an empty list.
fn given<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Option<T>, D::Error> {
    match Option::deserialize(from)? {
        Some(value) => Ok(Some(value)),
        None => Err(D::Error::custom(NO_VALUE)),
    }
}

const NO_VALUE: &str = "expected a value";

/// Reads a front matter.
pub(super) fn read(yaml: &str) -> Result<RoleFrontMatter, RoleFault> {
    serde_saphyr::from_str_with_options(yaml, options()).map_err(|error| fault(&error))
}

fn options() -> Options {
    serde_saphyr::options! {
        // No role needs references, and every bomb does.
        budget: serde_saphyr::budget! {
            max_aliases: 0,
            max_anchors: 0,
            max_depth: YAML_DEPTH_MAX,
            flow_nesting_limit: YAML_DEPTH_MAX,
            max_nodes: YAML_NODES_MAX,
            max_events: 4 * YAML_NODES_MAX,
            max_documents: 1,
        },
        duplicate_keys: DuplicateKeyPolicy::Error,
        merge_keys: MergeKeyPolicy::Error,
        // `read_only: yes` is refused rather than guessed at.
        strict_booleans: true,
        reject_unsupported_tags: true,
        with_snippet: false,
    }
}

/// Returns the fault at a place of the front matter.
pub(super) fn fault_at(location: Location, problem: RoleProblem) -> RoleFault {
    RoleFault {
        line: location.line() + FRONT_MATTER_OFFSET,
        column: location.column().max(1),
        problem,
    }
}

fn fault(error: &Error) -> RoleFault {
    let location = error.location().unwrap_or(Location::UNKNOWN);
    fault_at(location, problem(error))
}

fn problem(error: &Error) -> RoleProblem {
    match error {
        Error::SerdeUnknownField {
            field, expected, ..
        } => RoleProblem::UnknownKey {
            key: quoted(field),
            expected: expected.clone(),
        },
        Error::SerdeUnknownVariant {
            variant, expected, ..
        } => RoleProblem::UnknownValue {
            found: quoted(variant),
            expected: expected.clone(),
        },
        Error::SerdeMissingField { field, .. } => RoleProblem::MissingKey(field),
        Error::DuplicateMappingKey { key, .. } => {
            RoleProblem::DuplicateKey(quoted(key.as_deref().unwrap_or("?")))
        }
        Error::Message { msg, .. } if msg == NO_VALUE => {
            RoleProblem::Expected("a value".to_owned())
        }
        Error::Eof { .. } => RoleProblem::Expected("keys with values".to_owned()),
        Error::NullIntoString { .. } => RoleProblem::Expected("a value".to_owned()),
        Error::InvalidBooleanStrict { .. } => RoleProblem::Expected("`true` or `false`".to_owned()),
        Error::Unexpected { expected, .. } => RoleProblem::Expected(plain(expected).to_owned()),
        Error::InvalidScalar { ty, .. } => RoleProblem::Expected(plain(ty).to_owned()),
        Error::Budget { breach, .. } => match breach {
            BudgetBreach::Anchors { .. } | BudgetBreach::Aliases { .. } => {
                RoleProblem::Unsupported("anchors and aliases")
            }
            BudgetBreach::Documents { .. } => RoleProblem::Unsupported("further documents"),
            _ => RoleProblem::TooComplex,
        },
        Error::UnknownAnchor { .. } => RoleProblem::Unsupported("anchors and aliases"),
        Error::MergeKeyNotAllowed { .. } => RoleProblem::Unsupported("merge keys"),
        Error::UnsupportedTag { .. } => RoleProblem::Unsupported("tags"),
        other => RoleProblem::Syntax(quoted(without_place(&other.to_string()))),
    }
}

/// Says in plain words what the parser calls by its type.
fn plain(expected: &'static str) -> &'static str {
    match expected {
        "sequence start" => "a list",
        "mapping start" => "keys with values",
        "string scalar" => "text",
        "boolean" => "`true` or `false`",
        "u32" | "u64" => "a whole number, not negative",
        "floating point" => "a number",
        other => other,
    }
}

/// Cuts off the parser's own account of the place, which counts from the front matter's
/// first line.
fn without_place(message: &str) -> &str {
    message
        .rsplit_once(" at line ")
        .map_or(message, |(message, _)| message)
}

/// Cuts what a file says to what fits in a message, and takes out what drives terminals.
fn quoted(text: &str) -> String {
    let visible = |letter: char| {
        if letter.is_control() {
            '\u{fffd}'
        } else {
            letter
        }
    };
    text.chars().take(QUOTE_CHARS_MAX).map(visible).collect()
}
