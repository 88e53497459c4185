//! What a role is, once its file is understood.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use troupe_protocol::policy::SandboxPolicy;

use super::error::RoleError;
use super::name::RoleName;
use super::precedence::{ModelPrecedence, ModelPreference};
use super::tool_policy::ToolPolicy;

/// A template for children: prompt, model, effort, tools, rights and shape of the result.
///
/// What a role leaves open is inherited. A role only ever narrows: whoever spawns takes the
/// intersection with the parent's rights.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentRole {
    pub name: RoleName,
    pub origin: RoleOrigin,
    pub dialect: RoleDialect,
    pub description: String,
    pub choice: ModelPreference,
    pub read_only: bool,
    pub tools: ToolPolicy,
    pub approvals: Option<RoleApprovals>,
    /// Whom a child may write to besides its own children.
    pub messages: Option<RoleMessages>,
    /// A JSON Schema that the result must fit; always an object.
    pub output_schema: Option<Value>,
    /// The MCP servers that a child may use, by name; `None` for all of its parent's.
    pub mcp_servers: Option<Vec<String>>,
    /// Another program that is the child, by its name in the configuration.
    pub backend: Option<String>,
    /// Shared with every child of the role.
    pub prompt: Arc<str>,
    pub personas: Vec<Persona>,
    /// What of the file has no effect, for people.
    pub notes: Vec<String>,
}

impl AgentRole {
    /// Returns the most that a child may do to the machine, if the role limits it.
    pub fn sandbox(&self) -> Option<SandboxPolicy> {
        self.read_only.then(SandboxPolicy::read_only)
    }

    /// Finds a persona by name.
    pub fn persona(&self, name: &str) -> Result<&Persona, RoleError> {
        let found = RoleName::parse(name)
            .ok()
            .and_then(|name| self.personas.iter().find(|persona| persona.name == name));
        found.ok_or_else(|| RoleError::UnknownPersona {
            role: self.name.clone(),
            name: name.to_owned(),
            known: self
                .personas
                .iter()
                .map(|known| known.name.clone())
                .collect(),
        })
    }

    /// Returns the instructions of a child. A persona speaks in place of the role.
    pub fn prompt<'a>(&'a self, persona: Option<&'a Persona>) -> &'a Arc<str> {
        persona.map_or(&self.prompt, |persona| &persona.prompt)
    }

    /// Lines up who has a say about model and effort.
    pub fn precedence<'a>(
        &'a self,
        call: &'a ModelPreference,
        persona: Option<&'a Persona>,
    ) -> ModelPrecedence<'a> {
        ModelPrecedence {
            call: Some(call),
            persona: persona.map(|persona| &persona.choice),
            role: Some(&self.choice),
        }
    }
}

/// For which program a role's file was written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum RoleDialect {
    #[default]
    Own,
    /// Its model may be one that the provider does not have: then the parent's is taken.
    ClaudeCode,
}

/// A variant of a role: the same rights, another voice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Persona {
    pub name: RoleName,
    pub description: Option<String>,
    pub choice: ModelPreference,
    pub prompt: Arc<str>,
}

/// Where a role was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RoleOrigin {
    /// In `.troupe/agents` between the working directory and the repository's root.
    Project(PathBuf),
    /// In `agents` of the home.
    Home(PathBuf),
    Embedded,
}

impl RoleOrigin {
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Project(path) | Self::Home(path) => Some(path),
            Self::Embedded => None,
        }
    }

    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Project(_) => "project",
            Self::Home(_) => "home",
            Self::Embedded => "embedded",
        }
    }
}

impl fmt::Display for RoleOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.path() {
            Some(path) => write!(f, "{}", path.display()),
            None => f.write_str("built in"),
        }
    }
}

/// What happens to a child's requests for approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RoleApprovals {
    /// They are refused.
    Never,
    /// They go to the root of the tree.
    Route,
    /// They go to the parent's current turn.
    Parent,
}

/// Whom a child may write to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RoleMessages {
    /// Only the agents that it made, and theirs.
    Subtree,
    /// Its parent too.
    Parent,
    /// Its parent and its siblings too.
    Family,
}
