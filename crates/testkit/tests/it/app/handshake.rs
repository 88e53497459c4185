//! Who a client is, and what it may ask.

use expect_test::{Expect, expect};
use serde_json::{Value, json};
use troupe_testkit::Stage;

use super::client::{Client, app};

const NOTHING: &str = r#"
    [[scene]]
    [[scene.turn]]
    steps = [{ say = "ok" }]
"#;

fn check(error: &Value, expected: Expect) {
    let text = format!("{} {}", error["code"], error["message"].as_str().unwrap());
    expected.assert_eq(&text);
}

#[tokio::test]
async fn a_client_introduces_itself_once() {
    let stage = Stage::new(NOTHING).await;
    let mut client = Client::connect(&app(&stage));
    let early = client.call("thread/start", json!({})).await.unwrap_err();
    check(&early, expect!["-32600 Not initialized"]);
    let nameless = json!({"clientInfo": {"version": "1"}});
    let nameless = client.call("initialize", nameless).await.unwrap_err();
    check(
        &nameless,
        expect!["-32602 invalid params: clientInfo: missing field `name`"],
    );
    let params = json!({"clientInfo": {"name": "editor", "version": "1.2"}});
    let answer = client.call("initialize", params.clone()).await.unwrap();
    let agent = answer["userAgent"].as_str().unwrap();
    assert!(agent.starts_with("editor/0."), "{agent}");
    assert_eq!(answer["codexHome"], json!(stage.home()));
    assert_eq!(answer["platformFamily"], "unix");
    let again = client.call("initialize", params).await.unwrap_err();
    check(&again, expect!["-32600 Already initialized"]);
    client.leave().await;
}

#[tokio::test]
async fn what_cannot_be_understood_is_answered() {
    let stage = Stage::new(NOTHING).await;
    let mut client = Client::ready(&app(&stage)).await;
    client.write("{oops").await;
    let answer = client.read().await;
    assert_eq!(answer["id"], Value::Null);
    check(
        &answer["error"],
        expect!["-32700 not JSON: key must be a string at line 1 column 2"],
    );
    client.write(r#"{"id":7}"#).await;
    let answer = client.read().await;
    assert_eq!(answer["id"], 7);
    check(
        &answer["error"],
        expect!["-32600 a message with an id needs a method or a result"],
    );
    let unknown = client.call("thread/fly", json!({})).await.unwrap_err();
    check(&unknown, expect!["-32601 unknown method: thread/fly"]);
    let params = json!({"threadId": "x", "input": [{"type": "text", "text": 5}]});
    let bad = client.call("turn/start", params).await.unwrap_err();
    check(
        &bad,
        expect!["-32602 invalid params: input[0]: invalid type: integer `5`, expected a string"],
    );
    let nobody = client.call("thread/read", json!({"threadId": "x"})).await;
    check(&nobody.unwrap_err(), expect!["-32600 invalid thread id: x"]);
    client.leave().await;
}

#[tokio::test]
async fn what_may_still_change_is_for_those_who_said_so() {
    let stage = Stage::new(NOTHING).await;
    let app = app(&stage);
    let mut plain = Client::introduced(&app, json!({})).await;
    let params = json!({"threadId": "x", "excludeTurns": true});
    let refused = plain.call("thread/resume", params).await.unwrap_err();
    check(
        &refused,
        expect!["-32600 thread/resume.excludeTurns requires experimentalApi capability"],
    );
    plain.leave().await;
}

#[tokio::test]
async fn notifications_can_be_declined() {
    let stage = Stage::new(NOTHING).await;
    let app = app(&stage);
    let unwanted =
        json!({"optOutNotificationMethods": ["thread/started", "item/agentMessage/delta"]});
    let mut client = Client::introduced(&app, unwanted).await;
    let thread = client.thread().await;
    client.turn(&thread, "hello").await;
    let all = client.all_until("turn/completed").await;
    let methods: Vec<&str> = all.iter().filter_map(|it| it["method"].as_str()).collect();
    assert!(!methods.contains(&"thread/started"), "{methods:?}");
    assert!(!methods.contains(&"item/agentMessage/delta"), "{methods:?}");
    client.leave().await;
    app.end().await;
}

/// More requests than are worked on at a time are answered, not lost.
#[tokio::test]
async fn too_many_requests_are_told_to_come_later() {
    let stage = Stage::new(NOTHING).await;
    let mut client = Client::ready(&app(&stage)).await;
    let request = |id: usize| json!({"id": id, "method": "thread/loaded/list"}).to_string();
    let requests: Vec<String> = (0..200).map(request).collect();
    client.write(&requests.join("\n")).await;
    let mut overloaded = 0;
    for _ in 0..200 {
        let answer = client.read().await;
        if answer["error"]["code"] == -32001 {
            overloaded += 1;
        }
    }
    assert!(overloaded > 0 && overloaded <= 72, "{overloaded}");
    assert!(client.call("thread/loaded/list", json!({})).await.is_ok());
    client.leave().await;
}
