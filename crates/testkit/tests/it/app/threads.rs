//! Threads: opened, found again, named and put away.

use serde_json::{Value, json};
use troupe_testkit::Stage;

use super::client::{Client, app};

const TWO: &str = r#"
    [[scene]]
    [[scene.turn]]
    steps = [{ say = "one" }]
    [[scene.turn]]
    steps = [{ say = "two" }]
    [[scene.turn]]
    steps = [{ say = "three" }]
"#;

fn texts(turns: &Value) -> Vec<&str> {
    let turns = turns.as_array().unwrap().iter();
    let items = turns.flat_map(|turn| turn["items"].as_array().unwrap());
    items
        .filter(|item| item["type"] == "agentMessage")
        .map(|item| item["text"].as_str().unwrap())
        .collect()
}

#[tokio::test]
async fn a_thread_is_resumed_after_a_restart() {
    let stage = Stage::new(TWO).await;
    let first = app(&stage);
    let mut client = Client::ready(&first).await;
    let thread = client.thread().await;
    client.whole_turn(&thread, "hello").await;
    client.leave().await;
    first.end().await;

    let second = app(&stage);
    let mut client = Client::ready(&second).await;
    let params = json!({"threadId": thread});
    let resumed = client.call("thread/resume", params.clone()).await.unwrap();
    assert_eq!(resumed["thread"]["id"], thread);
    assert_eq!(resumed["thread"]["preview"], "hello");
    assert_eq!(texts(&resumed["thread"]["turns"]), ["one"]);
    let usage = client.told("thread/tokenUsage/updated").await;
    assert_eq!(usage["tokenUsage"]["total"]["outputTokens"], 20);
    let turn = client.whole_turn(&thread, "again").await;
    assert_eq!(turn["items"][0]["text"], "two");
    let nobody = json!({"threadId": "00000000-0000-4000-8000-000000000000"});
    let nobody = client.call("thread/resume", nobody).await.unwrap_err();
    assert_eq!(nobody["code"], -32600);
    client.leave().await;
    second.end().await;
}

#[tokio::test]
async fn threads_are_listed_read_and_named() {
    let stage = Stage::new(TWO).await;
    let app = app(&stage);
    let mut client = Client::ready(&app).await;
    let thread = client.thread().await;
    client.whole_turn(&thread, "hello").await;
    let id = json!({"threadId": thread});
    let params = json!({"threadId": thread, "name": "my work"});
    client.call("thread/name/set", params).await.unwrap();
    assert_eq!(
        client.told("thread/name/updated").await["threadName"],
        "my work"
    );
    let params = json!({"threadId": thread, "note": "half done"});
    client.call("thread/note/set", params).await.unwrap();
    assert_eq!(
        client.told("thread/note/updated").await["threadNote"],
        "half done"
    );

    let listed = client.call("thread/list", json!({})).await.unwrap();
    let row = &listed["data"][0];
    assert_eq!(row["id"], thread);
    assert_eq!(row["name"], "my work");
    assert_eq!(row["note"], "half done");
    assert_eq!(row["status"]["type"], "idle");
    assert_eq!(row["turns"], json!([]));
    let loaded = client.call("thread/loaded/list", json!({})).await.unwrap();
    assert_eq!(loaded["data"], json!([thread]));
    let params = json!({"threadId": thread, "includeTurns": true});
    let read = client.call("thread/read", params).await.unwrap();
    assert_eq!(texts(&read["thread"]["turns"]), ["one"]);

    client.call("thread/archive", id.clone()).await.unwrap();
    assert_eq!(client.told("thread/closed").await["threadId"], thread);
    assert_eq!(client.told("thread/archived").await["threadId"], thread);
    let listed = client.call("thread/list", json!({})).await.unwrap();
    assert_eq!(listed["data"], json!([]));
    let archived = client.call("thread/list", json!({"archived": true})).await;
    assert_eq!(archived.unwrap()["data"][0]["id"], thread);
    let back = client.call("thread/unarchive", id).await.unwrap();
    assert_eq!(back["thread"]["status"]["type"], "notLoaded");
    client.leave().await;
    app.end().await;
}

#[tokio::test]
async fn a_fork_and_a_rollback_leave_out_what_came_after() {
    let stage = Stage::new(TWO).await;
    let app = app(&stage);
    let mut client = Client::ready(&app).await;
    let thread = client.thread().await;
    let first = client.whole_turn(&thread, "hello").await;
    client.whole_turn(&thread, "again").await;
    let params = json!({"threadId": thread, "lastTurnId": first["id"]});
    let fork = client.call("thread/fork", params).await.unwrap();
    assert_eq!(fork["thread"]["forkedFromId"], thread);
    assert_eq!(texts(&fork["thread"]["turns"]), ["one"]);
    let params = json!({"threadId": thread, "numTurns": 1});
    let rolled = client.call("thread/rollback", params).await.unwrap();
    assert_eq!(texts(&rolled["thread"]["turns"]), ["one"]);
    let params = json!({"threadId": thread, "numTurns": 0});
    let wrong = client.call("thread/rollback", params).await.unwrap_err();
    assert_eq!(wrong["code"], -32600);
    client.leave().await;
    app.end().await;
}

#[tokio::test]
async fn who_unsubscribes_hears_nothing_more() {
    let stage = Stage::new(TWO).await;
    let app = app(&stage);
    let mut client = Client::ready(&app).await;
    let thread = client.thread().await;
    let id = json!({"threadId": thread});
    let status = |answer: Result<Value, Value>| answer.unwrap()["status"].take();
    let left = client.call("thread/unsubscribe", id.clone()).await;
    assert_eq!(status(left), "unsubscribed");
    let again = client.call("thread/unsubscribe", id).await;
    assert_eq!(status(again), "notSubscribed");
    // A turn has it follow again.
    let turn = client.whole_turn(&thread, "hello").await;
    assert_eq!(turn["status"], "completed");
    client.leave().await;
    app.end().await;
}

#[tokio::test]
async fn a_thread_takes_many_turns() {
    let steps = "[[scene.turn]]\nsteps = [{ say = \"ok\" }]\n".repeat(40);
    let stage = Stage::new(&format!("[[scene]]\n{steps}")).await;
    let app = app(&stage);
    let mut client = Client::ready(&app).await;
    let thread = client.thread().await;
    for n in 0..40 {
        let turn = client.whole_turn(&thread, &format!("turn {n}")).await;
        assert_eq!(turn["status"], "completed");
    }
    client.leave().await;
    app.end().await;
}

#[tokio::test]
async fn a_deleted_thread_is_gone_with_its_children() {
    let stage = Stage::new(TWO).await;
    let app = app(&stage);
    let mut client = Client::ready(&app).await;
    let thread = client.thread().await;
    let input = json!([{"type": "text", "text": "go"}]);
    let wish = json!({"rootThreadId": thread, "name": "child", "input": input});
    let spawned = client.call("agent/spawn", wish).await.unwrap();
    let child = spawned["agent"]["threadId"].clone();
    let wait = json!({"rootThreadId": thread});
    client.call("agent/wait", wait).await.unwrap();

    let mut watcher = Client::ready(&app).await;
    let alone = client.call("thread/delete", json!({"threadId": child}));
    let alone = alone.await.unwrap_err()["message"].to_string();
    assert!(alone.contains("is a member of the tree of"), "{alone}");
    let doomed = json!({"threadId": thread});
    client.call("thread/delete", doomed.clone()).await.unwrap();
    let first = watcher.told("thread/deleted").await["threadId"].take();
    let second = watcher.told("thread/deleted").await["threadId"].take();
    assert_eq!((first, second), (child, json!(thread)));
    assert_eq!(client.told("thread/closed").await["threadId"], thread);

    let listed = client.call("thread/list", json!({})).await.unwrap();
    assert_eq!(listed["data"], json!([]));
    let again = client.call("thread/delete", doomed).await.unwrap_err();
    let again = again["message"].as_str().unwrap();
    assert!(again.starts_with("thread not found"), "{again}");
    client.leave().await;
    watcher.leave().await;
    app.end().await;
}

#[tokio::test]
async fn a_thread_at_work_is_not_deleted() {
    let stage = Stage::new("[[scene]]\n[[scene.turn]]\nsteps = [{ end = \"stall\" }]").await;
    let app = app(&stage);
    let mut client = Client::ready(&app).await;
    let thread = client.thread().await;
    let turn = client.turn(&thread, "go").await;
    let doomed = json!({"threadId": thread});
    let refused = client.call("thread/delete", doomed.clone()).await;
    let message = "a turn is running; interrupt it or wait for its end";
    assert_eq!(refused.unwrap_err()["message"], message);
    let stop = json!({"threadId": thread, "turnId": turn});
    client.call("turn/interrupt", stop).await.unwrap();
    client.call("thread/delete", doomed).await.unwrap();
    client.leave().await;
    app.end().await;
}

#[tokio::test]
async fn a_thread_in_memory_only_is_deleted_by_forgetting_it() {
    let stage = Stage::new(TWO).await;
    let app = app(&stage);
    let mut client = Client::ready(&app).await;
    let opened = client
        .call("thread/start", json!({"ephemeral": true}))
        .await;
    let doomed = json!({"threadId": opened.unwrap()["thread"]["id"]});
    client.call("thread/delete", doomed.clone()).await.unwrap();
    assert_eq!(client.told("thread/deleted").await, doomed);
    client.leave().await;
    app.end().await;
}
