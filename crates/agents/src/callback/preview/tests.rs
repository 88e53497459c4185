use super::*;

fn with(template: &str) -> CallbackConfig {
    CallbackConfig {
        template: Some(template.to_owned()),
        include_original_prompt: true,
        ..CallbackConfig::default()
    }
}

#[test]
fn a_preview_says_what_a_parent_would_be_told() {
    let told = preview(&with("{{childPath}} {{status}}: {{lastAssistantMessage}}")).unwrap();
    let expected = CallbackPreview {
        completed: "/root/tests completed: All 212 tests pass.".to_owned(),
        failed: "/root/tests failed: All 212 tests pass.".to_owned(),
    };
    assert_eq!(told, expected);
}

#[test]
fn a_template_with_a_mistake_is_refused_with_its_place() {
    let fault = check(&with("one\n{{#if status}}two")).unwrap_err();
    assert!(fault.place.is_some(), "{fault:?}");
    assert!(fault.problem.contains("Handlebars"), "{fault:?}");
    let fault = check(&with("{{nosuch status}}")).unwrap_err();
    assert!(fault.problem.contains("cannot be rendered"), "{fault:?}");
}

#[test]
fn a_template_may_be_silent_about_one_kind_of_end_but_not_about_both() {
    let failed_only = with("{{#if (eq status 'failed')}}lost{{/if}}");
    let told = preview(&failed_only).unwrap();
    assert_eq!(told.failed, "lost");
    assert!(told.completed.contains("completed"), "{told:?}");
    assert_eq!(
        check(&with("  ")).unwrap_err().problem,
        "it renders nothing"
    );
}
