//! What clients of the Codex family expect beyond the methods themselves.

use serde_json::{Value, json};
use troupe_protocol::policy::{ApprovalPolicy, SandboxPolicy};
use troupe_testkit::Stage;

use super::client::{Client, app, saying};

const THREE: &str = r#"
    [[scene]]
    [[scene.turn]]
    steps = [{ say = "one" }]
    [[scene.turn]]
    steps = [{ say = "two" }]
    [[scene.turn]]
    steps = [{ say = "three" }]
"#;

/// Returns role and text of each message that a request carried.
fn messages(stage: &Stage, request: usize) -> Vec<(String, String)> {
    let input = stage.input_of(request).into_iter();
    let messages = input.filter(|item| item["type"] == "message");
    let said = messages.map(|item| {
        let role = item["role"].as_str().unwrap().to_owned();
        let parts = item["content"].as_array().unwrap().iter();
        let text = parts.filter_map(|part| part["text"].as_str()).collect();
        (role, text)
    });
    said.collect()
}

fn message(role: &str, text: &str) -> (String, String) {
    (role.to_owned(), text.to_owned())
}

#[tokio::test]
async fn a_thread_names_its_project_and_where_its_instructions_come_from() {
    let stage = Stage::new(THREE).await;
    stage.write("AGENTS.md", "be kind");
    let app = app(&stage);
    let mut client = Client::ready(&app).await;
    let opened = client.call("thread/start", json!({})).await.unwrap();
    let project = opened["thread"].as_object().unwrap().get("projectId");
    assert_eq!(project, Some(&Value::Null));
    let file = stage.cwd().join("AGENTS.md");
    assert_eq!(opened["instructionSources"], json!([file]));
    let id = json!({"threadId": opened["thread"]["id"]});
    let resumed = client.call("thread/resume", id).await.unwrap();
    assert_eq!(resumed["instructionSources"], json!([file]));
    client.leave().await;
    app.end().await;
}

#[tokio::test]
async fn developer_instructions_are_a_developers_message() {
    let stage = Stage::new(THREE).await;
    let first = app(&stage);
    let mut client = Client::ready(&first).await;
    let params = json!({"developerInstructions": "speak in verse"});
    let opened = client.call("thread/start", params).await.unwrap();
    let thread = opened["thread"]["id"].as_str().unwrap().to_owned();
    client.whole_turn(&thread, "hello").await;
    client.leave().await;
    first.end().await;
    let wanted = message("developer", "speak in verse");
    let first_request = messages(&stage, 0);
    assert_eq!(first_request[0], wanted, "{first_request:#?}");

    // A session that is taken up again has them, and is not told twice.
    let second = app(&stage);
    let mut client = Client::ready(&second).await;
    let id = json!({"threadId": thread});
    client.call("thread/resume", id).await.unwrap();
    client.whole_turn(&thread, "again").await;
    let told = messages(&stage, 1);
    let times = told.iter().filter(|message| **message == wanted).count();
    assert_eq!(times, 1, "{told:#?}");
    client.leave().await;
    second.end().await;
}

/// Of a thread in memory too, with `thread/resume` or a turn; also those that it had before others.
#[tokio::test]
async fn new_developer_instructions_of_a_thread_in_memory_are_told() {
    let stage = Stage::new(THREE).await;
    let first = app(&stage);
    let mut client = Client::ready(&first).await;
    let params = json!({"developerInstructions": "speak in verse"});
    let opened = client.call("thread/start", params).await.unwrap();
    let thread = opened["thread"]["id"].as_str().unwrap().to_owned();
    client.whole_turn(&thread, "one").await;
    let params = json!({"threadId": thread, "developerInstructions": "speak in prose"});
    client.call("thread/resume", params).await.unwrap();
    client.whole_turn(&thread, "two").await;
    let developers = |n: usize| -> Vec<(String, String)> {
        let messages = messages(&stage, n).into_iter();
        messages.filter(|(role, _)| role == "developer").collect()
    };
    let verse = message("developer", "speak in verse");
    let prose = message("developer", "speak in prose");
    assert_eq!(developers(1), [verse.clone(), prose.clone()]);

    let mut params = saying(&thread, "three");
    params["developerInstructions"] = json!("speak in verse");
    client.call("turn/start", params).await.unwrap();
    client.told("turn/completed").await;
    assert_eq!(developers(2), [verse.clone(), prose, verse]);
    client.leave().await;
    first.end().await;
}

#[tokio::test]
async fn a_client_finds_its_own_names_of_messages_again() {
    let stage = Stage::new(THREE).await;
    let app = app(&stage);
    let mut client = Client::ready(&app).await;
    let thread = client.thread().await;
    let mut params = saying(&thread, "hello");
    params["clientUserMessageId"] = json!("mine-1");
    client.call("turn/start", params).await.unwrap();
    let started = client.told("item/started").await;
    assert_eq!(started["item"]["type"], "userMessage");
    assert_eq!(started["item"]["clientId"], "mine-1");
    client.told("turn/completed").await;
    client.whole_turn(&thread, "again").await;
    let params = json!({"threadId": thread, "includeTurns": true});
    let read = client.call("thread/read", params).await.unwrap();
    let turns = &read["thread"]["turns"];
    assert_eq!(turns[0]["items"][0]["clientId"], "mine-1");
    assert_eq!(turns[1]["items"][0]["clientId"], Value::Null);
    client.leave().await;
    app.end().await;
}

#[tokio::test]
async fn items_are_injected_and_answered_by_a_turn_without_words() {
    let stage = Stage::new(THREE).await;
    let app = app(&stage);
    let mut client = Client::ready(&app).await;
    let thread = client.thread().await;
    client.whole_turn(&thread, "hello").await;
    let inject = |items: Value| json!({"threadId": thread, "items": items});
    let said = json!({
        "type": "message",
        "role": "user",
        "content": [{"type": "input_text", "text": "the build is red"}],
    });
    let nothing = json!({"threadId": thread, "input": []});
    let early = client.call("turn/start", nothing.clone()).await;
    assert_eq!(early.unwrap_err()["code"], -32600, "nothing is unanswered");
    let done = client
        .call("thread/inject_items", inject(json!([said])))
        .await;
    assert_eq!(done.unwrap(), json!({}));
    client.call("turn/start", nothing.clone()).await.unwrap();
    client.told("turn/completed").await;
    let told = messages(&stage, 1);
    assert_eq!(*told.last().unwrap(), message("user", "the build is red"));
    let params = json!({"threadId": thread, "includeTurns": true});
    let read = client.call("thread/read", params).await.unwrap();
    let kinds: Vec<&Value> = read["thread"]["turns"][1]["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| &item["type"])
        .collect();
    assert_eq!(kinds, ["agentMessage"], "nobody said anything");
    for (items, problem) in [
        (json!([]), "must not be empty"),
        (
            json!([{"type": "nonsense"}]),
            "no item that this engine knows",
        ),
        (
            json!([{"type": "function_call_output", "call_id": "c", "output": "x"}]),
            "is not open",
        ),
        (
            json!([{"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}]),
            "has no answer",
        ),
    ] {
        let refused = client.call("thread/inject_items", inject(items)).await;
        let refused = refused.unwrap_err();
        assert_eq!(refused["code"], -32600);
        let text = refused["message"].as_str().unwrap();
        assert!(text.contains(problem), "{text}");
    }
    client.leave().await;
    app.end().await;
}

/// What comes between a call and its answer would have the request refused.
#[tokio::test]
async fn what_is_injected_while_a_turn_runs_goes_with_its_next_request() {
    let stage = Stage::new(
        r#"
        [[scene]]
        [[scene.turn]]
        steps = [{ call = "shell_command", arguments = { command = "echo begun; while [ ! -e go ]; do sleep 0.02; done" } }]
        [[scene.turn]]
        steps = [{ say = "done" }]
        "#,
    )
    .await;
    let app = app(&stage);
    let mut client = Client::ready(&app).await;
    let thread = client.thread().await;
    client.turn(&thread, "work").await;
    client.told("item/commandExecution/outputDelta").await;
    let said = json!({
        "type": "message",
        "role": "developer",
        "content": [{"type": "input_text", "text": "a file changed"}],
    });
    let params = json!({"threadId": thread, "items": [said]});
    client.call("thread/inject_items", params).await.unwrap();
    stage.write("go", "");
    client.told("turn/completed").await;
    let input = stage.input_of(1);
    let last = input.last().unwrap();
    assert_eq!(last["role"], "developer", "{input:#?}");
    let before = &input[input.len() - 2];
    assert_eq!(before["type"], "function_call_output");
    client.leave().await;
    app.end().await;
}

/// A fork has no bookmarks of its source, and a turn that was cut off has none at all.
#[tokio::test]
async fn a_fork_is_made_at_any_turn_that_has_ended() {
    let stage = Stage::new(THREE).await;
    let app = app(&stage);
    let mut client = Client::ready(&app).await;
    let thread = client.thread().await;
    let mut turns = Vec::new();
    for text in ["a", "b", "c"] {
        turns.push(client.whole_turn(&thread, text).await["id"].take());
    }
    let fork = |thread: &Value, key: &str, turn: &Value| json!({"threadId": thread, key: turn});
    let ids = |opened: &Value| -> Vec<Value> {
        let turns = opened["thread"]["turns"].as_array().unwrap().iter();
        turns.map(|turn| turn["id"].clone()).collect()
    };
    let source = json!(thread);
    let through = fork(&source, "lastTurnId", &turns[1]);
    let through = client.call("thread/fork", through).await.unwrap();
    assert_eq!(ids(&through), turns[..2]);
    let again = fork(&through["thread"]["id"], "lastTurnId", &turns[0]);
    let again = client.call("thread/fork", again).await.unwrap();
    assert_eq!(ids(&again), turns[..1]);
    let before = fork(&source, "beforeTurnId", &turns[1]);
    let before = client.call("thread/fork", before).await.unwrap();
    assert_eq!(ids(&before), turns[..1]);
    let mut both = fork(&source, "beforeTurnId", &turns[1]);
    both["lastTurnId"] = turns[0].clone();
    let both = client.call("thread/fork", both).await.unwrap_err();
    assert_eq!(both["code"], -32600);
    let nowhere = fork(&source, "lastTurnId", &json!("nowhere"));
    let nowhere = client.call("thread/fork", nowhere).await.unwrap_err();
    assert_eq!(nowhere["message"], "turn not found: nowhere");
    client.leave().await;
    app.end().await;
}

#[tokio::test]
async fn threads_are_listed_by_several_directories() {
    let stage = Stage::new(THREE).await;
    let app = app(&stage);
    let mut client = Client::ready(&app).await;
    let thread = client.thread().await;
    let list = |cwd: Value| json!({"cwd": cwd});
    let here = list(json!(["/nowhere", stage.cwd()]));
    let listed = client.call("thread/list", here).await.unwrap();
    assert_eq!(listed["data"][0]["id"], json!(thread));
    let elsewhere = list(json!(["/nowhere", "/neither"]));
    let listed = client.call("thread/list", elsewhere).await.unwrap();
    assert_eq!(listed["data"], json!([]));
    for method in ["thread/list", "thread/loaded/list", "model/list"] {
        let wrong = client.call(method, json!({"cursor": "garbage"})).await;
        assert_eq!(wrong.unwrap_err()["code"], -32600, "{method}");
    }
    client.leave().await;
    app.end().await;
}

fn place(messages: &[Value], method: &str) -> usize {
    let place = messages.iter().position(|it| it["method"] == method);
    place.unwrap_or_else(|| panic!("{method}: {messages:#?}"))
}

pub(super) fn of_item<'a>(messages: &'a [Value], method: &str, item: &str) -> Vec<&'a Value> {
    let about = messages
        .iter()
        .filter(|it| it["method"] == method && it["params"]["item"]["id"] == item);
    about.map(|it| &it["params"]["item"]).collect()
}

/// Clients show what they are asked about by its item: the question names it, and what a patch
/// would change stands only there.
#[tokio::test]
async fn an_item_begins_before_it_is_asked_about() {
    let patch = "*** Begin Patch\\n*** Add File: a\\n+all of it\\n*** End Patch";
    let stage = Stage::new(&format!(
        r#"
        [[scene]]
        [[scene.turn]]
        steps = [{{ custom = "apply_patch", input = "{patch}", call_id = "patch_1" }}]
        [[scene.turn]]
        steps = [{{ call = "shell_command", arguments = {{ command = "touch made" }}, call_id = "call_1" }}]
        [[scene.turn]]
        steps = [{{ say = "done" }}]
        "#
    ))
    .await
    .approval(ApprovalPolicy::Untrusted)
    .sandbox(SandboxPolicy::read_only());
    let app = app(&stage);
    let mut client = Client::ready(&app).await;
    let thread = client.thread().await;
    client.turn(&thread, "work").await;
    let question = "item/fileChange/requestApproval";
    let mut all = client.all_until(question).await;
    let id = all.last().unwrap()["id"].clone();
    let begun = of_item(&all, "item/started", "patch_1");
    assert_eq!(begun[0]["type"], "fileChange");
    assert_eq!(begun[0]["changes"][0]["diff"], "all of it\n");
    client.respond(&id, json!({"decision": "accept"})).await;
    let question = "item/commandExecution/requestApproval";
    all.extend(client.all_until(question).await);
    let id = all.last().unwrap()["id"].clone();
    let begun = of_item(&all, "item/started", "call_1");
    assert_eq!(begun[0]["status"], "inProgress");
    client.respond(&id, json!({"decision": "decline"})).await;
    all.extend(client.all_until("turn/completed").await);
    for item in ["patch_1", "call_1"] {
        assert_eq!(of_item(&all, "item/started", item).len(), 1, "{item}");
        assert_eq!(of_item(&all, "item/completed", item).len(), 1, "{item}");
    }
    let ended = of_item(&all, "item/completed", "call_1");
    assert_eq!(ended[0]["status"], "declined");
    assert!(place(&all, "item/completed") < place(&all, "turn/completed"));
    client.leave().await;
    app.end().await;
}
