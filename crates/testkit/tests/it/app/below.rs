//! What is asked of a child goes to that child.

use serde_json::{Value, json};
use troupe_app_server::AppServer;
use troupe_protocol::policy::ApprovalPolicy;
use troupe_testkit::Stage;

use super::client::{Client, app, saying};

const COUNTING: &str = r#"
    [[scene]]
    when = "count the files"
    [[scene.turn]]
    steps = [{ say = "There are three." }]
    [[scene.turn]]
    steps = [{ say = "There are still three." }]

    [[scene]]
    when = "count for ever"
    [[scene.turn]]
    steps = [{ say = "One, two", unfinished = true }, { end = "stall" }]
    [[scene.turn]]
    steps = [{ say = "I was told to stop." }]

    [[scene]]
    when = "make a file"
    [[scene.turn]]
    steps = [{ say = "I am ready." }]
    [[scene.turn]]
    steps = [{ call = "shell_command", arguments = { command = "touch made" } }]
    [[scene.turn]]
    steps = [{ say = "It is made." }]

    [[scene]]
    when = "hello root"
    [[scene.turn]]
    steps = [{ say = "Hello from the root." }]
"#;

async fn child(client: &mut Client, root: &str, text: &str) -> String {
    let params = json!({"rootThreadId": root, "input": [{"type": "text", "text": text}]});
    let spawned = client.call("agent/spawn", params).await.unwrap();
    spawned["agent"]["threadId"].as_str().unwrap().to_owned()
}

/// Waits until a turn of this thread has ended, and returns it.
async fn ended(client: &mut Client, thread: &str) -> Value {
    loop {
        let mut told = client.told("turn/completed").await;
        if told["threadId"] == thread {
            return told["turn"].take();
        }
    }
}

async fn opened(app: &AppServer) -> (Client, String) {
    let mut client = Client::ready(app).await;
    let root = client.thread().await;
    (client, root)
}

#[tokio::test]
async fn a_child_takes_turns_a_name_and_a_note() {
    let stage = Stage::new(COUNTING).await;
    let app = app(&stage);
    let (mut client, root) = opened(&app).await;
    let child = child(&mut client, &root, "count the files").await;
    client.told("turn/started").await;
    ended(&mut client, &child).await;

    let mut again = saying(&child, "again");
    again["clientUserMessageId"] = json!("mine");
    let request = client.send("turn/start", again).await;
    let told = client.all_until("turn/started").await;
    let answer = told.iter().find(|it| it["id"] == request);
    let turn = &answer.expect("the answer comes before the turn")["result"]["turn"]["id"];
    assert_eq!(told.last().unwrap()["params"]["turn"]["id"], *turn);
    let said = client.told("item/started").await;
    assert_eq!(said["item"]["clientId"], "mine");
    let over = ended(&mut client, &child).await;
    assert_eq!((&over["id"], &over["status"]), (turn, &json!("completed")));

    let name = json!({"threadId": child, "name": "counter"});
    client.call("thread/name/set", name).await.unwrap();
    let named = client.told("thread/name/updated").await;
    assert_eq!(named["threadId"], child);
    let note = json!({"threadId": child, "note": "counts"});
    client.call("thread/note/set", note).await.unwrap();
    let noted = client.told("thread/note/updated").await;
    assert_eq!(noted["threadId"], child);

    let mut other = saying(&child, "with another model");
    other["model"] = json!("gpt-5.1");
    let refused = client.call("turn/start", other).await.unwrap_err();
    let message = "a child keeps the settings that it was made with; send it only input";
    assert_eq!(refused["message"], message);
    client.leave().await;
    app.end().await;
}

#[tokio::test]
async fn a_child_is_steered_and_interrupted() {
    let stage = Stage::new(COUNTING).await;
    let app = app(&stage);
    let (mut client, root) = opened(&app).await;
    let child = child(&mut client, &root, "count for ever").await;
    let turn = client.told("turn/started").await["turn"]["id"].take();
    client.told("item/agentMessage/delta").await;

    let wrong = json!({"threadId": child, "turnId": "another"});
    let refused = client.call("turn/interrupt", wrong).await.unwrap_err();
    assert_eq!(refused["code"], -32600);
    let mut more = saying(&child, "then stop");
    let joined = client.call("turn/start", more.clone()).await.unwrap();
    assert_eq!(joined["turn"]["id"], turn);
    more["expectedTurnId"] = turn.clone();
    let steered = client.call("turn/steer", more).await.unwrap();
    assert_eq!(steered["turnId"], turn);
    let stop = json!({"threadId": child, "turnId": turn});
    client.call("turn/interrupt", stop).await.unwrap();
    let over = ended(&mut client, &child).await;
    assert_eq!(
        (&over["id"], &over["status"]),
        (&turn, &json!("interrupted"))
    );
    client.leave().await;
    app.end().await;
}

/// Who wants one child hears that child, and is asked what it asks; the rest is for others.
#[tokio::test]
async fn a_child_can_be_followed_alone() {
    let stage = Stage::new(COUNTING)
        .await
        .approval(ApprovalPolicy::Untrusted);
    let app = app(&stage);
    let (mut owner, root) = opened(&app).await;
    let child = child(&mut owner, &root, "make a file").await;
    ended(&mut owner, &child).await;

    let mut guest = Client::ready(&app).await;
    let resume = json!({"threadId": child});
    let resumed = guest.call("thread/resume", resume).await.unwrap();
    let thread = &resumed["thread"];
    assert_eq!(thread["parentThreadId"], root);
    assert_eq!(thread["turns"][0]["items"][1]["text"], "I am ready.");
    owner.whole_turn(&root, "hello root").await;
    guest
        .call("turn/start", saying(&child, "go"))
        .await
        .unwrap();
    let (id, asked) = guest.asked("item/commandExecution/requestApproval").await;
    assert_eq!(asked["threadId"], child);
    guest.respond(&id, json!({"decision": "accept"})).await;
    let told = guest.all_until("turn/completed").await;
    let of_root = told.iter().any(|it| it["params"]["threadId"] == root);
    assert!(!of_root, "{told:#?}");
    assert_eq!(stage.read("made"), "");

    let read = json!({"threadId": child});
    let read = guest.call("thread/read", read).await.unwrap();
    assert_eq!(read["thread"]["status"]["type"], "idle");
    let nobody = "0198c0de-0000-7000-8000-000000000000";
    let lost = guest.call("turn/start", saying(nobody, "go")).await;
    let message = lost.unwrap_err()["message"].take();
    assert!(message.as_str().unwrap().starts_with("thread not found"));
    guest.leave().await;
    owner.leave().await;
    app.end().await;
}
