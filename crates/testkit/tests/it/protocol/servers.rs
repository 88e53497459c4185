//! Servers of the Model Context Protocol.

use std::sync::Arc;

use serde_json::json;
use troupe_protocol::EventMsg;
use troupe_testkit::Stage;

use super::{GO, kept, play, told};
use crate::it::mcp::{Configured, call, offered, scene, with_list, works};

#[tokio::test]
async fn a_server_starts_works_and_asks() {
    let turns = [
        &call("work", &json!({})),
        &call("ask", &json!({})),
        "{ say = 'done' }",
    ];
    let works = works(&scene("", &turns), json!({})).await;
    let mut actor = works.stage.start().await;
    let tags = [
        "mcp_startup_update",
        "mcp_startup_complete",
        "mcp_tool_call_begin",
        "mcp_tool_call_progress",
        "mcp_tool_call_end",
        "elicitation_request",
    ];
    let msgs = told(&mut actor, GO, &tags).await;
    let Some(EventMsg::ElicitationRequest(request)) = msgs.last() else {
        panic!("the last that was waited for comes last");
    };
    let op = json!({
        "type": "resolve_elicitation",
        "server_name": "ore",
        "request_id": request.id,
        "decision": "accept",
        "content": {"name": "mine"},
    });
    let tags = ["elicitation_resolved", "mcp_tool_call_end", "task_complete"];
    told(&mut actor, &op.to_string(), &tags).await;
    kept(&works.stage, actor).await;
}

#[tokio::test]
async fn what_servers_offer_is_listed() {
    let works = works(&play(&[]), json!({})).await;
    let mut actor = works.stage.start().await;
    let op = r#"{"type":"list_mcp_tools"}"#;
    let msgs = told(&mut actor, op, &["mcp_list_tools_response"]).await;
    let Some(EventMsg::McpListToolsResponse(offer)) = msgs.last() else {
        panic!("the last that was waited for comes last");
    };
    assert!(offer.tools.contains_key("mcp__ore__echo"), "{offer:?}");
    kept(&works.stage, actor).await;
}

#[tokio::test]
async fn servers_are_read_again() {
    let stage = Stage::new(&play(&["{ say = 'a' }", "{ say = 'b' }"])).await;
    let configured = Arc::new(Configured::default());
    configured.set(json!({}));
    let stage = with_list(stage, Arc::clone(&configured));
    let mut actor = stage.start().await;
    told(&mut actor, GO, &["task_complete"]).await;
    configured.set(json!({"ore": {"command": env!("CARGO_BIN_EXE_mcp-server")}}));
    actor.submit_json(r#"{"type":"refresh_mcp_servers"}"#).await;
    let tags = [
        "mcp_startup_update",
        "mcp_startup_complete",
        "task_complete",
    ];
    told(&mut actor, GO, &tags).await;
    assert_eq!(offered(&stage, 0), [""; 0]);
    let names = offered(&stage, 1);
    assert!(names.contains(&"mcp__ore__echo".to_owned()), "{names:?}");
    kept(&stage, actor).await;
}
