//! Turns: what a client is told of them, and how it has a say in them.

use expect_test::expect;
use serde_json::json;
use troupe_testkit::Stage;

use super::client::{Client, app, outline, saying};

#[tokio::test]
async fn a_turn_is_told_from_its_beginning_to_its_end() {
    let stage = Stage::new(
        r#"
        [[scene]]
        [[scene.turn]]
        steps = [{ think = "Let me look." }, { call = "shell_command", arguments = { command = "echo three" } }]
        [[scene.turn]]
        expect = "three"
        steps = [{ say = "There are three." }]
        "#,
    )
    .await;
    let app = app(&stage);
    let mut client = Client::ready(&app).await;
    let thread = client.thread().await;
    let params = saying(&thread, "count");
    client.send("turn/start", params).await;
    let all = client.all_until("turn/completed").await;
    expect![[r#"
        thread/started
        response
        thread/status/changed active
        turn/started
        item/started userMessage
        item/completed userMessage
        item/started reasoning
        item/reasoning/summaryPartAdded
        item/reasoning/summaryTextDelta
        item/completed reasoning
        thread/tokenUsage/updated
        item/started commandExecution
        item/commandExecution/outputDelta
        item/completed commandExecution
        item/started agentMessage
        item/agentMessage/delta
        item/completed agentMessage
        thread/tokenUsage/updated
        thread/status/changed idle
        turn/completed"#]]
    .assert_eq(&outline(&all));
    let turn = &all.last().unwrap()["params"]["turn"];
    assert_eq!(turn["status"], "completed");
    assert_eq!(turn["items"][0]["text"], "There are three.");
    let command = all.iter().find(|it| {
        it["method"] == "item/completed" && it["params"]["item"]["type"] == "commandExecution"
    });
    let item = &command.unwrap()["params"]["item"];
    assert_eq!(item["aggregatedOutput"], "three\n");
    assert_eq!(item["exitCode"], 0);
    assert_eq!(item["status"], "completed");
    let text: String = all
        .iter()
        .filter(|it| it["method"] == "item/agentMessage/delta")
        .map(|it| it["params"]["delta"].as_str().unwrap())
        .collect();
    assert_eq!(text, "There are three.");
    assert!(
        all.iter()
            .all(|it| it["emittedAtMs"].is_i64() || it.get("id").is_some())
    );
    client.leave().await;
    app.end().await;
}

#[tokio::test]
async fn a_turn_that_fails_says_why() {
    let stage = Stage::new(
        r#"
        [[scene]]
        [[scene.turn]]
        steps = [{ status = 401, message = "no such key" }]
        "#,
    )
    .await;
    let app = app(&stage);
    let mut client = Client::ready(&app).await;
    let thread = client.thread().await;
    let turn = client.whole_turn(&thread, "hello").await;
    assert_eq!(turn["status"], "failed");
    assert_eq!(turn["error"]["codexErrorInfo"], "unauthorized");
    let error = client.told("error").await;
    assert_eq!(error["willRetry"], false);
    assert_eq!(error["error"], turn["error"]);
    client.leave().await;
    app.end().await;
}

const SLOW: &str = r#"
    [[scene]]
    [[scene.turn]]
    steps = [{ call = "shell_command", arguments = { command = "while [ ! -e go ]; do sleep 0.02; done" } }]
    [[scene.turn]]
    steps = [{ say = "done" }]
"#;

#[tokio::test]
async fn input_can_join_a_turn() {
    let stage = Stage::new(SLOW).await;
    let app = app(&stage);
    let mut client = Client::ready(&app).await;
    let thread = client.thread().await;
    let turn = client.turn(&thread, "work").await;
    client.told("item/started").await;
    let steer = |turn: &str| {
        let mut params = saying(&thread, "and be quick");
        params["expectedTurnId"] = json!(turn);
        params
    };
    let wrong = client.call("turn/steer", steer("another")).await;
    let message = wrong.unwrap_err()["message"].as_str().unwrap().to_owned();
    assert!(
        message.ends_with(&format!("but found `{turn}`")),
        "{message}"
    );
    let steered = client.call("turn/steer", steer(&turn)).await.unwrap();
    assert_eq!(steered["turnId"], turn);
    let joined = client
        .call("turn/start", saying(&thread, "and careful"))
        .await;
    assert_eq!(joined.unwrap()["turn"]["id"], turn);
    stage.write("go", "");
    let ended = client.told("turn/completed").await;
    assert_eq!(ended["turn"]["id"], turn);
    let asked = serde_json::to_string(&stage.input_of(1)).unwrap();
    assert!(
        asked.contains("and be quick") && asked.contains("and careful"),
        "{asked}"
    );
    client.leave().await;
    app.end().await;
}

#[tokio::test]
async fn a_turn_can_be_interrupted() {
    let stage = Stage::new(SLOW).await;
    let app = app(&stage);
    let mut client = Client::ready(&app).await;
    let thread = client.thread().await;
    let turn = client.turn(&thread, "work").await;
    let interrupt = |turn: &str| json!({"threadId": thread, "turnId": turn});
    let wrong = client.call("turn/interrupt", interrupt("another")).await;
    assert_eq!(wrong.unwrap_err()["code"], -32600);
    client
        .call("turn/interrupt", interrupt(&turn))
        .await
        .unwrap();
    let ended = client.told("turn/completed").await;
    assert_eq!(ended["turn"]["status"], "interrupted");
    let late = client.call("turn/interrupt", interrupt(&turn)).await;
    assert_eq!(late.unwrap_err()["message"], "no active turn");
    client.leave().await;
    app.end().await;
}

#[tokio::test]
async fn an_input_that_is_refused_begins_nothing() {
    let stage = Stage::new(SLOW).await;
    let app = app(&stage);
    let mut client = Client::ready(&app).await;
    let thread = client.thread().await;
    let mut params = saying(&thread, "work");
    params["input"] = json!([{"type": "localImage", "path": "/no/such/picture.png"}]);
    let refused = client.call("turn/start", params).await.unwrap_err();
    assert_eq!(refused["code"], -32600);
    for blank in [" \n", "\u{200b}\u{feff}\u{2067}"] {
        let blank = client.call("turn/start", saying(&thread, blank)).await;
        let blank = blank.unwrap_err();
        assert_eq!(blank["message"], "the message is blank; say something");
    }
    for schema in [
        json!({"type": "nonsense"}),
        json!({"type": "object", "minProperties": 2, "maxProperties": 1}),
    ] {
        let mut params = saying(&thread, "work");
        params["outputSchema"] = schema;
        let schema = client.call("turn/start", params).await.unwrap_err();
        let message = schema["message"].as_str().unwrap();
        assert!(message.starts_with("the output schema"), "{message}");
    }
    let spawn = |input: serde_json::Value| json!({"rootThreadId": thread, "input": input});
    for input in [json!([]), json!([{"type": "text", "text": " "}])] {
        let refused = client.call("agent/spawn", spawn(input)).await.unwrap_err();
        assert_eq!(refused["code"], -32600, "{refused}");
    }
    let nobody = saying("00000000-0000-4000-8000-000000000000", "work");
    let nobody = client.call("turn/start", nobody).await.unwrap_err();
    let message = nobody["message"].as_str().unwrap();
    assert!(message.starts_with("thread not found"), "{message}");
    client.leave().await;
    app.end().await;
}
