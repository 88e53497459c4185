//! `subagent_list`: the caller's children and what they do.

use std::sync::LazyLock;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use troupe_protocol::tool::ToolSpec;
use troupe_tools::{Tool, ToolConcurrency, ToolInvocation, ToolOutput, arguments};

use crate::families::{shape, tool_call};
use crate::tree_access::{AgentScope, AgentView, TreeAccess, TreeError};

use super::metadata;

const NAME: &str = "subagent_list";

static SPEC: LazyLock<ToolSpec> = LazyLock::new(|| {
    arguments::function::<SubagentListArguments>(
        NAME,
        "Lists your own children, oldest first: status and since when, what each does now, how \
         long ago it last got on, and how many messages wait for it. Looking costs a request and \
         brings no result nearer; `subagent_await` returns when there is news.",
    )
});

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
// Some providers refuse an object without properties, however empty.
#[schemars(extend("properties" = json!({})))]
struct SubagentListArguments {}

#[derive(Debug)]
pub(super) struct SubagentList {
    desk: TreeAccess,
}

impl SubagentList {
    pub(super) fn new(desk: TreeAccess) -> Self {
        Self { desk }
    }

    async fn list(&self) -> Result<Map<String, Value>, TreeError> {
        let include_closed = false;
        let children = self.desk.list(AgentScope::Children, include_closed).await?;
        Ok(described(children))
    }
}

#[async_trait]
impl Tool for SubagentList {
    fn spec(&self) -> &ToolSpec {
        &SPEC
    }

    fn concurrency(&self) -> ToolConcurrency {
        ToolConcurrency::Shared
    }

    async fn call(&self, call: ToolInvocation) -> ToolOutput {
        tool_call::run(&call, &SPEC, async |SubagentListArguments {}| {
            tool_call::answer(self.list().await)
        })
        .await
    }
}

pub(super) fn described(mut children: Vec<AgentView>) -> Map<String, Value> {
    children.sort_by_key(|child| (child.born_at_ms, child.agent));
    let sessions: Vec<_> = children.iter().map(metadata::standing).collect();
    shape::present([("sessions", json!(sessions))])
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn a_call_without_arguments_still_has_properties() {
        let ToolSpec::Function { parameters, .. } = &*SPEC else {
            panic!("the tool takes JSON");
        };
        expect![[r#"{"type":"object","additionalProperties":false,"properties":{}}"#]]
            .assert_eq(&parameters.to_string());
    }
}
