//! Agents that tests talk about, and the tools of a root that has none.

use std::sync::Arc;

use async_trait::async_trait;
use expect_test::Expect;
use serde_json::{Map, Value};
use troupe_engine::{
    ActivityKind, ConfigureError, IdSource, SessionActivity, SessionClock, SessionConfigurator,
    SessionSetup,
};
use troupe_protocol::agent::{AgentOrigin, PendingMail};
use troupe_protocol::op::ConfigureSession;
use troupe_protocol::policy::{ApprovalPolicy, ReasoningEffort, SandboxPolicy};
use troupe_protocol::spawn::{
    ApprovalRoute, CallbackConfig, ChildInstructions, HistoryShare, SpawnSpec,
};
use troupe_protocol::usage::TokenUsage;
use troupe_protocol::{AgentId, SessionId};
use troupe_tools::Tool;
use troupe_tree::TreeLimits;
use troupe_tree::status::CurrentStatus;

use crate::families::{self, Family};
use crate::roles::{RoleLibrary, TypeChoices};
use crate::supervisor::{NewTreeSender, RecoveryPolicy, TreeHandle, TreeOptions};
use crate::tree_access::{AgentView, ModelChoice, RolePlace, SpawnCatalogue};

/// 2026-11-16T10:00:00Z.
const EXAMPLE_NOW: i64 = 1_794_823_200_000;

/// Returns an id that is easy to read: the number in its last digits.
pub(super) fn session(number: u32) -> SessionId {
    let text = format!("00000000-0000-4000-8000-{number:012}");
    text.parse().expect("the text has the form of an id")
}

/// Agent `number`, a worker below the root, for a minute in this status.
pub(super) fn view(number: u32, status: CurrentStatus) -> AgentView {
    AgentView {
        agent: AgentId(number),
        session: session(number),
        parent: Some(AgentId::ROOT),
        parent_session: Some(session(0)),
        path: format!("/root/worker_{number}"),
        depth: 1,
        on_parent_interrupt: troupe_protocol::tree::OnParentInterrupt::KeepRunning,
        origin: Some(AgentOrigin::Spawn),
        spec: Some(Arc::new(spec())),
        note: None,
        name: None,
        status,
        last_told: None,
        preview: None,
        since_ms: EXAMPLE_NOW - 60_000,
        born_at_ms: EXAMPLE_NOW - 90_000,
        ran_ms: None,
        now_ms: EXAMPLE_NOW,
        pending: PendingMail::default(),
        last_task: None,
        pulse: None,
        reasoning_header: None,
        usage: tokens(1_000),
        subtree_usage: tokens(3_000),
        initial_message_count: Some(0),
        pruned: false,
    }
}

/// What a session does that got on seven seconds ago.
pub(super) fn pulse(doing: ActivityKind) -> SessionActivity {
    SessionActivity {
        doing,
        progress_at_ms: EXAMPLE_NOW - 7_000,
        usage: TokenUsage::default(),
    }
}

fn tokens(total_tokens: u64) -> TokenUsage {
    TokenUsage {
        total_tokens,
        ..TokenUsage::default()
    }
}

fn spec() -> SpawnSpec {
    SpawnSpec {
        call_id: None,
        tool: "spawn_agent".to_owned(),
        agent_type: "worker".to_owned(),
        agent_name: None,
        label: None,
        summary: "count the words".to_owned(),
        instructions: ChildInstructions::Role("Work.".into()),
        cwd: "/srv/work".into(),
        model: "deep".to_owned(),
        model_provider: None,
        reasoning_effort: Some(ReasoningEffort::High),
        approval_policy: ApprovalPolicy::OnRequest,
        approvals: ApprovalRoute::Route,
        sandbox_policy: SandboxPolicy::workspace_write(),
        sandbox_held: None,
        tools: Vec::new(),
        history: HistoryShare::None,
        forking_call: None,
        output_schema: None,
        callback: CallbackConfig::default(),
        callback_wish: None,
    }
}

pub(super) fn check(object: Map<String, Value>, expected: Expect) {
    let text = serde_json::to_string_pretty(&object).expect("the keys of a map are text");
    expected.assert_eq(&text);
}

/// Offers nothing and opens nothing.
#[derive(Debug)]
struct EmptyCatalogue;

impl SpawnCatalogue for EmptyCatalogue {
    fn models(&self) -> Option<Vec<ModelChoice>> {
        None
    }
}

#[async_trait]
impl SessionConfigurator for EmptyCatalogue {
    async fn configure(&self, _: &ConfigureSession) -> Result<SessionSetup, ConfigureError> {
        Err(ConfigureError::refused("there is nothing to run on"))
    }
}

/// The tools of a root that has made no child.
pub(super) fn tools(families: &[Family]) -> Vec<Arc<dyn Tool>> {
    let roles = Arc::new(RoleLibrary::new("/nowhere"));
    let options = TreeOptions {
        limits: TreeLimits::default(),
        families: families.to_vec(),
        roles: Arc::clone(&roles),
        catalogue: Arc::new(EmptyCatalogue),
        callback: CallbackConfig::default(),
        callback_asked: serde_json::Map::new(),
        recovery: RecoveryPolicy::Leave,
        types: TypeChoices::default(),
        reader: None,
    };
    let settings = options
        .settings(&ConfigureSession::default(), None)
        .expect("nobody reads settings of one session");
    let agents = TreeHandle::new(
        Arc::new(EmptyCatalogue),
        options,
        settings,
        SessionClock::system(),
        IdSource::random(),
        NewTreeSender::new(),
    );
    let place = RolePlace {
        cwd: "/nowhere".into(),
        roles,
    };
    families::tools(families, &agents.desk(AgentId::ROOT), &place)
}
