//! Tools that come from elsewhere, and only once somebody needs them.

use std::fmt::Debug;
use std::sync::Arc;

use async_trait::async_trait;
use troupe_protocol::EventMsg;
use troupe_protocol::mcp::McpOffer;

use crate::tool::Tool;

/// Where further tools of a session come from, such as servers that have to be started.
///
/// A session asks before a request to its model, and again when the revision has changed.
#[async_trait]
pub trait ToolSource: Send + Sync + Debug {
    /// Returns a number that changes whenever [`ToolSource::gather`] would answer otherwise. As
    /// long as it is [`SourceRevision::NOTHING`] there is nothing to gather.
    fn revision(&self) -> SourceRevision;

    /// Finds out what there is, starting what must be started. It ends by itself; who drops it
    /// stops waiting, and what was started goes on for others.
    async fn gather(&self, listener: Arc<dyn GatherListener>) -> GatheredTools;

    /// Describes everything that is there, for people.
    async fn offer(&self) -> McpOffer;

    /// Has the next [`ToolSource::gather`] begin anew: with what there is by the configuration
    /// then, and also with what failed.
    fn refresh(&self);

    /// Returns the part of the source that these servers are.
    fn only(&self, servers: &[String]) -> Arc<dyn ToolSource>;
}

/// Returns how the names of all tools of a server begin.
pub fn server_prefix(server: &str) -> String {
    format!("mcp__{}__", callable(server))
}

/// Makes a name of letters that every provider takes in the name of a tool.
pub fn callable(name: &str) -> String {
    let clean = |character: char| match character {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '_' | '-' => character,
        _ => '_',
    };
    name.chars().map(clean).collect()
}

/// Which state of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SourceRevision(pub u64);

impl SourceRevision {
    /// Of a source that never had anything.
    pub const NOTHING: Self = Self(0);
}

/// Who is told how gathering goes on.
#[async_trait]
pub trait GatherListener: Send + Sync + Debug {
    async fn tell(&self, event: EventMsg);
}

/// What a source has.
#[derive(Debug)]
pub struct GatheredTools {
    pub revision: SourceRevision,
    pub tools: Vec<Arc<dyn Tool>>,
    /// Why the session cannot go on without what is missing.
    pub failure: Option<String>,
}
