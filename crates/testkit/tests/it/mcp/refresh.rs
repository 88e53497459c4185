//! A configuration that is read again while sessions run.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe;
use troupe_agents::Family;
use troupe_protocol::op::Op;
use troupe_testkit::Stage;

use super::{Configured, offered, scene, warnings, with_list};

fn server() -> Value {
    json!({"command": env!("CARGO_BIN_EXE_mcp-server")})
}

/// A server that holds a pipe open as long as it lives.
fn holding(pipe: &Path) -> Value {
    let script = format!(
        "exec {} 9>'{}'",
        env!("CARGO_BIN_EXE_mcp-server"),
        pipe.display()
    );
    json!({"command": "sh", "args": ["-c", script]})
}

fn of_server(stage: &Stage, request: usize, server: &str) -> bool {
    let names = offered(stage, request);
    let prefix = format!("mcp__{server}__");
    names.iter().any(|name| name.starts_with(&prefix))
}

async fn stage(turns: &[&str], servers: Value) -> (Stage, Arc<Configured>) {
    let stage = Stage::new(&scene("", turns)).await;
    let configured = Arc::new(Configured::default());
    configured.set(servers);
    let stage = with_list(stage, Arc::clone(&configured));
    (stage, configured)
}

#[tokio::test]
async fn a_server_that_is_gone_from_it_ends_and_a_new_one_is_offered() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("life");
    let made = std::process::Command::new("mkfifo").arg(&path).status();
    assert!(made.unwrap().success());
    let mut life = pipe::OpenOptions::new().open_receiver(&path).unwrap();
    let turns = ["{ say = 'a' }", "{ say = 'b' }"];
    let (stage, configured) = stage(&turns, json!({"coal": holding(&path)})).await;
    let mut actor = stage.start().await;
    actor.turn("one").await;
    assert!(of_server(&stage, 0, "coal"));
    configured.set(json!({"ore": server()}));
    actor.submit(Op::RefreshMcpServers).await;
    actor.turn("two").await;
    assert!(of_server(&stage, 1, "ore"));
    assert!(!of_server(&stage, 1, "coal"));
    // The pipe ends with the last who holds it.
    life.read_to_end(&mut Vec::new()).await.unwrap();
}

#[tokio::test]
async fn one_that_cannot_be_read_changes_nothing_and_is_told() {
    let turns = ["{ say = 'a' }", "{ say = 'b' }"];
    let (stage, configured) = stage(&turns, json!({"ore": server()})).await;
    let mut actor = stage.start().await;
    actor.turn("one").await;
    configured.set(json!({"ore": {"command": 7}}));
    actor.submit(Op::RefreshMcpServers).await;
    let msgs = actor.turn("two").await;
    let warnings = warnings(&msgs);
    assert!(warnings[0].contains("stay as they were"), "{warnings:?}");
    assert!(of_server(&stage, 1, "ore"));
}

#[tokio::test]
async fn children_have_what_the_root_asked_for_anew() {
    let child = scene("errand", &["{ say = 'one' }", "{ say = 'two' }"]);
    let root = scene(
        "",
        &[
            "{ call = 'spawn_agent', arguments = { message = 'errand' } }",
            "{ call = 'wait', arguments = { ids = ['1'] } }",
            "{ say = 'done' }",
            "{ call = 'send_input', arguments = { id = '1', message = 'errand' } }",
            "{ call = 'wait', arguments = { ids = ['1'] } }",
            "{ say = 'done' }",
        ],
    );
    let stage = Stage::new(&(child + &root)).await;
    let configured = Arc::new(Configured::default());
    configured.set(json!({"ore": server()}));
    let stage = with_list(stage, Arc::clone(&configured)).with_agents(&[Family::Agents]);
    let mut actor = stage.start().await;
    actor.turn("go").await;
    configured.set(json!({"coal": server()}));
    actor.submit(Op::RefreshMcpServers).await;
    actor.turn("again").await;
    let of_child = |n: &usize| {
        let input = stage.input_of(*n);
        !input
            .iter()
            .any(|item| item.to_string().contains("spawn_agent"))
            && input.iter().any(|item| item.to_string().contains("errand"))
    };
    let requests: Vec<usize> = (0..stage.requests().len()).filter(of_child).collect();
    let [first, second] = requests[..] else {
        panic!("the child asks twice: {requests:?}");
    };
    assert!(of_server(&stage, first, "ore"));
    assert!(of_server(&stage, second, "coal"));
    assert!(!of_server(&stage, second, "ore"));
}
