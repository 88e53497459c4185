//! The prompts of a directory that people call by name: files, and those of its MCP servers.

use std::path::Path;

use async_trait::async_trait;
use troupe_protocol::link::query::PromptCommand;
use troupe_server::{FilledCommand, PromptCommandLibrary, called_command};

use super::Wiring;
use crate::exec::saved_prompts::PromptPlaces;

impl Wiring {
    /// Has a server fill the prompt that a line `/name words` calls; none if no server's prompt
    /// has the name.
    pub async fn fill_server_prompt(
        &self,
        cwd: &Path,
        line: &str,
    ) -> Result<Option<FilledCommand>, String> {
        let Some((name, words)) = called_command(line) else {
            return Ok(None);
        };
        let prepared = self
            .prepared(Some(cwd))
            .map_err(|error| error.to_string())?;
        let words = shlex::split(words)
            .unwrap_or_else(|| words.split_whitespace().map(str::to_owned).collect());
        let servers = prepared.roster(self.hub(), &self.source);
        let filled = servers.fill_prompt(name, &words).await?;
        Ok(filled.map(|filled| FilledCommand {
            text: filled.text,
            notes: filled
                .left_out
                .iter()
                .map(|kind| format!("a part of /{name} is left out: it is no text but {kind}"))
                .collect(),
        }))
    }
}

#[async_trait]
impl PromptCommandLibrary for Wiring {
    async fn commands(&self, cwd: &Path) -> Vec<PromptCommand> {
        let places = PromptPlaces::around(cwd, &self.source.home);
        let listed = tokio::task::spawn_blocking(move || places.list()).await;
        let mut commands = listed.unwrap_or_default();
        // What is wrong with the configuration is told where the session needs it.
        if let Ok(prepared) = self.prepared(Some(cwd)) {
            let prompts = prepared.roster(self.hub(), &self.source).prompts().await;
            commands.extend(prompts.into_iter().map(|prompt| PromptCommand {
                name: prompt.command(),
                argument_hint: Some(prompt.usage()).filter(|usage| !usage.is_empty()),
                description: prompt.description,
            }));
        }
        commands
    }

    async fn fill(&self, cwd: &Path, line: &str) -> Result<Option<FilledCommand>, String> {
        let places = PromptPlaces::around(cwd, &self.source.home);
        let words = line.to_owned();
        let saved = tokio::task::spawn_blocking(move || places.fill(&words)).await;
        let saved = saved.map_err(|_| "the engine is ending".to_owned())?;
        if let Some(saved) = saved.map_err(|failure| failure.to_string())? {
            return Ok(Some(FilledCommand {
                notes: saved.notes(),
                text: saved.text,
            }));
        }
        self.fill_server_prompt(cwd, line).await
    }
}
