use std::ptr;

use async_trait::async_trait;
use expect_test::expect;
use serde_json::Value;
use troupe_engine::{Clock, Configurator, ConfigureError, Ids, Setup};
use troupe_protocol::AgentId;
use troupe_protocol::op::ConfigureSession;
use troupe_protocol::spawn::CallbackConfig;
use troupe_protocol::tool::ToolSpec;

use super::*;
use crate::desk::{Catalogue, ModelChoice};
use crate::roles::Roles;
use crate::supervisor::{Agents, Announcer, Options, Recovery};
use crate::tree::Limits;

/// Offers nothing and opens nothing.
#[derive(Debug)]
struct Nothing;

impl Catalogue for Nothing {
    fn models(&self) -> Option<Vec<ModelChoice>> {
        None
    }
}

#[async_trait]
impl Configurator for Nothing {
    async fn configure(&self, _: &ConfigureSession) -> Result<Setup, ConfigureError> {
        Err(ConfigureError {
            message: "there is nothing to run on".to_owned(),
        })
    }
}

fn tools_of(families: &[Family]) -> Vec<Arc<dyn Tool>> {
    let roles = Arc::new(Roles::new("/nowhere"));
    let options = Options {
        limits: Limits::default(),
        families: families.to_vec(),
        roles: Arc::clone(&roles),
        catalogue: Arc::new(Nothing),
        callback: CallbackConfig::default(),
        recovery: Recovery::Leave,
    };
    let agents = Agents::new(
        Arc::new(Nothing),
        options,
        Clock::system(),
        Ids::random(),
        Announcer::new(),
    );
    let place = RolePlace {
        cwd: "/nowhere".into(),
        roles,
    };
    tools(families, &agents.desk(AgentId::ROOT), &place)
}

fn names(families: &[Family]) -> String {
    let tools = tools_of(families);
    let names: Vec<&str> = tools.iter().map(|tool| tool.spec().name()).collect();
    names.join(" ")
}

#[test]
fn families_come_once_and_in_one_order() {
    use Family::{Agents, Sessions, Subagents};
    expect!["spawn_agent send_input wait agent_result cancel_agent close_agent resume_agent list_agents list_active_agents set_thread_note"].assert_eq(&names(&[Agents]));
    expect!["create_session wait_session cancel_session"].assert_eq(&names(&[Sessions]));
    expect!["subagent_spawn subagent_fork subagent_send_message subagent_list subagent_await subagent_watchdog subagent_prune subagent_logs subagent_cancel"].assert_eq(&names(&[Subagents]));
    assert_eq!(names(&[]), "");
    assert_eq!(
        names(&[Subagents, Agents, Subagents]),
        format!("{} {}", names(&[Agents]), names(&[Subagents]))
    );
}

#[test]
fn a_tool_is_described_once_per_process() {
    let (one, other) = (tools_of(&Family::ALL), tools_of(&Family::ALL));
    for (one, other) in one.iter().zip(&other) {
        assert!(ptr::eq(one.spec(), other.spec()), "{}", one.spec().name());
    }
}

#[test]
fn every_argument_is_explained_and_no_other_is_taken() {
    for tool in tools_of(&Family::ALL) {
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
