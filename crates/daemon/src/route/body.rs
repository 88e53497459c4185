//! Reads what a request brings: members are known by name, in snake case or in camel case, and one
//! that is not known is refused by its name.

use axum::extract::Query;
use http::{HeaderMap, StatusCode, Uri, header};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::problem::Problem;

/// The names of the members of one type, as its schema has them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KnownMembers {
    names: Vec<String>,
    /// Those of members that are objects of a known form.
    nested: Vec<(String, Vec<String>)>,
}

impl KnownMembers {
    pub(crate) fn of<T: JsonSchema>() -> Self {
        let mut settings = SchemaSettings::draft2020_12();
        settings.inline_subschemas = true;
        let schema = settings.into_generator().into_root_schema_for::<T>();
        let schema = schema.to_value();
        let nested = members(&schema).filter_map(|(name, member)| {
            let below = names(forms(member).find(|form| !form["properties"].is_null())?);
            Some((name.clone(), below))
        });
        Self {
            names: names(&schema),
            nested: nested.collect(),
        }
    }
}

/// Returns a schema, or those that it is one of.
fn forms(schema: &Value) -> impl Iterator<Item = &Value> {
    let choices = schema["anyOf"].as_array().into_iter().flatten();
    std::iter::once(schema).chain(choices)
}

fn members(schema: &Value) -> impl Iterator<Item = (&String, &Value)> {
    schema["properties"].as_object().into_iter().flatten()
}

fn names(schema: &Value) -> Vec<String> {
    members(schema).map(|(name, _)| name.clone()).collect()
}

pub(super) fn read_query<T: DeserializeOwned>(
    uri: &Uri,
    known: &KnownMembers,
) -> Result<T, Problem> {
    let pairs = uri.query().unwrap_or_default().split('&');
    for pair in pairs.filter(|pair| !pair.is_empty()) {
        let name = pair.split_once('=').map_or(pair, |(name, _)| name);
        if !known.names.iter().any(|known| known == name) {
            return Err(unknown("parameter", name, &known.names));
        }
    }
    match Query::try_from_uri(uri) {
        Ok(Query(query)) => Ok(query),
        Err(rejection) => Err(Problem::bad_request("bad_query", rejection.body_text())),
    }
}

pub(super) fn read_body<T: DeserializeOwned>(
    headers: &HeaderMap,
    bytes: &[u8],
    known: &KnownMembers,
) -> Result<T, Problem> {
    let value = if bytes.is_empty() {
        Value::Object(Map::new())
    } else {
        check_media(headers)?;
        serde_json::from_slice(bytes).map_err(|error| {
            Problem::bad_request("bad_json", format!("the body is not JSON: {error}"))
        })?
    };
    let Value::Object(members) = value else {
        return Err(Problem::bad_request(
            "bad_json",
            "the body must be a JSON object",
        ));
    };
    let mut members = in_snake_case(members, "", &known.names)?;
    for (name, below) in &known.nested {
        if let Some(Value::Object(nested)) = members.get_mut(name) {
            *nested = in_snake_case(std::mem::take(nested), &format!("{name}."), below)?;
        }
    }
    serde_path_to_error::deserialize(Value::Object(members)).map_err(|error| {
        let field = error.path().to_string();
        let problem = Problem::bad_request("bad_member", error.inner().to_string());
        match field.as_str() {
            "." => problem,
            _ => problem.field(field),
        }
    })
}

/// A page of somebody else's can send anything but this without being asked whether it may.
fn check_media(headers: &HeaderMap) -> Result<(), Problem> {
    let kind = headers.get(header::CONTENT_TYPE);
    let kind = kind
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    let media = kind.split(';').next().unwrap_or_default().trim();
    if media.eq_ignore_ascii_case("application/json") {
        return Ok(());
    }
    Err(Problem::new(
        StatusCode::UNSUPPORTED_MEDIA_TYPE,
        "bad_media_type",
        "send the body with Content-Type: application/json",
    )
    .field("Content-Type"))
}

/// Returns the members under their own names.
fn in_snake_case(
    members: Map<String, Value>,
    above: &str,
    known: &[String],
) -> Result<Map<String, Value>, Problem> {
    let mut read = Map::new();
    for (name, value) in members {
        let own = snake_case(&name);
        if !known.contains(&own) {
            return Err(unknown("member", &format!("{above}{name}"), known));
        }
        if read.insert(own, value).is_some() {
            let detail = format!("{above}{name} is given twice, in two spellings; give it once");
            return Err(Problem::bad_request("bad_member", detail).field(format!("{above}{name}")));
        }
    }
    Ok(read)
}

fn unknown(what: &str, name: &str, known: &[String]) -> Problem {
    let detail = format!("{name:?} is not a {what} of this request");
    Problem::bad_request("unknown_member", detail)
        .field(name)
        .allowed(known.iter().cloned())
}

fn snake_case(name: &str) -> String {
    let mut own = String::with_capacity(name.len() + 4);
    for letter in name.chars() {
        if letter.is_ascii_uppercase() {
            own.push('_');
        }
        own.push(letter.to_ascii_lowercase());
    }
    own
}

#[cfg(test)]
mod tests;
