//! `docs/config.md`: every key, from the types that read it.

use std::fmt::Write as _;

use serde_json::Value;

const INTRODUCTION: &str = "\
# Configuration

<!-- Generated from the types by `cargo xtask codegen`. -->

Settings are read from these places; the later ones win:

1. the defaults below;
2. `$TROUPE_HOME/config.toml` (`~/.troupe/config.toml`);
3. `.troupe/config.toml` of a project that you trust (`troupe trust`), from its root down to the
   working directory;
4. the profile that is chosen with `--profile NAME`, or by the key `profile`;
5. the command line: `-c KEY=VALUE`, and options such as `--model` that stand for a key.

`troupe config` prints each setting with where it comes from. A key that nobody knows is told with the
nearest one that is known. Keys of providers are not settings: see `troupe login`.

";

/// What a key can be, and what it is for.
struct ReferenceRow {
    key: String,
    values: String,
    default: String,
    text: String,
}

/// Writes the page.
pub fn page(schema: &Value, defaults: &Value) -> String {
    let reader = SchemaReader { schema, defaults };
    let mut page = INTRODUCTION.to_owned();
    let keys = properties(schema);
    let plain = keys
        .iter()
        .filter(|(_, value)| reader.section(value).is_none());
    let rows: Vec<ReferenceRow> = plain.map(|(key, value)| reader.row(key, value)).collect();
    table(&mut page, &rows);
    for (key, value) in keys {
        if let Some((suffix, definition)) = reader.section(value) {
            let path = format!("{key}{suffix}");
            write!(page, "\n## `[{path}]`\n\n{}\n\n", text(value)).unwrap();
            if key == "profiles" {
                page.push_str("Any key of this page but `profile`, `profiles` and `projects`.\n");
                continue;
            }
            table(&mut page, &reader.rows(&path, definition));
        }
    }
    page
}

struct SchemaReader<'a> {
    schema: &'a Value,
    defaults: &'a Value,
}

impl<'a> SchemaReader<'a> {
    /// Returns what a key is a table of, and how the names in it follow: `.NAME` where they are
    /// the user's own.
    fn section(&self, value: &'a Value) -> Option<(&'static str, &'a Value)> {
        let of_names = value
            .get("additionalProperties")
            .filter(|it| it.is_object());
        let (suffix, value) = of_names.map_or(("", value), |it| (".NAME", it));
        let definition = self.resolved(value);
        (!properties(definition).is_empty()).then_some((suffix, definition))
    }

    fn resolved(&self, value: &'a Value) -> &'a Value {
        let alternatives = value.get("anyOf").and_then(Value::as_array);
        let named = alternatives.and_then(|it| it.iter().find(|one| one.get("$ref").is_some()));
        let reference = named.unwrap_or(value).get("$ref").and_then(Value::as_str);
        let pointer = reference.and_then(|it| it.strip_prefix('#'));
        pointer
            .and_then(|pointer| self.schema.pointer(pointer))
            .unwrap_or(value)
    }

    fn rows(&self, path: &str, definition: &'a Value) -> Vec<ReferenceRow> {
        let mut rows = Vec::new();
        let mut listed: Vec<&Value> = Vec::new();
        for (key, value) in properties(definition) {
            let key = format!("{path}.{key}");
            if let Some((suffix, below)) = self.section(value) {
                rows.extend(self.rows(&format!("{key}{suffix}"), below));
                continue;
            }
            rows.push(self.row(&key, value));
            // What several lists hold is said once.
            if let Some(item) = value.get("items").filter(|it| !listed.contains(it)) {
                listed.push(item);
                rows.extend(self.rows(&format!("{key}[]"), self.resolved(item)));
            }
        }
        rows
    }

    fn row(&self, key: &str, value: &'a Value) -> ReferenceRow {
        let definition = self.resolved(value);
        let mut meaning = text(value);
        if meaning.is_empty() {
            meaning = text(definition);
        }
        for (choice, about) in choices(definition) {
            if let Some(about) = about {
                write!(meaning, " `{choice}`: {about}").unwrap();
            }
        }
        ReferenceRow {
            key: key.to_owned(),
            values: self.values(value),
            default: self.default(key, value),
            text: meaning,
        }
    }

    fn values(&self, value: &'a Value) -> String {
        let definition = self.resolved(value);
        let choices = choices(definition);
        if !choices.is_empty() {
            let names: Vec<String> = choices.iter().map(|(it, _)| format!("`{it}`")).collect();
            return names.join(" ");
        }
        if let Some(item) = value.get("items") {
            return match self.resolved(item) {
                item if properties(item).is_empty() => format!("list of {}", self.values(item)),
                _ => "list of tables".to_owned(),
            };
        }
        if value.get("additionalProperties").is_some() {
            return "table".to_owned();
        }
        let kinds = match &definition["type"] {
            Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
            Value::String(kind) => vec![kind.as_str()],
            _ => self.alternatives(definition),
        };
        let kinds = kinds.into_iter().filter(|kind| *kind != "null");
        let mut kinds: Vec<&str> = kinds.map(in_words).collect();
        kinds.dedup();
        kinds.join(" or ")
    }

    fn alternatives(&self, definition: &'a Value) -> Vec<&'a str> {
        let alternatives = definition["anyOf"].as_array().into_iter().flatten();
        alternatives
            .filter_map(|it| self.resolved(it)["type"].as_str())
            .collect()
    }

    fn default(&self, key: &str, value: &Value) -> String {
        let pointer = format!("/{}", key.replace('.', "/"));
        let known = self.defaults.pointer(&pointer).or(value.get("default"));
        let known = known.filter(|it| !it.is_null() && **it != Value::String(String::new()));
        known.map_or_else(String::new, |it| format!("`{it}`"))
    }
}

fn in_words(kind: &str) -> &str {
    match kind {
        "string" => "text",
        "integer" | "number" => "number",
        "boolean" => "`true` `false`",
        "array" => "list",
        "object" => "table",
        other => other,
    }
}

/// The words that a key takes, with what they mean.
fn choices(definition: &Value) -> Vec<(&str, Option<String>)> {
    let mut found = Vec::new();
    let one_of = definition.get("oneOf").and_then(Value::as_array);
    let parts: Vec<&Value> = match one_of {
        Some(parts) => parts.iter().collect(),
        None => vec![definition],
    };
    for part in parts {
        let about = one_of.and(part.get("description")).map(|_| text(part));
        let several = part.get("enum").and_then(Value::as_array);
        let words = several.into_iter().flatten().chain(part.get("const"));
        found.extend(words.filter_map(|word| Some((word.as_str()?, about.clone()))));
    }
    found
}

fn properties(value: &Value) -> Vec<(&String, &Value)> {
    let properties = value.get("properties").and_then(Value::as_object);
    properties.into_iter().flatten().collect()
}

fn text(value: &Value) -> String {
    let text = value.get("description").and_then(Value::as_str);
    text.unwrap_or_default().replace('\n', " ")
}

fn table(page: &mut String, rows: &[ReferenceRow]) {
    page.push_str("| key | values | default | what it is |\n|---|---|---|---|\n");
    for row in rows {
        assert!(!row.text.trim().is_empty(), "{}: say what it is", row.key);
        let cells = [&row.values, &row.default, &row.text].map(|cell| cell.replace('|', "\\|"));
        let [values, default, text] = cells;
        writeln!(page, "| `{}` | {values} | {default} | {text} |", row.key).unwrap();
    }
}
