use serde_json::json;

use super::*;

fn answer(number: u16) -> KeptAnswer {
    KeptAnswer {
        status: 200 + number,
        headers: vec![("etag".to_owned(), "\"1\"".to_owned())],
        body: json!({"number": number}),
    }
}

#[tokio::test]
async fn a_request_that_is_asked_again_is_not_done_again_also_after_a_restart() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("serve/answers.jsonl");
    let before = KeptAnswers::new(file.clone());
    let asked = digest("POST", "/v1/sessions", b"{}");
    assert!(matches!(
        before.begin("a", asked.clone()).await,
        Ok(RequestVerdict::Do)
    ));
    let meanwhile = before.begin("a", asked.clone()).await.unwrap_err();
    assert_eq!((meanwhile.status, meanwhile.code), (409, "under_way"));
    before.end("a", answer(1)).await.unwrap();
    for kept in [before, KeptAnswers::new(file)] {
        match kept.begin("a", asked.clone()).await {
            Ok(RequestVerdict::Repeat(again)) => assert_eq!(again, answer(1)),
            other => panic!("{other:?}"),
        }
        let other = digest("POST", "/v1/sessions", b"{ }");
        let refused = kept.begin("a", other).await.unwrap_err();
        assert_eq!(refused.status, 422);
    }
}

#[tokio::test]
async fn what_was_under_way_when_the_daemon_died_is_not_done_again() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("answers.jsonl");
    let asked = digest("POST", "/v1/sessions", b"{}");
    let before = KeptAnswers::new(file.clone());
    before.begin("a", asked.clone()).await.unwrap();
    // The line of the answer was cut off by the crash.
    let mut log = OpenOptions::new().append(true).open(&file).unwrap();
    log.write_all(b"{\"key\":\"a\",\"dig").unwrap();
    let after = KeptAnswers::new(file.clone());
    let refused = after.begin("a", asked.clone()).await.unwrap_err();
    assert_eq!((refused.status, refused.code), (409, "outcome_unknown"));
    // What the cut line hid is not found again either.
    assert!(matches!(
        after.begin("b", asked).await,
        Ok(RequestVerdict::Do)
    ));
}

#[test]
fn a_key_is_short_and_plain() {
    assert!(check_key("2f1c-77").is_ok());
    for wrong in ["", "a b", "ü", &"k".repeat(256)] {
        assert_eq!(
            check_key(wrong).unwrap_err().field.as_deref(),
            Some("Idempotency-Key")
        );
    }
}
