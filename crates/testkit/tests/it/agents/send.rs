//! `send_input` and `resume_agent`: more work for agents that are there, or were.

use expect_test::expect;
use serde_json::{Value, json};
use troupe_agents::Family;
use troupe_protocol::EventMsg;
use troupe_protocol::event::AbortReason;

use super::cast;
use super::play::{
    Cue, agent, answer, answers, answers_of, call, end, named, play, recorded, requests_of, scene,
    seen, stage, until_there,
};

fn spawn(message: &str) -> Cue {
    (
        "spawn_agent",
        json!({"message": message, "task_name": "kid"}),
    )
}

fn send(message: &str) -> Cue {
    ("send_input", json!({"id": "kid", "message": message}))
}

fn shell(command: &str) -> Cue {
    ("shell_command", json!({"command": command}))
}

/// A command of a child's that says that it runs, under which number, and goes on until the
/// file `gate` is there.
fn held() -> String {
    call(&shell(
        "echo $$ > pid; touch here; until [ -e gate ]; do sleep 0.02; done",
    ))
}

/// A command of the root's that ends when the child's runs.
fn until_held() -> Cue {
    shell("until [ -e here ]; do sleep 0.02; done")
}

fn wait() -> Cue {
    ("wait", json!({"ids": ["kid"]}))
}

/// What the user's side of a conversation said, in order.
fn heard(body: &Value) -> Vec<&str> {
    let items = body["input"].as_array().expect("it is a list").iter();
    items
        .filter(|item| item["role"] == "user")
        .flat_map(|item| item["content"].as_array().expect("it is a list"))
        .map(|part| part["text"].as_str().expect("it is a text"))
        .collect()
}

#[tokio::test]
async fn a_message_joins_the_running_task_at_its_next_request() {
    let children = scene("be busy", &[&held(), "{ say = 'heard both' }"]);
    let cues = [
        spawn("be busy"),
        until_held(),
        send("also this"),
        shell("touch gate"),
        wait(),
    ];
    let stage = stage(&children, &cues).await;
    let actor = play(&stage).await;
    let sent = answer(&stage, &actor, 2).await;
    assert_eq!(sent["status"], "running");
    assert!(sent["submission_id"].is_string(), "{sent}");
    let waited = answer(&stage, &actor, 4).await;
    assert_eq!(
        waited["status"],
        json!({"/root/kid": {"completed": "heard both"}})
    );
    let kid = agent(&actor, "/root/kid").await;
    let requests = requests_of(&stage, kid.session);
    assert_eq!(requests.len(), 2);
    assert_eq!(heard(&requests[1]).last(), Some(&"also this"));
    end(actor).await;
    let tasks = recorded(&stage, kid.session).await;
    let starts = tasks
        .iter()
        .filter(|msg| matches!(msg, EventMsg::TurnStarted(_)));
    assert_eq!(starts.count(), 1, "it is the same task");
}

#[tokio::test]
async fn an_interrupt_aborts_the_task_kills_its_command_and_starts_with_the_message() {
    let children = scene("be busy", &[&held(), "{ say = 'changed course' }"]);
    let cues = [
        spawn("be busy"),
        until_held(),
        (
            "send_input",
            json!({"id": "kid", "message": "other way", "interrupt": true}),
        ),
        wait(),
        shell("kill -0 $(cat pid) 2>&1"),
    ];
    let stage = stage(&children, &cues).await;
    let actor = play(&stage).await;
    let waited = answer(&stage, &actor, 3).await;
    assert_eq!(
        waited["status"],
        json!({"/root/kid": {"completed": "changed course"}})
    );
    let gone = &answers(&stage, &actor).await[4];
    assert!(gone.contains("No such process"), "{gone}");
    let kid = agent(&actor, "/root/kid").await;
    let requests = requests_of(&stage, kid.session);
    assert_eq!(heard(&requests[1]).last(), Some(&"other way"));
    end(actor).await;
    let told = recorded(&stage, kid.session).await;
    let ends: Vec<String> = told
        .iter()
        .filter_map(|msg| match msg {
            EventMsg::TurnAborted(aborted) => Some(format!("aborted {:?}", aborted.reason)),
            EventMsg::TurnComplete(_) => Some("complete".to_owned()),
            _ => None,
        })
        .collect();
    assert_eq!(
        ends,
        [
            format!("aborted {:?}", AbortReason::Replaced),
            "complete".to_owned()
        ]
    );
}

/// The texts of the last message of a request, part by part.
fn last_parts(body: &Value) -> Vec<&str> {
    let items = body["input"].as_array().expect("it is a list");
    let last = items.last().expect("something was said");
    let parts = last["content"].as_array().expect("it is a list").iter();
    parts
        .map(|part| part["text"].as_str().expect("it is a text"))
        .collect()
}

#[tokio::test]
async fn items_reach_an_idle_child_and_one_that_is_interrupted_as_one_message() {
    let children = scene("count", &["{ say = 'one' }", &held(), "{ say = 'three' }"]);
    let items = |words: [&str; 2]| words.map(|text| json!({"type": "text", "text": text}));
    let cues = [
        spawn("count"),
        wait(),
        (
            "send_input",
            json!({"id": "kid", "items": items(["first this", "then that"])}),
        ),
        until_held(),
        (
            "send_input",
            json!({"id": "kid", "items": items(["stop", "do this"]), "interrupt": true}),
        ),
        wait(),
    ];
    let stage = stage(&children, &cues).await;
    let actor = play(&stage).await;
    let kid = agent(&actor, "/root/kid").await;
    let requests = requests_of(&stage, kid.session);
    assert_eq!(last_parts(&requests[1]), ["first this", "then that"]);
    assert_eq!(last_parts(&requests[2]), ["stop", "do this"]);
    let told: Vec<String> = seen(&actor)
        .into_iter()
        .filter_map(|msg| match msg {
            EventMsg::CollabAgentInteractionBegin(event) => event.prompt,
            _ => None,
        })
        .collect();
    assert_eq!(told, ["first this\nthen that", "stop\ndo this"]);
    end(actor).await;
}

#[tokio::test]
async fn a_message_and_an_interrupt_in_one_answer_leave_the_interrupt_the_last_word() {
    let children = scene(
        "count",
        &["{ say = 'one' }", &held(), "{ say = 'changed course' }"],
    );
    let both = [
        call(&send("count on")),
        call(&(
            "send_input",
            json!({"id": "kid", "message": "no, stop there", "interrupt": true}),
        )),
    ];
    let root = [
        &*call(&spawn("count")),
        &call(&wait()),
        &both.join(", "),
        &call(&shell("touch gate")),
        &call(&wait()),
        "{ say = 'done' }",
    ];
    let stage = cast::stage(&children, &root, &[Family::Agents]).await;
    let actor = cast::open(&stage).await;
    actor.agents().wait_until_idle().await;
    let kid = agent(&actor, "/root/kid").await;
    let requests = requests_of(&stage, kid.session);
    let told = heard(requests.last().expect("it was asked"));
    assert_eq!(told[told.len() - 2..], ["count on", "no, stop there"]);
    let root = actor.session_id();
    end(actor).await;
    let (_, with_interrupt) = cast::begun(&stage, root, kid.agent).await;
    assert!(with_interrupt, "it is a task of its own");
    let ends = recorded(&stage, kid.session).await;
    let completed = ends
        .iter()
        .filter(|msg| matches!(msg, EventMsg::TurnComplete(_)));
    assert_eq!(completed.count(), 2, "the count, and the interrupt");
}

#[tokio::test]
async fn a_finished_child_starts_a_new_task_and_knows_what_it_did() {
    let children = scene("count", &["{ say = 'one' }", "{ say = 'two' }"]);
    let cues = [spawn("count"), wait(), send("go on"), wait()];
    let stage = stage(&children, &cues).await;
    let actor = play(&stage).await;
    assert_eq!(
        answer(&stage, &actor, 2).await["receipt"],
        json!({"status": "delivered"})
    );
    let kid = agent(&actor, "/root/kid").await;
    let second = &requests_of(&stage, kid.session)[1];
    let conversation = second["input"].to_string();
    for text in ["count", "one", "go on"] {
        assert!(conversation.contains(text), "{text}: {conversation}");
    }
    end(actor).await;
}

#[tokio::test]
async fn a_failed_child_takes_other_work() {
    let children = scene(
        "count",
        &["{ status = 400, message = 'no more' }", "{ say = 'two' }"],
    );
    let cues = [spawn("count"), wait(), send("try again"), wait()];
    let stage = stage(&children, &cues).await;
    let actor = play(&stage).await;
    let failed = answer(&stage, &actor, 1).await;
    assert!(
        failed["status"]["/root/kid"]["errored"].is_string(),
        "{failed}"
    );
    let waited = answer(&stage, &actor, 3).await;
    assert_eq!(waited["status"], json!({"/root/kid": {"completed": "two"}}));
    end(actor).await;
}

#[tokio::test]
async fn a_message_to_a_closed_agent_is_dead_until_it_is_resumed() {
    let children = scene("count", &["{ say = 'one' }", "{ say = 'two' }"]);
    let resume = ("resume_agent", json!({"id": "kid"}));
    let cues = [
        spawn("count"),
        wait(),
        ("close_agent", json!({"id": "kid"})),
        send("anybody there?"),
        resume.clone(),
        send("go on"),
        wait(),
        resume,
    ];
    let stage = stage(&children, &cues).await;
    let actor = play(&stage).await;
    let dead = answer(&stage, &actor, 3).await;
    assert_eq!(
        dead["receipt"],
        json!({"status": "dead", "why": "the agent is closed; resume it and send again"})
    );
    let resumed = answer(&stage, &actor, 4).await;
    assert_eq!(resumed["agent_id"], "/root/kid");
    assert_ne!(resumed["status"], "shutdown");
    let waited = answer(&stage, &actor, 6).await;
    assert_eq!(waited["status"], json!({"/root/kid": {"completed": "two"}}));
    let again = answer(&stage, &actor, 7).await;
    assert_eq!(again["status"], json!({"completed": "two"}));
    let kid = agent(&actor, "/root/kid").await;
    let second = &requests_of(&stage, kid.session)[1];
    let heard = heard(second);
    assert!(
        heard.contains(&"count") && heard.contains(&"go on"),
        "{heard:?}"
    );
    assert!(!heard.contains(&"anybody there?"), "{heard:?}");
    end(actor).await;
}

#[tokio::test]
async fn resuming_an_agent_at_work_does_nothing() {
    let children = scene("be busy", &[&until_there("gate"), "{ say = 'free' }"]);
    let cues = [
        spawn("be busy"),
        ("resume_agent", json!({"id": "kid"})),
        ("resume_agent", json!({"id": "nobody"})),
        shell("touch gate"),
        wait(),
    ];
    let stage = stage(&children, &cues).await;
    let actor = play(&stage).await;
    let resumed = answer(&stage, &actor, 1).await;
    assert!(
        resumed["status"] == "running" || resumed["status"] == "pending_init",
        "{resumed}"
    );
    let nobody = &answers(&stage, &actor).await[2];
    assert!(nobody.starts_with("no agent \"nobody\""), "{nobody}");
    let waited = answer(&stage, &actor, 4).await;
    assert_eq!(
        waited["status"],
        json!({"/root/kid": {"completed": "free"}})
    );
    end(actor).await;
}

#[tokio::test]
async fn what_cannot_be_sent_is_refused_in_words() {
    let to_root = call(&(
        "send_input",
        json!({"id": "root", "message": "stop", "interrupt": true}),
    ));
    let to_itself = call(&(
        "send_input",
        json!({"id": "/root/kid", "message": "hello me"}),
    ));
    let children = scene(
        "write letters",
        &[&to_root, &to_itself, "{ say = 'written' }"],
    );
    let cues = [
        spawn("write letters"),
        wait(),
        ("send_input", json!({"id": "kid"})),
        (
            "send_input",
            json!({"id": "kid", "message": "a", "items": [{"type": "text", "text": "b"}]}),
        ),
        ("send_input", json!({"id": "nobody", "message": "a"})),
    ];
    let stage = stage(&children, &cues).await;
    let actor = play(&stage).await;
    expect![[r#"
        give one of message and items
        give either message or items, not both
        no agent "nobody"; give an agent number, a path such as /root/name, a session id, "parent" or "root""#]].assert_eq(&answers(&stage, &actor).await[2..].join("\n"));
    let kid = agent(&actor, "/root/kid").await;
    expect![[r#"
        agent 0 is the root and cannot be interrupted by agents; send it a regular message
        an agent cannot send messages to itself; go on with the work instead"#]]
    .assert_eq(&answers_of(&stage, kid.session).join("\n"));
    end(actor).await;
}

#[tokio::test]
async fn messages_and_resumes_are_told_as_pairs_of_events() {
    let cues = [
        spawn("work"),
        wait(),
        send("more"),
        wait(),
        ("close_agent", json!({"id": "kid"})),
        ("resume_agent", json!({"id": "kid"})),
    ];
    let stage = stage("", &cues).await;
    let actor = play(&stage).await;
    let kid = agent(&actor, "/root/kid").await;
    let lines: Vec<String> = seen(&actor)
        .iter()
        .filter_map(|msg| {
            let (name, event) = match msg {
                EventMsg::CollabAgentInteractionBegin(event) => ("message begins", event),
                EventMsg::CollabAgentInteractionEnd(event) => ("message ended", event),
                EventMsg::CollabCloseBegin(event) => ("close begins", event),
                EventMsg::CollabCloseEnd(event) => ("close ended", event),
                EventMsg::CollabResumeBegin(event) => ("resume begins", event),
                EventMsg::CollabResumeEnd(event) => ("resume ended", event),
                _ => return None,
            };
            assert_eq!(event.sender_thread_id, actor.session_id());
            let receiver = event.receiver_thread_id;
            Some(format!(
                "{name}: {receiver} {:?}",
                event.prompt.as_deref().unwrap_or_default()
            ))
        })
        .collect();
    expect![[r#"
        message begins: /root/kid "more"
        message ended: /root/kid "more"
        close begins: /root/kid ""
        close ended: /root/kid ""
        resume begins: /root/kid ""
        resume ended: /root/kid """#]]
    .assert_eq(&named(&stage, &[kid], &lines.join("\n")));
    end(actor).await;
}

#[tokio::test]
async fn a_role_says_whom_its_children_may_write_to() {
    const QUIET: &str =
        "---\ndescription: is quiet\nmessages: subtree\n---\nYou say nothing to others.\n";
    const LOYAL: &str =
        "---\ndescription: is loyal\nmessages: parent\n---\nYou write to your parent.\n";
    let to = |id: &str| call(&("send_input", json!({"id": id, "message": "hello"})));
    let children = scene(
        "write",
        &[&to("parent"), &to("/root/other"), "{ say = 'wrote' }"],
    );
    let kid = |name: &str, role: &str| {
        let message = if name == "other" { "rest" } else { "write" };
        (
            "spawn_agent",
            json!({"message": message, "task_name": name, "agent_type": role}),
        )
    };
    let wait_for = |name: &str| ("wait", json!({"ids": [name]}));
    let cues = [
        kid("other", "default"),
        wait_for("other"),
        kid("quiet", "quiet"),
        wait_for("quiet"),
        kid("loyal", "loyal"),
        wait_for("loyal"),
    ];
    let stage = stage(&children, &cues).await;
    super::play::role(&stage, "quiet", QUIET);
    super::play::role(&stage, "loyal", LOYAL);
    let actor = play(&stage).await;
    let quiet = answers_of(&stage, agent(&actor, "/root/quiet").await.session);
    let refusal = "agent 2 may not send messages to its parent and siblings; what it has to say \
                   goes into its last message (the role quiet says `messages: subtree`)";
    assert_eq!(quiet, [refusal, refusal]);
    let loyal = answers_of(&stage, agent(&actor, "/root/loyal").await.session);
    assert!(
        loyal[0].contains("submission_id") || loyal[0].contains("queued"),
        "{}",
        loyal[0]
    );
    expect!["agent 3 may not send messages to its siblings; write to the parent (the role loyal says `messages: parent`)"]
        .assert_eq(&loyal[1]);
    end(actor).await;
}

#[tokio::test]
async fn one_that_its_parent_cancelled_reads_who_it_was_and_why() {
    let children = scene("be busy", &[&held(), "{ say = 'back' }"]);
    let cues = [
        spawn("be busy"),
        until_held(),
        (
            "cancel_agent",
            json!({"id": "kid", "reason": "it is obsolete"}),
        ),
        // One that is being stopped takes nothing new.
        wait(),
        send("go on"),
        wait(),
    ];
    let stage = stage(&children, &cues).await;
    let actor = play(&stage).await;
    actor.agents().wait_until_idle().await;
    let kid = agent(&actor, "/root/kid").await.session;
    let last = requests_of(&stage, kid).pop().expect("it went on");
    let heard = heard(&last).join("\n");
    assert!(
        heard
            .contains("The agent /root interrupted the previous turn on purpose (it is obsolete)."),
        "{heard}"
    );
    let told = answers_of(&stage, kid).join("\n");
    assert!(!(heard + &told).contains("the user"), "{told}");
    end(actor).await;
}
