//! Sessions removed for good.

use troupe_store::{ListQuery, MemoryStore, SessionStore, SourceKind, StoreError};

use super::home::{Home, files_below, meta, said};
use super::trees::Script;

async fn listed(store: &dyn SessionStore) -> usize {
    let query = ListQuery {
        sources: SourceKind::ALL.to_vec(),
        ..ListQuery::default()
    };
    store.list(&query).await.unwrap().sessions.len()
}

#[tokio::test]
async fn a_deleted_session_leaves_nothing() {
    let home = Home::new();
    let meta = meta();
    let mut log = home.store.create(&meta).await.unwrap();
    log.append(&[said("a secret")]).unwrap();
    let refused = home.store.delete(meta.id).await;
    assert!(
        matches!(refused, Err(StoreError::Owned { .. })),
        "{refused:?}"
    );
    let torn = log.path().unwrap().with_extension("jsonl.torn");
    std::fs::write(torn, "half a line").unwrap();
    log.close().await.unwrap();
    assert_eq!(listed(&home.store).await, 1);

    assert_eq!(home.store.delete(meta.id).await.unwrap(), [meta.id]);
    assert_eq!(files_below(&home.path("sessions")).len(), 0);
    assert_eq!(listed(&home.store).await, 0);
    let again = home.store.delete(meta.id).await;
    assert!(
        matches!(again, Err(StoreError::NotFound { .. })),
        "{again:?}"
    );
}

#[tokio::test]
async fn an_archived_session_can_be_deleted() {
    let home = Home::new();
    let meta = meta();
    drop(home.store.create(&meta).await.unwrap());
    home.store.archive(meta.id).await.unwrap();
    home.store.delete(meta.id).await.unwrap();
    assert_eq!(files_below(&home.path("archived_sessions")).len(), 0);
}

async fn a_tree_goes_as_a_whole(store: &dyn SessionStore) {
    let script = Script::new();
    let (parent, child) = script.play(store).await;
    drop(parent);
    let refused = store.delete(script.parent.id).await;
    let is_child = |error: &StoreError| matches!(error, StoreError::Owned { session, .. } if *session == script.child.id);
    assert!(refused.as_ref().is_err_and(is_child), "{refused:?}");
    assert_eq!(listed(store).await, 2, "all or nothing");

    drop(child);
    let refused = store.delete(script.child.id).await.unwrap_err();
    let (root, child) = (script.parent.id, script.child.id);
    assert_eq!(
        refused.to_string(),
        format!(
            "session {child} is a member of the tree of {root}, which cannot go on without it; \
             delete {root}"
        )
    );
    assert_eq!(store.delete(root).await.unwrap(), [child, root]);
    assert_eq!(listed(store).await, 0);
    assert!(store.tree(root).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_tree_of_files_goes_as_a_whole() {
    a_tree_goes_as_a_whole(&Home::new().store).await;
}

#[tokio::test]
async fn a_tree_in_memory_goes_as_a_whole() {
    a_tree_goes_as_a_whole(&MemoryStore::new()).await;
}
