//! The store in memory behaves as the one on disk.

use troupe_store::{
    ArchivedFilter, ListQuery, LogBookmark, LogPosition, MemoryStore, SessionStore, StoreError,
};

use super::home::{compacted, meta, response_completed, rewind, said, texts, ticking_clock};
use super::list::{named, user_said};

#[tokio::test]
async fn a_session_in_memory_can_be_left_resumed_and_listed() {
    let store = MemoryStore::with_clock(ticking_clock());
    let meta = meta();
    let mut log = store.create(&meta).await.unwrap();
    assert_eq!(log.path(), None);
    let one = log.append(&[user_said("hello"), said("one")]).unwrap();
    let marked = log
        .append(&[said("two"), response_completed("resp_1")])
        .unwrap();
    log.append(&[named("tale"), rewind(one), said("three")])
        .unwrap();
    assert!(matches!(
        store.open(meta.id).await,
        Err(StoreError::Owned { .. })
    ));
    assert!(matches!(
        store.archive(meta.id).await,
        Err(StoreError::Owned { .. })
    ));
    log.commit().await.unwrap();
    log.close().await.unwrap();

    let (mut log, history) = store.open(meta.id).await.unwrap();
    assert_eq!(texts(&history), ["one", "three"]);
    log.append(&[compacted("all"), said("four")]).unwrap();
    drop(log);
    assert_eq!(texts(&store.read_live(meta.id).await.unwrap()), ["four"]);

    let session = meta.id;
    let found = store.find_bookmark(&"resp_1".into()).await.unwrap();
    assert_eq!(
        found,
        Some(LogBookmark {
            session,
            position: marked
        })
    );
    let history = store.read_live_at(session, marked).await.unwrap();
    assert_eq!(texts(&history), ["one", "two"]);
    assert_eq!(store.resolve("tale").await.unwrap(), session);
    assert_eq!(store.resolve(&session.short()).await.unwrap(), session);
    assert_eq!(
        store
            .read_all(session, LogPosition(0))
            .await
            .unwrap()
            .lines
            .len(),
        10
    );

    let page = store.list(&ListQuery::default()).await.unwrap();
    assert_eq!(page.sessions[0].preview.as_deref(), Some("hello"));
    store.archive(session).await.unwrap();
    let query = ListQuery {
        archived: ArchivedFilter::Archived,
        ..ListQuery::default()
    };
    assert_eq!(store.list(&query).await.unwrap().sessions.len(), 1);
    assert_eq!(store.reindex(&mut |_| ()).await.unwrap().sessions, 1);
}

#[tokio::test]
async fn what_is_unknown_is_not_found() {
    let store = MemoryStore::new();
    let id = meta().id;
    assert!(matches!(
        store.open(id).await,
        Err(StoreError::NotFound { .. })
    ));
    assert!(matches!(
        store.read_live(id).await,
        Err(StoreError::NotFound { .. })
    ));
    assert!(matches!(
        store.resolve("abcdef").await,
        Err(StoreError::NotFound { .. })
    ));
}
