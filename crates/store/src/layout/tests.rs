use std::path::Path;

use expect_test::expect;
use troupe_protocol::SessionId;

use super::{HomeLayout, match_id, session_of};
use crate::clock::UnixMillis;

fn id(text: &str) -> SessionId {
    text.parse().unwrap()
}

const A: &str = "5f2d1c9e-0000-4000-8000-000000000001";
const B: &str = "5f2d1c9e-0000-4000-8000-000000000002";
const C: &str = "77777777-0000-4000-8000-000000000003";

#[test]
fn a_log_is_filed_by_the_day_it_was_begun_in_utc() {
    let layout = HomeLayout::new(Path::new("/home"));
    // Half a second before midnight.
    let path = layout.new_log(id(A), UnixMillis(1_794_873_599_500));
    expect!["/home/sessions/2026/11/16/rollout-2026-11-16T23-59-59-5f2d1c9e-0000-4000-8000-000000000001.jsonl"]
        .assert_eq(path.to_str().unwrap());
    let name = path.file_name().unwrap().to_str().unwrap();
    assert_eq!(session_of(name), Some(id(A)));
    assert_eq!(layout.live_log(name), path);
}

#[test]
fn other_files_are_no_logs() {
    for name in [
        "rollout-.jsonl",
        "rollout-2026-11-16T23-59-59-5f2d1c9e.jsonl",
        "rollout-2026-11-16T23-59-59-5f2d1c9e-0000-4000-8000-000000000001.jsonl.torn",
        "rollout-ééééééééééééééééééééééééééééééééééééé.jsonl",
        "notes.txt",
    ] {
        assert_eq!(session_of(name), None, "{name}");
    }
}

#[test]
fn an_id_is_known_by_its_beginning() {
    let check = |typed, expected: expect_test::Expect| {
        let shown = match match_id(typed, [A, B, C].map(id).into_iter()) {
            Ok(Some(id)) => id.to_string(),
            Ok(None) => "no id".to_owned(),
            Err(error) => error.to_string(),
        };
        expected.assert_eq(&shown);
    };
    check(C, expect!["77777777-0000-4000-8000-000000000003"]);
    check("77777777", expect!["77777777-0000-4000-8000-000000000003"]);
    check("7777", expect!["77777777-0000-4000-8000-000000000003"]);
    check(
        "7777777700004000",
        expect!["77777777-0000-4000-8000-000000000003"],
    );
    check(
        "5F2D1C9E-0000-4000-8000-000000000001",
        expect!["5f2d1c9e-0000-4000-8000-000000000001"],
    );
    check(
        "5f2d1c9e",
        expect![[
            r#""5f2d1c9e" could be any of 5f2d1c9e-0000-4000-8000-000000000001, 5f2d1c9e-0000-4000-8000-000000000002; give more characters of the id"#
        ]],
    );
    check("777", expect!["no id"]);
    check("fix the parser", expect!["no id"]);
    check("88888888", expect!["no id"]);
}
