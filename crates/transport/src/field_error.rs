//! Finds the field that a decoding error is about.
//!
//! Serde buffers the content of a tagged object before it decodes it, and the error no
//! longer knows where it happened: "expected a string", but which one? So we ask again:
//! the field without which the complaint changes is the one complained about. That costs
//! one decoding per field and is only done for small, bad messages.

use serde_json::Value;
use troupe_protocol::JsonCodec;

use crate::limits::BLAME_PROBES_MAX;

#[derive(Debug)]
pub(crate) struct FieldError {
    /// Such as `op.items[0].text`; empty when it is the message as a whole.
    pub path: String,
    pub complaint: String,
}

/// Returns `None` if there is nothing to complain about.
pub(crate) fn locate_field<T: JsonCodec>(mut message: Value) -> Option<FieldError> {
    let complaint = complaint::<T>(&message)?;
    let mut path = Vec::new();
    let mut probes_left = BLAME_PROBES_MAX;
    while let Some(step) = offending_step::<T>(&mut message, &path, &complaint, &mut probes_left) {
        path.push(step);
    }
    Some(FieldError {
        path: joined(&path),
        complaint,
    })
}

/// A way from a value to one of its children.
#[derive(Debug)]
enum PathStep {
    Key(String),
    Index(usize),
}

/// Returns the child of the value at `path` without which the complaint is another one.
fn offending_step<T: JsonCodec>(
    message: &mut Value,
    path: &[PathStep],
    before: &str,
    probes_left: &mut usize,
) -> Option<PathStep> {
    let steps = suspects(at(message, path), before, *probes_left);
    *probes_left -= steps.len();
    let mut missed = None;
    for step in steps {
        let taken = take(at(message, path), &step);
        let after = complaint::<T>(message);
        put_back(at(message, path), &step, taken);
        match after.as_deref() {
            Some(after) if after == before => {}
            // A field that must be there is missed when it is taken away, guilty or not.
            Some(after) if is_missed(&step, after) => missed = missed.or(Some(step)),
            _ => return Some(step),
        }
    }
    missed
}

fn is_missed(step: &PathStep, complaint: &str) -> bool {
    match step {
        PathStep::Key(key) => complaint.starts_with(&format!("missing field `{key}`")),
        PathStep::Index(_) => false,
    }
}

fn complaint<T: JsonCodec>(message: &Value) -> Option<String> {
    let text = message.to_string();
    T::from_json(text.as_bytes())
        .err()
        .map(|error| without_position(&error))
}

/// Returns the ways to the children that may be to blame.
fn suspects(parent: &Value, complaint: &str, count_max: usize) -> Vec<PathStep> {
    // A field can only be missing in something that has fields.
    let missing = complaint.starts_with("missing field");
    let suspected = |child: &Value| !missing || child.is_object() || child.is_array();
    match parent {
        // Without its `type` nothing of an object can be decoded: it would always look guilty.
        Value::Object(fields) => fields
            .iter()
            .filter(|(key, child)| *key != "type" && suspected(child))
            .take(count_max)
            .map(|(key, _)| PathStep::Key(key.clone()))
            .collect(),
        Value::Array(elements) => elements
            .iter()
            .enumerate()
            .filter(|(_, child)| suspected(child))
            .take(count_max)
            .map(|(index, _)| PathStep::Index(index))
            .collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    }
}

fn at<'a>(message: &'a mut Value, path: &[PathStep]) -> &'a mut Value {
    path.iter().fold(message, |parent, step| match step {
        PathStep::Key(key) => &mut parent[key.as_str()],
        PathStep::Index(index) => &mut parent[*index],
    })
}

fn take(parent: &mut Value, step: &PathStep) -> Value {
    match (parent, step) {
        (Value::Object(fields), PathStep::Key(key)) => fields.remove(key).unwrap_or_default(),
        (Value::Array(elements), PathStep::Index(index)) => elements.remove(*index),
        _ => unreachable!("a step is made from the kind of its parent"),
    }
}

fn put_back(parent: &mut Value, step: &PathStep, child: Value) {
    match (parent, step) {
        (Value::Object(fields), PathStep::Key(key)) => {
            fields.insert(key.clone(), child);
        }
        (Value::Array(elements), PathStep::Index(index)) => elements.insert(*index, child),
        _ => unreachable!("a step is made from the kind of its parent"),
    }
}

fn joined(path: &[PathStep]) -> String {
    path.iter().fold(String::new(), |so_far, step| match step {
        PathStep::Key(key) if so_far.is_empty() => key.clone(),
        PathStep::Key(key) => so_far + "." + key,
        PathStep::Index(index) => format!("{so_far}[{index}]"),
    })
}

/// The error without its position: every message is on line 1.
pub(crate) fn without_position(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let position = format!(" at line {} column {}", error.line(), error.column());
    match text.strip_suffix(&position) {
        Some(bare) => bare.to_owned(),
        None => text,
    }
}
