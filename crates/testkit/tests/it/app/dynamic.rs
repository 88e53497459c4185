//! Tools that a client brings and runs itself.

use serde_json::{Value, json};
use troupe_testkit::Stage;

use super::client::{Client, app, outline};

const CALL: &str = "item/tool/call";

const LOOKING_UP: &str = r#"
    [[scene]]
    [[scene.turn]]
    steps = [{ call = "lookup_ticket", arguments = { id = "T-7" }, call_id = "call_1" }]
    [[scene.turn]]
    steps = [{ say = "done" }]
    [[scene.turn]]
    steps = [{ say = "again" }]
"#;

fn tool(name: &str) -> Value {
    json!({
        "type": "function",
        "name": name,
        "description": "Finds a ticket.",
        "inputSchema": {
            "type": "object",
            "properties": {"id": {"type": "string"}},
            "required": ["id"],
        },
    })
}

/// Opens a thread with one tool of the client's.
async fn thread(client: &mut Client) -> String {
    let params = json!({"dynamicTools": [tool("lookup_ticket")]});
    let opened = client.call("thread/start", params).await.unwrap();
    opened["thread"]["id"].as_str().unwrap().to_owned()
}

fn text(text: &str, success: bool) -> Value {
    json!({"contentItems": [{"type": "inputText", "text": text}], "success": success})
}

/// What the model is told last in its request of this number.
fn told(stage: &Stage, request: usize) -> String {
    serde_json::to_string(stage.input_of(request).last().unwrap()).unwrap()
}

/// The names of the tools that the model was offered in its request of this number.
fn offered(stage: &Stage, request: usize) -> Vec<String> {
    let body: Value = serde_json::from_slice(&stage.requests()[request].body).unwrap();
    let tools = body["tools"].as_array().unwrap().iter();
    let names = tools.filter_map(|tool| tool["name"].as_str());
    names.map(str::to_owned).collect()
}

/// The model calls it by both names; the client is asked by each. One that may be loaded later is
/// there from the start, which is told.
#[tokio::test]
async fn a_tool_in_a_namespace_is_called_by_both_names() {
    let stage = Stage::new(&LOOKING_UP.replace("lookup_ticket", "desk__lookup")).await;
    let app = app(&stage);
    let mut client = Client::ready(&app).await;
    let mut lookup = tool("lookup");
    lookup["deferLoading"] = json!(true);
    let desk = json!({
        "type": "namespace",
        "name": "desk",
        "description": "The help desk.",
        "tools": [lookup],
    });
    let params = json!({"dynamicTools": [desk]});
    let opened = client.call("thread/start", params).await.unwrap();
    let thread = opened["thread"]["id"].as_str().unwrap().to_owned();
    let warning = client.told("warning").await;
    let message = warning["message"].as_str().unwrap();
    assert!(message.contains("offered from the start"), "{message}");
    client.turn(&thread, "work").await;
    let (id, params) = client.asked(CALL).await;
    assert_eq!(params["namespace"], "desk");
    assert_eq!(params["tool"], "lookup");
    client.respond(&id, text("the printer burns", true)).await;
    client.told("turn/completed").await;
    assert!(told(&stage, 1).contains("the printer burns"));
    assert!(offered(&stage, 0).contains(&"desk__lookup".to_owned()));
    client.leave().await;
    app.end().await;
}

#[tokio::test]
async fn a_client_runs_its_own_tool_and_the_model_reads_the_answer() {
    let stage = Stage::new(LOOKING_UP).await;
    let app = app(&stage);
    let mut client = Client::ready(&app).await;
    let thread = thread(&mut client).await;
    let turn = client.turn(&thread, "work").await;
    let (id, params) = client.asked(CALL).await;
    let expected = json!({
        "threadId": thread,
        "turnId": turn,
        "callId": "call_1",
        "namespace": null,
        "tool": "lookup_ticket",
        "arguments": {"id": "T-7"},
    });
    assert_eq!(params, expected);
    client.respond(&id, text("the printer burns", true)).await;
    let messages = client.all_until("turn/completed").await;
    let outline = outline(&messages);
    assert!(
        outline.contains(
            "item/started dynamicToolCall\nitem/completed dynamicToolCall\nserverRequest/resolved"
        ),
        "{outline}"
    );
    let is_ended = |message: &&Value| {
        message["method"] == "item/completed"
            && message["params"]["item"]["type"] == "dynamicToolCall"
    };
    let item = &messages.iter().find(is_ended).unwrap()["params"]["item"];
    assert_eq!(item["id"], "call_1");
    assert_eq!(item["status"], "completed");
    assert_eq!(item["success"], true);
    let shown = json!([{"type": "inputText", "text": "the printer burns"}]);
    assert_eq!(item["contentItems"], shown);
    assert!(offered(&stage, 0).contains(&"lookup_ticket".to_owned()));
    let told = told(&stage, 1);
    assert!(told.contains("the printer burns"), "{told}");
    client.leave().await;
    app.end().await;
}

/// A failure, pictures by address, sound, and what is no answer at all.
#[tokio::test]
async fn what_a_client_answers_is_told_as_what_it_is() {
    let mixed = json!({
        "contentItems": [
            {"type": "inputText", "text": "look"},
            {"type": "inputImage", "imageUrl": "https://example.com/leak.png"},
            {"type": "inputAudio", "audioUrl": "data:audio/wav;base64,AAAA"},
        ],
        "success": true,
    });
    let cases = [
        (text("no such ticket", false), "failed", "no such ticket"),
        (mixed, "completed", "[image: left out, only data URLs"),
        (json!({"contentItems": 7}), "failed", "contentItems"),
    ];
    for (answer, status, expected) in cases {
        let stage = Stage::new(LOOKING_UP).await;
        let app = app(&stage);
        let mut client = Client::ready(&app).await;
        let thread = thread(&mut client).await;
        client.turn(&thread, "work").await;
        let (id, _) = client.asked(CALL).await;
        client.respond(&id, answer).await;
        let ended = client.told("turn/completed").await;
        assert_eq!(ended["turn"]["status"], "completed");
        let told = told(&stage, 1);
        assert!(told.contains(expected), "{told}");
        assert!(!told.contains("example.com"), "{told}");
        let read = json!({"threadId": thread, "includeTurns": true});
        let read = client.call("thread/read", read).await.unwrap();
        let items = read["thread"]["turns"][0]["items"].as_array().unwrap();
        let is_call = |item: &&Value| item["type"] == "dynamicToolCall";
        let item = items.iter().find(is_call).unwrap();
        assert_eq!(item["status"], status, "{item}");
        client.leave().await;
        app.end().await;
    }
}

#[tokio::test]
async fn a_tool_that_cannot_be_offered_is_refused_by_name() {
    let stage = Stage::new(LOOKING_UP).await;
    let app = app(&stage);
    let mut client = Client::ready(&app).await;
    let namespace =
        json!({"type": "namespace", "name": "no blanks", "description": "", "tools": []});
    let cases = [
        (json!([tool("shell_command")]), "\"shell_command\""),
        (json!([tool("spawn_agent")]), "\"spawn_agent\""),
        (json!([tool("mcp__a__b")]), "\"mcp__a__b\""),
        (json!([tool("read_mcp_resource")]), "\"read_mcp_resource\""),
        (json!([tool("no blanks")]), "\"no blanks\""),
        (json!([tool("twice"), tool("twice")]), "[1] (\"twice\")"),
        (json!([namespace]), "\"no blanks\""),
    ];
    for (tools, expected) in cases {
        let params = json!({"dynamicTools": tools});
        let error = client.call("thread/start", params).await.unwrap_err();
        let message = error["message"].as_str().unwrap();
        assert!(message.contains(expected), "{message}");
    }
    client.leave().await;
    app.end().await;
}

#[tokio::test]
async fn an_interrupt_ends_a_call_that_the_client_has_not_answered() {
    let stage = Stage::new(LOOKING_UP).await;
    let app = app(&stage);
    let mut client = Client::ready(&app).await;
    let thread = thread(&mut client).await;
    let turn = client.turn(&thread, "work").await;
    let (id, _) = client.asked(CALL).await;
    let params = json!({"threadId": thread, "turnId": turn});
    client.call("turn/interrupt", params).await.unwrap();
    assert_eq!(client.told("serverRequest/resolved").await["requestId"], id);
    let ended = client.told("turn/completed").await;
    assert_eq!(ended["turn"]["status"], "interrupted");
    // It comes too late, and changes nothing.
    client.respond(&id, text("late", true)).await;
    let turn = client.whole_turn(&thread, "go on").await;
    assert_eq!(turn["status"], "completed");
    let history = serde_json::to_string(&stage.input_of(1)).unwrap();
    assert!(history.contains("before the client answered"), "{history}");
    assert!(!history.contains("late"), "{history}");
    client.leave().await;
    app.end().await;
}

#[tokio::test]
async fn a_client_that_leaves_ends_its_call() {
    let stage = Stage::new(LOOKING_UP).await;
    let app = app(&stage);
    let mut first = Client::ready(&app).await;
    let thread = thread(&mut first).await;
    first.turn(&thread, "work").await;
    first.asked(CALL).await;
    first.leave().await;
    // The turn goes on without anybody.
    while stage.requests().len() < 2 {
        tokio::task::yield_now().await;
    }
    let told = told(&stage, 1);
    assert!(told.contains("the client left"), "{told}");
    app.end().await;
}

/// Who does not know the method leaves the call to the others; who leaves too. The first answer
/// counts, and the others hear that there is one.
#[tokio::test]
async fn all_clients_of_a_thread_are_asked_and_one_answers() {
    let stage = Stage::new(LOOKING_UP).await;
    let app = app(&stage);
    let mut first = Client::ready(&app).await;
    let thread = thread(&mut first).await;
    let mut second = Client::ready(&app).await;
    let params = json!({"threadId": thread});
    second.call("thread/resume", params.clone()).await.unwrap();
    first.turn(&thread, "work").await;
    let (unknown, _) = second.asked(CALL).await;
    let error = json!({"code": -32601, "message": "unknown method"});
    let refusal = json!({"id": unknown, "error": error});
    second.write(&refusal.to_string()).await;
    first.asked(CALL).await;
    // One that comes later is asked too.
    let mut third = Client::ready(&app).await;
    third.call("thread/resume", params).await.unwrap();
    let (theirs, asked) = third.asked(CALL).await;
    assert_eq!(asked["callId"], "call_1");
    first.leave().await;
    third.respond(&theirs, text("found", true)).await;
    second.told("serverRequest/resolved").await;
    let ended = second.told("turn/completed").await;
    assert_eq!(ended["turn"]["status"], "completed");
    let told = told(&stage, 1);
    assert!(told.contains("found"), "{told}");
    second.leave().await;
    third.leave().await;
    app.end().await;
}

/// The log knows the tools: a thread that is brought back has them, and a fork of it too.
#[tokio::test]
async fn a_thread_that_is_resumed_or_forked_still_has_its_tools() {
    let stage = Stage::new(LOOKING_UP).await;
    let before = app(&stage);
    let mut client = Client::ready(&before).await;
    let thread = thread(&mut client).await;
    client.turn(&thread, "work").await;
    let (id, _) = client.asked(CALL).await;
    client.respond(&id, text("found", true)).await;
    client.told("turn/completed").await;
    client.leave().await;
    before.end().await;
    let after = app(&stage);
    let mut client = Client::ready(&after).await;
    let params = json!({"threadId": thread});
    client.call("thread/resume", params.clone()).await.unwrap();
    client.whole_turn(&thread, "go on").await;
    assert!(offered(&stage, 2).contains(&"lookup_ticket".to_owned()));
    let fork = client.call("thread/fork", params).await.unwrap();
    let fork = fork["thread"]["id"].as_str().unwrap().to_owned();
    // To the scripted model it is a conversation of its own, which begins with a call.
    client.turn(&fork, "and here").await;
    let (id, params) = client.asked(CALL).await;
    assert_eq!(params["threadId"], *fork);
    client.respond(&id, text("found again", true)).await;
    client.told("turn/completed").await;
    let told = told(&stage, 4);
    assert!(told.contains("found again"), "{told}");
    client.leave().await;
    after.end().await;
}

/// A client that brought a tool for one thread is not asked to work for the agents below it.
#[tokio::test]
async fn a_child_does_not_have_the_tools_of_its_parents_client() {
    let stage = Stage::new(
        r#"
        [[scene]]
        when = "count the files"
        [[scene.turn]]
        steps = [{ call = "lookup_ticket", arguments = { id = "T-7" }, call_id = "call_c" }]
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
    let root = thread(&mut client).await;
    client.turn(&root, "delegate").await;
    while client.told("turn/completed").await["threadId"] != *root {}
    let requests = 0..stage.requests().len();
    let answered = requests.filter(|request| told(&stage, *request).contains("there is no tool"));
    assert_eq!(answered.count(), 1, "the child is told");
    client.leave().await;
    app.end().await;
}
