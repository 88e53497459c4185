//! Arguments from types: the schema the model is offered, and errors that tell it what to
//! write instead.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use troupe_protocol::tool::ToolSpec;

use crate::call::ToolInvocation;
use crate::item;
use crate::tool::ToolOutput;

/// Describes a function tool whose arguments are a `T`. The doc comments of `T`'s fields are
/// the descriptions the model reads.
pub fn function<T: JsonSchema>(name: &str, description: &str) -> ToolSpec {
    let mut settings = SchemaSettings::draft2020_12();
    settings.inline_subschemas = true;
    settings.meta_schema = None;
    let schema = settings.into_generator().into_root_schema_for::<T>();
    let mut parameters = schema.to_value();
    tidy(&mut parameters);
    ToolSpec::Function {
        name: name.to_owned(),
        description: description.to_owned(),
        parameters: parameters.into(),
    }
}

/// Reads the call's arguments. What is wrong with them is shown as a failed call and answered
/// with the shape that was expected.
pub async fn parse<T: DeserializeOwned>(
    call: &ToolInvocation,
    spec: &ToolSpec,
) -> Result<T, ToolOutput> {
    match read(call.input.as_str()) {
        Ok(arguments) => Ok(arguments),
        Err(problem) => {
            let text = explain(spec, &problem);
            Err(item::failed(call, spec.name(), text).await)
        }
    }
}

fn read<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    let text = match text.trim() {
        // Some models leave the arguments out where none is required.
        "" => "{}",
        text => text,
    };
    if !text.starts_with('{') {
        return Err("the arguments are not a JSON object".to_owned());
    }
    let mut reader = serde_json::Deserializer::from_str(text);
    let arguments = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let path = error.path().to_string();
        let error = error.into_inner();
        if error.is_data() && path != "." {
            format!("field {path:?}: {}", without_position(&error))
        } else if error.is_data() {
            without_position(&error)
        } else {
            format!("the arguments are not valid JSON: {error}")
        }
    })?;
    reader
        .end()
        .map_err(|_| "the arguments go on after the end of the JSON object".to_owned())?;
    Ok(arguments)
}

/// The line and column of a value that is valid JSON but not what was asked for tell a model
/// nothing: its arguments are one line. Nor do the names of Rust's integers.
fn without_position(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let text = &text[..text.rfind(" at line ").unwrap_or(text.len())];
    for integer in ["usize", "u64", "u32"] {
        if let Some(problem) = text.strip_suffix(integer) {
            return format!("{problem}a whole number, 0 or more");
        }
    }
    text.to_owned()
}

fn explain(spec: &ToolSpec, problem: &str) -> String {
    let shape = match spec {
        ToolSpec::Function { parameters, .. } => shape(parameters),
        ToolSpec::Freeform { .. } => "{input: string}".to_owned(),
    };
    format!("{}: {problem}. Call it again with: {shape}", spec.name())
}

/// Removes from a schema what costs the model attention and tells it nothing.
fn tidy(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            object.remove("title");
            object.remove("format");
            if object.get("default").is_some_and(Value::is_null) {
                object.remove("default");
            }
            // An optional field may be left out; that it may also be null is no news.
            if let Some(Value::Array(kinds)) = object.get_mut("type") {
                kinds.retain(|kind| kind != "null");
                if let [kind] = kinds.as_slice() {
                    let kind = kind.clone();
                    object.insert("type".to_owned(), kind);
                }
            }
            if let Some(Value::Array(kinds)) = object.get_mut("enum") {
                kinds.retain(|kind| !kind.is_null());
            }
            if let Some(Value::Object(only)) = sole_alternative(object) {
                object.remove("anyOf");
                for (key, value) in only {
                    object.entry(key).or_insert(value);
                }
            }
            object.values_mut().for_each(tidy);
        }
        Value::Array(values) => values.iter_mut().for_each(tidy),
        _ => {}
    }
}

/// Returns the one branch of `anyOf: [T, null]`, the form of an optional compound type.
fn sole_alternative(object: &Map<String, Value>) -> Option<Value> {
    let alternatives = object.get("anyOf")?.as_array()?;
    let mut real = alternatives
        .iter()
        .filter(|one| one.get("type").is_none_or(|kind| kind != "null"));
    let only = real.next()?;
    real.next().is_none().then(|| only.clone())
}

/// Writes a schema the way a person would: `{path: string, limit?: integer}`.
fn shape(schema: &Value) -> String {
    if let Some(kinds) = schema.get("enum").and_then(Value::as_array) {
        let kinds: Vec<String> = kinds.iter().map(Value::to_string).collect();
        return kinds.join(" | ");
    }
    if let Some(one_of) = schema.get("oneOf").and_then(Value::as_array) {
        let kinds: Vec<String> = one_of.iter().map(shape).collect();
        return kinds.join(" | ");
    }
    if let Some(constant) = schema.get("const") {
        return constant.to_string();
    }
    match schema.get("type").and_then(Value::as_str) {
        Some("object") => object_shape(schema),
        Some("array") => format!("[{}]", schema.get("items").map_or_else(String::new, shape)),
        Some(kind) => kind.to_owned(),
        None => "any".to_owned(),
    }
}

fn object_shape(schema: &Value) -> String {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return "{}".to_owned();
    };
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let needed = required.iter().filter_map(|name| {
        let field = properties.get(*name)?;
        Some(format!("{name}: {}", shape(field)))
    });
    let optional = properties
        .iter()
        .filter(|(name, _)| !required.contains(&name.as_str()))
        .map(|(name, field)| format!("{name}?: {}", shape(field)));
    let fields: Vec<String> = needed.chain(optional).collect();
    format!("{{{}}}", fields.join(", "))
}

#[cfg(test)]
mod tests;
