//! Logs that did not end well, or that other hands were in.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use expect_test::expect;
use troupe_protocol::SessionId;
use troupe_store::limits::LINE_BYTES_MAX;
use troupe_store::{ListQuery, LogPosition, SessionStore, StoreError};

use super::home::{Home, compacted, meta, rewind, said, texts};

/// A log that says `one` and `two`, let go of.
async fn finished_log(home: &Home) -> (SessionId, PathBuf) {
    let meta = meta();
    let mut log = home.store.create(&meta).await.unwrap();
    log.append(&[said("one"), said("two")]).unwrap();
    (meta.id, log.path().unwrap().to_owned())
}

fn add(path: &Path, bytes: &[u8]) {
    let mut file = OpenOptions::new().append(true).open(path).unwrap();
    file.write_all(bytes).unwrap();
}

#[tokio::test]
async fn a_last_line_cut_at_any_byte_is_left_out_and_the_next_one_is_whole() {
    let home = Home::new();
    let (id, path) = finished_log(&home).await;
    let whole = fs::read(&path).unwrap();
    let last = whole[..whole.len() - 1]
        .iter()
        .rposition(|byte| *byte == b'\n')
        .unwrap()
        + 1;
    for cut in last + 1..whole.len() {
        fs::write(&path, &whole[..cut]).unwrap();
        let history = home.store.read_live(id).await.unwrap();
        assert_eq!(texts(&history), ["one"]);
        assert_eq!(history.warnings.len(), 1, "{:?}", history.warnings);

        let (mut log, history) = home.store.open(id).await.unwrap();
        assert_eq!(texts(&history), ["one"]);
        assert_eq!(log.position().0, last as u64);
        log.append(&[said("three")]).unwrap();
        let history = home.store.read_live(id).await.unwrap();
        assert_eq!(texts(&history), ["one", "three"]);
        assert_eq!(history.warnings, [""; 0]);
    }
}

#[tokio::test]
async fn the_bytes_of_a_torn_line_are_kept_beside_the_log() {
    let home = Home::new();
    let (id, path) = finished_log(&home).await;
    let end = path.metadata().unwrap().len();
    add(&path, b"{\"timestamp\":\"20");
    let (_log, history) = home.store.open(id).await.unwrap();
    let kept = path.with_extension("jsonl.torn");
    assert_eq!(fs::read(&kept).unwrap(), b"{\"timestamp\":\"20\n");
    let kept = kept.display();
    assert_eq!(
        history.warnings,
        [format!(
            "the last line (byte {end}, 16 bytes) was never finished and is left out, kept in {kept}"
        )]
    );
    assert_eq!(path.metadata().unwrap().len(), end);
}

#[tokio::test]
async fn unreadable_lines_are_named_and_skipped() {
    let home = Home::new();
    let (id, path) = finished_log(&home).await;
    add(
        &path,
        b"not json\n\n\0\0\0\0\n\xff\xfe\n{\"type\":\"of_tomorrow\"}\n",
    );
    let (mut log, _) = home.store.open(id).await.unwrap();
    log.append(&[said("three")]).unwrap();
    let history = home.store.read_live(id).await.unwrap();
    assert_eq!(texts(&history), ["one", "two", "three"]);
    let warnings: Vec<&str> = history
        .warnings
        .iter()
        .map(|warning| warning.split(", expected one of").next().unwrap())
        .collect();
    expect![[r#"
        line 4 (byte 581) is left out, it cannot be read: expected ident at column 2
        line 5 (byte 590) is left out, it cannot be read: EOF while parsing a value at column 0
        line 6 (byte 591) is left out, it cannot be read: expected value at column 1
        line 7 (byte 596) is left out, it cannot be read: expected value at column 1
        line 8 (byte 599) is left out, it cannot be read: unknown variant `of_tomorrow`"#]]
    .assert_eq(&warnings.join("\n"));
}

#[tokio::test]
async fn a_log_full_of_garbage_gives_a_bounded_number_of_warnings() {
    let home = Home::new();
    let (id, path) = finished_log(&home).await;
    add(&path, &b"garbage\n".repeat(1000));
    let history = home.store.read_live(id).await.unwrap();
    assert_eq!(texts(&history), ["one", "two"]);
    assert_eq!(history.warnings.len(), 21);
    assert_eq!(history.warnings[20], "980 older lines are left out too");
}

#[tokio::test]
async fn a_rewind_to_nowhere_is_reported_and_has_no_effect() {
    let home = Home::new();
    let (id, _) = finished_log(&home).await;
    let (mut log, _) = home.store.open(id).await.unwrap();
    let end = log.position();
    for to in [0, 7, end.0 + 1_000_000, u64::MAX] {
        log.append(&[rewind(LogPosition(to))]).unwrap();
    }
    let history = home.store.read_live(id).await.unwrap();
    assert_eq!(texts(&history), ["one", "two"]);
    assert_eq!(history.warnings.len(), 4);
    assert!(history.warnings[1].ends_with("it rewinds to byte 7, which is no line's end"));
}

#[tokio::test]
async fn a_damaged_compaction_makes_resume_read_further_back() {
    let home = Home::new();
    let (id, path) = finished_log(&home).await;
    let (mut log, _) = home.store.open(id).await.unwrap();
    let before = log.position();
    log.append(&[compacted("all"), said("three")]).unwrap();
    let mut bytes = fs::read(&path).unwrap();
    let at = usize::try_from(before.0).unwrap() + 100;
    bytes[at] = b'\x01';
    fs::write(&path, bytes).unwrap();
    let history = home.store.read_live(id).await.unwrap();
    assert_eq!(texts(&history), ["one", "two", "three"]);
    assert_eq!(history.warnings.len(), 1);
}

#[tokio::test]
async fn a_line_longer_than_any_of_ours_is_skipped_unread() {
    let home = Home::new();
    let (id, path) = finished_log(&home).await;
    // A hole costs no disk; it reads as zeros.
    let file = OpenOptions::new().append(true).open(&path).unwrap();
    let end = file.metadata().unwrap().len();
    file.set_len(end + LINE_BYTES_MAX as u64 + 100_000).unwrap();
    add(&path, b"\n");
    let (mut log, _) = home.store.open(id).await.unwrap();
    log.append(&[said("three")]).unwrap();
    let history = home.store.read_live(id).await.unwrap();
    assert_eq!(texts(&history), ["one", "two", "three"]);
    assert_eq!(history.warnings.len(), 1);
    drop(log);
    let page = home.store.list(&ListQuery::default()).await.unwrap();
    assert_eq!(page.sessions.len(), 1);
    assert_eq!(page.warnings.len(), 1, "{:?}", page.warnings);
}

#[tokio::test]
async fn only_an_empty_log_is_removed_as_one_that_never_began() {
    let home = Home::new();
    let (id, path) = finished_log(&home).await;
    assert!(!home.store.remove_empty(id).await.unwrap());
    fs::write(&path, "torn").unwrap();
    assert!(!home.store.remove_empty(id).await.unwrap());
    fs::write(&path, "").unwrap();
    assert!(home.store.remove_empty(id).await.unwrap());
    assert!(!path.exists());
}

#[tokio::test]
async fn a_file_that_does_not_begin_with_its_meta_is_left_alone() {
    let home = Home::new();
    let (id, path) = finished_log(&home).await;
    for content in ["", "torn", "garbage\n", "{}\nmore\ntorn"] {
        fs::write(&path, content).unwrap();
        let opened = home.store.open(id).await;
        assert!(matches!(opened, Err(StoreError::Meta { .. })), "{opened:?}");
        assert_eq!(fs::read(&path).unwrap(), content.as_bytes());
    }
}
