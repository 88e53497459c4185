use std::collections::BTreeSet;

use expect_test::expect;
use serde_json::{Value, json};
use troupe_protocol::event::{CodeLocation, LineRange, ReviewFinding, ReviewOutput};

use super::{all, find};
use crate::roles::{AgentRole, RoleName, RoleOrigin};

fn role(name: &str) -> std::sync::Arc<AgentRole> {
    find(&RoleName::parse(name).unwrap()).unwrap()
}

#[test]
fn every_embedded_role_is_understood() {
    let mut table = String::new();
    for role in all() {
        assert_eq!(role.origin, RoleOrigin::Embedded);
        let rights = if role.read_only {
            "read-only"
        } else {
            "inherited"
        };
        let spawns = if role.tools.allows("spawn_agent") {
            "spawns"
        } else {
            ""
        };
        let schema = if role.output_schema.is_some() {
            "schema"
        } else {
            ""
        };
        let line = format!("{:13} {rights:9} {spawns:6} {schema}", role.name.as_str());
        table.push_str(line.trim_end());
        table.push('\n');
    }
    expect![[r#"
        architect     inherited spawns
        default       inherited spawns
        explorer      read-only
        linter_fixer  inherited spawns
        mathematician inherited spawns
        orchestrator  inherited spawns
        reviewer      read-only        schema
        tester        inherited spawns
        worker        inherited
    "#]]
    .assert_eq(&table);
}

#[test]
fn those_who_do_not_delegate_have_no_tool_for_it() {
    for name in ["worker", "explorer", "reviewer"] {
        for tool in [
            "spawn_agent",
            "create_session",
            "subagent_spawn",
            "subagent_fork",
        ] {
            assert!(!role(name).tools.allows(tool), "{name} {tool}");
        }
        assert!(role(name).tools.allows("read_file"), "{name}");
    }
}

/// A session type says how to work, and some how hard to think. With which model is for the
/// parent, or for `agents.types`, to say.
#[test]
fn the_types_of_sessions_have_an_effort_and_no_model() {
    use troupe_protocol::policy::ReasoningEffort;
    for role in all() {
        let effort = match role.name.as_str() {
            "mathematician" => Some(ReasoningEffort::High),
            "tester" => Some(ReasoningEffort::Medium),
            "linter_fixer" => Some(ReasoningEffort::Low),
            _ => None,
        };
        assert_eq!(role.choice.reasoning_effort, effort, "{}", role.name);
        assert_eq!(role.choice.model, None, "{}", role.name);
    }
}

#[test]
fn prompts_are_short_and_end_with_what_to_report() {
    for role in all() {
        let lines = role.prompt.lines().count();
        assert!((10..=30).contains(&lines), "{}: {lines} lines", role.name);
        assert!(
            role.prompt.contains("Your last message is"),
            "{}",
            role.name
        );
    }
}

#[test]
fn a_review_that_the_protocol_can_carry_fits_the_reviewers_schema() {
    let reviewer = role("reviewer");
    let schema = reviewer.output_schema.as_ref().unwrap();
    let output = ReviewOutput {
        findings: vec![ReviewFinding {
            title: "Close the file".to_owned(),
            body: "It leaks when the read fails.".to_owned(),
            confidence_score: 0.75,
            priority: 1,
            code_location: CodeLocation {
                absolute_file_path: "/p/a.rs".into(),
                line_range: LineRange { start: 3, end: 4 },
            },
        }],
        overall_correctness: "patch is incorrect".to_owned(),
        overall_explanation: "It leaks.".to_owned(),
        overall_confidence_score: 0.5,
    };
    let mut value = serde_json::to_value(&output).unwrap();
    let validator = jsonschema::validator_for(schema).unwrap();
    validator.validate(&value).unwrap();
    value["findings"][0]["priority"] = json!(9);
    assert!(!validator.is_valid(&value));
}

/// Lists every key of a schema with where it stands, and whether it is required.
fn keys(schema: &Value, root: &Value, at: &str, found: &mut BTreeSet<String>) {
    let schema = match schema.get("$ref").and_then(Value::as_str) {
        Some(reference) => root.pointer(reference.trim_start_matches('#')).unwrap(),
        None => schema,
    };
    if let Some(items) = schema.get("items") {
        keys(items, root, &format!("{at}[]"), found);
    }
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Value::as_array)
        .map_or_else(Vec::new, |keys| {
            keys.iter().filter_map(Value::as_str).collect()
        });
    for (key, value) in schema
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
    {
        let mark = if required.contains(&key.as_str()) {
            ""
        } else {
            "?"
        };
        let at = format!("{at}.{key}{mark}");
        keys(value, root, &at, found);
        found.insert(at);
    }
}

#[test]
fn the_reviewers_schema_has_the_keys_of_the_protocol() {
    let protocol = schemars::schema_for!(ReviewOutput).to_value();
    let reviewer = role("reviewer");
    let ours = reviewer.output_schema.as_ref().unwrap();
    let mut expected = BTreeSet::new();
    let mut found = BTreeSet::new();
    keys(&protocol, &protocol, "", &mut expected);
    keys(ours, ours, "", &mut found);
    assert!(expected.contains(".findings[].code_location.line_range.start"));
    assert_eq!(found, expected);
}
