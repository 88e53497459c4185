use expect_test::{Expect, expect};

use super::{FromClient, FromServer};

#[expect(clippy::needless_pass_by_value, reason = "reads as a literal")]
fn check(message: &str, expected: Expect) {
    let shown = match FromClient::decode(message.as_bytes()) {
        FromClient::Request(request) => format!("{request:?}"),
        FromClient::Submission(submission) => format!("submission {}", submission.id),
        FromClient::Refused(refusal) => format!("refused: {}", refusal.message),
    };
    expected.assert_eq(&shown);
}

#[test]
fn requests_stand_beside_submissions() {
    check(
        r#"{"id":"1","op":{"type":"compact"}}"#,
        expect!["submission 1"],
    );
    check(r#"{"type":"take_seat"}"#, expect!["TakeSeat"]);
    check(
        r#"{"after":7,"role":"follow","type":"hello"}"#,
        expect![
            "Hello(Hello { token: None, client: None, secret: None, role: Follow, after: 7, history: Run })"
        ],
    );
}

#[test]
fn what_is_wrong_is_said_of_what_was_meant() {
    check(
        r#"{"type":"dance"}"#,
        expect![
            "refused: request: unknown variant `dance`, expected one of `hello`, `take_seat`, `release_seat`, `query`, `follow_agent`, `unfollow_agent` at line 1 column 15"
        ],
    );
    check(
        r#"{"type":"hello","after":-1}"#,
        expect!["refused: request: invalid value: integer `-1`, expected u64"],
    );
    check(
        r#"{"id":"7","op":{"type":"compct"}}"#,
        expect!["refused: submission has an unknown type `compct`; did you mean `compact`?"],
    );
    check("[]", expect!["refused: submission is not a JSON object"]);
}

#[test]
fn a_client_tells_notices_from_events() {
    let notice = FromServer::decode(br#"{"type":"accepted","id":"8"}"#);
    assert!(matches!(notice, Ok(FromServer::Notice(_))), "{notice:?}");
    let event = br#"{"id":"","seq":3,"msg":{"type":"shutdown_complete"}}"#;
    assert!(matches!(
        FromServer::decode(event),
        Ok(FromServer::Event(_))
    ));
    let newer = br#"{"id":"","seq":4,"msg":{"type":"from_the_future"}}"#;
    assert!(FromServer::decode(newer).is_err());
}
