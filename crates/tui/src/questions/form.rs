//! Forms of servers: what a person may type into one line.

use crate::text::append;
use serde_json::{Map, Value, json};
use troupe_protocol::mcp::ElicitationRequest;

pub(super) fn message(request: &Value) -> String {
    let text = request
        .get("message")
        .and_then(Value::as_str)
        .unwrap_or_default();
    text.lines().next().unwrap_or_default().to_owned()
}

pub(super) fn in_full(request: &ElicitationRequest) -> String {
    let form = &request.request;
    let mut text = format!(
        "the server {} asks:\n{}",
        request.server_name,
        form.get("message")
            .and_then(Value::as_str)
            .unwrap_or_default()
    );
    if let Some(url) = form.get("url").and_then(Value::as_str) {
        append(&mut text, format_args!("\nopen: {url}"));
    }
    for (name, schema) in fields(form) {
        let kind = schema
            .get("type")
            .and_then(Value::as_str)
            .unwrap_or("string");
        let about = schema
            .get("description")
            .and_then(Value::as_str)
            .unwrap_or_default();
        append(&mut text, format_args!("\n- {name} ({kind}) {about}"));
    }
    text
}

pub(super) fn takes_text(form: &Value) -> bool {
    !fields(form).is_empty()
}

/// Returns the content of a form from a line: the value of its only field, or all fields as
/// JSON. `None` if the line is neither.
pub(super) fn filled(form: &Value, line: &str) -> Option<Value> {
    let fields = fields(form);
    if let [(name, schema)] = &fields[..] {
        let value = match schema.get("type").and_then(Value::as_str) {
            Some("integer" | "number" | "boolean") => serde_json::from_str(line.trim()).ok()?,
            _ => Value::from(line),
        };
        return Some(json!({ (name.as_str()): value }));
    }
    let value: Map<String, Value> = serde_json::from_str(line).ok()?;
    Some(Value::Object(value))
}

fn fields(form: &Value) -> Vec<(String, Value)> {
    let fields = form
        .pointer("/requestedSchema/properties")
        .and_then(Value::as_object);
    let pairs = fields.into_iter().flatten();
    pairs
        .map(|(name, schema)| (name.clone(), schema.clone()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_fills_a_form() {
        let one = json!({"requestedSchema": {"properties": {"age": {"type": "integer"}}}});
        assert_eq!(filled(&one, " 7 "), Some(json!({"age": 7})));
        assert_eq!(filled(&one, "seven"), None);
        let two = json!({"requestedSchema": {"properties": {"a": {}, "b": {}}}});
        assert_eq!(
            filled(&two, r#"{"a":"x","b":"y"}"#),
            Some(json!({"a": "x", "b": "y"}))
        );
        assert!(!takes_text(&json!({"url": "https://example.org"})));
    }
}
