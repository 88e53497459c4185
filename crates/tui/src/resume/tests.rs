//! Keys and answers in, requests and rows out.

use expect_test::expect;
use serde_json::json;
use troupe_protocol::SessionId;
use troupe_protocol::link::query::SessionCard;

use super::catalogue::{CatalogueAnswer, CatalogueRequest, PageFreshness, SessionScope};
use super::{PickerChoice, SessionPicker, rows};
use crate::keys::{KEY_TABLE, KeyContext, KeyMap, KeyMapSettings};
use crate::settings::SessionPickerView;
use crate::terminal::ScreenSize;
use crate::text::TextRow;

const NOW_MS: i64 = 1_700_000_000_000;

fn id(number: usize) -> SessionId {
    let text = format!("3f2a9c1e-0000-4000-8000-{number:012}");
    text.parse().unwrap()
}

fn card(number: usize, name: &str) -> SessionCard {
    serde_json::from_value(json!({
        "session_id": id(number), "name": name, "preview": format!("please do {name}"),
        "note": if number == 1 { "slow on CI" } else { "" }, "cwd": "/home/me/parser",
        "model": "sol", "created_ms": NOW_MS, "updated_ms": NOW_MS - 7_200_000, "tokens": 412_000,
        "tree": {"agents": 5, "stopped": number % 2, "questions": 1, "is_open": number == 2},
    }))
    .unwrap()
}

fn picker(columns: usize, height: usize) -> SessionPicker {
    let keymap = KeyMap::new(&KeyMapSettings::new()).unwrap();
    let size = ScreenSize {
        columns,
        rows: height,
    };
    SessionPicker::new(keymap, SessionPickerView::Comfortable, size, NOW_MS)
}

fn page(picker: &mut SessionPicker, names: &[&str]) {
    let sessions = names.iter().enumerate();
    let sessions = sessions.map(|(number, name)| card(number + 1, name));
    picker.told(CatalogueAnswer::Page {
        scope: picker.scope.clone(),
        continues: false,
        freshness: PageFreshness::LookedUp,
        sessions: sessions.collect(),
        next: None,
    });
}

fn types(picker: &mut SessionPicker, keys: &[&str]) {
    for key in keys {
        picker.key(key.parse().unwrap());
    }
}

fn shown(picker: &SessionPicker) -> String {
    let frame = rows::frame(picker);
    let rows: Vec<String> = frame.rows.iter().map(TextRow::text).collect();
    let rows: Vec<&str> = rows.iter().map(|row| row.trim_end()).collect();
    rows.join("\n")
}

fn listing(search: &str) -> CatalogueRequest {
    CatalogueRequest::Page {
        scope: SessionScope {
            search: search.to_owned(),
            ..SessionScope::default()
        },
        cursor: None,
        freshness: PageFreshness::LookedUp,
    }
}

#[test]
fn a_session_says_who_needs_whom_and_is_resumed() {
    let mut picker = picker(80, 8);
    let remembered = CatalogueRequest::Page {
        scope: SessionScope::default(),
        cursor: None,
        freshness: PageFreshness::Remembered,
    };
    assert_eq!(picker.take_requests(), [remembered, listing("")]);
    page(&mut picker, &["parser-fix", "lexer"]);
    expect![[r#"
        RESUME                                          here  active  by change   1 of 2
        › parser-fix                              ! 1  = 1 stopped  5 agents  412 k  2 h
            3f2a9c1e  sol  note: slow on CI
          lexer                                        ! 1  ● runs  5 agents  412 k  2 h
            3f2a9c1e  sol


        Enter resume  f fork  / search  Tab here, all  Ctrl+E preview  r name  N note"#]]
    .assert_eq(&shown(&picker));
    types(&mut picker, &["down", "enter"]);
    assert_eq!(picker.choice, Some(PickerChoice::Resume(id(2))));
    types(&mut picker, &["f"]);
    assert_eq!(picker.choice, Some(PickerChoice::Fork(id(2))));
}

#[test]
fn what_the_index_remembers_is_shown_until_the_logs_were_looked_at() {
    let mut picker = picker(80, 8);
    let remembered = |picker: &mut SessionPicker, sessions| {
        picker.told(CatalogueAnswer::Page {
            scope: picker.scope.clone(),
            continues: false,
            freshness: PageFreshness::Remembered,
            sessions,
            next: None,
        });
    };
    remembered(&mut picker, Vec::new());
    assert!(picker.is_loading, "that nothing is there is not known yet");
    remembered(&mut picker, vec![card(1, "one"), card(2, "two")]);
    types(&mut picker, &["down"]);
    // One more session came before it; what was chosen stays chosen.
    page(&mut picker, &["one", "two"]);
    assert_eq!(
        picker.chosen_session().map(|card| card.session_id),
        Some(id(2))
    );
    assert!(!picker.is_loading);
}

#[test]
fn words_are_searched_for_as_they_are_typed() {
    let mut picker = picker(80, 8);
    picker.take_requests();
    types(&mut picker, &["/", "s", "p"]);
    assert_eq!(picker.take_requests(), [listing("s"), listing("sp")]);
    // What was found for the words before comes too late.
    picker.told(CatalogueAnswer::Page {
        scope: SessionScope::default(),
        continues: false,
        freshness: PageFreshness::LookedUp,
        sessions: vec![card(9, "old")],
        next: None,
    });
    assert!(picker.sessions.is_empty());
    page(&mut picker, &["span"]);
    assert!(
        shown(&picker).starts_with("RESUME  /sp"),
        "{}",
        shown(&picker)
    );
    types(&mut picker, &["enter"]);
    assert_eq!(picker.choice, Some(PickerChoice::Resume(id(1))));
}

#[test]
fn names_notes_and_archives_are_changed_from_the_list() {
    let mut picker = picker(80, 8);
    page(&mut picker, &["one"]);
    picker.take_requests();
    types(&mut picker, &["r", "ctrl-u", "t", "w", "o", "enter"]);
    types(&mut picker, &["N", "ctrl-u", "enter", "ctrl-a", "tab"]);
    let everywhere = CatalogueRequest::Page {
        scope: SessionScope {
            everywhere: true,
            ..SessionScope::default()
        },
        cursor: None,
        freshness: PageFreshness::LookedUp,
    };
    assert_eq!(
        picker.take_requests(),
        [
            CatalogueRequest::Rename(id(1), "two".to_owned()),
            CatalogueRequest::Note(id(1), String::new()),
            CatalogueRequest::Archive {
                session: id(1),
                is_archived: true
            },
            everywhere,
        ]
    );
    picker.told(CatalogueAnswer::Refused("it is open elsewhere".to_owned()));
    assert!(shown(&picker).contains("it is open elsewhere"));
}

#[test]
fn what_was_said_is_looked_at_before_anything_is_opened() {
    let mut picker = picker(80, 14);
    page(&mut picker, &["one", "two"]);
    picker.take_requests();
    types(&mut picker, &["ctrl-e"]);
    assert_eq!(picker.take_requests(), [CatalogueRequest::Preview(id(1))]);
    let event = json!({"type": "item_completed", "thread_id": id(1), "turn_id": "t", "completed_at_ms": 1,
        "item": {"type": "AgentMessage", "id": "a", "text": "It is *done*."}});
    picker.told(CatalogueAnswer::Preview {
        session: id(1),
        events: vec![serde_json::from_value(event).unwrap()],
    });
    expect![[r#"
        RESUME                                          here  active  by change   1 of 2
        › one                                     ! 1  = 1 stopped  5 agents  412 k  2 h
            3f2a9c1e  sol  note: slow on CI
          two                                          ! 1  ● runs  5 agents  412 k  2 h
            3f2a9c1e  sol
        ────────────────────────────────────────────────────────────────────────────────

        It is done.





        Enter resume  f fork  / search  Tab here, all  Ctrl+E preview  r name  N note"#]]
    .assert_eq(&shown(&picker));
    // Of the next one, what it said.
    types(&mut picker, &["down"]);
    assert_eq!(picker.take_requests(), [CatalogueRequest::Preview(id(2))]);
    types(&mut picker, &["esc", "esc"]);
    assert_eq!(picker.choice, Some(PickerChoice::Nothing));
}

#[test]
fn ten_thousand_sessions_come_in_pages() {
    let mut picker = picker(80, 24);
    picker.take_requests();
    let sessions: Vec<SessionCard> = (0..50).map(|number| card(number, "it")).collect();
    let told = |picker: &mut SessionPicker, continues| {
        picker.told(CatalogueAnswer::Page {
            scope: picker.scope.clone(),
            continues,
            freshness: PageFreshness::LookedUp,
            sessions: sessions.clone(),
            next: Some("more".to_owned()),
        });
    };
    told(&mut picker, false);
    types(&mut picker, &["down"]);
    assert!(picker.take_requests().is_empty());
    types(&mut picker, &["end"]);
    let asked = picker.take_requests();
    assert!(
        matches!(&asked[..], [CatalogueRequest::Page { cursor: Some(cursor), .. }] if cursor == "more")
    );
    told(&mut picker, true);
    assert_eq!(picker.sessions.len(), 100);
    assert!(shown(&picker).contains("50 of 100+"));
}

#[test]
fn every_key_of_the_list_does_something() {
    let rows = KEY_TABLE
        .iter()
        .filter(|row| row.context == KeyContext::Sessions);
    for row in rows {
        for key in row.keys {
            let mut picker = picker(80, 24);
            page(&mut picker, &["one", "two", "three"]);
            if matches!(row.name, "up" | "page_up" | "top") {
                types(&mut picker, &["end"]);
            }
            picker.take_requests();
            let before = shown(&picker);
            types(&mut picker, &[key]);
            let asks = !picker.take_requests().is_empty();
            assert!(
                asks || picker.choice.is_some() || shown(&picker) != before,
                "{} {key} does nothing:\n{before}",
                row.name
            );
        }
    }
}
