//! An office that knows one model, and nothing else: what a real one knows is tested with the
//! program.

use std::path::{Path, PathBuf};

use async_trait::async_trait;
use troupe_protocol::catalogue::ModelEntry;
use troupe_protocol::event::SkillsEntry;
use troupe_protocol::mcp::McpOffer;
use troupe_server::app::{KeyStatus, Office, Setting};

#[derive(Debug)]
pub struct PlainOffice;

#[async_trait]
impl Office for PlainOffice {
    fn models(&self) -> Vec<ModelEntry> {
        vec![ModelEntry::named("test-model")]
    }

    async fn skills(&self, cwd: Option<PathBuf>, _: bool) -> Result<SkillsEntry, String> {
        Ok(SkillsEntry {
            cwd: cwd.unwrap_or_default(),
            skills: Vec::new(),
            errors: Vec::new(),
        })
    }

    async fn servers(&self) -> McpOffer {
        McpOffer::default()
    }

    fn settings(&self, _: Option<&Path>) -> Result<Vec<Setting>, String> {
        Ok(Vec::new())
    }

    fn key(&self) -> KeyStatus {
        KeyStatus::NotNeeded
    }
}
