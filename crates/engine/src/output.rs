//! The shape that a task's answer must have, and what is done when it has another one.

use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::Value;
use troupe_protocol::result::StructuredOutput;
use troupe_schema::{AnswerSchema, SchemaError};

use crate::limits::{OUTPUT_PROBLEM_BYTES_MAX, OUTPUT_PROBLEMS_MAX};

/// What is asked of a task's last message.
#[derive(Debug)]
pub(crate) enum AnswerFormat {
    Free,
    /// The model is asked for this shape; whoever asked looks at what came.
    Shaped(Arc<Value>),
    /// The answer counts only if it fits.
    Checked(Box<AnswerContract>),
}

/// What an answer has to fit.
#[derive(Debug)]
pub(crate) struct AnswerContract {
    /// As it was asked for, and as the provider gets it.
    asked: Arc<Value>,
    schema: AnswerSchema,
    state: ContractState,
}

/// How far the check of an answer has come.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ContractState {
    Pending,
    /// The model was told what is wrong, once.
    Repairing,
    Done(StructuredOutput),
}

/// What follows from an answer.
#[derive(Debug, PartialEq)]
pub(crate) enum AnswerVerdict {
    Accepted,
    /// The model gets this message and another try.
    Repair(String),
    Rejected(String),
}

impl AnswerFormat {
    pub(crate) fn shaped(schema: Option<Value>) -> Self {
        schema.map_or(Self::Free, |schema| Self::Shaped(Arc::new(schema)))
    }

    /// Refuses a schema that nothing could be checked by, before anything is asked.
    pub(crate) fn checked(asked: Option<Value>) -> Result<Self, SchemaError> {
        let Some(asked) = asked else {
            return Ok(Self::Free);
        };
        Ok(Self::Checked(Box::new(AnswerContract {
            schema: AnswerSchema::compile(&asked)?,
            asked: Arc::new(asked),
            state: ContractState::Pending,
        })))
    }

    /// Returns the schema that goes with the request.
    pub(crate) fn schema(&self) -> Option<Arc<Value>> {
        match self {
            Self::Free => None,
            Self::Shaped(asked) => Some(Arc::clone(asked)),
            Self::Checked(contract) => Some(Arc::clone(&contract.asked)),
        }
    }

    /// Returns what was found in the end.
    pub(crate) fn structured_output(&self) -> Option<&StructuredOutput> {
        match self {
            Self::Free | Self::Shaped(_) => None,
            Self::Checked(contract) => match &contract.state {
                ContractState::Pending | ContractState::Repairing => None,
                ContractState::Done(found) => Some(found),
            },
        }
    }

    /// Judges the last message of a task that is about to end.
    pub(crate) fn judge(&mut self, answer: Option<&str>) -> AnswerVerdict {
        let Self::Checked(contract) = self else {
            return AnswerVerdict::Accepted;
        };
        let AnswerContract { schema, state, .. } = &mut **contract;
        let problems = match validate(schema, answer) {
            Ok(value) => {
                *state = ContractState::Done(StructuredOutput::Valid { value });
                return AnswerVerdict::Accepted;
            }
            Err(problems) => problems,
        };
        if *state == ContractState::Pending {
            *state = ContractState::Repairing;
            return AnswerVerdict::Repair(repair_request(&problems));
        }
        let message = format!(
            "the answer does not fit its output schema, also not after it was asked for again: {}",
            problems.join("; ")
        );
        *state = ContractState::Done(StructuredOutput::Invalid { problems });
        AnswerVerdict::Rejected(message)
    }
}

impl AnswerFormat {
    /// Returns an accepted answer as it is passed on: where a shape was asked for, that and nothing
    /// around it.
    pub(crate) fn said(&self, answer: String) -> String {
        match self {
            Self::Free | Self::Shaped(_) => answer,
            Self::Checked(_) => without_fence(&answer).to_owned(),
        }
    }
}

/// Returns the answer as JSON that fits the schema, or what is wrong with it.
fn validate(schema: &AnswerSchema, answer: Option<&str>) -> Result<Value, Vec<String>> {
    let Some(answer) = answer else {
        return Err(vec!["there was no answer".to_owned()]);
    };
    let value: Value = serde_json::from_str(without_fence(answer))
        .map_err(|error| vec![format!("it is not JSON: {error}")])?;
    let problems = schema.check(&value, OUTPUT_PROBLEMS_MAX);
    if problems.is_empty() {
        return Ok(value);
    }
    let told = problems.iter().map(|problem| cut(problem.to_string()));
    Err(told.collect())
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
