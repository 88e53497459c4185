//! Model, effort and who is asked.

use expect_test::{Expect, expect};
use troupe_protocol::policy::ApprovalPolicy;
use troupe_protocol::policy::ReasoningEffort::{self, High, Low, Minimal};
use troupe_protocol::spawn::ApprovalRoute;

use super::example::{Offered, parent, persona, request, role};
use crate::rights::settle;
use crate::roles::{ModelPreference, RoleApprovals};
use crate::tree_access::ModelChoice;

fn models() -> Vec<ModelChoice> {
    let model = |name: &str, efforts: &[ReasoningEffort]| ModelChoice {
        name: name.to_owned(),
        efforts: efforts.to_vec(),
    };
    vec![
        model("deep", &[Low, High]),
        model("fast", &[Minimal, Low]),
        model("local", &[]),
    ]
}

fn says(model: Option<&str>, reasoning_effort: Option<ReasoningEffort>) -> ModelPreference {
    ModelPreference {
        model: model.map(str::to_owned),
        reasoning_effort,
    }
}

/// What the call, the persona and the role say, from a turn of `deep` with high effort.
fn chosen(levels: [ModelPreference; 3], models: Option<&[ModelChoice]>) -> String {
    let [of_call, of_persona, of_role] = levels;
    let mut request = request();
    request.turn.reasoning_effort = Some(High);
    request.model = of_call.model;
    request.reasoning_effort = of_call.reasoning_effort;
    let mut persona = persona();
    persona.choice = of_persona;
    let mut role = role();
    role.choice = of_role;
    match settle(
        &parent(),
        &role,
        Some(&persona),
        &request,
        &Offered::models(models),
    ) {
        Err(trouble) => trouble.to_string(),
        Ok(settled) => {
            let effort = settled.spec.reasoning_effort.map(ReasoningEffort::as_str);
            let mut lines = vec![format!("{} {effort:?}", settled.spec.model)];
            lines.extend(settled.why);
            lines.join("\n")
        }
    }
}

fn check(levels: [ModelPreference; 3], expected: Expect) {
    expected.assert_eq(&chosen(levels, Some(&models())));
}

#[test]
fn call_then_persona_then_role_then_the_turn() {
    let nothing = ModelPreference::default;
    check(
        [nothing(), nothing(), nothing()],
        expect![[r#"deep Some("high")"#]],
    );
    check(
        [
            says(Some("local"), Some(Low)),
            says(Some("fast"), Some(Minimal)),
            says(Some("fast"), Some(Minimal)),
        ],
        expect![[r#"local Some("low")"#]],
    );
    check(
        [
            nothing(),
            says(Some("fast"), None),
            says(Some("local"), Some(Low)),
        ],
        expect![[r#"
            fast Some("low")
            model fast: set by the persona
            reasoning effort low: set by the role"#]],
    );
}

#[test]
fn an_unknown_model_is_answered_with_the_known_ones() {
    let nothing = ModelPreference::default;
    check(
        [says(Some("huge"), None), nothing(), nothing()],
        expect!["Unknown model `huge` for spawn_agent. Available models: deep, fast, local"],
    );
    check(
        [nothing(), nothing(), says(Some("huge"), None)],
        expect!["Unknown model `huge` for spawn_agent. Available models: deep, fast, local"],
    );
}

#[test]
fn the_model_of_the_turn_needs_no_list() {
    let own = says(Some("deep"), None);
    let nothing = ModelPreference::default;
    expect![[r#"deep Some("high")"#]].assert_eq(&chosen([own, nothing(), nothing()], Some(&[])));
}

#[test]
fn while_models_load_only_a_named_one_has_to_wait() {
    let nothing = ModelPreference::default;
    expect!["Models are being updated; try spawn_agent again in a moment."].assert_eq(&chosen(
        [says(Some("fast"), None), nothing(), nothing()],
        None,
    ));
    expect![[r#"deep Some("low")"#]].assert_eq(&chosen(
        [says(Some("deep"), Some(Low)), nothing(), nothing()],
        None,
    ));
    expect![[r#"deep Some("low")"#]]
        .assert_eq(&chosen([says(None, Some(Low)), nothing(), nothing()], None));
}

#[test]
fn an_effort_that_the_model_does_not_take_is_refused_if_somebody_asked_for_it() {
    let nothing = ModelPreference::default;
    check(
        [says(Some("fast"), Some(High)), nothing(), nothing()],
        expect![
            "Reasoning effort `high` is not supported for model `fast`. Supported reasoning efforts: minimal, low"
        ],
    );
    check(
        [says(None, Some(Minimal)), nothing(), nothing()],
        expect![
            "Reasoning effort `minimal` is not supported for model `deep`. Supported reasoning efforts: low, high"
        ],
    );
    // Nobody asked for the turn's effort.
    check(
        [says(Some("fast"), None), nothing(), nothing()],
        expect![[r#"
        fast None
        reasoning effort is the model's own: fast does not take high, which this turn has"#]],
    );
    check(
        [says(Some("local"), None), nothing(), nothing()],
        expect![[r#"local Some("high")"#]],
    );
}

#[test]
fn who_is_asked() {
    let check = |asked, of_role, turn, expected: Expect| {
        let mut request = request();
        request.approvals = asked;
        request.turn.approval_policy = turn;
        let mut role = role();
        role.approvals = of_role;
        let settled = settle(&parent(), &role, None, &request, &Offered::default()).unwrap();
        let spec = settled.spec;
        let told = settled.why.join("; ");
        expected.assert_eq(&format!(
            "{:?} {:?} {told}",
            spec.approvals, spec.approval_policy
        ));
    };
    let turn = ApprovalPolicy::Untrusted;
    check(None, None, turn, expect!["Route Untrusted "]);
    check(
        None,
        Some(RoleApprovals::Parent),
        turn,
        expect!["Parent Untrusted "],
    );
    check(
        None,
        Some(RoleApprovals::Never),
        turn,
        expect!["Never Never nobody is asked for approval: the role worker says so"],
    );
    check(
        Some(ApprovalRoute::Route),
        Some(RoleApprovals::Never),
        turn,
        expect!["Never Never nobody is asked for approval: the role worker says so"],
    );
    check(
        Some(ApprovalRoute::Never),
        Some(RoleApprovals::Route),
        turn,
        expect!["Never Never "],
    );
    check(
        Some(ApprovalRoute::Parent),
        None,
        ApprovalPolicy::Never,
        expect!["Parent Never nobody is asked for approval: the policy of this turn is never"],
    );
}

#[test]
fn a_role_that_lets_nobody_be_asked_is_not_overridden() {
    let mut role = role();
    role.approvals = Some(RoleApprovals::Never);
    let of = |asked| {
        let mut request = request();
        request.approvals = asked;
        let settled = settle(&parent(), &role, None, &request, &Offered::default()).unwrap();
        let spec = settled.spec;
        assert_eq!(spec.approvals, ApprovalRoute::Never);
        assert_eq!(spec.approval_policy, ApprovalPolicy::Never);
        settled.why.join("\n")
    };
    let why = "nobody is asked for approval: the role worker says so";
    assert_eq!(of(Some(ApprovalRoute::Route)), why);
    assert_eq!(of(Some(ApprovalRoute::Parent)), why);
    assert_eq!(of(None), why);
    assert_eq!(of(Some(ApprovalRoute::Never)), "");
}
