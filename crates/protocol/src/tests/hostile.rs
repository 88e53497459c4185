//! Nothing that a peer writes makes reading panic.

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::history::ResponseItem;
use crate::rollout::RolloutRecord;
use crate::tests::{events, ops, records};
use crate::{Event, EventMsg, Op, Submission};

/// Reads the text as everything that crosses a boundary. What is read can be written, and
/// reads the same again.
fn read_as_everything(text: &str) {
    read_twice::<Submission>(text);
    read_twice::<Event>(text);
    read_twice::<Op>(text);
    read_twice::<EventMsg>(text);
    read_twice::<RolloutRecord>(text);
    read_twice::<ResponseItem>(text);
}

fn read_twice<T>(text: &str)
where
    T: serde::Serialize + serde::de::DeserializeOwned + PartialEq + std::fmt::Debug,
{
    if let Ok(value) = serde_json::from_str::<T>(text) {
        let written = serde_json::to_string(&value).unwrap();
        let again: T = serde_json::from_str(&written).unwrap();
        assert_eq!(again, value, "{written}");
    }
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        // Eighths survive being written and read without a rounding error.
        any::<i32>().prop_map(|eighths| Value::from(f64::from(eighths) / 8.0)),
        ".{0,8}".prop_map(Value::from),
        "(type|text|cli|user|completed|read-only)".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map("(type|id|op|msg|items|payload|[a-z]{1,3})", inner, 0..6)
                .prop_map(|fields| fields.into_iter().collect()),
        ]
    })
}

/// Replaces the value that a walk of `steps` ends at.
fn replace(target: &mut Value, steps: &[usize], by: Value) {
    let children = match target {
        Value::Object(fields) => fields.values_mut().collect::<Vec<_>>(),
        Value::Array(elements) => elements.iter_mut().collect(),
        _ => Vec::new(),
    };
    match steps {
        [step, rest @ ..] if !children.is_empty() => {
            let at = step % children.len();
            replace(children.into_iter().nth(at).unwrap(), rest, by);
        }
        _ => *target = by,
    }
}

proptest! {
    #[test]
    fn any_json_is_read_or_refused(value in any_json()) {
        read_as_everything(&value.to_string());
    }

    #[test]
    fn an_example_with_one_wrong_part_is_read_or_refused(
        line in prop::sample::select([ops::LINES, events::LINES, records::LINES].concat()),
        steps in prop::collection::vec(any::<usize>(), 1..4),
        by in any_json(),
    ) {
        let mut value: Value = serde_json::from_str(line).unwrap();
        replace(&mut value, &steps, by);
        read_as_everything(&value.to_string());
    }
}

#[test]
fn depth_and_odd_numbers_and_nul_are_read_or_refused() {
    let deep = "[".repeat(100_000);
    let deep_object = r#"{"a":"#.repeat(100_000);
    for content in [
        deep.as_str(),
        deep_object.as_str(),
        "1e999",
        "-0",
        "1E400",
        "0.1e-400",
        r#""\u0000""#,
        r#""\ud800""#,
        "\"\0\"",
    ] {
        read_as_everything(content);
        for field in ["items", "num_turns", "final_output_json_schema", "command"] {
            read_as_everything(&format!(
                r#"{{"type":"user_turn","items":[],"{field}":{content}}}"#
            ));
            read_as_everything(&format!(
                r#"{{"type":"thread_rollback","{field}":{content}}}"#
            ));
        }
        read_as_everything(&format!(
            r#"{{"type":"response_item","payload":{content}}}"#
        ));
    }
    let steer = json!({"type": "steer", "items": [{"type": "text", "text": "a\u{0}b"}]});
    assert!(
        serde_json::from_value::<Op>(steer).is_ok(),
        "an escaped NUL is text like any other"
    );
}
