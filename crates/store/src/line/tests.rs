use expect_test::{Expect, expect};
use troupe_protocol::ResponseItem;
use troupe_protocol::event::EventMsg;
use troupe_protocol::rollout::{EventRecord, RolloutRecord};

use super::{LineHead, decode, encode, event_kind};
use crate::clock::UnixMillis;

const NOW: UnixMillis = UnixMillis(1_794_804_480_007);

fn encoded(records: &[RolloutRecord]) -> String {
    let mut buffer = Vec::new();
    encode(records, NOW, &mut buffer).unwrap();
    String::from_utf8(buffer).unwrap()
}

fn check_decode(line: &str, expected: Expect) {
    let shown = match decode(line.as_bytes()) {
        Ok(stamped) => format!("{} {}", stamped.timestamp, stamped.record.kind()),
        Err(why) => why.to_string(),
    };
    expected.assert_eq(&shown);
}

#[test]
fn a_line_has_timestamp_type_and_payload_in_this_order() {
    let records = [
        RolloutRecord::SeqReserved { until: 64 },
        RolloutRecord::ResponseItem(ResponseItem::user_text("a\nb")),
    ];
    expect![[r#"
        {"timestamp":"2026-11-16T04:48:00.007Z","type":"seq_reserved","payload":{"until":64}}
        {"timestamp":"2026-11-16T04:48:00.007Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"a\nb"}]}}
    "#]]
    .assert_eq(&encoded(&records));
}

#[test]
fn what_is_written_is_read() {
    let record = RolloutRecord::ResponseItem(ResponseItem::user_text("\u{0}\"\\\u{2028}é"));
    let line = encoded(std::slice::from_ref(&record));
    let stamped = decode(line.trim_end().as_bytes()).unwrap();
    assert_eq!((stamped.timestamp, stamped.record), (NOW, record));
}

#[test]
fn lines_by_other_hands_are_read_in_any_order() {
    check_decode(
        r#"{"payload":{"until":1},"extra":[1],"type":"seq_reserved","timestamp":"2026-11-16T05:48:00+01:00"}"#,
        expect!["2026-11-16T04:48:00.000Z seq_reserved"],
    );
    check_decode(
        r#" { "timestamp" : "2026-11-16T04:48:00Z", "type" : "seq_reserved", "payload" : {"until":1} } "#,
        expect!["2026-11-16T04:48:00.000Z seq_reserved"],
    );
}

#[test]
fn what_is_no_record_says_why() {
    check_decode("", expect!["EOF while parsing a value at column 0"]);
    check_decode("\0\0\0", expect!["expected value at column 1"]);
    check_decode(
        "[]",
        expect!["invalid length 0, expected adjacently tagged enum RolloutRecord at column 2"],
    );
    check_decode(
        r#"{"timestamp":"now","type":"seq_reserved","payload":{"until":1}}"#,
        expect![
            "expected four digit year (or leading sign for six digit year), but found end of input"
        ],
    );
    check_decode(
        r#"{"timestamp":"2026-11-16T04:48:00.007Z","type":"seq_reserved","payl"#,
        expect!["EOF while parsing a string at column 67"],
    );
    let deep = format!(
        r#"{{"timestamp":"2026-11-16T04:48:00.007Z","type":"response_item","payload":{}}}"#,
        "[".repeat(100_000)
    );
    check_decode(&deep, expect!["recursion limit exceeded at column 200"]);
}

#[test]
fn a_head_is_read_without_its_payload() {
    let line =
        br#"{"timestamp":"2026-11-16T04:48:00.007Z","type":"response_item","payload":not json}"#;
    let head = LineHead::of(line).unwrap();
    assert_eq!(head.kind, "response_item");
    assert_eq!(head.payload, b"not json");
    assert_eq!(head.timestamp(), Ok(NOW));
}

#[test]
fn the_kind_of_an_event_is_found_whatever_its_id() {
    for id in ["1", "with \"quotes\" and \\", ""] {
        let record = EventRecord {
            id: id.into(),
            seq: 7,
            msg: EventMsg::ContextCompacted,
        };
        let payload = serde_json::to_vec(&record).unwrap();
        assert_eq!(event_kind(&payload).unwrap(), "context_compacted");
    }
    let turned = br#"{"msg":{"x":{"type":"no"},"type":"yes"},"seq":1,"id":"1"}"#;
    assert_eq!(event_kind(turned).unwrap(), "yes");
    assert!(event_kind(b"{}").is_err());
}

#[test]
fn a_kind_of_a_later_version_is_named() {
    let line = br#"{"timestamp":"2026-11-16T04:48:00.007Z","type":"of_tomorrow","payload":{}}"#;
    let why = decode(line).unwrap_err().reason;
    assert!(why.starts_with("unknown variant `of_tomorrow`"), "{why}");
}
