//! Sessions put out of sight, and back.

use troupe_store::{ArchivedFilter, ListQuery, SessionStore, StoreError};

use super::home::{Home, files_below, meta, said, texts};

async fn listed(home: &Home, archived: ArchivedFilter) -> usize {
    let query = ListQuery {
        archived,
        ..ListQuery::default()
    };
    home.store.list(&query).await.unwrap().sessions.len()
}

#[tokio::test]
async fn an_archived_session_is_listed_apart_and_can_go_on() {
    let home = Home::new();
    let meta = meta();
    let mut log = home.store.create(&meta).await.unwrap();
    log.append(&[said("one")]).unwrap();
    let path = log.path().unwrap().to_owned();
    log.close().await.unwrap();
    assert_eq!(listed(&home, ArchivedFilter::Live).await, 1);

    home.store.archive(meta.id).await.unwrap();
    assert_eq!(files_below(&home.path("archived_sessions")).len(), 1);
    assert_eq!(files_below(&home.path("sessions")).len(), 0);
    assert_eq!(listed(&home, ArchivedFilter::Live).await, 0);
    assert_eq!(listed(&home, ArchivedFilter::Archived).await, 1);
    assert_eq!(listed(&home, ArchivedFilter::Any).await, 1);
    assert_eq!(home.store.resolve(&meta.id.short()).await.unwrap(), meta.id);

    let (mut log, history) = home.store.open(meta.id).await.unwrap();
    assert!(history.archived);
    log.append(&[said("two")]).unwrap();
    let refused = home.store.unarchive(meta.id).await;
    assert!(matches!(refused, Err(StoreError::Owned { .. })));
    log.close().await.unwrap();
    assert_eq!(listed(&home, ArchivedFilter::Archived).await, 1);

    home.store.unarchive(meta.id).await.unwrap();
    assert!(path.exists());
    let history = home.store.read_live(meta.id).await.unwrap();
    assert_eq!(
        (texts(&history), history.archived),
        (vec!["one".into(), "two".into()], false)
    );
    assert_eq!(listed(&home, ArchivedFilter::Live).await, 1);
}

#[tokio::test]
async fn archiving_twice_changes_nothing() {
    let home = Home::new();
    let meta = meta();
    drop(home.store.create(&meta).await.unwrap());
    home.store.archive(meta.id).await.unwrap();
    home.store.archive(meta.id).await.unwrap();
    assert_eq!(listed(&home, ArchivedFilter::Archived).await, 1);
    let unknown = home
        .store
        .archive(troupe_protocol::SessionId::random())
        .await;
    assert!(matches!(unknown, Err(StoreError::NotFound { .. })));
}
