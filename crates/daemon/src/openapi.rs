//! The OpenAPI file, printed from the table of routes and the types that they name.

use schemars::generate::SchemaSettings;
use schemars::{Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

use crate::problem::Problem;
use crate::route::{ReplyMedia, Route, RouteScope};
use crate::route_table::route_table;
use crate::router::PREFIX;

/// Where schemas stand in the file.
const DEFINITIONS: &str = "/components/schemas";

/// Returns the description of all routes, for clients that are made from it.
pub fn openapi() -> Value {
    let mut settings = SchemaSettings::draft2020_12();
    settings.definitions_path = DEFINITIONS.into();
    settings.meta_schema = None;
    let mut generator = settings.into_generator();
    let problem = generator.subschema_for::<Problem>();
    let mut paths = Map::new();
    for route in route_table() {
        let operation = operation(&route, &mut generator, &problem);
        let path = paths.entry(route.head.path).or_insert_with(|| json!({}));
        path[route.head.method.as_str().to_ascii_lowercase()] = operation;
    }
    let schemas = generator.take_definitions(true);
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Troupe",
            "version": "1",
            "description": "Sessions of coding agents, their tasks and what waits for a person. \
                The same routes are there without the prefix. Members may also be written in camel \
                case; one that is not known is refused by name.",
        },
        "servers": [{"url": PREFIX}],
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": schemas,
        },
    })
}

fn operation(route: &Route, generator: &mut SchemaGenerator, problem: &Schema) -> Value {
    let head = &route.head;
    let answer = (route.answer)(generator);
    let media = match head.media {
        ReplyMedia::Json => "application/json",
        ReplyMedia::Events => "text/event-stream",
    };
    let mut parameters = path_parameters(head.path);
    parameters.extend(query_parameters(&resolved(
        (route.query)(generator),
        generator,
    )));
    let mut operation = json!({
        "operationId": head.operation,
        "summary": head.summary,
        "responses": {
            head.status.as_str(): {
                "description": head.status.canonical_reason().unwrap_or("Done"),
                "content": {media: {"schema": answer}},
            },
            "default": {
                "description": "What is wrong",
                "content": {"application/problem+json": {"schema": problem}},
            },
        },
    });
    if !parameters.is_empty() {
        operation["parameters"] = parameters.into();
    }
    if head.scope == RouteScope::Open {
        operation["security"] = json!([]);
    }
    let body = (route.body)(generator);
    let form = resolved(body.clone(), generator);
    if form["properties"].is_object() {
        operation["requestBody"] = json!({
            "required": form["required"].is_array(),
            "content": {"application/json": {"schema": body}},
        });
    }
    operation
}

fn path_parameters(path: &str) -> Vec<Value> {
    let names = path
        .split('{')
        .skip(1)
        .filter_map(|rest| rest.split('}').next());
    let parameter =
        |name| json!({"name": name, "in": "path", "required": true, "schema": {"type": "string"}});
    names.map(parameter).collect()
}

fn query_parameters(form: &Value) -> Vec<Value> {
    let members = form["properties"].as_object().into_iter().flatten();
    let is_required = |name: &str| {
        let required = form["required"].as_array().into_iter().flatten();
        required.into_iter().any(|known| known == name)
    };
    let parameter = |(name, schema): (&String, &Value)| json!({"name": name, "in": "query", "required": is_required(name), "schema": schema});
    members.map(parameter).collect()
}

/// Returns what a schema refers to.
fn resolved(schema: Schema, generator: &SchemaGenerator) -> Value {
    let schema = schema.to_value();
    let name = schema["$ref"].as_str().and_then(|at| at.rsplit('/').next());
    match name.and_then(|name| generator.definitions().get(name)) {
        Some(definition) => definition.clone(),
        None => schema,
    }
}

#[cfg(test)]
mod tests;
