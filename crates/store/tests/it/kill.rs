//! `kill -9` while lines are being appended.

use std::path::Path;

use rand::Rng;
use troupe_store::{EmbeddedStore, ListQuery, SessionStore};

use super::child::{APPEND_UNTIL_KILLED, Actor};
use super::home::{Home, meta, said, texts};

const ROUNDS: usize = 25;

#[tokio::test]
async fn what_was_committed_is_there_after_a_kill() {
    let home = Home::new();
    let meta = meta();
    drop(home.store.create(&meta).await.unwrap());
    for _ in 0..ROUNDS {
        let mut actor = Actor::start(APPEND_UNTIL_KILLED, home.dir.path());
        let mut committed = 0;
        for _ in 0..rand::rng().random_range(1..30) {
            committed = actor.told("committed").parse().unwrap();
        }
        actor.kill();

        let history = home.again().read_live(meta.id).await.unwrap();
        let texts = texts(&history);
        assert!(texts.len() >= committed, "{} of {committed}", texts.len());
        for (number, text) in texts.iter().enumerate() {
            assert!(text.starts_with(&format!("{number} ")), "{number}: {text}");
        }
    }
    let page = home.again().list(&ListQuery::default()).await.unwrap();
    assert_eq!(page.sessions.len(), 1);
}

/// Plays [`APPEND_UNTIL_KILLED`].
#[expect(clippy::print_stdout, reason = "the parent reads it")]
pub async fn append_forever(home: &Path) {
    let store = EmbeddedStore::open(home).unwrap();
    let page = store.list(&ListQuery::default()).await.unwrap();
    let (mut log, history) = store.open(page.sessions[0].id).await.unwrap();
    let mut number = texts(&history).len();
    loop {
        // Longer than a page, so that a kill can hit the middle of a write.
        let text = format!("{number} {}", "x".repeat(10_000));
        log.append(&[said(&text)]).unwrap();
        number += 1;
        if number.is_multiple_of(3) {
            log.commit().await.unwrap();
            println!("committed: {number}");
        }
    }
}
