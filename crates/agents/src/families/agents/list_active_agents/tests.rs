use expect_test::expect;
use serde_json::json;
use troupe_engine::ActivityKind;
use troupe_tree::status::CurrentStatus;

use super::*;
use crate::families::example;

#[test]
fn a_line_has_the_agent_and_how_it_gets_on() {
    let mut busy = example::view(2, CurrentStatus::Running);
    busy.note = Some("counts".to_owned());
    busy.pulse = Some(example::pulse(ActivityKind::Tools(vec![
        "shell_command".to_owned(),
    ])));
    example::check(
        line(&busy, TreePlace::Left),
        expect![[r#"
            {
              "thread_id": "00000000-0000-4000-8000-000000000002",
              "agent_number": 2,
              "path": "/root/worker_2",
              "thread_name": "worker_2",
              "thread_note": "counts",
              "agent_type": "worker",
              "model": "deep",
              "reasoning_effort": "high",
              "status": "running",
              "status_duration_sec": 60,
              "waiting_on": "tool",
              "current_tool": "shell_command",
              "last_progress_sec": 7,
              "pending_messages": 0,
              "updated_at": "2026-11-16T09:59:53.000Z",
              "tokens": {
                "own": 1000,
                "subtree": 3000
              }
            }"#]],
    );
}

#[test]
fn a_name_that_was_given_comes_before_the_one_of_the_path() {
    let mut renamed = example::view(2, CurrentStatus::Running);
    renamed.name = Some("The Scout".to_owned());
    let told = line(&renamed, TreePlace::Left);
    assert_eq!(told["thread_name"], "The Scout");
}

#[test]
fn the_place_in_the_tree_is_told_on_request() {
    let done = example::view(2, CurrentStatus::Completed);
    example::check(
        line(&done, TreePlace::Told),
        expect![[r#"
            {
              "thread_id": "00000000-0000-4000-8000-000000000002",
              "agent_number": 2,
              "path": "/root/worker_2",
              "thread_name": "worker_2",
              "agent_type": "worker",
              "model": "deep",
              "reasoning_effort": "high",
              "status": {
                "completed": null
              },
              "status_duration_sec": 60,
              "pending_messages": 0,
              "updated_at": "2026-11-16T09:59:00.000Z",
              "tokens": {
                "own": 1000,
                "subtree": 3000
              },
              "parent_thread_id": "00000000-0000-4000-8000-000000000000",
              "depth": 1
            }"#]],
    );
}

#[test]
fn the_root_is_not_among_the_agents() {
    let root = example::view(0, CurrentStatus::Running);
    example::check(
        described(&[root], TreePlace::Told),
        expect![[r#"
        {
          "agents": []
        }"#]],
    );
}

#[test]
fn scopes_have_the_names_that_models_know() {
    let check = |scope: Value, expected: expect_test::Expect| {
        let found = serde_json::from_value::<ListActiveAgentsArguments>(json!({ "scope": scope }));
        expected.assert_eq(&match found {
            Ok(arguments) => format!("{:?}", tree_access::AgentScope::from(arguments.scope)),
            Err(error) => error.to_string(),
        });
    };
    check(json!("children"), expect!["Children"]);
    check(json!("descendants"), expect!["Descendants"]);
    check(json!("all"), expect!["All"]);
    check(
        json!("mine"),
        expect!["unknown variant `mine`, expected one of `children`, `descendants`, `all`"],
    );
}
