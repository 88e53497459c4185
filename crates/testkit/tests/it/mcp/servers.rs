//! The life of a server, and what its calls come to.

use expect_test::expect;
use serde_json::{Value, json};
use troupe_protocol::EventMsg;
use troupe_protocol::command::WorkStatus;
use troupe_protocol::event::{AbortReason, McpStartupStatus, TurnAborted};
use troupe_protocol::op::{ElicitationDecision, Op};
use troupe_testkit::{Actor, Stage};

use super::{
    Works, call, calls, named, offered, one_call, scene, status, told, warnings, with_servers,
    works,
};

#[tokio::test]
async fn the_first_request_knows_the_tools_and_a_call_is_answered() {
    let works = works(&one_call("echo"), json!({})).await;
    let mut actor = works.stage.start().await;
    assert_eq!(works.starts(), 0, "nothing is started before it is needed");
    let msgs = actor.turn("go").await;
    let names = offered(&works.stage, 0);
    assert!(names.contains(&"mcp__ore__echo".to_owned()), "{names:?}");
    assert!(names.contains(&"read_mcp_resource".to_owned()), "{names:?}");
    assert_eq!(told(&works.stage)["echo"], "gold");
    assert_eq!(status(&msgs), WorkStatus::Completed);
    let starting = |msg: &EventMsg| {
        matches!(
            msg,
            EventMsg::McpStartupUpdate {
                status: McpStartupStatus::Starting,
                ..
            }
        )
    };
    assert!(msgs.iter().any(starting));
    let ready = |msg: &EventMsg| matches!(msg, EventMsg::McpStartupComplete { ready, .. } if ready == &["ore"]);
    assert!(msgs.iter().any(ready));
    let older = |msg: &EventMsg| matches!(msg, EventMsg::McpToolCallEnd { .. });
    assert!(msgs.iter().any(older));
}

#[tokio::test]
async fn a_resumed_session_has_the_call_in_its_history() {
    let play = scene(
        "",
        &[
            &call("echo", &json!({"text": "gold"})),
            "{ say = 'a' }",
            "{ say = 'b' }",
        ],
    );
    let works = works(&play, json!({})).await;
    let mut actor = works.stage.start().await;
    actor.turn("go").await;
    let session = actor.session_id();
    actor.shut_down().await;
    let mut actor = works.stage.resume(session).await;
    actor.turn("again").await;
    assert_eq!(told(&works.stage)["echo"], "gold");
    assert_eq!(works.starts(), 1, "one configuration is one process");
}

#[tokio::test]
async fn a_broken_picture_of_a_server_never_reaches_the_provider() {
    let works = works(&one_call("picture"), json!({})).await;
    let msgs = works.stage.start().await.turn("go").await;
    expect![[r#"[{"type":"input_text","text":"see"},{"type":"input_text","text":"[image: left out, the picture of the data URL cannot be decoded: unexpected end of file]"}]"#]]
        .assert_eq(&told(&works.stage)["picture"]);
    assert_eq!(status(&msgs), WorkStatus::Completed);
}

#[tokio::test]
async fn what_a_tool_says_is_wrong_is_told_as_that() {
    let works = works(&one_call("fail"), json!({})).await;
    let msgs = works.stage.start().await.turn("go").await;
    assert_eq!(told(&works.stage)["fail"], "no ore");
    assert_eq!(status(&msgs), WorkStatus::Failed);
}

#[tokio::test]
async fn a_server_gets_no_secrets() {
    let works = works(&one_call("variables"), json!({})).await;
    works.stage.start().await.turn("go").await;
    let names = &told(&works.stage)["variables"];
    assert!(names.contains("PATH"), "{names}");
    assert!(!names.contains("A_SECRET"), "{names}");
}

#[tokio::test]
async fn a_crash_fails_the_call_and_the_next_one_finds_a_new_server() {
    let play = scene(
        "",
        &[
            &call("crash", &json!({})),
            &call("echo", &json!({"text": "gold"})),
            "{ say = 'done' }",
        ],
    );
    let works = works(&play, json!({})).await;
    works.stage.start().await.turn("go").await;
    let told = told(&works.stage);
    assert!(told["crash"].contains("exited with code 7"), "{told:?}");
    assert!(told["crash"].contains("out of ore"), "{told:?}");
    assert_eq!(told["echo"], "gold");
    assert_eq!(works.starts(), 2);
}

#[tokio::test]
async fn a_call_that_takes_too_long_is_withdrawn() {
    let works = works(&one_call("hang"), json!({"tool_timeout_sec": 0.3})).await;
    works.stage.start().await.turn("go").await;
    let told = &told(&works.stage)["hang"];
    assert!(told.contains("within 0.3 s"), "{told}");
    assert!(told.contains("tool_timeout_sec"), "{told}");
}

#[tokio::test]
async fn an_interrupt_withdraws_the_call() {
    let play = scene(
        "",
        &[
            &call("hang", &json!({})),
            &call("echo", &json!({})),
            "{ say = 'done' }",
        ],
    );
    let works = works(&play, json!({})).await;
    let mut actor = works.stage.start().await;
    actor.say("go").await;
    actor
        .until(|msg| matches!(msg, EventMsg::McpToolCallBegin { .. }))
        .await;
    actor.submit(Op::Interrupt).await;
    let msgs = actor.until_task_ends().await;
    assert!(aborted(&msgs), "{msgs:#?}");
    // What the server answers now it answers after it has read the withdrawal.
    actor.turn("go on").await;
    assert_eq!(Works::lines(&works.cancelled).len(), 1);
}

fn aborted(msgs: &[EventMsg]) -> bool {
    let interrupted = AbortReason::Interrupted;
    msgs.iter().any(|msg| {
        matches!(msg, EventMsg::TurnAborted(TurnAborted { reason, .. }) if *reason == interrupted)
    })
}

#[tokio::test]
async fn an_answer_that_cannot_be_read_is_an_error_and_no_wait() {
    let works = works(&one_call("garble"), json!({})).await;
    works.stage.start().await.turn("go").await;
    let told = &told(&works.stage)["garble"];
    assert!(told.contains("cannot be read"), "{told}");
}

#[tokio::test]
async fn a_long_answer_is_cut_and_one_without_end_ends_the_server() {
    let play = scene(
        "",
        &[
            &call("much", &json!({})),
            &call("flood", &json!({})),
            "{ say = 'done' }",
        ],
    );
    let works = works(&play, json!({})).await;
    works.stage.start().await.turn("go").await;
    let told = told(&works.stage);
    assert!(told["much"].contains("tokens truncated"));
    assert!(told["much"].len() < 41_000);
    assert!(
        told["flood"].contains("sent a message of more than"),
        "{}",
        told["flood"]
    );
}

#[tokio::test]
async fn progress_is_told_and_not_kept() {
    let works = works(&one_call("work"), json!({})).await;
    let mut actor = works.stage.start().await;
    let msgs = actor.turn("go").await;
    let step = |msg: &EventMsg| match msg {
        EventMsg::McpToolCallProgress {
            call_id, message, ..
        } if call_id.as_str() == "work" => message.clone(),
        _ => None,
    };
    let steps: Vec<String> = msgs.iter().filter_map(step).collect();
    assert!(!steps.is_empty(), "{msgs:#?}");
    assert_eq!(status(&msgs), WorkStatus::Completed);
}

/// Waits for a server's question and returns the id to answer with.
async fn asked(actor: &mut Actor) -> String {
    let msgs = actor
        .until(|msg| matches!(msg, EventMsg::ElicitationRequest(_)))
        .await;
    match msgs.last() {
        Some(EventMsg::ElicitationRequest(request)) => {
            assert_eq!(request.server_name, "ore");
            assert_eq!(request.request["message"], "Whose ore?");
            assert_eq!(request.request["mode"], "form");
            request.id.to_string()
        }
        other => panic!("until returns what it waited for: {other:?}"),
    }
}

fn answer(id: &str, decision: ElicitationDecision, content: Option<Value>) -> Op {
    Op::ResolveElicitation {
        server_name: "ore".to_owned(),
        request_id: id.to_owned(),
        decision,
        content,
    }
}

#[tokio::test]
async fn a_question_of_the_server_is_put_to_the_user() {
    let works = works(&one_call("ask"), json!({})).await;
    let mut actor = works.stage.start().await;
    actor.say("go").await;
    let id = asked(&mut actor).await;
    let accept = ElicitationDecision::Accept;
    actor.submit(answer(&id, accept, None)).await;
    actor.until(|msg| matches!(msg, EventMsg::Error(_))).await;
    let content = json!({"name": "mine"});
    actor.submit(answer(&id, accept, Some(content))).await;
    let msgs = actor.until_task_ends().await;
    let resolved = |msg: &EventMsg| matches!(msg, EventMsg::ElicitationResolved { decision, .. } if *decision == accept);
    assert!(msgs.iter().any(resolved), "{msgs:#?}");
    let told: Value = serde_json::from_str(&told(&works.stage)["ask"]).unwrap();
    assert_eq!(
        told,
        json!({"action": "accept", "content": {"name": "mine"}})
    );
}

#[tokio::test]
async fn where_nobody_is_a_server_is_declined() {
    let works = works(&one_call("ask"), json!({})).await;
    let mut actor = works.stage.start().await;
    actor.say("go").await;
    actor.finish().await;
    let told: Value = serde_json::from_str(&told(&works.stage)["ask"]).unwrap();
    assert_eq!(told, json!({"action": "decline"}));
}

#[tokio::test]
async fn an_interrupt_takes_the_question_back() {
    let works = works(&one_call("ask"), json!({})).await;
    let mut actor = works.stage.start().await;
    actor.say("go").await;
    asked(&mut actor).await;
    actor.submit(Op::Interrupt).await;
    let msgs = actor.until_task_ends().await;
    let cancel = ElicitationDecision::Cancel;
    let resolved = |msg: &EventMsg| matches!(msg, EventMsg::ElicitationResolved { decision, .. } if *decision == cancel);
    assert!(msgs.iter().any(resolved), "{msgs:#?}");
    assert!(aborted(&msgs));
}

#[tokio::test]
async fn a_tool_that_comes_later_is_offered_in_the_next_request() {
    let play = scene(
        "",
        &[
            &call("grow", &json!({})),
            &call("echo", &json!({"text": "a"})),
            "{ say = 'done' }",
            "{ say = 'again' }",
        ],
    );
    let works = works(&play, json!({})).await;
    let mut actor = works.stage.start().await;
    actor.turn("go").await;
    assert!(!offered(&works.stage, 0).contains(&"mcp__ore__grown".to_owned()));
    // A call waits for the list, which was asked for when the server said that it changed.
    actor.turn("again").await;
    let last = works.stage.requests().len() - 1;
    assert!(offered(&works.stage, last).contains(&"mcp__ore__grown".to_owned()));
}

#[tokio::test]
async fn resources_are_listed_and_read() {
    let play = scene(
        "",
        &[
            &named("list_mcp_resources", "list", &json!({})),
            &named(
                "list_mcp_resource_templates",
                "templates",
                &json!({"server": "ore"}),
            ),
            &named(
                "read_mcp_resource",
                "read",
                &json!({"server": "ore", "uri": "ore://list"}),
            ),
            &named(
                "read_mcp_resource",
                "wrong",
                &json!({"server": "coal", "uri": "x"}),
            ),
            "{ say = 'done' }",
        ],
    );
    let works = works(&play, json!({})).await;
    works.stage.start().await.turn("go").await;
    let told = told(&works.stage);
    assert!(told["list"].contains("ore://list"), "{told:?}");
    assert!(told["templates"].contains("ore://{kind}"), "{told:?}");
    assert_eq!(told["read"], "[resource ore://list]\niron, gold");
    assert!(told["wrong"].contains("there are: ore"), "{told:?}");
}

#[tokio::test]
async fn a_broken_server_is_a_warning() {
    let works = works(
        &scene("", &["{ say = 'done' }"]),
        json!({"args": ["--refuse"]}),
    )
    .await;
    let msgs = works.stage.start().await.turn("go").await;
    assert!(matches!(msgs.last(), Some(EventMsg::TurnComplete(_))));
    let warnings = warnings(&msgs);
    assert!(warnings[0].contains("no such database"), "{warnings:?}");
    let failed = |msg: &EventMsg| matches!(msg, EventMsg::McpStartupComplete { failed, .. } if failed.len() == 1);
    assert!(msgs.iter().any(failed));
    assert_eq!(offered(&works.stage, 0), [""; 0]);
}

#[tokio::test]
async fn a_silent_server_is_given_up_in_time() {
    let keys = json!({"args": ["--silent"], "startup_timeout_sec": 0.3});
    let works = works(&scene("", &["{ say = 'done' }"]), keys).await;
    let msgs = works.stage.start().await.turn("go").await;
    let warnings = warnings(&msgs);
    assert!(warnings[0].contains("startup_timeout_sec"), "{warnings:?}");
}

#[tokio::test]
async fn an_interrupt_is_heard_while_a_server_starts() {
    let works = works(
        &scene("", &["{ say = 'done' }"]),
        json!({"args": ["--silent"]}),
    )
    .await;
    let mut actor = works.stage.start().await;
    actor.say("go").await;
    actor
        .until(|msg| matches!(msg, EventMsg::McpStartupUpdate { .. }))
        .await;
    actor.submit(Op::Interrupt).await;
    let msgs = actor.until_task_ends().await;
    assert!(aborted(&msgs), "{msgs:#?}");
}

#[tokio::test]
async fn without_a_required_server_the_task_fails() {
    let keys = json!({"args": ["--refuse"], "required": true});
    let works = works(&scene("", &["{ say = 'done' }"]), keys).await;
    let msgs = works.stage.start().await.turn("go").await;
    let failed = |msg: &EventMsg| matches!(msg, EventMsg::Error(error) if error.message.contains("required"));
    assert!(msgs.iter().any(failed), "{msgs:#?}");
    assert!(matches!(msgs.last(), Some(EventMsg::TurnAborted(_))));
    assert_eq!(works.stage.requests().len(), 0);
}

#[tokio::test]
async fn clients_can_ask_what_there_is() {
    let works = works(
        &scene("", &["{ say = 'done' }"]),
        json!({"enabled_tools": ["echo"]}),
    )
    .await;
    let mut actor = works.stage.start().await;
    actor.submit(Op::ListMcpTools).await;
    let msgs = actor
        .until(|msg| matches!(msg, EventMsg::McpListToolsResponse(_)))
        .await;
    let Some(EventMsg::McpListToolsResponse(offer)) = msgs.last() else {
        panic!("until returns what it waited for");
    };
    let tools: Vec<&String> = offer.tools.keys().collect();
    assert_eq!(tools, ["mcp__ore__echo"]);
    assert_eq!(offer.resources["ore"][0]["uri"], "ore://list");
    assert_eq!(offer.resource_templates["ore"][0]["name"], "Ore");
}

#[tokio::test]
async fn who_asks_and_leaves_is_answered_first() {
    let works = works(&scene("", &["{ say = 'done' }"]), json!({})).await;
    let mut actor = works.stage.start().await;
    actor.submit(Op::ListMcpTools).await;
    let msgs = actor.finish().await;
    let answered = |msg: &EventMsg| matches!(msg, EventMsg::McpListToolsResponse(_));
    assert!(msgs.iter().any(answered), "{msgs:#?}");
}

#[tokio::test]
async fn a_refresh_tries_again_what_failed() {
    let stage = Stage::new(&scene(
        "",
        &["{ say = 'a' }", "{ say = 'b' }", "{ say = 'c' }"],
    ))
    .await;
    let server = env!("CARGO_BIN_EXE_mcp-server");
    // A server that is only there once a file is.
    let script = format!("test -e there && exec '{server}'");
    let config = json!({"ore": {"command": "sh", "args": ["-c", script]}});
    let stage = with_servers(stage, &config);
    let mut actor = stage.start().await;
    actor.turn("one").await;
    stage.write("there", "");
    actor.turn("two").await;
    assert_eq!(
        offered(&stage, 1),
        [""; 0],
        "it is not tried again by itself"
    );
    actor.submit(Op::RefreshMcpServers).await;
    let msgs = actor.turn("three").await;
    assert!(
        offered(&stage, 2).contains(&"mcp__ore__echo".to_owned()),
        "{msgs:#?}"
    );
    assert!(calls(&msgs).is_empty());
}

#[tokio::test]
async fn a_session_without_servers_says_so() {
    let stage = Stage::new(&scene("", &["{ say = 'a' }"])).await;
    let mut actor = stage.start().await;
    actor.submit(Op::ListMcpTools).await;
    let msgs = actor
        .until(|msg| matches!(msg, EventMsg::McpListToolsResponse(_)))
        .await;
    assert!(
        matches!(msgs.last(), Some(EventMsg::McpListToolsResponse(offer)) if offer.tools.is_empty())
    );
    actor.submit(Op::RefreshMcpServers).await;
    let msgs = actor
        .until(|msg| matches!(msg, EventMsg::Warning { .. }))
        .await;
    assert_eq!(warnings(&msgs), ["no MCP servers are configured"]);
}
