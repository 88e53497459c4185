//! Commands about this screen and its session, and not about the work.

use std::path::PathBuf;

use troupe_protocol::AgentId;
use troupe_protocol::session::TurnOverrides;

use super::{AppState, PagerBody, PagerView, PickerKind};
use crate::effect::Effect;
use crate::settings::StatusItem;
use crate::text::append;
use crate::transcript::OpenItem;

impl AppState {
    pub(super) fn change_directory(&mut self, argument: &str) {
        if argument.is_empty() {
            self.say("/cd needs a directory; /pwd says which it is");
            return;
        }
        // The session looks whether it is there.
        let cwd = self.working_directory().join(argument);
        self.override_context(TurnOverrides {
            cwd: Some(cwd),
            ..TurnOverrides::default()
        });
    }

    /// Writes what is shown to a new file.
    pub(super) fn export(&mut self, argument: &str) {
        let agent = self.shown_agent();
        let Some(transcript) = self.transcript_of(agent) else {
            self.say("there is nothing to write");
            return;
        };
        let mut text = String::new();
        let mut label = "";
        for cell in transcript.cells() {
            if cell.body.label() != label {
                label = cell.body.label();
                append(&mut text, format_args!("\n## {label}\n\n"));
            }
            text.push_str(cell.body.source().trim_end());
            text.push_str("\n\n");
        }
        let name = match argument {
            "" => {
                let session = self.facts.session.map(|session| session.short());
                PathBuf::from(format!("troupe-{}.md", session.unwrap_or_default()))
            }
            name => PathBuf::from(name),
        };
        let path = self.working_directory().join(name);
        self.effects.push(Effect::WriteFile { path, text });
    }

    /// Lists what runs now, of the root and of agents that are looked at.
    pub(super) fn list_commands(&mut self) {
        let mut text = String::new();
        let agents = std::iter::once((AgentId::ROOT, &self.transcript));
        let agents = agents.chain(self.agents.iter().map(|(agent, it)| (*agent, it)));
        for (agent, transcript) in agents {
            for item in transcript.open() {
                if let OpenItem::Call { verb, command, .. } = item {
                    let name = self.roster.name(agent);
                    append(&mut text, format_args!("{name:<12} {verb} {command}\n"));
                }
            }
        }
        for entry in self.roster.entries() {
            if let Some(detail) = entry.report.detail.as_deref()
                && detail.starts_with("runs")
            {
                append(&mut text, format_args!("{:<12} {detail}\n", entry.name()));
            }
        }
        if text.is_empty() {
            self.say("nothing runs");
        } else {
            self.open_pager(PagerView::at_top("RUNNING", PagerBody::Text(text)));
        }
    }

    /// Lists the messages that wait for the end of the task.
    pub(super) fn open_queue(&mut self) {
        let kept = self.waiting.iter().filter(|message| !message.is_sent());
        let rows: Vec<String> = kept.map(|message| message.text.clone()).collect();
        if rows.is_empty() {
            self.say("no message waits");
        } else {
            self.pick(PickerKind::Queue, rows);
        }
    }

    /// Takes a message that waits out of the queue.
    pub(super) fn take_queued(&mut self, number: usize) -> Option<String> {
        let mut waiting = self.waiting.iter().enumerate();
        let at = waiting.by_ref().filter(|(_, message)| !message.is_sent());
        let at = at.map(|(at, _)| at).nth(number)?;
        Some(self.waiting.remove(at).text)
    }

    /// Reads names of items; `None` if there are none.
    pub(super) fn items_of_line(&mut self, argument: &str) -> Option<Vec<StatusItem>> {
        let mut items = Vec::new();
        for word in argument.split_whitespace() {
            let Ok(item) = serde_json::from_value(serde_json::Value::from(word)) else {
                self.say(format!("there is no item {word}"));
                return None;
            };
            items.push(item);
        }
        (!items.is_empty()).then_some(items)
    }

    /// Lists the items that there are, with what each says now.
    pub(super) fn list_items(&mut self, key: &str) {
        let mut text = format!("[tui] {key} in config.toml keeps the choice. Items:\n\n");
        for item in StatusItem::ALL {
            let says = crate::views::status::item_text(self, item).unwrap_or_default();
            let name = crate::views::status::wire_word(&item);
            append(&mut text, format_args!("{name:<22} {says}\n"));
        }
        self.open_pager(PagerView::at_top("ITEMS", PagerBody::Text(text)));
    }
}
