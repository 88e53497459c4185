//! The document that the daemon was asked for in, played with requests alone.

use serde_json::{Value, json};

use crate::daemon::ServedHome;
use crate::machine::Machine;
use crate::serve::{asked, text};

/// The parent of the seed's document waits for a person until its children are done, then hears of
/// each of them.
pub const RELEASE: &str = r#"
[[scene]]
when = "Prepare the release"
[[scene.turn]]
steps = [{ call = "shell_command", arguments = { command = "touch begun" } }]
[[scene.turn]]
steps = [{ say = "Begun." }]
[[scene.turn]]
expect = "All tests pass"
steps = [{ say = "The tests are done." }]
[[scene.turn]]
expect = "The changelog is written"
steps = [{ say = "The changelog is done." }]
[[scene.turn]]
expect = "failed"
steps = [{ say = "The docs are missing." }]
[[scene.turn]]
expect = "TOLD completed"
steps = [{ say = "Heard in other words." }]

[[scene]]
when = "Run the tests"
[[scene.turn]]
steps = [{ say = "All tests pass." }]

[[scene]]
when = "Write the changelog"
[[scene.turn]]
steps = [{ say = "The changelog is written." }]

[[scene]]
when = "Generate the docs"
[[scene.turn]]
steps = [{ status = 400, message = "the docs cannot be generated" }]

[[scene]]
when = "Sign it"
[[scene.turn]]
steps = [{ call = "shell_command", arguments = { command = "touch signed" } }]
[[scene.turn]]
steps = [{ say = "Signed." }]

[[scene]]
when = "Tell it in other words"
[[scene.turn]]
steps = [{ say = "Told." }]
"#;

/// Every name of the context of a callback.
const TEMPLATE: &str = "TOLD {{status}} {{stopReason}} {{childSessionId}} {{childSessionFullId}} \
    {{childTaskId}} {{childTaskFullId}} {{parentSessionId}} {{spawnPrompt}} {{completedAt}} \
    {{messageCount}} {{toolUseCount}} {{lastAssistantMessage}}";

#[test]
fn the_seeds_document_can_be_played_with_requests_alone() {
    let machine = Machine::playing(RELEASE);
    let home = ServedHome::start(&machine);
    let opened = home.post(
        "/v1/sessions",
        json!({"prompt": "Prepare the release", "approval_policy": "untrusted", "title": "v1.0"}),
    );
    assert!(opened.header("etag").is_some());
    let location = opened.header("location").unwrap().to_owned();
    let opened = opened.with(201);
    let parent = text(&opened["session"]["id"]).to_owned();
    let parent_task = text(&opened["task"]["id"]).to_owned();
    assert_eq!(location, format!("/v1/sessions/{parent}"));
    assert_eq!(opened["session"]["title"], "v1.0");
    let question = asked(&home, &parent);

    // Three children, one of which fails, end while the parent waits for a person.
    let prompts = ["Run the tests", "Write the changelog", "Generate the docs"];
    let mut children = Vec::new();
    for prompt in prompts {
        // As the seed has it: no prefix, camel case.
        let body = json!({"prompt": prompt, "enableCallback": true});
        let spawned = home
            .post(&format!("/sessions/{parent}/spawn"), body)
            .with(201);
        assert_eq!(spawned["sessionId"], spawned["session"]["id"]);
        let child = text(&spawned["sessionId"]).to_owned();
        let task = text(&spawned["task"]["id"]).to_owned();
        let waited = home
            .get(&format!("/v1/sessions/{child}/wait?for=idle"))
            .with(200);
        assert_eq!(waited["timed_out"], false);
        children.push((child, task));
    }
    let states: Vec<Value> = children
        .iter()
        .map(|(child, _)| home.get(&format!("/v1/sessions/{child}")).with(200)["status"].clone())
        .collect();
    assert_eq!(states, ["completed", "completed", "errored"]);
    let failed = home.get(&format!("/v1/tasks/{}", children[2].1)).with(200);
    assert_eq!(
        (&failed["status"], &failed["stop_reason"]),
        (&json!("failed"), &json!("errored"))
    );
    let result = home
        .get(&format!("/v1/tasks/{}/result", children[0].1))
        .with(200);
    assert_eq!(result["last_message"], "All tests pass.");
    assert_eq!(result["evidence"]["message_count"], 1);

    // The parent is at work, so what it is to hear waits, in order.
    let queue = home.get(&format!("/v1/sessions/{parent}/queue")).with(200);
    let queue = queue["data"].as_array().unwrap().clone();
    let told: Vec<Value> = queue
        .iter()
        .map(|told| {
            json!([
                told["position"],
                told["kind"],
                told["metadata"]["child_session_id"]
            ])
        })
        .collect();
    let expected: Vec<Value> = (1..)
        .zip(&children)
        .map(|(position, (child, _))| json!([position, "callback", child]))
        .collect();
    assert_eq!(told, expected);
    assert_eq!(queue[0]["metadata"]["is_agor_callback"], true);
    assert_eq!(queue[0]["metadata"]["source"], "troupe");
    let session = home.get(&format!("/v1/sessions/{parent}")).with(200);
    assert_eq!(
        (&session["status"], &session["ready_for_prompt"]),
        (&json!("running"), &json!(false))
    );
    assert_eq!(session["queue_length"], 3);

    // A person answers; a second answer is told whose the first was.
    let decision = format!("/v1/approvals/{question}/decision");
    let by_ann = [("X-Troupe-Client", "ann")];
    let yes = Some(json!({"decision": "approved"}));
    home.ask("POST", &decision, yes.clone(), &by_ann).with(200);
    let second = home.ask("POST", &decision, yes, &[]);
    assert_eq!(second.body["current"]["by"], "ann");
    assert!(second.body["current"]["at"].is_string());
    assert_eq!(
        second.problem(),
        (409, "answered".to_owned(), String::new())
    );

    // One callback after the other: each is a task of its own.
    let waited = home
        .get(&format!("/v1/sessions/{parent}/wait?for=all"))
        .with(200);
    assert_eq!(waited["timed_out"], false);
    assert_eq!(waited["session"]["ready_for_prompt"], true);
    let tasks = home.get(&format!("/v1/sessions/{parent}/tasks")).with(200);
    let tasks = tasks["data"].as_array().unwrap().clone();
    let heard: Vec<(&str, &str)> = tasks
        .iter()
        .map(|task| (text(&task["status"]), text(&task["last_message"])))
        .collect();
    assert_eq!(
        heard,
        [
            ("completed", "Begun."),
            ("completed", "The tests are done."),
            ("completed", "The changelog is done."),
            ("completed", "The docs are missing."),
        ]
    );
    let of_child = |task: &Value| task["metadata"]["child_task_id"].clone();
    let told: Vec<Value> = tasks.iter().skip(1).map(of_child).collect();
    let expected: Vec<Value> = children.iter().map(|(_, task)| json!(task)).collect();
    assert_eq!(told, expected);
    let messages = home
        .get(&format!("/v1/sessions/{parent}/messages?limit=200"))
        .with(200);
    let messages = messages["data"].as_array().unwrap().clone();
    let marked = messages
        .iter()
        .filter(|message| message["metadata"]["is_callback"] == true);
    assert_eq!(marked.count(), 3);

    // Where everybody comes from.
    let child = home
        .get(&format!("/v1/sessions/{}/genealogy", children[0].0))
        .with(200);
    assert_eq!(child["ancestors"], json!([parent]));
    assert_eq!(child["parent_session_id"], *parent);
    assert_eq!(child["spawn_point_task_id"], *parent_task);
    assert!(child["spawn_point_message_index"].as_u64().unwrap() > 0);
    assert_eq!(child["spawn_config"]["prompt"], "Run the tests");
    let family = home
        .get(&format!("/v1/sessions/{parent}/genealogy"))
        .with(200);
    let ids: Vec<Value> = children.iter().map(|(child, _)| json!(child)).collect();
    assert_eq!(family["children"], json!(ids));

    // Callbacks are taken away while a child is at work: nobody is told of its end.
    let spawn = format!("/v1/sessions/{parent}/spawn");
    let body = json!({"prompt": "Sign it", "enable_callback": true, "approvals": "route"});
    let signer = home.post(&spawn, body).with(201);
    let question = asked(&home, text(&signer["sessionId"]));
    let place = format!("/v1/sessions/{parent}");
    let changed = home
        .patch(&place, json!({"callback_config": {"enabled": false}}))
        .with(200);
    assert_eq!(changed["callback_config"]["enabled"], false);
    let body = json!({"ids": [question], "decision": "approved"});
    let decided = home.post("/v1/approvals/decisions", body).with(200);
    assert_eq!(decided["decided"].as_array().unwrap().len(), 1, "{decided}");
    home.get(&format!("{place}/wait?for=all")).with(200);
    let tasks = home.get(&format!("{place}/tasks")).with(200);
    assert_eq!(tasks["data"].as_array().unwrap().len(), 4);

    // A template is tried when it is set, and shown before it is.
    let broken = json!({"callback_config": {"template": "{{#if status}}"}});
    let refused = home.patch(&place, broken);
    assert!(refused.body["current"]["line"].is_u64(), "{refused:?}");
    assert_eq!(refused.problem().2, "callback_config.template");
    let body = json!({"template": TEMPLATE, "include_original_prompt": true});
    let preview = home
        .post(&format!("{place}/callback-preview"), body.clone())
        .with(200);
    assert!(
        text(&preview["failed"]).starts_with("TOLD failed errored 4a7b3c2d "),
        "{preview}"
    );
    let mut change = body;
    change["enabled"] = json!(true);
    home.patch(&place, json!({"callbackConfig": change}))
        .with(200);
    let spawned = home
        .post(&spawn, json!({"prompt": "Tell it in other words"}))
        .with(201);
    home.get(&format!("{place}/wait?for=all")).with(200);
    let tasks = home.get(&format!("{place}/tasks")).with(200);
    let last = tasks["data"].as_array().unwrap().last().unwrap().clone();
    assert_eq!(last["last_message"], "Heard in other words.");
    let words: Vec<&str> = text(&last["prompt"]).split(' ').collect();
    let (child, task) = (text(&spawned["sessionId"]), text(&spawned["task"]["id"]));
    let begin = [
        "TOLD",
        "completed",
        "completed",
        &child[..8],
        child,
        &task[..8],
        task,
        &*parent,
    ];
    assert_eq!(words[..8], begin);
    assert!(
        text(&last["prompt"]).contains(" Tell it in other words 2"),
        "{last}"
    );
    assert!(text(&last["prompt"]).ends_with(" 1 0 Told."), "{last}");
}
