//! `review/start`: for a client a review is a turn, with what it found at its end.

use serde_json::{Value, json};
use troupe_testkit::Stage;

use super::client::{Client, app, outline, saying};

/// A reviewer that finds one thing.
const FINDS: &str = r#"
[[scene]]
[[scene.turn]]
steps = [{ say = '{"findings":[{"title":"off by one","body":"the last line is left out","confidence_score":0.5,"priority":1,"code_location":{"absolute_file_path":"/src/lines.rs","line_range":{"start":3,"end":4}}}],"overall_correctness":"patch is incorrect","overall_explanation":"one defect","overall_confidence_score":0.75}' }]
"#;

/// A reviewer that thinks for ever.
const STALLS: &str = r#"
[[scene]]
[[scene.turn]]
steps = [{ say = "hm" }, { end = "stall" }]
"#;

/// Returns what was told of one thread.
fn of(thread: &str, messages: Vec<Value>) -> Vec<Value> {
    let is_of = |message: &Value| message["params"]["threadId"] == thread;
    messages.into_iter().filter(is_of).collect()
}

/// Returns everything until the turn of a thread is over, and that turn.
async fn reviewed(client: &mut Client, thread: &str) -> (Vec<Value>, Value) {
    let mut all = Vec::new();
    loop {
        all.extend(client.all_until("turn/completed").await);
        let last = all.last().unwrap()["params"].clone();
        if last["threadId"] == thread {
            return (of(thread, all), last["turn"].clone());
        }
    }
}

#[tokio::test]
async fn a_review_is_a_turn_of_its_thread() {
    let stage = Stage::new(FINDS).await;
    let app = app(&stage);
    let mut client = Client::ready(&app).await;
    let thread = client.thread().await;
    let target = json!({"type": "commit", "sha": "0123456789", "title": "count lines"});
    let started = client
        .call(
            "review/start",
            json!({"threadId": thread, "target": target}),
        )
        .await
        .unwrap();
    assert_eq!(started["reviewThreadId"], thread);
    assert_eq!(started["turn"]["status"], "inProgress");

    let (told, turn) = reviewed(&mut client, &thread).await;
    expect_test::expect![[r#"
        thread/status/changed active
        turn/started
        item/started enteredReviewMode
        item/completed enteredReviewMode
        item/started exitedReviewMode
        item/completed exitedReviewMode
        thread/status/changed idle
        turn/completed"#]]
    .assert_eq(&outline(&told));
    let entered = &told[2]["params"]["item"];
    assert_eq!(entered["review"], "commit 0123456: count lines");
    assert_eq!(turn["id"], started["turn"]["id"]);
    assert_eq!(turn["status"], "completed");
    let review = turn["items"][0]["review"].as_str().unwrap();
    assert!(
        review.contains("off by one (/src/lines.rs:3-4)"),
        "{review}"
    );

    let read = json!({"threadId": thread, "includeTurns": true});
    let read = client.call("thread/read", read).await.unwrap();
    let kept = &read["thread"]["turns"][0];
    assert_eq!(kept["id"], turn["id"]);
    assert_eq!(kept["status"], "completed");
    assert_eq!(kept["items"][1]["review"], review);
    client.leave().await;
    app.end().await;
}

#[tokio::test]
async fn a_detached_review_has_a_thread_of_its_own() {
    let stage = Stage::new(FINDS).await;
    let app = app(&stage);
    let mut client = Client::ready(&app).await;
    let thread = client.thread().await;
    let wish = json!({
        "threadId": thread,
        "target": {"type": "uncommittedChanges"},
        "delivery": "detached",
    });
    let started = client.call("review/start", wish).await.unwrap();
    let place = started["reviewThreadId"].as_str().unwrap().to_owned();
    assert_ne!(place, thread);
    let (told, turn) = reviewed(&mut client, &place).await;
    assert_eq!(told[2]["params"]["item"]["review"], "current changes");
    assert_eq!(turn["status"], "completed");
    client.leave().await;
    app.end().await;
}

#[tokio::test]
async fn a_review_is_alone_until_it_is_interrupted() {
    let stage = Stage::new(STALLS).await;
    let app = app(&stage);
    let mut client = Client::ready(&app).await;
    let thread = client.thread().await;
    let target = json!({"type": "baseBranch", "branch": "main"});
    let wish = json!({"threadId": thread, "target": target});
    let started = client.call("review/start", wish.clone()).await.unwrap();
    let turn = started["turn"]["id"].clone();

    let again = client.call("review/start", wish).await.unwrap_err();
    let message = "a turn is running; interrupt it or wait for its end";
    assert_eq!(again["message"], message);
    let spoken = client.call("turn/start", saying(&thread, "hello")).await;
    let message = "a review is running; interrupt it or wait for its end";
    assert_eq!(spoken.unwrap_err()["message"], message);
    let mut steer = saying(&thread, "hello");
    steer["expectedTurnId"] = turn.clone();
    let steered = client.call("turn/steer", steer).await;
    assert_eq!(steered.unwrap_err()["message"], message);

    let mut other = Client::ready(&app).await;
    let stop = json!({"threadId": thread, "turnId": turn});
    other.call("turn/interrupt", stop).await.unwrap();
    let (_, ended) = reviewed(&mut other, &thread).await;
    assert_eq!(ended["status"], "interrupted");
    other.leave().await;
    client.leave().await;
    app.end().await;
}

#[tokio::test]
async fn a_review_of_nothing_is_refused() {
    let stage = Stage::new(FINDS).await;
    let app = app(&stage);
    let mut client = Client::ready(&app).await;
    let thread = client.thread().await;
    let mut refused = async |target: Value| {
        let wish = json!({"threadId": thread, "target": target});
        let refused = client.call("review/start", wish).await.unwrap_err();
        refused["message"].as_str().unwrap().to_owned()
    };
    let told = [
        refused(json!({"type": "baseBranch", "branch": " "})).await,
        refused(json!({"type": "custom", "instructions": ""})).await,
        refused(json!({"type": "commit"})).await,
        refused(json!({"type": "everything"})).await,
    ];
    expect_test::expect![[r#"
        invalid params: target.branch: must not be empty
        invalid params: target.instructions: must not be empty
        invalid params: target: missing field `sha`
        invalid params: target.type: unknown variant `everything`, expected one of `uncommittedChanges`, `baseBranch`, `commit`, `custom`"#]]
    .assert_eq(&told.join("\n"));
    client.leave().await;
    app.end().await;
}
