//! The part of JSON Schema that our types are described with, as shapes that can be printed.

use anyhow::{Context as _, Result, bail};
use serde_json::{Map, Value};

/// A type with a name.
pub struct Declaration {
    pub name: String,
    pub doc: Option<String>,
    pub shape: Shape,
}

pub enum Shape {
    Any,
    Null,
    Boolean,
    Integer,
    Number,
    String,
    Literal(String),
    List(Box<Shape>),
    Map(Box<Shape>),
    Named(String),
    Record(Record),
    Union(Vec<Shape>),
}

pub struct Record {
    pub fields: Vec<Field>,
    pub others: Others,
}

/// Whether a record may have fields that are not named.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Others {
    Unnamed,
    Named,
}

pub struct Field {
    pub name: String,
    pub doc: Option<String>,
    pub shape: Shape,
    pub presence: Presence,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    Required,
    Optional,
}

/// Reads every type of a document, by name.
pub fn read(document: &str) -> Result<Vec<Declaration>> {
    let document: Value = serde_json::from_str(document)?;
    let defs = document["$defs"]
        .as_object()
        .context("there are no $defs")?;
    let mut declarations = Vec::new();
    for (name, schema) in defs {
        declarations.push(Declaration {
            name: name.clone(),
            doc: doc(schema),
            shape: shape(schema).with_context(|| name.clone())?,
        });
    }
    declarations.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(declarations)
}

fn doc(schema: &Value) -> Option<String> {
    schema["description"].as_str().map(str::to_owned)
}

fn shape(schema: &Value) -> Result<Shape> {
    let Value::Object(keys) = schema else {
        // `true` allows everything; a type that allows nothing has no values to describe.
        return Ok(Shape::Any);
    };
    if let Some(target) = keys.get("$ref").and_then(Value::as_str) {
        let name = target.strip_prefix("#/$defs/");
        let name = name.with_context(|| format!("a reference to {target}"))?;
        return Ok(Shape::Named(name.to_owned()));
    }
    if let Some(value) = keys.get("const") {
        return literal(value);
    }
    if let Some(Value::Array(values)) = keys.get("enum") {
        return union(values.iter().map(literal));
    }
    if let Some(Value::Array(variants)) = keys.get("oneOf").or_else(|| keys.get("anyOf")) {
        return union(variants.iter().map(shape));
    }
    match keys.get("type") {
        None => Ok(Shape::Any),
        Some(Value::String(kind)) => of_kind(kind, keys),
        Some(Value::Array(kinds)) => union(kinds.iter().map(|kind| match kind {
            Value::String(kind) => of_kind(kind, keys),
            other => bail!("a type called {other}"),
        })),
        Some(other) => bail!("a type called {other}"),
    }
}

fn literal(value: &Value) -> Result<Shape> {
    match value {
        Value::String(text) => Ok(Shape::Literal(text.clone())),
        other => bail!("the constant {other}, which is no text"),
    }
}

/// A union of one is that one.
fn union(shapes: impl Iterator<Item = Result<Shape>>) -> Result<Shape> {
    let mut shapes: Vec<Shape> = shapes.collect::<Result<_>>()?;
    Ok(match (shapes.pop(), shapes.is_empty()) {
        (Some(only), true) => only,
        (last, _) => {
            shapes.extend(last);
            Shape::Union(shapes)
        }
    })
}

fn of_kind(kind: &str, keys: &Map<String, Value>) -> Result<Shape> {
    Ok(match kind {
        "null" => Shape::Null,
        "boolean" => Shape::Boolean,
        "integer" => Shape::Integer,
        "number" => Shape::Number,
        "string" => Shape::String,
        "array" => Shape::List(Box::new(match keys.get("items") {
            Some(items) => shape(items)?,
            None => Shape::Any,
        })),
        "object" => object(keys)?,
        other => bail!("a type called {other}"),
    })
}

fn object(keys: &Map<String, Value>) -> Result<Shape> {
    let others = keys.get("additionalProperties");
    let Some(Value::Object(properties)) = keys.get("properties") else {
        return Ok(match others {
            Some(values) => Shape::Map(Box::new(shape(values)?)),
            None => Shape::Record(Record {
                fields: Vec::new(),
                others: Others::Named,
            }),
        });
    };
    let required = keys.get("required").and_then(Value::as_array);
    let is_required = |name: &str| required.is_some_and(|all| all.iter().any(|it| it == name));
    let mut fields = Vec::new();
    for (name, schema) in properties {
        fields.push(Field {
            name: name.clone(),
            doc: doc(schema),
            shape: shape(schema).with_context(|| format!("field {name}"))?,
            presence: if is_required(name) {
                Presence::Required
            } else {
                Presence::Optional
            },
        });
    }
    let others = match others {
        Some(Value::Bool(true)) => Others::Unnamed,
        _ => Others::Named,
    };
    Ok(Shape::Record(Record { fields, others }))
}
