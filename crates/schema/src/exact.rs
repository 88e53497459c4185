//! Equality as schemas mean it: 1 is 1.0, and the order of keys says nothing.

use std::fmt::Write as _;

use serde_json::Value;

use super::number::ExactNumber;

/// Returns a text that is the same for equal values and for no others. It is JSON.
pub(super) fn text(value: &Value) -> String {
    let mut text = String::new();
    write(&mut text, value);
    text
}

fn write(text: &mut String, value: &Value) {
    match value {
        Value::Null | Value::Bool(_) | Value::String(_) => push(text, value),
        Value::Number(number) => match ExactNumber::of(number) {
            ExactNumber::Whole(whole) => push(text, whole),
            ExactNumber::Float(_) => push(text, number),
        },
        Value::Array(items) => {
            text.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                write(text, item);
            }
            text.push(']');
        }
        Value::Object(members) => {
            // The map keeps its keys sorted, unless another crate asks for the order of the
            // text.
            let mut members: Vec<(&String, &Value)> = members.iter().collect();
            members.sort_unstable_by_key(|(key, _)| *key);
            text.push('{');
            for (index, (key, value)) in members.into_iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                push(text, Value::from(key.as_str()));
                text.push(':');
                write(text, value);
            }
            text.push('}');
        }
    }
}

fn push(text: &mut String, part: impl std::fmt::Display) {
    write!(text, "{part}").expect("writing to a string does not fail");
}
