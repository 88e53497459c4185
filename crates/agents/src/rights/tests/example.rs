//! A worker that leaves everything open, and a wish that asks for nothing.

use expect_test::Expect;
use serde_json::json;
use troupe_protocol::input::UserInput;
use troupe_protocol::policy::{ApprovalPolicy, CollaborationMode, SandboxPolicy};
use troupe_protocol::spawn::CallbackConfig;

use crate::rights::{ParentRights, SettledSpawn, settle};
use crate::roles::{
    AgentRole, ModelPreference, Persona, RoleDialect, RoleName, RoleOrigin, ToolPolicy,
};
use crate::tree_access::{ModelChoice, SpawnCatalogue, SpawnContext, SpawnRequest};

/// What there is: nothing, unless a test says otherwise.
#[derive(Debug, Default)]
pub(super) struct Offered {
    pub models: Option<Vec<ModelChoice>>,
    pub other: Option<Other>,
}

/// A program that is called `other`.
#[derive(Debug)]
pub(super) struct Other {
    /// Whether the user gave it the network.
    pub network: Option<bool>,
}

impl Offered {
    pub(super) fn models(models: Option<&[ModelChoice]>) -> Self {
        Self {
            models: models.map(<[_]>::to_vec),
            ..Self::default()
        }
    }
}

impl SpawnCatalogue for Offered {
    fn models(&self) -> Option<Vec<ModelChoice>> {
        self.models.clone()
    }

    fn backend_sandbox(&self, backend: &str, child: &SandboxPolicy) -> Option<SandboxPolicy> {
        let other = self.other.as_ref().filter(|_| backend == "other")?;
        let mut policy = child.clone();
        if let SandboxPolicy::WorkspaceWrite { network_access, .. }
        | SandboxPolicy::ReadOnly { network_access } = &mut policy
        {
            *network_access = other.network.unwrap_or(*network_access);
        }
        Some(policy)
    }
}

pub(super) fn parent() -> ParentRights {
    ParentRights {
        spec: None,
        tools: Vec::new(),
        callback: CallbackConfig::default(),
    }
}

pub(super) fn role() -> AgentRole {
    AgentRole {
        name: RoleName::parse("worker").unwrap(),
        origin: RoleOrigin::Embedded,
        description: "Works.".to_owned(),
        choice: ModelPreference::default(),
        read_only: false,
        tools: ToolPolicy::default(),
        approvals: None,
        messages: None,
        output_schema: None,
        mcp_servers: None,
        backend: None,
        prompt: "Work.".into(),
        personas: Vec::new(),
        dialect: RoleDialect::Own,
        notes: Vec::new(),
    }
}

pub(super) fn persona() -> Persona {
    Persona {
        name: RoleName::parse("brief").unwrap(),
        description: None,
        choice: ModelPreference::default(),
        prompt: "Work, and say little.".into(),
    }
}

pub(super) fn request() -> SpawnRequest {
    let turn = SpawnContext {
        task: "task".into(),
        call: None,
        message_index: 7,
        cwd: "/srv/work".into(),
        model: "deep".to_owned(),
        reasoning_effort: None,
        approval_policy: ApprovalPolicy::OnRequest,
        sandbox_policy: SandboxPolicy::workspace_write(),
        collaboration_mode: CollaborationMode::Default,
    };
    SpawnRequest::new(
        "spawn_agent",
        vec![UserInput::text("count the words")],
        turn,
    )
}

pub(super) fn settled(role: &AgentRole, request: &SpawnRequest) -> SettledSpawn {
    settle(&parent(), role, None, request, &Offered::default()).unwrap()
}

/// Compares what the caller is told.
pub(super) fn check(role: &AgentRole, request: &SpawnRequest, expected: Expect) {
    let found = match settle(&parent(), role, None, request, &Offered::default()) {
        Ok(settled) => serde_json::to_string_pretty(&json!({
            "requested": settled.requested,
            "effective": settled.effective,
            "why": settled.why,
        }))
        .unwrap(),
        Err(trouble) => trouble.to_string(),
    };
    expected.assert_eq(&found);
}
