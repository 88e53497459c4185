//! Reading of JSON that others write: what is absent or of another kind is `None`.

use serde_json::Value;
use troupe_store::UnixMillis;

pub(crate) fn text<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key)?.as_str()
}

pub(crate) fn owned(value: &Value, key: &str) -> Option<String> {
    text(value, key).map(str::to_owned)
}

pub(crate) fn flag(value: &Value, key: &str) -> bool {
    value.get(key).and_then(Value::as_bool).unwrap_or_default()
}

pub(crate) fn time(value: &Value, key: &str) -> Option<UnixMillis> {
    text(value, key)?.parse().ok()
}

/// Returns the first line of a text, so far as it fits.
pub(crate) fn one_line(text: &str, chars_max: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    line.chars().take(chars_max).collect()
}
