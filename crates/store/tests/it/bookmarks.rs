//! Bookmarks are found across all sessions of a home.

use std::fs;

use troupe_store::{LogBookmark, SessionStore};

use super::home::{Home, meta, response_completed, rewind, said, texts};

#[tokio::test]
async fn a_bookmark_leads_to_the_history_that_it_ended() {
    let home = Home::new();
    let meta = meta();
    let mut log = home.store.create(&meta).await.unwrap();
    let start = log.position();
    let position = log
        .append(&[said("one"), response_completed("resp_1")])
        .unwrap();
    log.append(&[said("two"), response_completed("resp_2"), rewind(start)])
        .unwrap();
    log.close().await.unwrap();

    let found = home.again().find_bookmark(&"resp_1".into()).await.unwrap();
    let session = meta.id;
    assert_eq!(found, Some(LogBookmark { session, position }));
    let history = home.store.read_live_at(session, position).await.unwrap();
    assert_eq!(texts(&history), ["one"]);
    // Also on a branch that was left.
    let left = home
        .store
        .find_bookmark(&"resp_2".into())
        .await
        .unwrap()
        .unwrap();
    let history = home
        .store
        .read_live_at(session, left.position)
        .await
        .unwrap();
    assert_eq!(texts(&history), ["one", "two"]);
    assert_eq!(
        home.store.find_bookmark(&"resp_3".into()).await.unwrap(),
        None
    );
}

#[tokio::test]
async fn a_bookmark_is_found_before_anything_was_committed() {
    let home = Home::new();
    let mut log = home.store.create(&meta()).await.unwrap();
    let position = log.append(&[response_completed("resp_1")]).unwrap();
    let found = home.again().find_bookmark(&"resp_1".into()).await.unwrap();
    let session = log.session();
    assert_eq!(found, Some(LogBookmark { session, position }));
}

#[tokio::test]
async fn the_newest_of_several_wins() {
    let home = Home::new();
    let mut older = home.store.create(&meta()).await.unwrap();
    let mut newer = home.store.create(&meta()).await.unwrap();
    older.append(&[response_completed("resp_1")]).unwrap();
    newer.append(&[response_completed("resp_1")]).unwrap();
    let position = newer.append(&[response_completed("resp_1")]).unwrap();
    let found = home.store.find_bookmark(&"resp_1".into()).await.unwrap();
    let session = newer.session();
    assert_eq!(found, Some(LogBookmark { session, position }));
}

#[tokio::test]
async fn a_bookmark_of_a_deleted_session_is_gone() {
    let home = Home::new();
    let mut log = home.store.create(&meta()).await.unwrap();
    log.append(&[response_completed("resp_1")]).unwrap();
    let path = log.path().unwrap().to_owned();
    log.close().await.unwrap();
    assert!(
        home.store
            .find_bookmark(&"resp_1".into())
            .await
            .unwrap()
            .is_some()
    );
    fs::remove_file(path).unwrap();
    assert_eq!(
        home.store.find_bookmark(&"resp_1".into()).await.unwrap(),
        None
    );
}
