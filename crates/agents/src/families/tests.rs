use std::ptr;

use expect_test::expect;
use serde_json::Value;
use troupe_protocol::tool::ToolSpec;

use super::*;
use crate::rights::program::TREE_TOOLS;

fn names(families: &[Family]) -> String {
    let tools = example::tools(families);
    let names: Vec<&str> = tools.iter().map(|tool| tool.spec().name()).collect();
    names.join(" ")
}

#[test]
fn families_come_once_and_in_one_order() {
    use Family::{Agents, Sessions, Subagents};
    expect!["spawn_agent send_input wait agent_result cancel_agent close_agent resume_agent list_agents list_active_agents set_thread_note"].assert_eq(&names(&[Agents]));
    expect!["create_session wait_session cancel_session agent_result"]
        .assert_eq(&names(&[Sessions]));
    expect!["subagent_spawn subagent_fork subagent_send_message subagent_list subagent_await subagent_watchdog subagent_prune subagent_logs subagent_cancel agent_result"].assert_eq(&names(&[Subagents]));
    assert_eq!(names(&[]), "");
    assert_eq!(
        names(&[Subagents, Agents, Subagents]),
        names(&[Agents, Subagents])
    );
}

/// A tool that is not known there could be denied to no program.
#[test]
fn the_trees_tools_are_known_where_programs_are_held_to_lists() {
    for tool in example::tools(&Family::ALL) {
        let name = tool.spec().name();
        assert!(TREE_TOOLS.contains(&name), "{name}");
    }
}

#[test]
fn a_tool_is_described_once_per_process() {
    let (one, other) = (example::tools(&Family::ALL), example::tools(&Family::ALL));
    for (one, other) in one.iter().zip(&other) {
        assert!(ptr::eq(one.spec(), other.spec()), "{}", one.spec().name());
    }
}

#[test]
fn every_argument_is_explained_and_no_other_is_taken() {
    for tool in example::tools(&Family::ALL) {
        let ToolSpec::Function {
            name, parameters, ..
        } = tool.spec()
        else {
            panic!("{} takes no arguments", tool.spec().name());
        };
        assert_eq!(parameters["additionalProperties"], false, "{name}");
        let arguments = parameters.get("properties").and_then(Value::as_object);
        for (argument, schema) in arguments.into_iter().flatten() {
            assert!(schema["description"].is_string(), "{name}: {argument}");
        }
    }
}

#[test]
fn families_have_the_names_of_the_configuration() {
    let names = serde_json::to_string(&Family::ALL).unwrap();
    assert_eq!(names, r#"["agents","sessions","subagents"]"#);
}
