//! The agents below a thread, as a client drives them.

use serde_json::json;
use troupe_testkit::Stage;

use super::client::{Client, app};

#[tokio::test]
async fn a_client_makes_a_child_and_reads_its_result() {
    let stage = Stage::new(
        r#"
        [[scene]]
        when = "count the files"
        [[scene.turn]]
        steps = [{ say = "There are three." }]

        [[scene]]
        when = "and the directories"
        [[scene.turn]]
        steps = [{ say = "There is one." }]
        "#,
    )
    .await;
    let app = app(&stage);
    let mut client = Client::ready(&app).await;
    let root = client.thread().await;
    let text = |text: &str| json!([{"type": "text", "text": text}]);

    let wish = json!({"rootThreadId": root, "name": "counter", "input": text("count the files")});
    let spawned = client.call("agent/spawn", wish).await.unwrap();
    assert_eq!(spawned["agent"]["path"], "/root/counter");
    assert_eq!(spawned["agent"]["parentThreadId"], root);

    let on = json!({"rootThreadId": root, "agents": ["/root/counter"]});
    let waited = client.call("agent/wait", on.clone()).await.unwrap();
    assert_eq!(waited["timedOut"], false);
    let finished = &waited["finished"][0];
    assert_eq!(finished["agent"]["status"]["type"], "completed");
    assert_eq!(finished["result"]["text"], "There are three.");

    let about = |agent: &str| json!({"rootThreadId": root, "agent": agent});
    let result = client.call("agent/result", about("/root/counter")).await;
    let result = result.unwrap()["result"].take();
    assert_eq!(result["completed"], true);
    assert_eq!(result["evidence"]["omitted"], 0);

    let mut more = about("/root/counter");
    more["input"] = text("and the directories");
    let sent = client.call("agent/send", more).await.unwrap();
    assert_eq!(sent["receipt"]["type"], "delivered");

    let mut note = about("/root/counter");
    note["note"] = json!("counts");
    client.call("agent/note/set", note).await.unwrap();

    let mut stop = json!({"rootThreadId": root, "agents": ["/root/counter", "nobody"]});
    stop["verb"] = json!("close");
    stop["dryRun"] = json!(true);
    let plan = client.call("agent/stop", stop.clone()).await.unwrap();
    assert_eq!(plan["touched"][0]["agent"]["path"], "/root/counter");
    assert_eq!(plan["touched"][0]["action"], "close");
    assert_eq!(plan["unknown"], json!(["nobody"]));

    let read = json!({"rootThreadId": root});
    let tree = client.call("tree/read", read.clone()).await.unwrap();
    let agents = tree["agents"].as_array().unwrap();
    let paths: Vec<_> = agents.iter().map(|agent| agent["path"].clone()).collect();
    assert_eq!(paths, ["/root", "/root/counter"]);
    assert_eq!(agents[1]["note"], "counts");
    let trees = client.call("tree/list", json!({})).await.unwrap();
    assert_eq!(trees["data"], json!([{"rootThreadId": root, "agents": 1}]));

    stop["dryRun"] = json!(false);
    client.call("agent/stop", stop).await.unwrap();
    let tree = client.call("tree/read", read).await.unwrap();
    assert_eq!(tree["agents"].as_array().unwrap().len(), 1);
    let nobody = client.call("agent/result", about("nobody")).await;
    assert_eq!(nobody.unwrap_err()["code"], -32600);
    client.leave().await;
    app.end().await;
}

/// Who follows the root hears how the lives of its agents go on, without asking.
#[tokio::test]
async fn who_follows_the_root_hears_of_lives_and_mail() {
    let stage = Stage::new(
        r#"
        [[scene]]
        when = "count the files"
        [[scene.turn]]
        steps = [{ say = "There are three." }]
        "#,
    )
    .await;
    let app = app(&stage);
    let mut client = Client::ready(&app).await;
    let root = client.thread().await;
    let input = json!([{"type": "text", "text": "count the files"}]);
    let wish = json!({"rootThreadId": root, "name": "counter", "input": input});
    let spawned = client.call("agent/spawn", wish).await.unwrap();
    let child = &spawned["agent"]["threadId"];

    let created = client.told("tree/changed").await;
    assert_eq!(created["rootThreadId"], root);
    assert_eq!(created["threadId"], *child);
    assert_eq!(created["change"]["type"], "created");
    assert_eq!(created["change"]["path"], "/root/counter");
    assert_eq!(created["change"]["parentThreadId"], root);
    let mut lives = Vec::new();
    while lives.last() != Some(&json!("completed")) {
        let told = client.told("tree/changed").await;
        assert_eq!(told["change"]["type"], "status");
        if told["change"]["status"]["type"] == "completed" {
            assert_eq!(told["change"]["preview"], "There are three.");
        }
        lives.push(told["change"]["status"]["type"].clone());
    }
    assert!(lives.contains(&json!("running")), "{lives:?}");
    let mail = client.told("agent/inbox").await;
    assert_eq!(mail["rootThreadId"], root);
    assert_eq!(mail["threadId"], *child);
    assert!(mail["inbox"]["messages"].is_u64());
    client.leave().await;
    app.end().await;
}

#[tokio::test]
async fn who_resumes_a_thread_can_draw_its_tree_from_what_is_told() {
    let stage = Stage::new(
        r#"
        [[scene]]
        when = "count the files"
        [[scene.turn]]
        steps = [{ say = "There are three." }]
        "#,
    )
    .await;
    let first = app(&stage);
    let mut client = Client::ready(&first).await;
    let root = client.thread().await;
    let input = json!([{"type": "text", "text": "count the files"}]);
    let wish = json!({"rootThreadId": root, "name": "counter", "input": input});
    let spawned = client.call("agent/spawn", wish).await.unwrap();
    let on = json!({"rootThreadId": root, "agents": ["/root/counter"]});
    client.call("agent/wait", on).await.unwrap();
    let expected = json!({
        "type": "restored", "parentThreadId": root, "path": "/root/counter",
        "status": {"type": "completed"}, "preview": "There are three.",
    });

    // One more client of a tree that runs.
    let mut other = Client::ready(&first).await;
    let resume = json!({"threadId": root});
    other.call("thread/resume", resume.clone()).await.unwrap();
    let told = other.told("tree/changed").await;
    assert_eq!(told["threadId"], spawned["agent"]["threadId"]);
    assert_eq!(told["change"], expected);
    other.leave().await;
    client.leave().await;
    first.end().await;

    // A tree that is taken up from its logs.
    let second = app(&stage);
    let mut client = Client::ready(&second).await;
    client.call("thread/resume", resume).await.unwrap();
    let told = client.told("tree/changed").await;
    assert_eq!(told["change"], expected);
    client.leave().await;
    second.end().await;
}
