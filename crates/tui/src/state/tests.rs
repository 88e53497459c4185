//! Keys and events in, effects and rows out.

mod agents;
mod conversation;
mod keys;
mod lines;
mod questions;

use serde_json::{Value, json};
use troupe_protocol::link::{ClientRole, Seat};
use troupe_protocol::{Event, Op};

use super::*;
use crate::keys::KeyStroke;
use crate::text::TextRow;
use crate::views::view;

const SESSION: &str = "3f2a9c1e-0000-4000-8000-000000000001";
const CHILD: &str = "3f2a9c1e-0000-4000-8000-000000000002";
const START_MS: i64 = 1_700_000_000_000;

/// A screen with a clock of its own.
struct Screen {
    state: AppState,
    effects: Vec<Effect>,
    seq: u64,
}

impl Screen {
    fn new(columns: usize, rows: usize) -> Self {
        let options = ScreenOptions {
            outlives_screen: true,
            ..ScreenOptions::default()
        };
        let size = ScreenSize { columns, rows };
        let mut screen = Self {
            state: AppState::new(&options, size, START_MS).unwrap(),
            effects: Vec::new(),
            seq: 0,
        };
        screen.event(json!({
            "type": "session_configured", "session_id": SESSION, "model_provider_id": "openai",
            "cwd": "/home/me/parser", "approval_policy": "on-request",
            "sandbox_policy": {"type": "workspace-write"}, "model": "sol", "effort": "high",
            "history_entry_count": 0,
        }));
        let directory = PathBuf::from("/home/me/parser");
        assert_eq!(screen.effects, [Effect::ReadBranch(directory)]);
        screen.effects.clear();
        screen
    }

    fn happened(&mut self, event: AppEvent) {
        let effects = self.state.update(event, self.state.now_ms);
        self.effects.extend(effects);
        self.state.transcript.settle();
    }

    fn answered(&mut self, news: crate::session::TreeNews) {
        self.happened(AppEvent::Link(LinkMessage::Tree(Box::new(news))));
    }

    fn event(&mut self, msg: Value) {
        self.seq += 1;
        let msg = serde_json::from_value(msg).unwrap();
        let event = Event {
            id: "task".into(),
            seq: self.seq,
            msg,
        };
        self.happened(AppEvent::Link(LinkMessage::Event(Box::new(event))));
    }

    /// An item that is complete.
    fn item(&mut self, item: Value) {
        self.event(json!({
            "type": "item_completed", "thread_id": SESSION, "turn_id": "task", "item": item,
            "completed_at_ms": START_MS,
        }));
    }

    fn begins(&mut self, item: Value) {
        self.event(json!({
            "type": "item_started", "thread_id": SESSION, "turn_id": "task", "item": item,
            "started_at_ms": self.state.now_ms,
        }));
    }

    fn task_starts(&mut self) {
        self.event(json!({
            "type": "task_started", "turn_id": "task", "started_at_ms": self.state.now_ms,
        }));
    }

    fn task_ends(&mut self) {
        self.event(json!({
            "type": "task_complete", "turn_id": "task", "duration_ms": 5, "last_agent_message": "done",
        }));
    }

    fn child(&mut self, number: u32, name: &str, status: Value) {
        self.event(json!({
            "type": "subagent_lifecycle", "event": "status", "agent_id": number,
            "session_id": CHILD, "status": status,
            "subagent": {
                "agent_id": number, "session_id": CHILD, "path": format!("/root/{name}"),
                "origin": "spawn", "status": status, "summary": format!("task of {name}"),
                "started_at_ms": START_MS, "pending_messages": 0, "pending_interrupts": 0,
            },
        }));
    }

    fn asks(&mut self, id: &str, agent: Option<(u32, &str)>, command: &[&str]) {
        let agent = agent.map(|(number, name)| {
            json!({"agent_id": number, "path": format!("/root/{name}"), "session_id": CHILD})
        });
        self.event(json!({
            "type": "exec_approval_request", "call_id": id, "turn_id": "task",
            "command": command, "cwd": "/home/me/parser", "parsed_cmd": [],
            "available_decisions": ["approved", "approved_for_session", "denied", "abort"],
            "agent": agent,
        }));
    }

    fn later(&mut self, ms: i64) {
        self.state.now_ms += ms;
        self.happened(AppEvent::Tick);
    }

    fn key(&mut self, key: &str) {
        let stroke: KeyStroke = key.parse().unwrap();
        self.happened(AppEvent::Input(InputEvent::Key(stroke)));
    }

    fn types(&mut self, text: &str) {
        for letter in text.chars() {
            let stroke = KeyStroke::new(
                termina::event::KeyCode::Char(letter),
                termina::event::Modifiers::NONE,
            );
            self.happened(AppEvent::Input(InputEvent::Key(stroke)));
        }
    }

    /// Returns what was submitted since the last look.
    fn submitted(&mut self) -> Vec<Op> {
        let effects = std::mem::take(&mut self.effects).into_iter();
        let ops = effects.filter_map(|effect| match effect {
            Effect::Submit(op) => Some(*op),
            _ => None,
        });
        ops.collect()
    }

    fn shown(&self) -> String {
        let frame = view(&self.state);
        assert!(frame.rows.len() <= self.state.size.rows);
        assert!(
            frame
                .rows
                .iter()
                .all(|row| row.width() <= self.state.size.columns)
        );
        let rows: Vec<String> = frame
            .rows
            .iter()
            .map(|row| row.text().trim_end().to_owned())
            .collect();
        rows.join("\n")
    }

    /// Returns the finished cells, as they are printed.
    fn history(&self) -> String {
        let columns = self.state.size.columns;
        let cells = self.state.transcript.cells().iter();
        let rows: Vec<TextRow> = cells
            .flat_map(|cell| cell.rows(columns, crate::cells::CellFold::Folded))
            .collect();
        assert!(rows.iter().all(|row| row.width() <= columns));
        let rows: Vec<String> = rows
            .iter()
            .map(|row| row.text().trim_end().to_owned())
            .collect();
        rows.join("\n")
    }

    fn follows(&mut self) {
        self.state.facts.seat = Some(Seat {
            role: ClientRole::Follow,
            driver: Some("other".into()),
            asking: Vec::new(),
        });
    }
}
