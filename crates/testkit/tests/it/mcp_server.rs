//! Sessions as tools for an outside agent, over the Model Context Protocol.

mod client;
mod elsewhere;

use serde_json::json;
use troupe_agents::Family;
use troupe_protocol::policy::{ApprovalPolicy, SandboxPolicy};
use troupe_testkit::Stage;

use client::Client;

const GREETING: &str = r#"
    [[scene]]
    when = "hello"
    [[scene.turn]]
    steps = [{ say = "Good day." }]
    [[scene.turn]]
    steps = [{ say = "Again?" }]
"#;

/// A model that never ends its first answer.
const ENDLESS: &str = r#"
    [[scene]]
    [[scene.turn]]
    steps = [{ say = "I am thinking", unfinished = true }, { end = "stall" }]
    [[scene.turn]]
    steps = [{ say = "Done." }]
"#;

const TOUCH: &str = r#"
    [[scene]]
    [[scene.turn]]
    steps = [{ call = "shell_command", arguments = { command = "touch made" } }]
    [[scene.turn]]
    steps = [{ say = "I have tried." }]
"#;

async fn careful() -> Stage {
    Stage::new(TOUCH)
        .await
        .approval(ApprovalPolicy::Untrusted)
        .sandbox(SandboxPolicy::workspace_write())
}

#[tokio::test]
async fn a_session_is_spawned_waited_for_and_looked_at() {
    let stage = Stage::new(GREETING).await;
    let mut client = Client::connect(&stage).await;
    assert_eq!(client.greeting["serverInfo"]["name"], "troupe");

    let spawned = client
        .call(
            "troupe_sessions_spawn",
            json!({"prompt": "hello", "title": "greeter"}),
        )
        .await;
    let id = spawned["sessionId"]
        .as_str()
        .expect("it has an id")
        .to_owned();
    let waited = client
        .call("troupe_sessions_wait", json!({"sessionIds": [id]}))
        .await;
    assert_eq!(waited["timedOut"], false);
    assert_eq!(waited["finished"][0]["status"], "completed");
    assert_eq!(waited["finished"][0]["lastMessage"], "Good day.");

    let got = client
        .call(
            "troupe_sessions_get",
            json!({"sessionId": "greeter", "includeLastMessage": false}),
        )
        .await;
    assert_eq!(got["sessionId"], id);
    assert_eq!(got["readyForPrompt"], true);
    assert!(got.get("lastMessage").is_none());
    assert_eq!(got["lastTaskId"], spawned["taskId"]);

    let task = client
        .call("troupe_tasks_get", json!({"taskId": spawned["taskId"]}))
        .await;
    assert_eq!(task["status"], "completed");
    assert_eq!(task["prompt"], "hello");
    assert_eq!(task["lastMessage"], "Good day.");
    assert_eq!(task["evidence"]["messageCount"], 1);

    let tree = client
        .call("troupe_agents_tree", json!({"sessionId": id}))
        .await;
    assert_eq!(tree["agents"][0]["path"], "/root");
    let list = client.call("troupe_sessions_list", json!({})).await;
    assert_eq!(list["sessions"][0]["sessionId"], id);
    assert_eq!(list["sessions"][0]["title"], "greeter");
    client.end().await;
}

#[tokio::test]
async fn a_prompt_answers_with_what_it_came_to_and_tells_how_far_it_is() {
    let stage = Stage::new(GREETING).await;
    let mut client = Client::connect(&stage).await;
    let id = client.spawned("hello").await;
    client
        .call("troupe_sessions_wait", json!({"sessionId": id}))
        .await;
    let prompted = client
        .call_with_progress(
            "troupe_sessions_prompt",
            json!({"sessionId": id, "prompt": "hello"}),
        )
        .await;
    assert_eq!(prompted["receipt"], "delivered");
    assert_eq!(prompted["session"]["lastMessage"], "Again?");
    let numbers: Vec<f64> = client.progress.iter().map(|told| told.0).collect();
    assert!(!numbers.is_empty());
    assert!(numbers.is_sorted_by(|a, b| a < b), "{numbers:?}");
    let tasks = client
        .call("troupe_tasks_list", json!({"sessionId": id, "limit": 1}))
        .await;
    assert_eq!(tasks["total"], 2);
    assert_eq!(tasks["tasks"][0]["lastMessage"], "Again?");
    client.end().await;
}

#[tokio::test]
async fn a_fork_leaves_the_session_as_it_is() {
    let stage = Stage::new(GREETING).await;
    let mut client = Client::connect(&stage).await;
    let id = client.spawned("hello").await;
    client
        .call("troupe_sessions_wait", json!({"sessionId": id}))
        .await;
    let forked = client
        .call(
            "troupe_sessions_prompt",
            json!({"sessionId": id, "prompt": "hello", "mode": "fork"}),
        )
        .await;
    assert_ne!(forked["session"]["sessionId"], id);
    let input = serde_json::to_string(&stage.input_of(1)).expect("it is JSON");
    assert!(input.contains("Good day."), "{input}");
    let tasks = client
        .call("troupe_tasks_list", json!({"sessionId": id}))
        .await;
    assert_eq!(tasks["total"], 1);
    client.end().await;
}

#[tokio::test]
async fn a_cancelled_wait_leaves_the_session_at_work() {
    let stage = Stage::new(ENDLESS).await;
    let mut client = Client::connect(&stage).await;
    let id = client.spawned("go").await;
    let wait = client
        .begin("troupe_sessions_wait", json!({"sessionIds": [id]}))
        .await;
    client.cancel(wait).await;
    let got = client
        .call("troupe_sessions_get", json!({"sessionId": id}))
        .await;
    assert_eq!(got["readyForPrompt"], false);
    let short = client
        .call(
            "troupe_sessions_wait",
            json!({"sessionIds": [id], "timeoutMs": 0}),
        )
        .await;
    assert_eq!(short["timedOut"], true);
    assert_eq!(short["running"][0]["sessionId"], id);

    let dry = client
        .call(
            "troupe_sessions_cancel",
            json!({"sessionId": id, "dryRun": true}),
        )
        .await;
    assert_eq!(dry["touched"][0]["path"], "/root");
    client
        .call(
            "troupe_sessions_cancel",
            json!({"sessionId": id, "reason": "enough"}),
        )
        .await;
    let waited = client
        .call("troupe_sessions_wait", json!({"sessionIds": [id]}))
        .await;
    assert_eq!(waited["finished"][0]["status"], "cancelled");
    client.end().await;
}

#[tokio::test]
async fn a_cancelled_prompt_interrupts_its_task() {
    let stage = Stage::new(&ENDLESS.replace("Done.\" }", "And\" }, { end = \"stall\" }")).await;
    let mut client = Client::connect(&stage).await;
    let id = client.spawned("go").await;
    client
        .call("troupe_sessions_cancel", json!({"sessionId": id}))
        .await;
    client
        .call("troupe_sessions_wait", json!({"sessionIds": [id]}))
        .await;
    let prompt = client
        .begin(
            "troupe_sessions_prompt",
            json!({"sessionId": id, "prompt": "go on"}),
        )
        .await;
    let get = json!({"sessionId": id});
    while client.call("troupe_sessions_get", get.clone()).await["readyForPrompt"] == true {
        tokio::task::yield_now().await;
    }
    client.cancel(prompt).await;
    let waited = client
        .call("troupe_sessions_wait", json!({"sessionIds": [id]}))
        .await;
    assert_eq!(waited["finished"][0]["status"], "interrupted");
    client.end().await;
}

#[tokio::test]
async fn a_person_behind_the_client_is_asked() {
    let stage = careful().await;
    let mut client = Client::who_shows_forms(&stage).await;
    client.replies.push_back(json!({
        "action": "accept", "content": {"decision": "approved"},
    }));
    let id = client.spawned("go").await;
    let waited = client
        .call("troupe_sessions_wait", json!({"sessionIds": [id]}))
        .await;
    assert_eq!(waited["finished"][0]["lastMessage"], "I have tried.");
    assert!(stage.cwd().join("made").exists());
    let [asked] = client.asked.as_slice() else {
        panic!("{:?}", client.asked);
    };
    let message = asked["message"].as_str().unwrap_or_default();
    assert!(message.contains("touch made"), "{message}");
    client.end().await;
}

#[tokio::test]
async fn who_declines_is_not_asked_twice_and_nothing_is_done() {
    let stage = careful().await;
    let mut client = Client::who_shows_forms(&stage).await;
    client.replies.push_back(json!({"action": "decline"}));
    let id = client.spawned("go").await;
    let waited = client
        .call("troupe_sessions_wait", json!({"sessionIds": [id]}))
        .await;
    assert_eq!(waited["finished"][0]["status"], "completed");
    assert!(!stage.cwd().join("made").exists());
    assert_eq!(client.asked.len(), 1);
    client.end().await;
}

/// A question that nobody waits for stays open, and is seen.
#[tokio::test]
async fn what_waits_for_a_person_is_shown() {
    let stage = careful().await;
    let mut client = Client::who_shows_forms(&stage).await;
    let id = client.spawned("go").await;
    let got = loop {
        let got = client
            .call("troupe_sessions_get", json!({"sessionId": id}))
            .await;
        if got["waitingOn"] == "approval" {
            break got;
        }
    };
    let open = &got["openApprovals"][0];
    assert_eq!(open["kind"], "exec");
    assert_eq!(open["path"], "/root");
    assert!(client.asked.is_empty());
    client.end().await;
}

#[tokio::test]
async fn without_forms_the_headless_policy_answers() {
    let stage = careful().await;
    let mut client = Client::connect(&stage).await;
    let id = client.spawned("go").await;
    let waited = client
        .call("troupe_sessions_wait", json!({"sessionIds": [id]}))
        .await;
    assert_eq!(waited["finished"][0]["lastMessage"], "I have tried.");
    assert!(!stage.cwd().join("made").exists());
    client.end().await;
}

#[tokio::test]
async fn a_child_calls_its_parent_back() {
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
    .await
    .with_agents(&[Family::Agents]);
    let mut client = Client::connect(&stage).await;
    let parent = client.spawned("lead").await;
    client
        .call("troupe_sessions_wait", json!({"sessionIds": [parent]}))
        .await;
    let child = client
        .call(
            "troupe_sessions_spawn",
            json!({
                "prompt": "count the files", "parentSessionId": parent, "title": "counter",
                "agenticTool": "troupe", "enableCallback": true, "includeLastMessage": true,
            }),
        )
        .await;
    assert_eq!(child["path"], "/root/counter");
    assert_eq!(child["parentSessionId"], parent);
    let both = json!({"sessionIds": [child["sessionId"]], "all": true});
    let waited = client.call("troupe_sessions_wait", both).await;
    assert_eq!(waited["finished"][0]["lastMessage"], "There are three.");
    loop {
        let got = client
            .call("troupe_sessions_get", json!({"sessionId": parent}))
            .await;
        if got["lastMessage"] == "I heard it." {
            assert_eq!(got["genealogy"]["children"], json!([child["sessionId"]]));
            break;
        }
    }
    let input = serde_json::to_string(&stage.input_of(2)).expect("it is JSON");
    assert!(input.contains("There are three."), "{input}");
    // Who reads the task, or the transcript, is told that no person said it.
    let tasks = json!({"sessionId": parent});
    let tasks = client.call("troupe_tasks_list", tasks).await;
    let callback = &tasks["tasks"][0]["callback"];
    assert_eq!(callback["isCallback"], true);
    assert_eq!(callback["source"], "troupe");
    assert_eq!(callback["childSessionId"], child["sessionId"]);
    let task = callback["childTaskId"].as_str().expect("it has a task");
    assert!(tasks["tasks"][1].get("callback").is_none());
    let uri = format!("troupe://sessions/{parent}/transcript");
    let read = client.request("resources/read", json!({"uri": uri})).await;
    let text = read["result"]["contents"][0]["text"].as_str();
    let text = text.expect("it is text");
    let session = child["sessionId"].as_str().expect("it has an id");
    let title = format!("## callback (source troupe, child session {session}, child task {task})");
    assert!(text.contains(&title), "{text}");
    client.end().await;
}

#[tokio::test]
async fn a_spawn_without_a_parent_says_that_nobody_is_called_back() {
    let stage = Stage::new(GREETING).await;
    let mut client = Client::connect(&stage).await;
    let params = json!({"prompt": "hello", "enableCallback": true});
    let spawned = client.call("troupe_sessions_spawn", params).await;
    let note = spawned["note"].as_str().expect("there is a note");
    assert!(note.starts_with("Nobody is called back"), "{note}");
    client.end().await;
}

#[tokio::test]
async fn what_says_nothing_or_cannot_be_checked_is_refused_before_anything_is_made() {
    let stage = Stage::new(GREETING).await;
    let mut client = Client::connect(&stage).await;
    for blank in [" \n", "\u{200b}\u{feff}\u{2067}"] {
        let blank = json!({"prompt": blank});
        let blank = client.failed("troupe_sessions_spawn", blank).await;
        assert!(blank.contains("prompt is blank"), "{blank}");
    }
    for schema in [
        json!({"type": "nonsense"}),
        json!({"type": "object", "enum": []}),
    ] {
        let schema = json!({"prompt": "hello", "outputSchema": schema});
        let schema = client.failed("troupe_sessions_spawn", schema).await;
        assert!(schema.contains("outputSchema"), "{schema}");
    }
    let listed = client.call("troupe_sessions_list", json!({})).await;
    assert_eq!(listed["sessions"], json!([]));
    let id = client.spawned("hello").await;
    let blank = json!({"sessionId": id, "prompt": ""});
    let blank = client.failed("troupe_sessions_prompt", blank).await;
    assert!(blank.contains("prompt is blank"), "{blank}");
    client.end().await;
}

/// Makes a session and a child of it, which may only read, and returns the child when both are
/// done.
async fn idle_child(client: &mut Client) -> String {
    let root = client.spawned("lead").await;
    let middle = json!({
        "prompt": "stand by", "parentSessionId": root, "title": "middle",
        "sandboxMode": "read-only",
    });
    let middle = client.call("troupe_sessions_spawn", middle).await;
    let middle = middle["sessionId"].as_str().expect("it has an id");
    let middle = middle.to_owned();
    let both = json!({"sessionIds": [root, middle], "all": true});
    client.call("troupe_sessions_wait", both).await;
    middle
}

#[tokio::test]
async fn a_child_is_made_below_any_session() {
    let stage = Stage::new(
        r#"
        [[scene]]
        when = "count the files"
        [[scene.turn]]
        steps = [{ say = "There are three." }]

        [[scene]]
        when = "stand by"
        [[scene.turn]]
        steps = [{ say = "Here I am." }]
        [[scene.turn]]
        expect = "There are three."
        steps = [{ say = "I heard of three." }]

        [[scene]]
        when = "lead"
        [[scene.turn]]
        steps = [{ say = "I lead." }]
        [[scene.turn]]
        steps = [{ say = "I heard it." }]
        [[scene.turn]]
        steps = [{ say = "I heard more." }]
        "#,
    )
    .await
    .with_agents(&[Family::Agents]);
    let mut client = Client::connect(&stage).await;
    let middle = idle_child(&mut client).await;
    let mut wish = json!({
        "prompt": "count the files", "parentSessionId": middle, "title": "leaf",
        "sandboxMode": "workspace-write",
    });
    let wider = client.failed("troupe_sessions_spawn", wish.clone()).await;
    assert!(
        wider.contains("more than this agent has (read-only)"),
        "{wider}"
    );
    wish["sandboxMode"] = json!("read-only");
    let leaf = client.call("troupe_sessions_spawn", wish).await;
    assert_eq!(leaf["path"], "/root/middle/leaf");
    assert_eq!(leaf["parentSessionId"], middle);
    // The parent, which was idle, is called back.
    loop {
        let got = json!({"sessionId": middle});
        let got = client.call("troupe_sessions_get", got).await;
        if got["lastMessage"] == "I heard of three." {
            assert_eq!(got["genealogy"]["children"], json!([leaf["sessionId"]]));
            break;
        }
    }
    client.end().await;
}

#[tokio::test]
async fn another_agent_runs_a_session_of_its_own_or_a_child() {
    let screenplay = r#"
        [[scene]]
        [[scene.turn]]
        steps = [{ say = "I lead." }]
        [[scene.turn]]
        steps = [{ say = "I heard it." }]
    "#;
    let stage = Stage::new(screenplay)
        .await
        .backend("other", super::acp::program(json!({})))
        .with_agents(&[Family::Agents]);
    let mut client = Client::connect(&stage).await;
    let root = client.spawned("lead").await;
    for wish in [
        json!({"prompt": "hello", "agenticTool": "other"}),
        json!({"prompt": "hello", "agenticTool": "other", "parentSessionId": root}),
    ] {
        let spawned = client.call("troupe_sessions_spawn", wish).await;
        let waited = json!({"sessionIds": [spawned["sessionId"]]});
        let waited = client.call("troupe_sessions_wait", waited).await;
        assert_eq!(waited["finished"][0]["lastMessage"], "you said: hello");
    }
    let unknown = json!({"prompt": "hello", "agenticTool": "claude-code"});
    let unknown = client.failed("troupe_sessions_spawn", unknown).await;
    assert!(
        unknown.contains("agenticTool \"claude-code\" is not there; there are troupe, other."),
        "{unknown}"
    );
    client.end().await;
}

#[tokio::test]
async fn transcripts_are_resources() {
    let stage = Stage::new(GREETING).await;
    let mut client = Client::connect(&stage).await;
    let id = client.spawned("hello").await;
    client
        .call("troupe_sessions_wait", json!({"sessionIds": [id]}))
        .await;
    let uri = format!("troupe://sessions/{id}/transcript");
    let list = client.request("resources/list", json!({})).await;
    assert_eq!(list["result"]["resources"][0]["uri"], uri);
    let read = client.request("resources/read", json!({"uri": uri})).await;
    let text = read["result"]["contents"][0]["text"].as_str();
    let text = text.expect("it is text");
    assert!(text.contains("## user\n\nhello"), "{text}");
    assert!(text.contains("## assistant\n\nGood day."), "{text}");
    let templates = client.request("resources/templates/list", json!({})).await;
    let template = &templates["result"]["resourceTemplates"][0]["uriTemplate"];
    assert_eq!(template, "troupe://sessions/{id}/transcript{?after}");
    let missing = client
        .request(
            "resources/read",
            json!({"uri": "troupe://sessions/nobody/transcript"}),
        )
        .await;
    assert_eq!(missing["error"]["code"], -32002, "{missing}");
    client.end().await;
}

#[tokio::test]
async fn what_is_wrong_is_told_and_ends_nothing() {
    let stage = Stage::new(GREETING).await;
    let mut client = Client::connect(&stage).await;
    client.write("this is not JSON\n").await;
    client.write("{\"jsonrpc\": \"2.0\", \"id\": 7}\n").await;
    let unknown = client
        .failed("troupe_sessions_spawn", json!({"promt": "hello"}))
        .await;
    assert!(unknown.contains("unknown field `promt`"), "{unknown}");
    let nobody = client
        .failed("troupe_sessions_get", json!({"sessionId": "nobody"}))
        .await;
    assert!(nobody.contains("no session \"nobody\""), "{nobody}");
    let other = json!({"prompt": "hello", "agenticTool": "claude-code"});
    let other = client.failed("troupe_sessions_spawn", other).await;
    assert!(other.contains("claude-code"), "{other}");
    let wider = json!({"prompt": "hello", "agentType": "worker"});
    let wider = client.failed("troupe_sessions_spawn", wider).await;
    assert!(wider.contains("parentSessionId"), "{wider}");
    let tool = json!({"name": "troupe_sessions_fly", "arguments": {}});
    let tool = client.request("tools/call", tool).await;
    assert_eq!(tool["error"]["code"], -32602, "{tool}");
    let method = client.request("sessions/fly", json!({})).await;
    assert_eq!(method["error"]["code"], -32601, "{method}");
    client.end().await;
}

#[tokio::test]
async fn a_model_cannot_give_a_session_more_than_is_configured() {
    let stage = Stage::new(GREETING)
        .await
        .sandbox(SandboxPolicy::read_only());
    let mut client = Client::connect(&stage).await;
    let wider = json!({"prompt": "hello", "sandboxMode": "workspace-write"});
    let refused = client.failed("troupe_sessions_spawn", wider).await;
    assert!(refused.contains("read-only"), "{refused}");
    assert!(stage.requests().is_empty());
    client.end().await;
}

#[tokio::test]
async fn a_session_goes_on_after_a_restart() {
    let stage = Stage::new(GREETING).await;
    let mut client = Client::connect(&stage).await;
    let id = client.spawned("hello").await;
    client
        .call("troupe_sessions_wait", json!({"sessionIds": [id]}))
        .await;
    client.end().await;

    let mut client = Client::connect(&stage).await;
    let got = client
        .call("troupe_sessions_get", json!({"sessionId": &id[..8]}))
        .await;
    assert_eq!(got["loaded"], false);
    assert_eq!(got["status"], "completed");
    assert_eq!(got["lastMessage"], "Good day.");
    let tree = client
        .call("troupe_agents_tree", json!({"sessionId": id}))
        .await;
    assert_eq!(tree["agents"][0]["status"], "completed");
    let waited = client
        .call("troupe_sessions_wait", json!({"sessionIds": [id]}))
        .await;
    assert_eq!(waited["finished"][0]["loaded"], false);
    let prompted = client
        .call(
            "troupe_sessions_prompt",
            json!({"sessionId": id, "prompt": "hello"}),
        )
        .await;
    assert_eq!(prompted["session"]["lastMessage"], "Again?");
    client.end().await;
}
