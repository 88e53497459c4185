//! Children of a thread are threads too.

use serde_json::{Value, json};
use troupe_protocol::policy::{ApprovalPolicy, SandboxPolicy};
use troupe_protocol::tree::TreeFact;
use troupe_testkit::Stage;

use super::client::{Client, app};
use super::family::of_item;

#[tokio::test]
async fn a_child_is_a_thread_that_the_client_follows() {
    let stage = Stage::new(
        r#"
        [[scene]]
        when = "count the files"
        [[scene.turn]]
        steps = [{ say = "There are three." }]

        [[scene]]
        when = "delegate"
        [[scene.turn]]
        steps = [{ call = "spawn_agent", arguments = { message = "count the files", task_name = "counter" } }]
        [[scene.turn]]
        steps = [{ call = "wait", arguments = { ids = ["/root/counter"] } }]
        [[scene.turn]]
        steps = [{ say = "Three." }]
        "#,
    )
    .await;
    let app = app(&stage);
    let mut client = Client::ready(&app).await;
    let root = client.thread().await;
    client.turn(&root, "delegate").await;
    let is_end = |message: &Value, thread: &str| {
        message["method"] == "turn/completed" && message["params"]["threadId"] == thread
    };
    let mut all = Vec::new();
    loop {
        let message = client.all_until("turn/completed").await;
        all.extend(message);
        if is_end(all.last().unwrap(), &root) {
            break;
        }
    }
    let started: Vec<&Value> = all
        .iter()
        .filter(|it| it["method"] == "thread/started")
        .map(|it| &it["params"]["thread"])
        .filter(|thread| thread["id"] != json!(root))
        .collect();
    let [child] = started[..] else {
        panic!("{started:#?}");
    };
    assert_eq!(child["parentThreadId"], root);
    assert_eq!(child["agentPath"], "/root/counter");
    let child = child["id"].as_str().unwrap();
    let said = all.iter().find(|it| {
        it["method"] == "item/completed"
            && it["params"]["threadId"] == child
            && it["params"]["item"]["type"] == "agentMessage"
    });
    assert_eq!(said.unwrap()["params"]["item"]["text"], "There are three.");
    let collaboration = |tool: &str| {
        let ended = all.iter().find(|it| {
            it["method"] == "item/completed"
                && it["params"]["threadId"] == json!(root)
                && it["params"]["item"]["tool"] == tool
        });
        ended.unwrap()["params"]["item"].clone()
    };
    let spawned = collaboration("spawnAgent");
    assert_eq!(spawned["type"], "collabAgentToolCall");
    assert_eq!(spawned["receiverThreadIds"], json!([child]));
    let waited = collaboration("wait");
    assert_eq!(waited["agentsStates"][child]["status"], "completed");
    let read = json!({"threadId": child, "includeTurns": true});
    let read = client.call("thread/read", read).await.unwrap();
    assert_eq!(read["thread"]["parentThreadId"], root);
    client.leave().await;
    app.end().await;
}

/// Who reads the item is told that no person said it.
#[tokio::test]
async fn a_callback_says_whose_end_it_tells_of() {
    let stage = Stage::new(
        r#"
        [[scene]]
        when = "count the files"
        [[scene.turn]]
        steps = [{ say = "There are three." }]

        [[scene]]
        when = "lead"
        [[scene.turn]]
        steps = [{ say = "Ready." }]
        [[scene.turn]]
        steps = [{ say = "I heard it." }]
        "#,
    )
    .await;
    let app = app(&stage);
    let mut client = Client::ready(&app).await;
    let root = client.thread().await;
    let turn = client.whole_turn(&root, "lead").await;
    let input = json!([{"type": "text", "text": "count the files"}]);
    let wish = json!({"rootThreadId": root, "name": "counter", "input": input, "callBack": true});
    let spawned = client.call("agent/spawn", wish).await.unwrap();
    let child = &spawned["agent"]["threadId"];
    let called = loop {
        let told = client.told("item/completed").await;
        if told["threadId"] == json!(root) && told["item"]["callback"].is_object() {
            break told;
        }
    };
    let callback = &called["item"]["callback"];
    assert_eq!(callback["isCallback"], true);
    assert_eq!(callback["source"], "troupe");
    assert_eq!(callback["childSessionId"], *child);
    assert!(callback["childTaskId"].is_string());
    // A child of a client branches off where its parent was.
    let session = root.parse().unwrap();
    let lines = stage.store().agent_lines(session).await.unwrap().lines;
    let point = lines.iter().find_map(|(_, line)| match &line.record.fact {
        TreeFact::Born(birth) => birth.genealogy.point.clone(),
        _ => None,
    });
    let point = point.expect("the child has a place");
    assert_eq!(json!(point.task), turn["id"]);
    assert!(point.message_index > 1);
    client.leave().await;
    app.end().await;
}

/// What a child wants to know is asked in its name.
#[tokio::test]
async fn a_child_asks_through_the_client() {
    let stage = Stage::new(
        r#"
        [[scene]]
        when = "make a file"
        [[scene.turn]]
        steps = [{ call = "shell_command", arguments = { command = "touch made" }, call_id = "call_c" }]
        [[scene.turn]]
        steps = [{ say = "made" }]

        [[scene]]
        when = "delegate"
        [[scene.turn]]
        steps = [{ call = "spawn_agent", arguments = { message = "make a file", task_name = "maker" } }]
        [[scene.turn]]
        steps = [{ call = "wait", arguments = { ids = ["/root/maker"] } }]
        [[scene.turn]]
        steps = [{ say = "It is made." }]
        "#,
    )
    .await
    .approval(ApprovalPolicy::Untrusted);
    let app = app(&stage);
    let mut client = Client::ready(&app).await;
    let root = client.thread().await;
    client.turn(&root, "delegate").await;
    let (id, params) = client.asked("item/commandExecution/requestApproval").await;
    assert_eq!(params["agentPath"], "/root/maker");
    assert_eq!(params["itemId"], "call_c");
    assert_ne!(params["threadId"], root);
    client.respond(&id, json!({"decision": "accept"})).await;
    assert_eq!(client.told("serverRequest/resolved").await["requestId"], id);
    loop {
        let ended = client.told("turn/completed").await;
        assert_eq!(ended["turn"]["status"], "completed");
        if ended["threadId"] == json!(root) {
            break;
        }
    }
    assert_eq!(stage.read("made"), "");
    client.leave().await;
    app.end().await;
}

/// Of a patch the changes stand only in the item, and what is approved has been shown.
#[tokio::test]
async fn who_joins_while_a_child_asks_is_shown_its_patch() {
    let patch = "*** Begin Patch\\n*** Add File: a\\n+all of it\\n*** End Patch";
    let stage = Stage::new(&format!(
        r#"
        [[scene]]
        when = "make a file"
        [[scene.turn]]
        steps = [{{ custom = "apply_patch", input = "{patch}", call_id = "patch_c" }}]
        [[scene.turn]]
        steps = [{{ say = "made" }}]

        [[scene]]
        when = "delegate"
        [[scene.turn]]
        steps = [{{ call = "spawn_agent", arguments = {{ message = "make a file", task_name = "maker" }} }}]
        [[scene.turn]]
        steps = [{{ call = "wait", arguments = {{ ids = ["/root/maker"] }} }}]
        [[scene.turn]]
        steps = [{{ say = "It is made." }}]
        "#
    ))
    .await
    .approval(ApprovalPolicy::Untrusted)
    .sandbox(SandboxPolicy::read_only());
    let app = app(&stage);
    let question = "item/fileChange/requestApproval";
    let mut first = Client::ready(&app).await;
    let root = first.thread().await;
    first.turn(&root, "delegate").await;
    first.asked(question).await;
    let mut second = Client::ready(&app).await;
    let resume = json!({"threadId": root});
    second.call("thread/resume", resume).await.unwrap();
    let all = second.all_until(question).await;
    let asked = &all.last().unwrap()["params"];
    assert_eq!(asked["agentPath"], "/root/maker");
    let begun = of_item(&all, "item/started", "patch_c");
    assert_eq!(begun.len(), 1, "{all:?}");
    assert_eq!(begun[0]["changes"][0]["diff"], "all of it\n");
    second.leave().await;
    first.leave().await;
    app.end().await;
}
