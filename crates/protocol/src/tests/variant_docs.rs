//! What is said about the variants of an enum, which `ts-rs` leaves out, from its JSON Schema.

use serde_json::{Map, Value};

/// Adds the descriptions of variants to the declaration of their type, one variant per line.
pub fn with_variant_docs(declaration: &str, schema: &Value) -> String {
    let variants = ["oneOf", "anyOf"].into_iter();
    let variants = variants.filter_map(|key| schema[key].as_array());
    let described: Vec<(String, &str)> = variants
        .flatten()
        .filter_map(|variant| {
            let properties = variant["properties"].as_object()?;
            Some((beginning(properties)?, variant["description"].as_str()?))
        })
        .collect();
    let mut lines = Vec::new();
    for line in declaration.lines() {
        let doc = described.iter().find(|(begins, _)| {
            let variant = line.strip_prefix("  | ");
            let first = || {
                line.strip_prefix("export ")?
                    .split_once(" = ")
                    .map(|it| it.1)
            };
            variant
                .or_else(first)
                .is_some_and(|it| it.starts_with(begins))
        });
        let Some((_, doc)) = doc else {
            lines.push(line.to_owned());
            continue;
        };
        let variant = match line.split_once(" = ") {
            Some((name, variant)) if line.starts_with("export ") => {
                lines.push(format!("{name} ="));
                format!("  | {variant}")
            }
            _ => line.to_owned(),
        };
        lines.push("  /**".to_owned());
        lines.extend(doc.lines().map(|text| format!("   * {text}")));
        lines.push("   */".to_owned());
        lines.push(variant);
    }
    lines.join("\n") + "\n"
}

/// Returns how a variant begins that is told from the others by one constant.
fn beginning(properties: &Map<String, Value>) -> Option<String> {
    let mut constants = properties.iter().filter_map(|(key, property)| {
        let constant = property["const"].as_str()?;
        Some(format!("{{ \"{key}\": \"{constant}\""))
    });
    constants.next()
}
