//! `state.db` follows from the logs, whatever happened to it.

use std::fs;
use std::path::Path;

use rusqlite::Connection;
use rusqlite::types::Value;
use troupe_protocol::rollout::RolloutRecord;
use troupe_store::{ListQuery, ReindexProgress, SessionStore};

use super::home::{Home, compacted, meta, response_completed, rewind, said, turn_context};
use super::list::{named, session, tokens, user_said};

/// Every row of every table.
pub fn dump(home: &Path) -> Vec<Vec<Value>> {
    let db = Connection::open(home.join("state.db")).unwrap();
    let mut rows = Vec::new();
    for table in [
        "sessions ORDER BY id",
        "bookmarks ORDER BY response_id, session",
        "births ORDER BY session, position",
        "changes ORDER BY session, position",
        "letters ORDER BY session, position",
        "receipts ORDER BY session, position, message",
        "approvals ORDER BY session, position",
    ] {
        let mut statement = db.prepare(&format!("SELECT * FROM {table}")).unwrap();
        let columns = statement.column_count();
        let found = statement
            .query_map([], |row| {
                (0..columns).map(|column| row.get(column)).collect()
            })
            .unwrap();
        rows.extend(found.map(|row: Result<Vec<Value>, _>| row.unwrap()));
    }
    rows
}

/// Several sessions, each written, committed, closed and reopened in pieces.
async fn busy_home() -> Home {
    let home = Home::new();
    for number in 0..5 {
        let meta = meta();
        drop(home.store.create(&meta).await.unwrap());
        for piece in 0..4 {
            let (mut log, _) = home.store.open(meta.id).await.unwrap();
            let start = log.position();
            log.append(&[
                RolloutRecord::TurnContext(turn_context(&format!("/{piece}"), "model")),
                user_said(&format!("question {piece}")),
                said("answer"),
                response_completed(&format!("resp_{number}_{piece}")),
                response_completed("resp_shared"),
            ])
            .unwrap();
            log.commit().await.unwrap();
            log.append(&[tokens(piece * 100), named(&format!("name {piece}"))])
                .unwrap();
            log.append(&[rewind(start), compacted("all")]).unwrap();
            if piece % 2 == 0 {
                log.close().await.unwrap();
            }
        }
    }
    home.store.list(&ListQuery::default()).await.unwrap();
    home
}

async fn reindex(home: &Home) -> (Vec<ReindexProgress>, troupe_store::ReindexReport) {
    let mut told = Vec::new();
    let report = home
        .again()
        .reindex(&mut |progress| told.push(progress))
        .await;
    (told, report.unwrap())
}

#[tokio::test]
async fn reindex_makes_the_rows_that_projection_made() {
    let home = busy_home().await;
    let projected = dump(home.dir.path());
    assert_eq!(projected.len(), 5 + 5 * 4 + 5);
    let (told, report) = reindex(&home).await;
    assert_eq!(dump(home.dir.path()), projected);
    assert_eq!((report.sessions, report.bookmarks), (5, 25));
    let last = told.last().unwrap();
    assert_eq!((last.files_done, last.files), (5, 5));
    assert_eq!((last.bytes_done, last.bytes), (report.bytes, report.bytes));

    // Also when there is none, or a wrong one, to begin with.
    fs::remove_file(home.path("state.db")).unwrap();
    fs::remove_file(home.path("state.db-wal")).unwrap();
    fs::remove_file(home.path("state.db-shm")).unwrap();
    reindex(&home).await;
    assert_eq!(dump(home.dir.path()), projected);
    let db = Connection::open(home.path("state.db")).unwrap();
    db.execute_batch(
        "UPDATE sessions SET name = 'x', offset = 0; DELETE FROM bookmarks; \
                      INSERT INTO bookmarks VALUES ('made up', 'session', 1, 1)",
    )
    .unwrap();
    reindex(&home).await;
    assert_eq!(dump(home.dir.path()), projected);
}

#[tokio::test]
async fn a_directory_in_the_place_of_the_index_keeps_nobody_out() {
    let home = busy_home().await;
    for name in ["state.db", "state.db-wal", "state.db-shm"] {
        fs::remove_file(home.path(name)).ok();
    }
    fs::create_dir(home.path("state.db")).unwrap();
    let page = home.again().list(&ListQuery::default()).await.unwrap();
    assert_eq!(page.sessions.len(), 5);
    assert!(
        page.warnings[0].contains("in memory"),
        "{:?}",
        page.warnings
    );
    let id = page.sessions[0].id;
    assert_eq!(home.again().tree_of(id).await.unwrap(), None);
    home.again().open(id).await.unwrap();
    assert!(home.path("state.db").is_dir());
}

/// Opening a pipe waits for somebody at its other end.
#[tokio::test]
async fn a_pipe_in_the_place_of_the_index_holds_nobody_up() {
    let home = busy_home().await;
    for name in ["state.db", "state.db-wal", "state.db-shm"] {
        fs::remove_file(home.path(name)).ok();
    }
    let mode = nix::sys::stat::Mode::S_IRWXU;
    nix::unistd::mkfifo(&home.path("state.db"), mode).unwrap();
    let page = home.again().list(&ListQuery::default()).await.unwrap();
    assert_eq!(page.sessions.len(), 5);
    let told = &page.warnings[0];
    assert!(told.contains("it is no regular file"), "{told}");
}

#[tokio::test]
async fn a_damaged_index_is_put_aside_and_rebuilt() {
    type Damage = fn(&mut Vec<u8>);
    let home = busy_home().await;
    let projected = dump(home.dir.path());
    let damage: [(&str, Damage); 3] = [
        ("not a database", |bytes| bytes[..16].fill(b'x')),
        ("damaged pages", |bytes| bytes[100..].fill(0xaa)),
        ("random text", |bytes| *bytes = b"hello".repeat(1000)),
    ];
    for (what, damage) in damage {
        let db = Connection::open(home.path("state.db")).unwrap();
        db.pragma_update(None, "wal_checkpoint", "truncate")
            .unwrap();
        drop(db);
        let mut bytes = fs::read(home.path("state.db")).unwrap();
        damage(&mut bytes);
        fs::write(home.path("state.db"), bytes).unwrap();

        let page = home.again().list(&ListQuery::default()).await.unwrap();
        assert_eq!(page.sessions.len(), 5, "{what}");
        assert_eq!(page.warnings.len(), 1, "{what}: {:?}", page.warnings);
        assert!(
            page.warnings[0].contains("state.db.corrupt-"),
            "{:?}",
            page.warnings
        );
        assert_eq!(dump(home.dir.path()), projected, "{what}");
    }
}

#[tokio::test]
async fn what_another_process_appended_is_listed() {
    let home = Home::new();
    let meta = session(&home, 0, &[named("old")]).await;
    let (mut log, _) = home.again().open(meta.id).await.unwrap();
    log.append(&[named("new")]).unwrap();
    let page = home.store.list(&ListQuery::default()).await.unwrap();
    assert_eq!(page.sessions[0].name.as_deref(), Some("new"));
}

#[tokio::test]
async fn a_log_that_was_replaced_is_read_anew() {
    let home = Home::new();
    let meta = session(
        &home,
        0,
        &[user_said("first"), named("old"), response_completed("r")],
    )
    .await;
    assert_eq!(
        home.store
            .list(&ListQuery::default())
            .await
            .unwrap()
            .sessions
            .len(),
        1
    );
    let path = home
        .store
        .list(&ListQuery::default())
        .await
        .unwrap()
        .sessions[0]
        .path
        .clone()
        .unwrap();
    let text = fs::read_to_string(&path).unwrap();
    let first = text.lines().next().unwrap();
    // Shorter, and later grown over the old offset with lines that end elsewhere.
    for content in [
        format!("{first}\n"),
        format!("{first}\n{}\n", "x".repeat(text.len())),
    ] {
        fs::write(&path, content).unwrap();
        let page = home.store.list(&ListQuery::default()).await.unwrap();
        assert_eq!(page.sessions[0].name, None);
        assert_eq!(home.store.find_bookmark(&"r".into()).await.unwrap(), None);
        fs::write(&path, &text).unwrap();
        let page = home.store.list(&ListQuery::default()).await.unwrap();
        assert_eq!(page.sessions[0].name.as_deref(), Some("old"));
    }
    assert_eq!(home.store.resolve("old").await.unwrap(), meta.id);
}

#[tokio::test]
async fn an_index_of_a_newer_version_is_not_touched() {
    let home = busy_home().await;
    let db = Connection::open(home.path("state.db")).unwrap();
    db.pragma_update(None, "user_version", 99).unwrap();
    let error = home.again().list(&ListQuery::default()).await.unwrap_err();
    assert!(
        error.to_string().contains("schema 99, known is 3"),
        "{error}"
    );
    let version: i64 = db
        .pragma_query_value(None, "user_version", |row| row.get(0))
        .unwrap();
    assert_eq!(version, 99);
}

#[tokio::test]
async fn processes_that_start_together_share_one_index() {
    let home = busy_home().await;
    let projected = dump(home.dir.path());
    for suffix in ["", "-wal", "-shm"] {
        fs::remove_file(home.path(&format!("state.db{suffix}"))).unwrap();
    }
    let listing: Vec<_> = (0..8)
        .map(|_| {
            let store = home.again();
            tokio::spawn(async move { store.list(&ListQuery::default()).await.unwrap() })
        })
        .collect();
    for page in listing {
        let page = page.await.unwrap();
        assert_eq!((page.sessions.len(), page.warnings), (5, vec![]));
    }
    assert_eq!(dump(home.dir.path()), projected);
}
