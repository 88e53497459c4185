use std::io;

use troupe_protocol::SessionId;

use super::{IndexDatabase, LogLocation};
use crate::source::ByteSource;
use crate::store::LogPosition;

fn log() -> LogLocation {
    LogLocation {
        id: SessionId::random(),
        path: None,
        archived: false,
    }
}

fn line(name: &str) -> String {
    let event = format!(r#"{{"type":"thread_name_updated","thread_name":"{name}"}}"#);
    let payload = format!(r#"{{"id":"1","seq":1,"msg":{event}}}"#);
    format!(r#"{{"timestamp":"2026-11-16T04:48:00.000Z","type":"event_msg","payload":{payload}}}"#)
        + "\n"
}

/// A log that must not be read any more.
struct Closed;

impl ByteSource for Closed {
    fn bytes(&self) -> io::Result<u64> {
        Err(io::ErrorKind::PermissionDenied.into())
    }

    fn read_exact_at(&self, _: &mut [u8], _: u64) -> io::Result<()> {
        Err(io::ErrorKind::PermissionDenied.into())
    }
}

#[test]
fn only_new_lines_are_applied() {
    let mut index = IndexDatabase::in_memory().unwrap();
    let log = log();
    let mut text = line("one");
    let first = LogPosition(text.len() as u64);
    index.apply(&log, text.as_bytes()).unwrap();
    text += &line("two");
    index.apply(&log, text.as_bytes()).unwrap();
    let row = index.row(log.id).unwrap().unwrap();
    assert_eq!(row.name.as_deref(), Some("two"));
    assert_eq!((row.offset, row.lines), (text.len() as u64, 2));

    // A commit that comes after another process listed finds the index ahead.
    index.apply_up_to(&log, &Closed, first).unwrap();
    assert_eq!(index.row(log.id).unwrap(), Some(row));
}

#[test]
fn lines_beyond_the_commit_wait_for_the_next() {
    let mut index = IndexDatabase::in_memory().unwrap();
    let log = log();
    let text = line("one") + &line("two");
    let first = LogPosition(line("one").len() as u64);
    index.apply_up_to(&log, text.as_bytes(), first).unwrap();
    let row = index.row(log.id).unwrap().unwrap();
    assert_eq!((row.name.as_deref(), row.offset), (Some("one"), first.0));
}

#[test]
fn of_two_who_apply_the_same_lines_the_second_changes_nothing() {
    let mut index = IndexDatabase::in_memory().unwrap();
    let log = log();
    let text = line("one");
    let end = LogPosition(text.len() as u64);
    let late = index.read_change(&log, text.as_bytes(), None, end).unwrap();
    index.apply(&log, (text + &line("two")).as_bytes()).unwrap();
    index.save(&[late]).unwrap();
    let row = index.row(log.id).unwrap().unwrap();
    assert_eq!((row.name.as_deref(), row.lines), (Some("two"), 2));
}
