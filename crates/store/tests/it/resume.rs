//! What was appended is there again: the live branch, back to its newest compaction.

use std::fs;
use std::path::Path;

use troupe_protocol::SessionId;
use troupe_protocol::rollout::RolloutRecord;
use troupe_store::ListQuery;
use troupe_store::{EmbeddedStore, LogPosition, SessionLog, SessionStore, StoreError};

use super::child::{Actor, RESUME_A_LONG_SESSION};
use super::home::{Home, compacted, files_below, kinds, meta, rewind, said, texts};

/// A log with one record per text, and the position after each.
async fn log_saying(
    home: &Home,
    texts: &[&str],
) -> (SessionId, Box<dyn SessionLog>, Vec<LogPosition>) {
    let meta = meta();
    let mut log = home.store.create(&meta).await.unwrap();
    let mut positions = vec![log.position()];
    for text in texts {
        positions.push(log.append(&[said(text)]).unwrap());
    }
    (meta.id, log, positions)
}

#[tokio::test]
async fn a_session_goes_on_where_it_ended() {
    let home = Home::new();
    let (id, mut log, _) = log_saying(&home, &["one", "two"]).await;
    log.commit().await.unwrap();
    let end = log.position();
    log.close().await.unwrap();

    let (mut log, history) = home.again().open(id).await.unwrap();
    assert_eq!(history.meta.id, id);
    assert_eq!(texts(&history), ["one", "two"]);
    assert_eq!(history.warnings, [""; 0]);
    assert_eq!(log.position(), end);
    log.append(&[said("three")]).unwrap();
    let history = home.store.read_live(id).await.unwrap();
    assert_eq!(texts(&history), ["one", "two", "three"]);
}

#[tokio::test]
async fn a_new_session_has_its_meta_and_no_records() {
    let home = Home::new();
    let meta = meta();
    let log = home.store.create(&meta).await.unwrap();
    let history = home.store.read_live(meta.id).await.unwrap();
    assert_eq!((&history.meta, history.records.len()), (&meta, 0));
    assert_eq!(history.start, log.position());
    let again = home.store.create(&meta).await;
    assert!(matches!(again, Err(StoreError::Exists { session, .. }) if session == meta.id));
}

#[tokio::test]
async fn records_carry_the_position_after_their_line_and_their_time() {
    let home = Home::new();
    let (id, log, positions) = log_saying(&home, &["one", "two"]).await;
    let history = home.store.read_live(id).await.unwrap();
    let found: Vec<LogPosition> = history.records.iter().map(|(at, _)| *at).collect();
    assert_eq!(found, positions[1..]);
    assert_eq!(history.start, positions[0]);
    assert!(history.records[0].1.timestamp < history.records[1].1.timestamp);
    assert_eq!(log.position(), positions[2]);
}

#[tokio::test]
async fn resume_reads_from_the_newest_compaction() {
    let home = Home::new();
    let (id, mut log, _) = log_saying(&home, &["one", "two"]).await;
    log.append(&[compacted("older"), said("three")]).unwrap();
    let before = log.position();
    log.append(&[compacted("newer"), said("four")]).unwrap();
    let history = home.store.read_live(id).await.unwrap();
    assert_eq!(kinds(&history), ["compacted", "response_item"]);
    assert_eq!(history.start, before);
    let compacted = home.store.read_live_at(id, history.start).await.unwrap();
    assert_eq!(texts(&compacted), ["three"]);
}

#[tokio::test]
async fn a_rewind_leaves_out_what_lies_between() {
    let home = Home::new();
    let (id, mut log, at) = log_saying(&home, &["one", "two", "three"]).await;
    log.append(&[rewind(at[1]), said("other")]).unwrap();
    let history = home.store.read_live(id).await.unwrap();
    assert_eq!(texts(&history), ["one", "other"]);
    assert_eq!(
        kinds(&history),
        ["response_item", "rewind", "response_item"]
    );
    let before = home.store.read_live_at(id, at[3]).await.unwrap();
    assert_eq!(texts(&before), ["one", "two", "three"]);
}

#[tokio::test]
async fn rewinds_nest_and_reach_into_branches_that_were_left() {
    let home = Home::new();
    let (id, mut log, at) = log_saying(&home, &["one", "two", "three"]).await;
    log.append(&[rewind(at[1])]).unwrap();
    let branch = log.append(&[said("b1")]).unwrap();
    log.append(&[said("b2"), rewind(branch), said("b3")])
        .unwrap();
    let history = home.store.read_live(id).await.unwrap();
    assert_eq!(texts(&history), ["one", "b1", "b3"]);
    // Back to the first branch, from the second.
    log.append(&[rewind(at[2]), said("end")]).unwrap();
    let history = home.store.read_live(id).await.unwrap();
    assert_eq!(texts(&history), ["one", "two", "end"]);
    // And to nothing at all.
    log.append(&[rewind(at[0])]).unwrap();
    let history = home.store.read_live(id).await.unwrap();
    assert_eq!(kinds(&history), ["rewind"]);
}

#[tokio::test]
async fn a_rewind_behind_a_compaction_makes_the_old_lines_live_again() {
    let home = Home::new();
    let (id, mut log, at) = log_saying(&home, &["one", "two"]).await;
    log.append(&[compacted("all"), said("three"), rewind(at[1]), said("four")])
        .unwrap();
    let history = home.store.read_live(id).await.unwrap();
    assert_eq!(texts(&history), ["one", "four"]);
}

#[tokio::test]
async fn following_reads_every_line_once_and_in_order() {
    let home = Home::new();
    let (id, mut log, at) = log_saying(&home, &["one", "two"]).await;
    let batch = home.store.read_all(id, LogPosition(0)).await.unwrap();
    assert_eq!(
        (batch.lines.len(), batch.next, batch.at_end),
        (3, at[2], true)
    );
    assert!(matches!(
        batch.lines[0].record().unwrap().record,
        RolloutRecord::SessionMeta(_)
    ));

    log.append(&[rewind(at[1]), said("three")]).unwrap();
    let batch = home.store.read_all(id, batch.next).await.unwrap();
    let kinds: Vec<&str> = batch
        .lines
        .iter()
        .map(|line| line.record().unwrap().record.kind())
        .collect();
    assert_eq!(kinds, ["rewind", "response_item"]);
    assert_eq!(batch.next, log.position());
}

#[tokio::test]
async fn a_position_inside_a_line_is_refused() {
    let home = Home::new();
    let (id, _log, at) = log_saying(&home, &["one"]).await;
    for wrong in [
        LogPosition(at[1].0 - 1),
        LogPosition(at[1].0 + 1),
        LogPosition(5),
    ] {
        let live = home.store.read_live_at(id, wrong).await;
        assert!(matches!(live, Err(StoreError::Position { position, .. }) if position == wrong));
        let all = home.store.read_all(id, wrong).await;
        assert!(matches!(all, Err(StoreError::Position { position, .. }) if position == wrong));
    }
}

#[tokio::test]
async fn nothing_but_the_log_is_touched_until_somebody_asks() {
    let home = Home::new();
    let (_, mut log, _) = log_saying(&home, &["one"]).await;
    let path = log.path().unwrap().to_owned();
    log.commit().await.unwrap();
    log.close().await.unwrap();
    assert_eq!(files_below(home.dir.path()), [path]);
    home.store.list(&ListQuery::default()).await.unwrap();
    assert!(home.path("state.db").exists());
}

#[tokio::test]
async fn only_the_owner_can_read_what_is_kept() {
    use std::os::unix::fs::PermissionsExt;
    let home = Home::new();
    let (_, log, _) = log_saying(&home, &["one"]).await;
    log.close().await.unwrap();
    for path in files_below(home.dir.path()) {
        let mode = path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{}", path.display());
    }
    let mode = home
        .path("sessions")
        .metadata()
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o700);
}

#[tokio::test]
async fn resume_of_a_long_session_needs_memory_for_its_live_part_only() {
    let home = Home::new();
    Actor::start(RESUME_A_LONG_SESSION, home.dir.path()).succeeds();
}

/// Plays [`RESUME_A_LONG_SESSION`]: 60 MB, of which the last 6 are live.
pub async fn resume_a_long_session(home: &Path) {
    const MB: u64 = 1_000_000;
    let store = EmbeddedStore::open(home).unwrap();
    let meta = meta();
    let mut log = store.create(&meta).await.unwrap();
    let some = [said(&"word ".repeat(400)), said("short")];
    while log.position().0 < 54 * MB {
        log.append(&some).unwrap();
    }
    log.append(&[compacted("all")]).unwrap();
    while log.position().0 < 60 * MB {
        log.append(&some).unwrap();
    }
    drop(log);
    let before = resident_peak_bytes();
    let (log, history) = store.open(meta.id).await.unwrap();
    let needed = resident_peak_bytes() - before;
    let live = log.position().0 - history.start.0;
    assert!(
        live > 5 * MB && needed <= 3 * live,
        "{needed} bytes for {live}"
    );
}

fn resident_peak_bytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.unwrap().trim().trim_end_matches(" kB");
    kilobytes.parse::<u64>().unwrap() * 1024
}
