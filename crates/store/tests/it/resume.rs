//! What was appended is there again.

use troupe_store::Store;

use super::home::{Home, meta, said, texts};

#[tokio::test]
async fn a_session_goes_on_where_it_ended() {
    let home = Home::new();
    let meta = meta();
    let mut log = home.store.create(&meta).await.unwrap();
    log.append(&[said("one"), said("two")]).unwrap();
    log.commit().await.unwrap();
    let end = log.position();
    log.close().await.unwrap();

    let (mut log, history) = home.again().open(meta.id).await.unwrap();
    assert_eq!(history.meta, meta);
    assert_eq!(texts(&history), ["one", "two"]);
    assert_eq!(history.warnings, Vec::<String>::new());
    assert_eq!(log.position(), end);
    log.append(&[said("three")]).unwrap();
    let history = home.store.read_live(meta.id).await.unwrap();
    assert_eq!(texts(&history), ["one", "two", "three"]);
}
