//! Every key of the table, pressed where it means something. What each does is written down in
//! `keys.txt`; a key that does nothing fails, and so does a row that nobody thought of a scene for.

use std::fmt::Write as _;

use expect_test::expect_file;

use super::*;
use crate::keys::{KEY_TABLE, KeyBinding, KeyContext};
use crate::text::append;

#[test]
fn every_key_does_what_the_table_says() {
    let mut told = String::new();
    for row in KEY_TABLE {
        // Those of the list of sessions are pressed in `resume`.
        if row.context == KeyContext::Sessions {
            continue;
        }
        for key in row.keys {
            let mut screen = scene(row);
            let before = seen(&screen);
            screen.effects.clear();
            screen.key(key);
            let after = seen(&screen);
            let name = format!("{}.{} {key}", row.context.name(), row.name);
            assert!(
                before != after || !screen.effects.is_empty(),
                "{name} does nothing:\n{}",
                screen.shown()
            );
            writeln!(told, "{name}: {}", change(&before, &after, &screen.effects)).unwrap();
        }
    }
    expect_file!["keys.txt"].assert_eq(&told);
}

/// What a person sees, and where the cursor is.
#[derive(Debug, PartialEq)]
struct Seen {
    rows: Vec<String>,
    cursor: Option<crate::terminal::CursorPlace>,
    top: String,
    line: String,
}

fn seen(screen: &Screen) -> Seen {
    let frame = view(&screen.state);
    let top = match screen.state.overlays.last() {
        None => "conversation".to_owned(),
        Some(ScreenOverlay::Pager(pager)) => format!("text {:?}", pager.title),
        Some(ScreenOverlay::Agent(agent)) => format!("agent {agent}"),
        Some(ScreenOverlay::Peek(agent)) => format!("peek at {agent}"),
        Some(ScreenOverlay::Picker(picker)) => format!("list {:?}", picker.kind.title()),
        Some(ScreenOverlay::Agents(_)) => "agents".to_owned(),
        Some(ScreenOverlay::Questions(_)) => "questions".to_owned(),
        Some(ScreenOverlay::Stop(dialog)) => format!("stop by {:?}", dialog.verb),
        Some(ScreenOverlay::Spawn(_)) => "form of an agent".to_owned(),
        Some(ScreenOverlay::Leaving) => "leaving".to_owned(),
    };
    Seen {
        rows: frame
            .rows
            .iter()
            .map(|row| row.text().trim_end().to_owned())
            .collect(),
        cursor: frame.cursor,
        top,
        line: screen.state.composer.buffer.text().to_owned(),
    }
}

/// Says what became another: first what is on top, then the line, then what is asked for, else a
/// row.
fn change(before: &Seen, after: &Seen, effects: &[Effect]) -> String {
    let mut parts = Vec::new();
    if before.top != after.top {
        parts.push(format!("to {}", after.top));
    }
    if before.line != after.line {
        parts.push(format!("the line is {:?}", after.line));
    }
    parts.extend(effects.iter().map(effect_words));
    if parts.is_empty() {
        let rows = after.rows.iter().enumerate();
        let other = rows.filter(|(at, row)| before.rows.get(*at) != Some(row));
        match (other.map(|(_, row)| row).next(), after.cursor) {
            (Some(row), _) => parts.push(format!("shows {:?}", row.trim())),
            (None, Some(cursor)) => {
                parts.push(format!(
                    "the cursor is at {}, {}",
                    cursor.row, cursor.column
                ));
            }
            (None, None) => {}
        }
    }
    parts.join("; ")
}

/// Says what is asked for, without times and numbers of messages.
fn effect_words(effect: &Effect) -> String {
    match effect {
        Effect::Submit(op) => {
            let mut op = serde_json::to_value(op).unwrap();
            if let Some(fields) = op.as_object_mut() {
                fields.remove("client_id");
            }
            format!("submits {op}")
        }
        Effect::Ask(request) => format!("asks {request:?}"),
        Effect::Reprint => "prints again".to_owned(),
        effect => format!("{effect:?}"),
    }
}

/// A conversation with agents, and more rows than the screen has.
fn busy(columns: usize, rows: usize) -> Screen {
    let mut screen = Screen::new(columns, rows);
    screen.types("earlier");
    screen.key("enter");
    screen.task_starts();
    for number in 0..30 {
        let text = format!("answer {number}\n\nline of it");
        screen.item(json!({"type": "AgentMessage", "id": format!("a{number}"), "text": text}));
    }
    let output: String = (0..20).fold(String::new(), |mut text, number| {
        append(&mut text, format_args!("output {number}\n"));
        text
    });
    screen.item(json!({
        "type": "CommandExecution", "id": "c", "command": ["cargo", "test"],
        "cwd": "/home/me/parser", "parsed_cmd": [], "status": "completed", "outcome": {
            "exit_code": 0, "stdout": "", "stderr": "", "aggregated_output": output,
            "formatted_output": "", "duration_ms": 5,
        },
    }));
    screen.child(1, "tester", json!("running"));
    screen.child(2, "docs", json!("running"));
    screen.child(2, "docs", json!({"completed": "2 files, tests ok"}));
    screen.child(3, "linter", json!("running"));
    screen.later(9_000);
    screen
}

fn with_questions(screen: &mut Screen) {
    let long = (0..60).fold("true".to_owned(), |mut text, number| {
        append(&mut text, format_args!("\ntrue {number}"));
        text
    });
    for (id, command) in [
        ("c1", "make test"),
        ("c2", long.as_str()),
        ("c3", "make test"),
    ] {
        screen.event(json!({
            "type": "exec_approval_request", "call_id": id, "turn_id": "task",
            "command": ["bash", "-c", command], "cwd": "/home/me/parser", "parsed_cmd": [],
            "available_decisions": [
                "approved", "approved_for_session", "approved_always", "denied", "abort"
            ],
            "proposed_rules": [{"prefix": ["make"]}],
            "agent": {"agent_id": 1, "path": "/root/tester", "session_id": CHILD},
        }));
    }
    screen.later(9_000);
}

/// Where a key of this row means something.
fn scene(row: &KeyBinding) -> Screen {
    let mut screen = busy(90, 24);
    match row.context {
        KeyContext::Main => main_scene(&mut screen, row.name),
        KeyContext::Editor => editor_scene(&mut screen, row.name),
        KeyContext::Band => with_questions(&mut screen),
        KeyContext::Questions => {
            with_questions(&mut screen);
            screen.types("/questions");
            screen.key("enter");
            match row.name {
                "page_down" | "up" => keys(&mut screen, &["down"]),
                "page_up" => keys(&mut screen, &["down", "pagedown"]),
                _ => {}
            }
        }
        KeyContext::Agents => {
            if matches!(row.name, "yes" | "no") {
                with_questions(&mut screen);
            }
            keys(&mut screen, &["alt-a"]);
            match row.name {
                "up" => keys(&mut screen, &["down"]),
                "mark_read" => keys(&mut screen, &["down", "down"]),
                _ => {}
            }
        }
        KeyContext::Spawn => {
            keys(&mut screen, &["alt-a", "ctrl-n"]);
            match row.name {
                "up" => keys(&mut screen, &["down"]),
                "previous_value" | "next_value" => {
                    keys(&mut screen, &["down", "down", "down", "down"]);
                }
                "confirm" => screen.types("do it"),
                _ => {}
            }
        }
        KeyContext::Pager => {
            keys(&mut screen, &["ctrl-t"]);
            match row.name {
                "down" | "page_down" | "bottom" => keys(&mut screen, &["g"]),
                "next_match" => {
                    keys(&mut screen, &["g", "/"]);
                    screen.types("answer");
                    keys(&mut screen, &["enter"]);
                }
                _ => {}
            }
        }
        KeyContext::Stop => keys(&mut screen, &["alt-a", "x"]),
        KeyContext::Leaving => keys(&mut screen, &["ctrl-d"]),
        KeyContext::Plan => {
            screen.item(json!({"type": "Plan", "id": "p", "text": "1. Repair"}));
            screen.state.plan_offered = true;
        }
        KeyContext::Picker if row.name == "drop" => {
            screen.types("kept");
            screen.key("tab");
            screen.types("/queue");
            screen.key("enter");
        }
        KeyContext::Picker => {
            for text in ["one", "two"] {
                screen.types(text);
                screen.key("enter");
            }
            keys(&mut screen, &["ctrl-r"]);
            if row.name == "up" {
                keys(&mut screen, &["down"]);
            }
        }
        KeyContext::Sessions => {}
    }
    screen
}

fn keys(screen: &mut Screen, keys: &[&str]) {
    for key in keys {
        screen.key(key);
    }
}

fn main_scene(screen: &mut Screen, name: &str) {
    match name {
        "submit" | "queue" | "interrupt_with" | "cancel" => screen.types("hello"),
        "edit_queued" => {
            screen.types("kept");
            screen.key("tab");
        }
        "root_agent" => screen.key("alt-1"),
        "page_up" => screen.state.is_full_screen = true,
        "page_down" => {
            screen.state.is_full_screen = true;
            screen.key("pageup");
        }
        "next_needing" | "whole" => with_questions(screen),
        _ => {}
    }
}

/// Three lines with the cursor inside the second.
fn editor_scene(screen: &mut Screen, name: &str) {
    screen
        .state
        .composer
        .buffer
        .set("one two\nthree four\nfive");
    keys(screen, &["up", "ctrl-left", "right"]);
    match name {
        "yank" => screen.key("ctrl-w"),
        "undo" => screen.key("ctrl-k"),
        "redo" => keys(screen, &["ctrl-k", "ctrl-_"]),
        _ => {}
    }
}
