//! The shape that a task's answer must have, and what is done when it has another one.

use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::Value;
use troupe_protocol::result::StructuredOutput;

use crate::limits::{OUTPUT_PROBLEM_BYTES_MAX, OUTPUT_PROBLEMS_MAX};

/// What is asked of a task's last message.
#[derive(Debug)]
pub(crate) enum Output {
    Free,
    /// The model is asked for this shape; whoever asked looks at what came.
    Shaped(Arc<Value>),
    /// The answer counts only if it fits.
    Checked {
        schema: Arc<Value>,
        state: Check,
    },
}

/// How far the check of an answer has come.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Check {
    Pending,
    /// The model was told what is wrong, once.
    Repairing,
    Done(StructuredOutput),
}

/// What follows from an answer.
#[derive(Debug, PartialEq)]
pub(crate) enum Verdict {
    Accepted,
    /// The model gets this message and another try.
    Repair(String),
    Rejected(String),
}

impl Output {
    pub(crate) fn shaped(schema: Option<Value>) -> Self {
        schema.map_or(Self::Free, |schema| Self::Shaped(Arc::new(schema)))
    }

    pub(crate) fn checked(schema: Option<Value>) -> Self {
        schema.map_or(Self::Free, |schema| Self::Checked {
            schema: Arc::new(schema),
            state: Check::Pending,
        })
    }

    /// Returns the schema that goes with the request.
    pub(crate) fn schema(&self) -> Option<Arc<Value>> {
        match self {
            Self::Free => None,
            Self::Shaped(schema) | Self::Checked { schema, .. } => Some(Arc::clone(schema)),
        }
    }

    /// Returns what was found in the end.
    pub(crate) fn found(&self) -> Option<&StructuredOutput> {
        match self {
            Self::Checked {
                state: Check::Done(found),
                ..
            } => Some(found),
            Self::Free | Self::Shaped(_) | Self::Checked { .. } => None,
        }
    }

    /// Judges the last message of a task that is about to end.
    pub(crate) fn judge(&mut self, answer: Option<&str>) -> Verdict {
        let Self::Checked { schema, state } = self else {
            return Verdict::Accepted;
        };
        let problems = match validate(schema, answer) {
            Ok(value) => {
                *state = Check::Done(StructuredOutput::Valid { value });
                return Verdict::Accepted;
            }
            Err(problems) => problems,
        };
        if *state == Check::Pending {
            *state = Check::Repairing;
            return Verdict::Repair(repair_request(&problems));
        }
        let message = format!(
            "the answer does not fit its output schema, also not after it was asked for again: {}",
            problems.join("; ")
        );
        *state = Check::Done(StructuredOutput::Invalid { problems });
        Verdict::Rejected(message)
    }
}

/// Returns the answer as JSON that fits the schema, or what is wrong with it.
fn validate(schema: &Value, answer: Option<&str>) -> Result<Value, Vec<String>> {
    let Some(answer) = answer else {
        return Err(vec!["there was no answer".to_owned()]);
    };
    let value: Value = serde_json::from_str(without_fence(answer))
        .map_err(|error| vec![format!("it is not JSON: {error}")])?;
    // Compiled here and not kept: a task's answer is looked at once or twice.
    let validator = jsonschema::validator_for(schema)
        .map_err(|error| vec![cut(format!("the schema itself is not valid: {error}"))])?;
    let problems: Vec<String> = validator
        .iter_errors(&value)
        .take(OUTPUT_PROBLEMS_MAX)
        .map(|error| {
            let place = error.instance_path().to_string();
            let place = if place.is_empty() { "/" } else { &place };
            cut(format!("at {place}: {error}"))
        })
        .collect();
    if problems.is_empty() {
        Ok(value)
    } else {
        Err(problems)
    }
}

/// Models like to put JSON between fences, whatever they are told.
fn without_fence(answer: &str) -> &str {
    let answer = answer.trim();
    let inner = answer
        .strip_prefix("```")
        .and_then(|rest| rest.strip_suffix("```"))
        .and_then(|rest| rest.split_once('\n'));
    inner.map_or(answer, |(_, inner)| inner.trim())
}

fn cut(mut text: String) -> String {
    if text.len() > OUTPUT_PROBLEM_BYTES_MAX {
        text.truncate(text.floor_char_boundary(OUTPUT_PROBLEM_BYTES_MAX));
        text.push('…');
    }
    text
}

fn repair_request(problems: &[String]) -> String {
    let mut text = String::from(
        "Your answer does not fit the JSON schema that was asked for. What is wrong with it:\n",
    );
    for problem in problems {
        writeln!(text, "- {problem}").expect("writing to a string does not fail");
    }
    text.push_str("Answer again with the corrected JSON only, without any other text.");
    text
}

#[cfg(test)]
mod tests;
