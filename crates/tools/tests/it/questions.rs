use expect_test::expect;
use serde_json::{Value, json};
use troupe_protocol::approval::UserInputResponse;

use crate::support::Bench;

const NAME: &str = "request_user_input";

fn question() -> Value {
    json!({"questions": [{"id": "name", "header": "Name", "question": "Whose?"}]})
}

#[tokio::test]
async fn answers_are_told_as_they_were_given() {
    let bench = Bench::new();
    let response = json!({"answers": {"name": {"selected": [], "other": "mine"}}});
    let response: UserInputResponse = serde_json::from_value(response).unwrap();
    bench.channel.will_respond(response);
    expect![[r#"{"answers":{"name":{"selected":[],"other":"mine"}}}"#]]
        .assert_eq(&bench.text(NAME, question()).await);
}

#[tokio::test]
async fn without_an_answer_the_model_is_told_why() {
    let bench = Bench::new();
    bench.channel.will_respond(UserInputResponse::default());
    expect![[r#"{"answers":{},"reason":"no answer was given; decide yourself, and say in your answer what you assumed"}"#]]
        .assert_eq(&bench.text(NAME, question()).await);
    expect![[r#"{"answers":{},"reason":"nobody is there who could answer; decide yourself, and say in your answer what you assumed"}"#]]
    .assert_eq(&bench.text(NAME, question()).await);
}

#[tokio::test]
async fn questions_that_cannot_be_shown_are_sent_back() {
    let bench = Bench::new();
    expect!["request_user_input: there are 0 questions; ask 1 to 3"]
        .assert_eq(&bench.text(NAME, json!({"questions": []})).await);
    assert_eq!(bench.channel.asks(), []);
}
