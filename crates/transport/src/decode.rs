//! One line to one message, or to a refusal that helps.

mod known;
#[cfg(test)]
mod tests;

use serde_json::error::Category;
use troupe_protocol::{Event, EventMsg, JsonCodec, Op, Submission, SubmissionId};

use crate::field_error::{locate_field, without_position};
use crate::limits::{BLAME_LINE_BYTES_MAX, SUBMISSION_ID_BYTES_MAX};
use crate::outline::{MessageOutline, outline};
use crate::refusal::{LineRefusal, shortened};

/// A message of one of the two queues: `{"id": …, BODY: {"type": …}}`.
pub(crate) trait QueueMessage: JsonCodec {
    const NOUN: &'static str;
    const BODY: &'static str;
    type Body: JsonCodec;

    fn id(&self) -> &SubmissionId;
}

impl QueueMessage for Submission {
    const NOUN: &'static str = "submission";
    const BODY: &'static str = "op";
    type Body = Op;

    fn id(&self) -> &SubmissionId {
        &self.id
    }
}

impl QueueMessage for Event {
    const NOUN: &'static str = "event";
    const BODY: &'static str = "msg";
    type Body = EventMsg;

    fn id(&self) -> &SubmissionId {
        &self.id
    }
}

pub(crate) fn decode<T: QueueMessage>(line: &[u8]) -> Result<T, LineRefusal> {
    let text = checked_text::<T>(line)?;
    let message: T = T::from_json(text.as_bytes()).map_err(|error| explain::<T>(text, &error))?;
    if message.id().as_str().len() > SUBMISSION_ID_BYTES_MAX {
        let noun = T::NOUN;
        let problem = format!("{noun} id is longer than {SUBMISSION_ID_BYTES_MAX} bytes");
        return Err(LineRefusal::new(None, problem));
    }
    Ok(message)
}

/// The refusal of a line of which only the beginning is known.
pub(crate) fn too_long<T: QueueMessage>(head: &[u8], line_bytes_max: usize) -> LineRefusal {
    let problem = format!("{} is longer than {line_bytes_max} bytes", T::NOUN);
    LineRefusal::new(outline(head, T::BODY).id, problem)
}

fn checked_text<T: QueueMessage>(line: &[u8]) -> Result<&str, LineRefusal> {
    let noun = T::NOUN;
    let problem = if let Some(at) = memchr::memchr(0, line) {
        format!("{noun} contains a NUL byte at column {}", at + 1)
    } else {
        match std::str::from_utf8(line) {
            // Serde would also take a struct's fields as an array, in the order of our code.
            Ok(text) if !text.trim_ascii_start().starts_with('{') => {
                format!("{noun} is not a JSON object")
            }
            Ok(text) => return Ok(text),
            Err(error) => {
                format!("{noun} is not UTF-8 at column {}", error.valid_up_to() + 1)
            }
        }
    };
    Err(LineRefusal::new(outline(line, T::BODY).id, problem))
}

fn explain<T: QueueMessage>(text: &str, error: &serde_json::Error) -> LineRefusal {
    let noun = T::NOUN;
    let MessageOutline { id, kind } = outline(text.as_bytes(), T::BODY);
    let column = error.column();
    let problem = match error.classify() {
        Category::Data => match kind.and_then(known::unknown_type::<T::Body>) {
            Some(problem) => format!("{noun} has an {problem}"),
            None => explain_data::<T>(text, error),
        },
        _ if without_position(error).starts_with("recursion limit") => {
            format!("{noun} is nested too deeply at column {column}")
        }
        _ => format!(
            "{noun} is not JSON: {} at column {column}",
            without_position(error)
        ),
    };
    LineRefusal::new(id, problem)
}

/// Well-formed JSON, but not what the type asks for.
fn explain_data<T: QueueMessage>(text: &str, error: &serde_json::Error) -> String {
    let noun = T::NOUN;
    let blame = Some(text)
        .filter(|text| text.len() <= BLAME_LINE_BYTES_MAX)
        .and_then(|text| serde_json::from_str(text).ok())
        .and_then(locate_field::<T>);
    match blame {
        Some(blame) if !blame.path.is_empty() => {
            let path = shortened(blame.path, 128);
            format!("{noun} field `{path}`: {}", blame.complaint)
        }
        Some(blame) => format!("{noun}: {}", blame.complaint),
        None => format!("{noun}: {}", without_position(error)),
    }
}
