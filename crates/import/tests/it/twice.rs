//! The same conversation again.

use std::fs;
use std::path::{Path, PathBuf};

use troupe_import::takeover::{ForeignProgress, ImportIdentity, ImportOutcome};
use troupe_protocol::event::EventMsg;
use troupe_protocol::rollout::{EventRecord, RolloutRecord};
use troupe_store::{ListQuery, SessionStore};

use crate::chronicle::Home;

const MORE: &str = r#"{"timestamp":"2026-03-02T10:00:00.000Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"one thing more"}]}}
"#;

fn copied(home: &Home) -> PathBuf {
    let fixture =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/codex-rolled-back/input.jsonl");
    let copy = home.path("rollout.jsonl");
    fs::copy(fixture, &copy).unwrap();
    copy
}

fn go_on_there(file: &Path) {
    let mut text = fs::read_to_string(file).unwrap();
    text.push_str(MORE);
    fs::write(file, text).unwrap();
}

async fn sessions(home: &Home) -> usize {
    let page = home.store().list(&ListQuery::default()).await.unwrap();
    page.sessions.len()
}

#[tokio::test]
async fn a_second_import_says_which_session_it_is() {
    let home = Home::new();
    let file = copied(&home);
    let first = home.import(&file).await.unwrap();
    assert_eq!(first.outcome, ImportOutcome::Made);
    let second = home.import(&file).await.unwrap();
    assert_eq!(second.session, first.session);
    assert_eq!(
        second.outcome,
        ImportOutcome::Known(ForeignProgress::Nothing)
    );
    assert_eq!(sessions(&home).await, 1);
    let another = home.import_as(&file, ImportIdentity::Fresh).await.unwrap();
    assert_ne!(another.session, first.session);
    assert_eq!(sessions(&home).await, 2);
}

#[tokio::test]
async fn a_conversation_that_went_on_there_is_brought_up_to_date() {
    let home = Home::new();
    let file = copied(&home);
    let first = home.import(&file).await.unwrap();
    go_on_there(&file);
    let second = home.import(&file).await.unwrap();
    assert_eq!(second.session, first.session);
    assert_eq!(second.outcome, ImportOutcome::Updated);
    assert_eq!(second.turns, first.turns + 1);
    assert_eq!(sessions(&home).await, 1);
}

#[tokio::test]
async fn a_session_that_went_on_here_is_never_replaced() {
    let home = Home::new();
    let file = copied(&home);
    let first = home.import(&file).await.unwrap();
    let (mut log, _) = home.store().open(first.session).await.unwrap();
    let note = RolloutRecord::EventMsg(EventRecord {
        id: "sub-1".into(),
        seq: 100_000,
        msg: EventMsg::ThreadNoteUpdated {
            thread_note: Some("mine".to_owned()),
        },
    });
    log.append(&[note]).unwrap();
    log.close().await.unwrap();
    go_on_there(&file);
    let second = home.import(&file).await.unwrap();
    assert_eq!(
        second.outcome,
        ImportOutcome::Known(ForeignProgress::WentOnApart)
    );
    let live = home.store().read_live(first.session).await.unwrap();
    let last = format!("{:?}", live.records.last().unwrap());
    assert!(last.contains("mine"), "{last}");
}

#[tokio::test]
async fn an_import_that_was_cut_off_is_made_again() {
    let home = Home::new();
    let file = copied(&home);
    let first = home.import(&file).await.unwrap();
    let mut log = home.path("home/sessions");
    while log.is_dir() {
        log = fs::read_dir(&log).unwrap().next().unwrap().unwrap().path();
    }
    let text = fs::read_to_string(&log).unwrap();
    let half: Vec<&str> = text.split_inclusive('\n').take(4).collect();
    fs::write(&log, half.concat()).unwrap();
    let second = home.import(&file).await.unwrap();
    assert_eq!(second.outcome, ImportOutcome::Updated);
    assert_eq!(second.session, first.session);
    assert_eq!(
        fs::read_to_string(&log).unwrap().lines().count(),
        text.lines().count()
    );
}
