//! Servers and the tree: one process for all agents, and rights that only shrink.

use serde_json::{Value, json};
use troupe_agents::Family;
use troupe_protocol::EventMsg;
use troupe_protocol::op::{ElicitationDecision, Op};
use troupe_testkit::{Actor, Stage};

use super::{Works, call, named, scene, works};

/// A root that has a child say what its own call came to. The child gets `keys` besides its task.
async fn family(child: &[&str], keys: Value) -> Works {
    let mut spawn = json!({"message": "be a child", "task_name": "kid"});
    super::merge(&mut spawn, keys);
    let root = [
        call("pid", &json!({})),
        named("spawn_agent", "spawn", &spawn),
        named("wait", "wait", &json!({"ids": ["kid"]})),
        "{ say = 'done' }".to_owned(),
        "{ say = 'noted' }".to_owned(),
    ];
    let root: Vec<&str> = root.iter().map(String::as_str).collect();
    let play = scene("be a child", child) + &scene("curtain up", &root);
    let works = works(&play, json!({"supports_parallel_tool_calls": true})).await;
    Works {
        stage: works.stage.with_agents(&[Family::Agents]),
        ..works
    }
}

fn write_role(stage: &Stage, name: &str, text: &str) {
    let directory = stage.cwd().join(".troupe/agents");
    std::fs::create_dir_all(&directory).expect("the stage is writable");
    std::fs::write(directory.join(format!("{name}.md")), text).expect("the stage is writable");
}

/// Returns the last request of the agent whose first message was this.
fn request_of(stage: &Stage, prompt: &str) -> Value {
    let requests = stage.requests().into_iter().rev();
    let mut bodies = requests
        .map(|request| serde_json::from_slice::<Value>(&request.body).expect("a request is JSON"));
    let heard = |body: &Value| {
        let items = body["input"].as_array().cloned().unwrap_or_default();
        let mut said = items.iter().filter(|item| item["role"] == "user");
        said.any(|item| item["content"][0]["text"] == prompt)
    };
    bodies.find(heard).expect("the agent asked its model")
}

fn answers(body: &Value) -> Vec<String> {
    let items = body["input"].as_array().cloned().unwrap_or_default();
    let outputs = items
        .iter()
        .filter(|item| item["type"] == "function_call_output");
    let text = |item: &Value| item["output"].as_str().unwrap_or_default().to_owned();
    outputs.map(text).collect()
}

fn offered(body: &Value) -> Vec<String> {
    let tools = body["tools"].as_array().cloned().unwrap_or_default();
    let name = |tool: &Value| tool["name"].as_str().unwrap_or_default().to_owned();
    let names = tools.iter().map(name);
    names.filter(|name| name.contains("mcp")).collect()
}

async fn end(actor: Actor) {
    actor.agents().wait_until_idle().await;
    actor.shut_down().await;
}

#[tokio::test]
async fn a_tree_shares_one_process() {
    let child = [call("pid", &json!({})), "{ say = 'ok' }".to_owned()];
    let works = family(&[&child[0], &child[1]], json!({})).await;
    let mut actor = works.stage.start().await;
    actor.turn("curtain up").await;
    let of_child = answers(&request_of(&works.stage, "be a child"));
    let of_root = answers(&request_of(&works.stage, "curtain up"));
    assert_eq!(of_child[0], of_root[0]);
    assert_eq!(works.starts(), 1);
    end(actor).await;
}

#[tokio::test]
async fn a_role_says_which_servers_a_child_may_use() {
    let child = [call("pid", &json!({})), "{ say = 'ok' }".to_owned()];
    let works = family(&[&child[0], &child[1]], json!({"agent_type": "miner"})).await;
    let role = "---\ndescription: no ore\nmcp_servers: [coal]\n---\nMine coal.\n";
    write_role(&works.stage, "miner", role);
    let mut actor = works.stage.start().await;
    actor.turn("curtain up").await;
    let body = request_of(&works.stage, "be a child");
    assert_eq!(offered(&body), [""; 0]);
    let answer = &answers(&body)[0];
    assert!(answer.starts_with("there is no tool"), "{answer}");
    end(actor).await;
}

#[tokio::test]
async fn the_tool_lists_of_a_role_hold_for_servers_too() {
    let child = [call("echo", &json!({})), "{ say = 'ok' }".to_owned()];
    let works = family(&[&child[0], &child[1]], json!({"agent_type": "looker"})).await;
    let role = "---\ndescription: looks\nallow_list: ['mcp__ore__look', 'mcp__ore__wipe']\n\
                deny_list: ['mcp__*__wipe']\n---\nLook.\n";
    write_role(&works.stage, "looker", role);
    let mut actor = works.stage.start().await;
    actor.turn("curtain up").await;
    let body = request_of(&works.stage, "be a child");
    assert_eq!(offered(&body), ["mcp__ore__look"]);
    let answer = &answers(&body)[0];
    assert!(answer.starts_with("this agent may not use"), "{answer}");
    end(actor).await;
}

#[tokio::test]
async fn a_servers_question_to_a_child_is_answered_at_the_root() {
    let child = [call("ask", &json!({})), "{ say = 'ok' }".to_owned()];
    let works = family(&[&child[0], &child[1]], json!({})).await;
    let mut actor = works.stage.start().await;
    actor.say("curtain up").await;
    let msgs = actor
        .until(|msg| matches!(msg, EventMsg::ElicitationRequest(_)))
        .await;
    let Some(EventMsg::ElicitationRequest(request)) = msgs.last() else {
        panic!("until returns what it waited for");
    };
    let agent = request.agent.as_ref().expect("it is not the root's own");
    assert_eq!(agent.path, "/root/kid");
    actor
        .submit(Op::ResolveElicitation {
            server_name: request.server_name.clone(),
            request_id: request.id.to_string(),
            decision: ElicitationDecision::Accept,
            content: Some(json!({"name": "the kid's"})),
        })
        .await;
    actor.until_task_ends().await;
    let answer = &answers(&request_of(&works.stage, "be a child"))[0];
    assert!(answer.contains("the kid's"), "{answer}");
    end(actor).await;
}
