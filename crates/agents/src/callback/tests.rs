use std::collections::BTreeMap;

use expect_test::{Expect, expect};
use troupe_protocol::result::{Evidence, StopReason, TaskResult};
use troupe_protocol::{AgentId, SessionId, SubmissionId};
use uuid::Uuid;

use super::context::EndedChild;
use super::*;

fn context(stop: StopReason, last_message: &str) -> CallbackContext {
    let result = TaskResult {
        session_id: SessionId(Uuid::from_u128(0x4a7b_3c2d_0000_4000_8000_0000_0000_0001)),
        task_id: SubmissionId("019a2b3c-task".to_owned()),
        stop,
        last_message: Some(last_message.to_owned()).filter(|text| !text.is_empty()),
        output: None,
        evidence: Evidence {
            ended_at_ms: 1_763_251_200_000,
            messages: 3,
            tool_calls: BTreeMap::from([("shell_command".to_owned(), 4), ("grep".to_owned(), 1)]),
            ..Evidence::default()
        },
    };
    let child = EndedChild {
        agent: AgentId(3),
        path: "/root/tester",
        parent: SessionId(Uuid::from_u128(0xbeef_0000_0000_4000_8000_0000_0000_0002)),
        prompt: Some("Run the test suite\n  and fix failures"),
    };
    CallbackContext::of(child, &result)
}

fn completed() -> CallbackContext {
    context(StopReason::Completed, "All 12 tests pass.")
}

fn with_template(template: &str) -> CallbackConfig {
    CallbackConfig {
        include_original_prompt: true,
        template: Some(template.to_owned()),
        ..CallbackConfig::default()
    }
}

fn check(config: &CallbackConfig, context: CallbackContext, expected: Expect) {
    let RenderedCallback { text, warning } = render(config, &context);
    let told = match warning {
        None => text,
        Some(warning) => format!("{text}\n--- {warning}"),
    };
    expected.assert_eq(&told);
}

/// The template's own text, or only the warning: then the default was sent.
fn check_template(template: &str, expected: Expect) {
    let config = with_template(template);
    let rendered = render(&config, &completed());
    let told = match rendered.warning {
        None => rendered.text,
        Some(warning) => {
            let without = CallbackConfig {
                template: None,
                ..config
            };
            assert_eq!(rendered.text, render(&without, &completed()).text);
            without_frame(&warning)
        }
    };
    expected.assert_eq(&told);
}

fn without_frame(warning: &str) -> String {
    let from =
        "the callback template of session beef0000-0000-4000-8000-000000000002 is not used: ";
    let problem = warning.strip_prefix(from).unwrap();
    let to = "; the default text was sent instead";
    format!("not used: {}", problem.strip_suffix(to).unwrap())
}

#[test]
fn default_text_of_a_completed_task() {
    check(
        &CallbackConfig::default(),
        completed(),
        expect![[r#"
        [Troupe] Child session 4a7b3c2d has completed.

        **Agent:** /root/tester (number 3)
        **Status:** completed
        **Stats:** 3 messages, 5 tool uses

        **Result:**
        All 12 tests pass.

        Use `agent_result` (id: "4a7b3c2d-0000-4000-8000-000000000001", task_id: "019a2b3c-task") for details."#]],
    );
}

#[test]
fn default_text_of_a_failed_task() {
    let failed = StopReason::Errored {
        message: "the model refused\nthe request".to_owned(),
        info: None,
    };
    check(
        &CallbackConfig::default(),
        context(failed, ""),
        expect![[r#"
            [Troupe] Child session 4a7b3c2d has failed.

            **Agent:** /root/tester (number 3)
            **Status:** failed
            **Reason:** the model refused the request
            **Stats:** 3 messages, 5 tool uses

            Investigate with `agent_result` (id: "4a7b3c2d-0000-4000-8000-000000000001", task_id: "019a2b3c-task")."#]],
    );
}

#[test]
fn prompt_and_last_message_are_told_as_configured() {
    let config = CallbackConfig {
        include_last_message: false,
        include_original_prompt: true,
        ..CallbackConfig::default()
    };
    check(
        &config,
        completed(),
        expect![[r#"
        [Troupe] Child session 4a7b3c2d has completed.

        **Agent:** /root/tester (number 3)
        **Task:** Run the test suite and fix failures
        **Status:** completed
        **Stats:** 3 messages, 5 tool uses

        Use `agent_result` (id: "4a7b3c2d-0000-4000-8000-000000000001", task_id: "019a2b3c-task") for details."#]],
    );
    let neither = CallbackConfig {
        include_last_message: false,
        template: Some("{{spawnPrompt}}|{{lastAssistantMessage}}|".to_owned()),
        ..CallbackConfig::default()
    };
    check(&neither, completed(), expect!["||"]);
}

#[test]
fn each_end_has_its_words() {
    let template = with_template("{{status}} {{stopReason}}: {{exitSummary}}");
    let check = |stop, expected| check(&template, context(stop, "half"), expected);
    check(StopReason::Completed, expect!["completed completed:"]);
    check(
        StopReason::FailedToStart {
            message: "no such model".to_owned(),
        },
        expect!["failed failed_to_start: no such model"],
    );
    check(
        StopReason::OutputInvalid {
            message: "not JSON".to_owned(),
        },
        expect!["failed output_invalid: not JSON"],
    );
    check(
        StopReason::Interrupted,
        expect!["interrupted interrupted: it was interrupted"],
    );
    check(
        StopReason::Cancelled {
            note: Some("no longer needed".to_owned()),
        },
        expect!["interrupted cancelled: it was cancelled: no longer needed"],
    );
    check(
        StopReason::BudgetExceeded,
        expect!["budget_exceeded budget_exceeded: it used up its budget"],
    );
}

#[test]
fn default_text_of_a_stopped_task_keeps_what_there_is() {
    check(
        &CallbackConfig::default(),
        context(StopReason::BudgetExceeded, "Half of the files are done."),
        expect![[r#"
            [Troupe] Child session 4a7b3c2d has exceeded its budget.

            **Agent:** /root/tester (number 3)
            **Status:** budget_exceeded
            **Reason:** it used up its budget
            **Stats:** 3 messages, 5 tool uses

            **Result:**
            Half of the files are done.

            Investigate with `agent_result` (id: "4a7b3c2d-0000-4000-8000-000000000001", task_id: "019a2b3c-task")."#]],
    );
}

#[test]
fn a_template_of_the_target_speaks() {
    check_template(
        "{{childSessionId}} {{childTaskId}} {{childPath}} #{{childAgentId}} at {{completedAt}}: \
         {{messageCount}}/{{toolUseCount}} {{spawnPrompt}}",
        expect![
            "4a7b3c2d 019a2b3c /root/tester #3 at 2025-11-16T00:00:00.000Z: 3/5 Run the test suite and fix failures"
        ],
    );
    check_template(
        "{{childSessionFullId}} {{childTaskFullId}} {{parentSessionId}}",
        expect![
            "4a7b3c2d-0000-4000-8000-000000000001 019a2b3c-task beef0000-0000-4000-8000-000000000002"
        ],
    );
    check_template(
        "{{#if (eq status 'completed')}}done{{else}}not done{{/if}}{{#unless exitSummary}}!{{/unless}}",
        expect!["done!"],
    );
    check_template(
        "{{{lastAssistantMessage}}} {{lookup this \"status\"}} {{noSuchValue}}.",
        expect!["All 12 tests pass. completed ."],
    );
}

#[test]
fn nothing_is_escaped_and_values_are_no_templates() {
    let config = with_template("{{lastAssistantMessage}}");
    let last = "<b>{{status}}</b> & {{> callback}} {{#each this}}";
    check(
        &config,
        context(StopReason::Completed, last),
        expect!["<b>{{status}}</b> & {{> callback}} {{#each this}}"],
    );
    let text = render(
        &CallbackConfig::default(),
        &context(StopReason::Completed, last),
    )
    .text;
    assert!(text.contains(last), "{text}");
}

#[test]
fn helpers_that_only_exist_here_hide_no_values() {
    check_template("{{len}}{{raw}}{{and}}-", expect!["-"]);
}

#[test]
fn a_broken_template_is_replaced_and_reported() {
    check_template(
        "{{#if status}}never closed",
        expect!["not used: it is not readable as Handlebars at line 1, column 27"],
    );
    check_template(
        "{{/if}}",
        expect!["not used: it is not readable as Handlebars at line 1, column 3"],
    );
    check_template(
        "{{shout status}}",
        expect!["not used: it cannot be rendered at line 1, column 1: Helper not found shout"],
    );
    check_template(
        "{{#status}}a block{{/status}}",
        expect!["not used: it cannot be rendered at line 1, column 1: Helper not found status"],
    );
}

#[test]
fn an_empty_rendering_is_replaced_and_reported() {
    check_template("", expect!["not used: it renders nothing"]);
    check_template(
        " \n{{#if exitSummary}}failed{{/if}}\n",
        expect!["not used: it renders nothing"],
    );
}

#[test]
fn a_template_cannot_run_for_ever() {
    check_template(
        "{{> callback}}",
        expect!["not used: it uses partials or decorators, which callbacks do not have"],
    );
    check_template(
        "{{#*inline \"a\"}}{{> b}}{{/inline}}{{#*inline \"b\"}}{{> a}}{{/inline}}{{> a}}",
        expect!["not used: it uses partials or decorators, which callbacks do not have"],
    );
    check_template(
        "{{#if status}}x{{else}}{{#if status}}{{> callback}}{{/if}}{{/if}}",
        expect!["not used: it uses partials or decorators, which callbacks do not have"],
    );
    let nested = "{{#each @root}}".repeat(8) + &"{{/each}}".repeat(8);
    check_template(
        &nested,
        expect!["not used: it cannot be rendered at line 1, column 1: Helper not found each"],
    );
}

#[test]
fn a_template_is_bounded_before_it_is_parsed() {
    let blocks = "{{#if status}}".repeat(5_000) + "x" + &"{{/if}}".repeat(5_000);
    check_template(&blocks, expect!["not used: it is longer than 16384 bytes"]);
    let blocks = "{{#if status}}".repeat(500) + "x" + &"{{/if}}".repeat(500);
    check_template(
        &blocks,
        expect!["not used: it has more than 160 opening brackets, each tag counted as two"],
    );
    let calls = format!(
        "{{{{#if {}1{}}}}}x{{{{/if}}}}",
        "(eq ".repeat(2_000),
        " 1)".repeat(2_000)
    );
    check_template(
        &calls,
        expect!["not used: it has more than 160 opening brackets, each tag counted as two"],
    );
}

/// The deepest template that is let through must fit the stack of a worker thread.
#[test]
fn the_deepest_template_does_not_exhaust_the_stack() {
    let openers_left = OPENERS_MAX - 4;
    let depth = openers_left;
    let calls = format!(
        "{{{{#if {}1{}}}}}x{{{{/if}}}}",
        "(eq ".repeat(depth),
        " 1)".repeat(depth)
    );
    let depth = OPENERS_MAX / 4;
    let blocks = "{{#if status}}".repeat(depth) + "deep" + &"{{/if}}".repeat(depth);
    let small = std::thread::Builder::new().stack_size(2 * 1024 * 1024);
    let rendered = small.spawn(move || {
        [calls, blocks].map(|template| custom(&template, &completed()).map_err(|e| e.to_string()))
    });
    let [calls, blocks] = rendered.unwrap().join().unwrap();
    assert_eq!(calls, Err("it renders nothing".to_owned()));
    assert_eq!(blocks, Ok("deep".to_owned()));
}

#[test]
fn what_a_template_renders_is_bounded() {
    let long = "x".repeat(30 * 1024);
    let config = with_template("{{lastAssistantMessage}}{{lastAssistantMessage}}");
    let rendered = render(&config, &context(StopReason::Completed, &long));
    assert_eq!(rendered.text.len(), 60 * 1024);
    let config = with_template(&"{{lastAssistantMessage}}".repeat(3));
    let rendered = render(&config, &context(StopReason::Completed, &long));
    expect!["not used: what it renders is longer than 65536 bytes"]
        .assert_eq(&without_frame(&rendered.warning.unwrap()));
}

#[test]
fn long_values_are_cut_and_say_so() {
    let long = "ü".repeat(20 * 1024);
    let message = context(StopReason::Completed, &long)
        .last_assistant_message
        .unwrap();
    expect!["… (8192 more bytes are in the result)"].assert_eq(message.trim_start_matches('ü'));
    let result = TaskResult {
        session_id: SessionId(Uuid::nil()),
        task_id: SubmissionId("task".to_owned()),
        stop: StopReason::Completed,
        last_message: None,
        output: None,
        evidence: Evidence::default(),
    };
    let prompt = "fix  the\nbuild ".repeat(20);
    let child = EndedChild {
        agent: AgentId(1),
        path: "/root/agent",
        parent: SessionId(Uuid::nil()),
        prompt: Some(&prompt),
    };
    let told = CallbackContext::of(child, &result).spawn_prompt.unwrap();
    assert_eq!(told.chars().count(), 120);
    expect!["fix the build fix the build fix the build fix the build fix the build fix the build fix the build fix the build fix the…"].assert_eq(&told);
}
