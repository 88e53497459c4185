use expect_test::expect_file;

use super::*;

#[test]
fn the_file_that_is_checked_in_is_that_of_the_routes() {
    let text = serde_json::to_string_pretty(&openapi()).unwrap() + "\n";
    expect_file!["../../openapi.json"].assert_eq(&text);
}

#[test]
fn every_route_is_described_with_its_parameters() {
    let document = openapi();
    for route in route_table() {
        let method = route.head.method.as_str().to_ascii_lowercase();
        let operation = &document["paths"][route.head.path][method];
        assert_eq!(operation["operationId"], route.head.operation);
        let described = operation["parameters"].as_array().into_iter().flatten();
        let in_path = described
            .filter(|parameter| parameter["in"] == "path")
            .count();
        assert_eq!(in_path, route.head.path.matches('{').count(), "{route:?}");
    }
}

#[test]
fn nothing_is_referred_to_that_is_not_there() {
    fn references(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Object(members) => {
                if let Some(Value::String(reference)) = members.get("$ref") {
                    found.push(reference.clone());
                }
                members
                    .values()
                    .for_each(|member| references(member, found));
            }
            Value::Array(items) => items.iter().for_each(|item| references(item, found)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    let document = openapi();
    let mut found = Vec::new();
    references(&document, &mut found);
    assert!(!found.is_empty());
    for reference in found {
        let place = reference.strip_prefix('#').unwrap();
        assert!(document.pointer(place).is_some(), "{reference}");
    }
}
