//! What the server asks of its clients.

use serde_json::json;
use troupe_protocol::policy::ApprovalPolicy;
use troupe_testkit::Stage;

use super::client::{Client, app, saying};

const ASKING: &str = r#"
    [[scene]]
    [[scene.turn]]
    steps = [{ call = "shell_command", arguments = { command = "touch made" }, call_id = "call_1" }]
    [[scene.turn]]
    steps = [{ say = "done" }]
"#;

const COMMAND: &str = "item/commandExecution/requestApproval";

async fn stage() -> Stage {
    Stage::new(ASKING).await.approval(ApprovalPolicy::Untrusted)
}

#[tokio::test]
async fn a_client_approves_a_command() {
    let stage = stage().await;
    let app = app(&stage);
    let mut client = Client::ready(&app).await;
    let thread = client.thread().await;
    let turn = client.turn(&thread, "work").await;
    let (id, params) = client.asked(COMMAND).await;
    assert_eq!(params["threadId"], thread);
    assert_eq!(params["turnId"], turn);
    assert_eq!(params["itemId"], "call_1");
    assert!(params["command"].as_str().unwrap().contains("touch made"));
    client.respond(&id, json!({"decision": "accept"})).await;
    let resolved = client.told("serverRequest/resolved").await;
    assert_eq!(resolved["requestId"], id);
    let ended = client.told("turn/completed").await;
    assert_eq!(ended["turn"]["status"], "completed");
    assert_eq!(stage.read("made"), "");
    client.leave().await;
    app.end().await;
}

#[tokio::test]
async fn a_client_declines_or_stops() {
    for (decision, status) in [("decline", "completed"), ("cancel", "interrupted")] {
        let stage = stage().await;
        let app = app(&stage);
        let mut client = Client::ready(&app).await;
        let thread = client.thread().await;
        client.turn(&thread, "work").await;
        let (id, _) = client.asked(COMMAND).await;
        client.respond(&id, json!({"decision": decision})).await;
        let ended = client.told("turn/completed").await;
        assert_eq!(ended["turn"]["status"], status, "{decision}");
        assert!(!stage.cwd().join("made").exists());
        client.leave().await;
        app.end().await;
    }
}

/// The first answer counts; the others hear that there is one.
#[tokio::test]
async fn all_clients_are_asked_and_one_answers() {
    let stage = stage().await;
    let app = app(&stage);
    let mut first = Client::ready(&app).await;
    let thread = first.thread().await;
    let mut second = Client::ready(&app).await;
    second
        .call("thread/resume", json!({"threadId": thread}))
        .await
        .unwrap();
    first.turn(&thread, "work").await;
    let (mine, _) = first.asked(COMMAND).await;
    let (theirs, _) = second.asked(COMMAND).await;
    second.respond(&theirs, json!({"decision": "accept"})).await;
    assert_eq!(
        first.told("serverRequest/resolved").await["requestId"],
        mine
    );
    // It comes too late, and changes nothing.
    first.respond(&mine, json!({"decision": "cancel"})).await;
    for client in [&mut first, &mut second] {
        let ended = client.told("turn/completed").await;
        assert_eq!(ended["turn"]["status"], "completed");
    }
    first.leave().await;
    second.leave().await;
    app.end().await;
}

/// A question outlives the client that it was put to.
#[tokio::test]
async fn who_comes_later_is_asked_what_nobody_answered() {
    let stage = stage().await;
    let app = app(&stage);
    let mut first = Client::ready(&app).await;
    let thread = first.thread().await;
    first.turn(&thread, "work").await;
    first.asked(COMMAND).await;
    first.leave().await;
    let mut second = Client::ready(&app).await;
    let resumed = second
        .call("thread/resume", json!({"threadId": thread}))
        .await
        .unwrap();
    assert_eq!(resumed["thread"]["status"]["type"], "active");
    let (id, _) = second.asked(COMMAND).await;
    second.respond(&id, json!({"decision": "accept"})).await;
    let ended = second.told("turn/completed").await;
    assert_eq!(ended["turn"]["status"], "completed");
    second.leave().await;
    app.end().await;
}

#[tokio::test]
async fn a_turn_that_ends_asks_nothing_more() {
    let stage = stage().await;
    let app = app(&stage);
    let mut client = Client::ready(&app).await;
    let thread = client.thread().await;
    let started = client.call("turn/start", saying(&thread, "work")).await;
    let turn = started.unwrap()["turn"]["id"].take();
    let (id, _) = client.asked(COMMAND).await;
    let params = json!({"threadId": thread, "turnId": turn});
    client.call("turn/interrupt", params).await.unwrap();
    assert_eq!(client.told("serverRequest/resolved").await["requestId"], id);
    client.leave().await;
    app.end().await;
}

const CHOOSING: &str = r#"
    [[scene]]
    [[scene.turn]]
    steps = [{ call = "request_user_input", call_id = "ask_1", arguments = { questions = [{ id = "color", header = "Colour", question = "Which colour?", isOther = true, options = [{ value = "red", label = "Red", description = "Warm." }, { value = "blue", label = "Blue", description = "Cold." }] }] } }]
    [[scene.turn]]
    steps = [{ say = "done" }]
"#;

const INPUT: &str = "item/tool/requestUserInput";

/// The option is kept beside what was said in one's own words.
#[tokio::test]
async fn an_option_and_a_text_are_both_an_answer() {
    let stage = Stage::new(CHOOSING).await;
    let app = app(&stage);
    let mut client = Client::ready(&app).await;
    let thread = client.thread().await;
    client.turn(&thread, "work").await;
    let (id, asked) = client.asked(INPUT).await;
    let label = asked["questions"][0]["options"][0]["label"].clone();
    let answers = json!({"color": {"answers": [label, "but not too dark"]}});
    client.respond(&id, json!({"answers": answers})).await;
    client.told("turn/completed").await;
    let told = serde_json::to_string(stage.input_of(1).last().unwrap()).unwrap();
    assert!(told.contains("but not too dark"), "{told}");
    assert!(told.to_lowercase().contains("red"), "{told}");
    client.leave().await;
    app.end().await;
}

/// What is no answer is an error, and the question stays: to what nobody asked, of another shape,
/// to a request that was never sent.
#[tokio::test]
async fn what_is_no_answer_is_an_error_and_the_question_stays_open() {
    let stage = Stage::new(CHOOSING).await;
    let app = app(&stage);
    let mut client = Client::ready(&app).await;
    let thread = client.thread().await;
    client.turn(&thread, "work").await;
    let (id, _) = client.asked(INPUT).await;
    for (answer, problem) in [
        (
            json!({"answers": {"nowhere": {"answers": ["Red"]}}}),
            "there is no question \"nowhere\"",
        ),
        (json!({"answers": {"color": "Red"}}), "answers.color"),
        (json!({"antworten": {}}), "missing field `answers`"),
        (json!("Red"), "invalid type"),
    ] {
        client.respond(&id, answer.clone()).await;
        let error = client.until(|message| message.get("error").is_some()).await;
        assert_eq!(error["id"], json!(null), "{error}");
        assert_eq!(error["error"]["data"]["requestId"], id, "{error}");
        let message = error["error"]["message"].as_str().unwrap();
        assert!(message.contains(problem), "{answer}: {message}");
    }
    client.respond(&json!(999), json!({"answers": {}})).await;
    let error = client.until(|message| message.get("error").is_some()).await;
    let message = error["error"]["message"].as_str().unwrap();
    assert!(
        message.contains("nothing was asked under the id 999"),
        "{message}"
    );

    let answers = json!({"color": {"answers": ["Blue"]}});
    client.respond(&id, json!({"answers": answers})).await;
    client.told("turn/completed").await;
    let told = serde_json::to_string(stage.input_of(1).last().unwrap()).unwrap();
    assert!(told.contains("blue") && !told.contains("nowhere"), "{told}");
    client.leave().await;
    app.end().await;
}

#[tokio::test]
async fn a_decision_that_nobody_understands_refuses_nothing() {
    let stage = stage().await;
    let app = app(&stage);
    let mut client = Client::ready(&app).await;
    let thread = client.thread().await;
    client.turn(&thread, "work").await;
    let (id, _) = client.asked(COMMAND).await;
    client.respond(&id, json!({"decision": "yes"})).await;
    let error = client.until(|message| message.get("error").is_some()).await;
    let message = error["error"]["message"].as_str().unwrap();
    assert!(
        message.contains("decision: unknown variant `yes`"),
        "{message}"
    );
    client.respond(&id, json!({"decision": "accept"})).await;
    let ended = client.told("turn/completed").await;
    assert_eq!(ended["turn"]["status"], "completed");
    assert_eq!(stage.read("made"), "");
    client.leave().await;
    app.end().await;
}

/// An answer of nothing is none, and the model reads why there is none.
#[tokio::test]
async fn an_answer_of_nothing_is_no_answer() {
    for answers in [
        json!({"color": {"answers": []}}),
        json!({"color": {"answers": [" \u{200b}\n"]}}),
        json!({}),
    ] {
        let stage = Stage::new(CHOOSING).await;
        let app = app(&stage);
        let mut client = Client::ready(&app).await;
        let thread = client.thread().await;
        client.turn(&thread, "work").await;
        let (id, _) = client.asked(INPUT).await;
        client.respond(&id, json!({"answers": answers})).await;
        client.told("turn/completed").await;
        let input = stage.input_of(1);
        let told = input.last().unwrap()["output"].as_str().unwrap();
        let expected = r#"{"answers":{},"reason":"no answer was given"#;
        assert!(told.starts_with(expected), "{told}");
        client.leave().await;
        app.end().await;
    }
}
