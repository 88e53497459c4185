use agent_client_protocol_schema::v1::SessionConfigOptionValue;
use expect_test::expect;
use troupe_protocol::catalogue::ModelEntry;
use troupe_protocol::policy::ReasoningEffort;
use troupe_protocol::session::TurnContext;

use super::SessionChoices;

fn choices() -> SessionChoices {
    let thinker = ModelEntry {
        efforts: vec![ReasoningEffort::Low, ReasoningEffort::High],
        ..ModelEntry::named("thinker")
    };
    let context: TurnContext = serde_json::from_value(serde_json::json!({
        "cwd": "/repo", "approval_policy": "on-request", "model": "thinker", "effort": "high",
        "sandbox_policy": {"type": "read-only"},
    }))
    .unwrap();
    SessionChoices {
        models: vec![thinker, ModelEntry::named("talker")],
        context,
    }
}

#[test]
fn what_can_be_chosen_has_names_and_says_what_is_chosen() {
    let options = serde_json::to_value(choices().options()).unwrap();
    let shown = options.as_array().unwrap().iter().map(|option| {
        let values = option["options"].as_array().unwrap().iter();
        let values: Vec<&str> = values.map(|it| it["value"].as_str().unwrap()).collect();
        format!(
            "{} ({}) = {} of {}\n",
            option["id"].as_str().unwrap(),
            option["category"].as_str().unwrap(),
            option["currentValue"].as_str().unwrap(),
            values.join(", ")
        )
    });
    expect![[r#"
        mode (mode) = default of default, plan
        model (model) = thinker of thinker, talker
        effort (thought_level) = high of default, low, high
        approvals (_approvals) = on-request of untrusted, on-failure, on-request, never
    "#]]
    .assert_eq(&shown.collect::<String>());
}

#[test]
fn a_model_that_does_not_reason_has_no_efforts() {
    let mut choices = choices();
    choices.context.model = "talker".to_owned();
    let options = choices.options();
    assert!(options.iter().all(|option| &*option.id.0 != "effort"));
}

#[test]
fn a_choice_changes_what_it_says_and_nothing_else() {
    let choose = |option: &str, value: &str| {
        let overrides = choices().overrides(
            option,
            &SessionConfigOptionValue::value_id(value.to_owned()),
        );
        overrides.map(|overrides| serde_json::to_string(&overrides).unwrap())
    };
    let check = |option, value, expected: &str| {
        let chosen = choose(option, value).unwrap_or_else(|problem| problem);
        assert_eq!(chosen, expected);
    };
    check("effort", "low", r#"{"effort":"low"}"#);
    check("effort", "default", r#"{"effort":null}"#);
    check("approvals", "never", r#"{"approval_policy":"never"}"#);
    check("mode", "plan", r#"{"collaboration_mode":"plan"}"#);
    // It takes no effort, and the session has one.
    check("model", "talker", r#"{"model":"talker","effort":null}"#);
    check("model", "thinker", r#"{"model":"thinker"}"#);
    check(
        "model",
        "x",
        "value: model has no \"x\"; known are thinker, talker",
    );
    check(
        "effort",
        "max",
        "value: effort has no \"max\"; known are default, low, high",
    );
    check(
        "colour",
        "red",
        "configId: there is no option \"colour\"; known are mode, model, effort, approvals",
    );
    let problem = choices().overrides("model", &SessionConfigOptionValue::boolean(true));
    assert!(problem.unwrap_err().contains("by its id"));
}
