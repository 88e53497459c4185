//! `troupe acp` as an editor meets it, at the other end of a pipe.

use serde_json::{Value, json};
use troupe_acp::agent::{AgentIdentity, serve};
use troupe_agents::Family;
use troupe_protocol::policy::{ApprovalPolicy, SandboxPolicy};
use troupe_server::SessionPool;
use troupe_testkit::Stage;

use crate::it::agents::play::{scene, until_there};
use crate::it::app::client::Client;

const SAY: &str = "{ say = 'Hello.' }";

fn connect(stage: &Stage) -> Client {
    let house = SessionPool::new(stage.ground());
    let about = AgentIdentity { version: "0.0.0" };
    Client::of(|read, write| serve(house, about, read, write, std::future::pending()))
}

/// An editor that has introduced itself.
async fn editor(stage: &Stage) -> Client {
    let mut client = connect(stage);
    let hello = json!({"protocolVersion": 1, "clientCapabilities": {}});
    client.call("initialize", hello).await.unwrap();
    client
}

async fn open(client: &mut Client, stage: &Stage) -> String {
    let params = json!({"cwd": stage.cwd(), "mcpServers": []});
    let opened = client.call("session/new", params).await.unwrap();
    opened["sessionId"].as_str().unwrap().to_owned()
}

fn prompt(session: &str, text: &str) -> Value {
    json!({"sessionId": session, "prompt": [{"type": "text", "text": text}]})
}

/// Waits for an update of this kind and returns it.
async fn told(client: &mut Client, kind: &str) -> Value {
    loop {
        let mut told = client.told("session/update").await;
        if told["update"]["sessionUpdate"] == kind {
            return told["update"].take();
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_prompt_is_answered_in_pieces_and_ends() {
    let stage = Stage::new(&scene("", &[SAY])).await;
    let mut client = editor(&stage).await;
    let session = open(&mut client, &stage).await;
    let end = client.call("session/prompt", prompt(&session, "hi")).await;
    assert_eq!(end.unwrap()["stopReason"], "end_turn");
    let chunk = told(&mut client, "agent_message_chunk").await;
    assert_eq!(chunk["content"]["text"], "Hello.");
    client.leave().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cancel_ends_a_prompt_and_what_it_runs() {
    let stage = Stage::new(&scene("", &[&until_there("never"), SAY])).await;
    let mut client = editor(&stage).await;
    let session = open(&mut client, &stage).await;
    let asked = client.send("session/prompt", prompt(&session, "go")).await;
    told(&mut client, "tool_call").await;
    let cancel = json!({"method": "session/cancel", "params": {"sessionId": session}});
    client.write(&cancel.to_string()).await;
    let end = client.answer(&asked).await.unwrap();
    assert_eq!(end["stopReason"], "cancelled");
    // What was cancelled is not in the way of what comes.
    let end = client.call("session/prompt", prompt(&session, "hi")).await;
    assert_eq!(end.unwrap()["stopReason"], "end_turn");
    client.leave().await;
}

/// A session that asks before it makes the file `made`.
async fn asking() -> (Stage, Client, Value, Value, Value) {
    let make = "{ call = 'shell_command', arguments = { command = 'touch made' } }";
    let stage = Stage::new(&scene("", &[make, SAY]))
        .await
        .approval(ApprovalPolicy::Untrusted)
        .sandbox(SandboxPolicy::workspace_write());
    let mut client = editor(&stage).await;
    let session = open(&mut client, &stage).await;
    let prompted = client.send("session/prompt", prompt(&session, "go")).await;
    let (id, question) = client.asked("session/request_permission").await;
    (stage, client, prompted, id, question)
}

fn option(question: &Value, kind: &str) -> Value {
    let options = question["options"].as_array().unwrap();
    let found = options.iter().find(|option| option["kind"] == kind);
    found.expect("it is offered")["optionId"].clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_permission_that_is_given_is_used() {
    let (stage, mut client, prompted, id, question) = asking().await;
    let chosen = json!({"outcome": "selected", "optionId": option(&question, "allow_once")});
    client.respond(&id, json!({ "outcome": chosen })).await;
    let end = client.answer(&prompted).await.unwrap();
    assert_eq!(end["stopReason"], "end_turn");
    assert!(stage.cwd().join("made").exists());
    client.leave().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_permission_that_is_refused_is_none() {
    let (stage, mut client, prompted, id, question) = asking().await;
    let chosen = json!({"outcome": "selected", "optionId": option(&question, "reject_once")});
    client.respond(&id, json!({ "outcome": chosen })).await;
    let end = client.answer(&prompted).await.unwrap();
    assert_eq!(end["stopReason"], "end_turn");
    assert!(!stage.cwd().join("made").exists());
    client.leave().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_error_in_the_place_of_an_answer_permits_nothing() {
    let (stage, mut client, prompted, id, _) = asking().await;
    let broken = json!({"id": id, "error": {"code": -32603, "message": "no window"}});
    client.write(&broken.to_string()).await;
    client.answer(&prompted).await.unwrap();
    assert!(!stage.cwd().join("made").exists());
    client.leave().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_understood_is_answered_and_the_rest_goes_on() {
    let stage = Stage::new(&scene("", &[SAY])).await;
    let mut client = connect(&stage);
    client.write("no JSON at all").await;
    assert_eq!(client.read().await["error"]["code"], -32700);
    client.write("[1, 2]").await;
    assert_eq!(client.read().await["error"]["code"], -32600);
    let early = client.call("session/new", json!({})).await.unwrap_err();
    assert_eq!(early["code"], -32600);
    let hello = json!({"protocolVersion": 1});
    client.call("initialize", hello).await.unwrap();
    for (method, params, code) in [
        ("no/such/method", json!({}), -32601),
        ("session/new", json!({"cwd": 5}), -32602),
        (
            "session/new",
            json!({"cwd": "here", "mcpServers": []}),
            -32602,
        ),
        ("session/prompt", prompt("nobody", "hi"), -32002),
        (
            "session/load",
            json!({
                "sessionId": "00000000-0000-4000-8000-000000000000",
                "cwd": stage.cwd(),
                "mcpServers": [],
            }),
            -32002,
        ),
    ] {
        let refused = client.call(method, params).await.unwrap_err();
        assert_eq!(refused["code"], code, "{method}: {refused}");
    }
    let session = open(&mut client, &stage).await;
    let end = client.call("session/prompt", prompt(&session, "hi")).await;
    assert_eq!(end.unwrap()["stopReason"], "end_turn");
    client.leave().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_loaded_session_tells_its_past_and_goes_on() {
    let stage = Stage::new(&scene("", &[SAY, "{ say = 'Again.' }"])).await;
    let mut client = editor(&stage).await;
    let session = open(&mut client, &stage).await;
    let first = prompt(&session, "remember me");
    client.call("session/prompt", first).await.unwrap();
    client.leave().await;

    let mut client = editor(&stage).await;
    let params = json!({"sessionId": session, "cwd": stage.cwd(), "mcpServers": []});
    client.call("session/load", params).await.unwrap();
    let said = told(&mut client, "user_message_chunk").await;
    assert_eq!(said["content"]["text"], "remember me");
    let answered = told(&mut client, "agent_message_chunk").await;
    assert_eq!(answered["content"]["text"], "Hello.");
    let end = client
        .call("session/prompt", prompt(&session, "and?"))
        .await;
    assert_eq!(end.unwrap()["stopReason"], "end_turn");
    let answered = told(&mut client, "agent_message_chunk").await;
    assert_eq!(answered["content"]["text"], "Again.");
    client.leave().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_child_is_a_call_whose_content_is_what_it_says() {
    let spawn = "{ call = 'spawn_agent', arguments = { message = 'count', task_name = 'kid' } }";
    let wait = "{ call = 'wait', arguments = { ids = ['kid'] } }";
    let plot = scene("count", &["{ say = 'Three.' }"])
        + &scene("", &[spawn, wait, SAY, "{ say = 'noted' }"]);
    let stage = Stage::new(&plot).await.with_agents(&[Family::Agents]);
    let mut client = editor(&stage).await;
    let session = open(&mut client, &stage).await;
    let end = client.call("session/prompt", prompt(&session, "go")).await;
    assert_eq!(end.unwrap()["stopReason"], "end_turn");
    let mut shown = told(&mut client, "tool_call").await;
    while !shown["toolCallId"].as_str().unwrap().starts_with("agent-") {
        shown = told(&mut client, "tool_call").await;
    }
    assert!(
        shown["title"].as_str().unwrap().contains("/root/kid"),
        "{shown}"
    );
    let id = shown["toolCallId"].take();
    // What it says and how it stands are told by different readers, in no order.
    let (mut is_shown, mut is_over) = (false, false);
    while !(is_shown && is_over) {
        let update = told(&mut client, "tool_call_update").await;
        if update["toolCallId"] == id {
            is_shown |= update["content"].to_string().contains("Three.");
            is_over |= update["status"] == "completed";
        }
    }
    client.leave().await;
}

fn option_of<'a>(options: &'a Value, id: &str) -> &'a Value {
    let mut options = options.as_array().unwrap().iter();
    options
        .find(|option| option["id"] == id)
        .expect("the option")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn model_and_approvals_are_chosen_as_options() {
    let make = "{ call = 'shell_command', arguments = { command = 'touch made' } }";
    let stage = Stage::new(&scene("", &[make, SAY]))
        .await
        .approval(ApprovalPolicy::Never)
        .sandbox(SandboxPolicy::workspace_write());
    let mut client = editor(&stage).await;
    let params = json!({"cwd": stage.cwd(), "mcpServers": []});
    let opened = client.call("session/new", params).await.unwrap();
    let session = opened["sessionId"].as_str().unwrap().to_owned();
    let options = &opened["configOptions"];
    assert_eq!(option_of(options, "approvals")["currentValue"], "never");
    let choose = |option: &str, value: &str| json!({"sessionId": session, "configId": option, "value": value});
    let choice = choose("approvals", "untrusted");
    let chosen = client.call("session/set_config_option", choice).await;
    let chosen = chosen.unwrap();
    let approvals = option_of(&chosen["configOptions"], "approvals");
    assert_eq!(approvals["currentValue"], "untrusted");
    let choice = choose("model", "no-such-model");
    let refused = client.call("session/set_config_option", choice).await;
    assert_eq!(refused.unwrap_err()["code"], -32602);
    let models = option_of(options, "model")["options"].as_array().unwrap();
    let current = &option_of(options, "model")["currentValue"];
    let mut others = models.iter().map(|model| &model["value"]);
    let other = others.find(|model| *model != current).unwrap();
    let choice = choose("model", other.as_str().unwrap());
    let chosen = client.call("session/set_config_option", choice).await;
    let chosen = chosen.unwrap();
    assert_eq!(
        option_of(&chosen["configOptions"], "model")["currentValue"],
        *other
    );
    // Both hold in the next task.
    let prompted = client.send("session/prompt", prompt(&session, "go")).await;
    let (id, question) = client.asked("session/request_permission").await;
    let chosen = json!({"outcome": "selected", "optionId": option(&question, "allow_once")});
    client.respond(&id, json!({ "outcome": chosen })).await;
    client.answer(&prompted).await.unwrap();
    let body: Value = serde_json::from_slice(&stage.requests()[0].body).unwrap();
    assert_eq!(body["model"], *other);
    client.leave().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_chosen_elsewhere_is_told() {
    let stage = Stage::new(&scene("", &[SAY])).await;
    let mut client = editor(&stage).await;
    let session = open(&mut client, &stage).await;
    let params = json!({"sessionId": session, "modeId": "plan"});
    client.call("session/set_mode", params).await.unwrap();
    let options = loop {
        let update = told(&mut client, "config_option_update").await;
        let options = update["configOptions"].clone();
        if option_of(&options, "mode")["currentValue"] == "plan" {
            break options;
        }
    };
    assert_eq!(option_of(&options, "mode")["category"], "mode");
    client.leave().await;
}
