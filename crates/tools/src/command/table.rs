//! The commands that go on in the background, by number. They end with the session.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use schemars::JsonSchema;
use serde::Deserialize;
use troupe_protocol::policy::SandboxPolicy;

use super::terminal::CommandTerminal;
use crate::limits::{TERMINALS_MAX, TERMINALS_PROTECTED};

/// What the model calls a command in the background by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize, JsonSchema)]
#[serde(transparent)]
pub(crate) struct TerminalId(u32);

impl fmt::Display for TerminalId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[derive(Debug, Default)]
pub(crate) struct BackgroundTerminals {
    table: Mutex<TerminalTable>,
}

#[derive(Debug, Default)]
struct TerminalTable {
    entries: BTreeMap<TerminalId, TerminalEntry>,
    ids: u32,
    /// Grows at each use; stands for the time of it.
    uses: u64,
    looks: u32,
}

#[derive(Debug)]
struct TerminalEntry {
    terminal: Arc<CommandTerminal>,
    last_use: u64,
}

impl BackgroundTerminals {
    /// Takes a command in. When there are too many, the one returned beside its number has to
    /// make room: its owner is the caller now.
    pub(crate) fn insert(
        &self,
        terminal: Arc<CommandTerminal>,
    ) -> (TerminalId, Option<EvictedTerminal>) {
        let mut table = self.lock();
        let evicted = table.make_room();
        table.ids += 1;
        let id = TerminalId(table.ids);
        let last_use = table.next_use();
        table
            .entries
            .insert(id, TerminalEntry { terminal, last_use });
        (id, evicted)
    }

    /// Returns the command of this number; `Err` lists the numbers there are.
    pub(crate) fn find(&self, id: TerminalId) -> Result<Arc<CommandTerminal>, String> {
        let mut table = self.lock();
        let last_use = table.next_use();
        if let Some(entry) = table.entries.get_mut(&id) {
            entry.last_use = last_use;
            return Ok(Arc::clone(&entry.terminal));
        }
        let ids: Vec<String> = table.entries.keys().map(TerminalId::to_string).collect();
        Err(if ids.is_empty() {
            format!("there is no session {id}: no command runs in the background")
        } else {
            format!("there is no session {id}; these run: {}", ids.join(", "))
        })
    }

    /// Forgets a command whose end was told, or that is about to be ended.
    pub(crate) fn remove(&self, id: TerminalId) {
        self.lock().entries.remove(&id);
    }

    /// Numbers the answers that tell of commands in the background.
    pub(crate) fn next_look(&self) -> u32 {
        let mut table = self.lock();
        table.looks = table.looks.wrapping_add(1) & 0x00ff_ffff;
        table.looks
    }

    /// Ends all commands and waits until they are gone.
    pub(crate) async fn end_all(&self) {
        let entries = std::mem::take(&mut self.lock().entries);
        let ends = entries.values().map(|entry| entry.terminal.end());
        futures_util::future::join_all(ends).await;
    }

    /// Ends the commands that were begun with more rights than these, waits until they are gone,
    /// and returns their numbers. Who asks for one later is told why it ended.
    pub(crate) async fn end_wider(&self, rights: &SandboxPolicy) -> Vec<TerminalId> {
        let wider: Vec<(TerminalId, Arc<CommandTerminal>)> = {
            let table = self.lock();
            let entries = table.entries.iter();
            let is_wider = |terminal: &CommandTerminal| {
                !terminal.has_exited() && !terminal.begun_under.is_within(rights)
            };
            entries
                .filter(|(_, entry)| is_wider(&entry.terminal))
                .map(|(id, entry)| (*id, Arc::clone(&entry.terminal)))
                .collect()
        };
        let ends = wider.iter().map(|(_, terminal)| terminal.end());
        futures_util::future::join_all(ends).await;
        wider.into_iter().map(|(id, _)| id).collect()
    }

    fn lock(&self) -> MutexGuard<'_, TerminalTable> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A command that had to make room.
#[derive(Debug)]
pub(crate) struct EvictedTerminal {
    pub id: TerminalId,
    pub terminal: Arc<CommandTerminal>,
}

impl TerminalTable {
    fn next_use(&mut self) -> u64 {
        self.uses += 1;
        self.uses
    }

    fn make_room(&mut self) -> Option<EvictedTerminal> {
        if self.entries.len() < TERMINALS_MAX {
            return None;
        }
        let standing = self.entries.iter().map(|(id, entry)| EvictionCandidate {
            id: *id,
            last_use: entry.last_use,
            exited: entry.terminal.has_exited(),
        });
        let id = choose_evicted(standing.collect())?;
        let terminal = self.entries.remove(&id)?.terminal;
        Some(EvictedTerminal { id, terminal })
    }
}

#[derive(Debug, Clone, Copy)]
struct EvictionCandidate {
    id: TerminalId,
    last_use: u64,
    exited: bool,
}

/// Chooses what makes room: the longest unused one, exited ones first, never one of the
/// [`TERMINALS_PROTECTED`] most recently used.
fn choose_evicted(mut entries: Vec<EvictionCandidate>) -> Option<TerminalId> {
    entries.sort_by_key(|entry| entry.last_use);
    entries.truncate(entries.len().saturating_sub(TERMINALS_PROTECTED));
    let exited = entries.iter().find(|entry| entry.exited);
    exited.or(entries.first()).map(|entry| entry.id)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `x` marks an exited one; the list goes from the longest unused to the newest.
    fn check(entries: &str, expected: Option<u32>) {
        let entries = (0..)
            .zip(entries.chars())
            .map(|(number, mark)| EvictionCandidate {
                id: TerminalId(number),
                last_use: number.into(),
                exited: mark == 'x',
            });
        assert_eq!(choose_evicted(entries.collect()), expected.map(TerminalId));
    }

    #[test]
    fn exited_ones_go_first_and_the_newest_stay() {
        check("...12345678", Some(0));
        check(".x.12345678", Some(1));
        check(".x.xxxxxxxx", Some(1));
        check("...xxxxxxxx", Some(0));
        check("xxxxxxxx", None);
        check("", None);
    }
}
