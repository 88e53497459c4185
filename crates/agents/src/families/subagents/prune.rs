//! `subagent_prune`: finished children leave the live tree.

use std::sync::LazyLock;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;
use troupe_protocol::tool::ToolSpec;
use troupe_protocol::{AgentId, StopVerb};
use troupe_tools::{Tool, ToolConcurrency, ToolInvocation, ToolOutput, arguments};
use troupe_tree::AgentAddressError;
use troupe_tree::command::StopMode;
use troupe_tree::effect::StopSkipReason;

use crate::families::address::AddressArgument;
use crate::families::{child, shape, tool_call};
use crate::tree_access::{AgentScope, StopOutcome, TreeAccess, TreeError, TreeStopRequest};

use super::limits::PRUNE_IDS_MAX;

const NAME: &str = "subagent_prune";

static SPEC: LazyLock<ToolSpec> = LazyLock::new(|| {
    arguments::function::<SubagentPruneArguments>(
        NAME,
        "Takes finished children, with all below them, out of the list. Their results and logs \
         stay on disk and readable. Children that are at work are skipped; with completed_only: \
         false they are cancelled first. Finished children take up no slot, so prune only to keep \
         the list short.",
    )
});

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SubagentPruneArguments {
    /// The children: numbers, or any addresses. Give these or `all`.
    agent_ids: Option<Vec<AddressArgument>>,
    /// All of your children.
    #[serde(default)]
    all: bool,
    /// Leaves alone what is at work; true if left out.
    #[serde(default = "yes")]
    completed_only: bool,
}

fn yes() -> bool {
    true
}

#[derive(Debug)]
pub(super) struct SubagentPrune {
    desk: TreeAccess,
}

/// What became of each.
#[derive(Debug, Default)]
struct PruneOutcome {
    pruned: Vec<AgentId>,
    skipped_active: Vec<AgentId>,
    unknown: Vec<String>,
    errors: Vec<(String, String)>,
}

impl SubagentPrune {
    pub(super) fn new(desk: TreeAccess) -> Self {
        Self { desk }
    }

    async fn prune(
        &self,
        call: &ToolInvocation,
        arguments: SubagentPruneArguments,
    ) -> Result<Map<String, Value>, TreeError> {
        let targets = self.targets(&arguments).await?;
        let mut outcome = PruneOutcome::default();
        // One by one: a refusal for one of them says nothing about the others.
        for target in targets {
            let stopped = if arguments.completed_only {
                self.stop(&target).await
            } else {
                self.cancel_and_stop(&target, &call.cancel).await
            };
            outcome.add(target, stopped);
        }
        Ok(described(&arguments, &outcome))
    }

    async fn targets(&self, arguments: &SubagentPruneArguments) -> Result<Vec<String>, TreeError> {
        if let Some(ids) = checked(arguments)? {
            return Ok(ids.iter().map(|id| id.as_str().to_owned()).collect());
        }
        let include_closed = false;
        let children = self.desk.list(AgentScope::Children, include_closed).await?;
        Ok(children
            .iter()
            .map(|child| child.agent.to_string())
            .collect())
    }

    async fn stop(&self, target: &str) -> Result<StopOutcome, TreeError> {
        let request = TreeStopRequest {
            verb: StopVerb::Prune,
            targets: vec![target.to_owned()],
            mode: StopMode::Act,
            note: None,
        };
        self.desk.stop(request).await
    }

    async fn cancel_and_stop(
        &self,
        target: &str,
        stop: &CancellationToken,
    ) -> Result<StopOutcome, TreeError> {
        let first = self.stop(target).await?;
        if !is_active(&first) {
            return Ok(first);
        }
        let child = child::find_below_caller(&self.desk, target, "prune").await?;
        let note = Some("pruned".to_owned());
        child::cancel(&self.desk, child, note, stop).await?;
        self.stop(target).await
    }
}

#[async_trait]
impl Tool for SubagentPrune {
    fn spec(&self) -> &ToolSpec {
        &SPEC
    }

    fn concurrency(&self) -> ToolConcurrency {
        ToolConcurrency::Shared
    }

    async fn call(&self, call: ToolInvocation) -> ToolOutput {
        let call = &call;
        tool_call::run(call, &SPEC, async |arguments| {
            tool_call::answer(self.prune(call, arguments).await)
        })
        .await
    }
}

/// Returns who is named; `None` if all are meant.
fn checked(arguments: &SubagentPruneArguments) -> Result<Option<&[AddressArgument]>, TreeError> {
    let problem = match (arguments.agent_ids.as_deref(), arguments.all) {
        (None, true) => return Ok(None),
        (None | Some([]), false) => "give agent_ids, or all: true".to_owned(),
        (Some(_), true) => "give either agent_ids or all: true, not both".to_owned(),
        (Some(ids), false) if ids.len() > PRUNE_IDS_MAX => {
            format!(
                "{} agent_ids are too many; give at most {PRUNE_IDS_MAX}",
                ids.len()
            )
        }
        (Some(ids), false) => return Ok(Some(ids)),
    };
    Err(TreeError::Invalid(problem))
}

fn is_active(stopped: &StopOutcome) -> bool {
    let mut skipped = stopped.skipped.iter();
    skipped.any(|planned| planned.what == StopSkipReason::Active)
}

impl PruneOutcome {
    fn add(&mut self, target: String, stopped: Result<StopOutcome, TreeError>) {
        let stopped = match stopped {
            Ok(stopped) => stopped,
            Err(TreeError::Address(AgentAddressError::Unknown(_))) => {
                return self.unknown.push(target);
            }
            Err(trouble) => return self.errors.push((target, trouble.to_string())),
        };
        let pruned = stopped.touched.iter().map(|planned| planned.view.agent);
        self.pruned.extend(pruned);
        for planned in &stopped.skipped {
            match planned.what {
                StopSkipReason::Active => self.skipped_active.push(planned.view.agent),
                StopSkipReason::AlreadyDone => {
                    let error = "it was pruned before".to_owned();
                    self.errors.push((target.clone(), error));
                }
                StopSkipReason::Idle | StopSkipReason::Unknown => self.unknown.push(target.clone()),
            }
        }
        self.unknown.extend(stopped.unknown);
    }
}

fn described(arguments: &SubagentPruneArguments, outcome: &PruneOutcome) -> Map<String, Value> {
    let ids = arguments.agent_ids.as_deref();
    let ids = ids.map(|ids| ids.iter().map(AddressArgument::as_str).collect::<Vec<_>>());
    let request = shape::present([
        ("agent_ids", json!(ids)),
        ("all", json!(arguments.all)),
        ("completed_only", json!(arguments.completed_only)),
    ]);
    let errors: Vec<Value> = outcome
        .errors
        .iter()
        .map(|(agent, error)| json!({"agent_id": agent, "error": error}))
        .collect();
    let counts = json!({
        "pruned": outcome.pruned.len(),
        "skipped_active": outcome.skipped_active.len(),
        "unknown": outcome.unknown.len(),
        "errors": errors.len(),
    });
    shape::present([
        ("request", Value::Object(request)),
        ("pruned", json!(outcome.pruned)),
        ("skipped_active", json!(outcome.skipped_active)),
        ("unknown", json!(outcome.unknown)),
        ("errors", json!(errors)),
        ("counts", counts),
    ])
}

#[cfg(test)]
mod tests;
