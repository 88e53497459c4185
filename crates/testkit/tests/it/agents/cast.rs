//! What the root hears of its children, and plays whose root also speaks between its calls.

use serde_json::{Value, json};
use troupe_agents::tree_access::{AgentView, CallbackChoice, SpawnContext, SpawnRequest};
use troupe_agents::{Family, TreeOptions};
use troupe_protocol::agent::{AgentStatus, SubagentLifecycle};
use troupe_protocol::input::UserInput;
use troupe_protocol::policy::{ApprovalPolicy, CollaborationMode, SandboxPolicy};
use troupe_protocol::tree::{AgentLine, AgentMessage, MailKind, MessageId, TreeFact};
use troupe_protocol::{AgentId, EventMsg, SessionId, SubmissionId};
use troupe_testkit::{Actor, Stage};
use troupe_tools::CallContext;

use super::logs;
use super::play::{self, Cue};

/// What the user says to the root of a plot.
pub const OPENING: &str = "lights on";

/// A play of the family `subagents` in which the root makes these calls, one per turn.
pub async fn subagents(children: &str, cues: &[Cue]) -> Stage {
    let stage = play::empty_stage(children, cues).await;
    stage.with_agents(&[Family::Subagents])
}

/// A play in which the root takes these turns, and as many more as it is called for. A child
/// without a scene of its own says `ok`.
pub fn plot(children: &str, root: &[&str]) -> String {
    let mut turns = root.to_vec();
    turns.extend(["{ say = 'noted' }"; 8]);
    let root = play::scene(OPENING, &turns);
    let extra = play::scene("", &["{ say = 'ok' }"; 4]);
    format!("{children}\n{root}\n{extra}")
}

pub async fn stage(children: &str, root: &[&str], families: &[Family]) -> Stage {
    let stage = Stage::new(&plot(children, root)).await;
    stage.idle_timeout_ms(120_000).with_agents(families)
}

/// Lets the root begin, and stays until its first task has ended.
pub async fn open(stage: &Stage) -> Actor {
    let mut actor = stage.start().await;
    actor.turn(OPENING).await;
    actor
}

/// A step that leaves its process id in a file and then sleeps for long.
pub fn sleeper(file: &str) -> String {
    let command = format!("echo $$ > {file}.part; mv {file}.part {file}; exec sleep 300");
    play::call(&("shell_command", json!({"command": command})))
}

/// Recognises the news that an agent has a certain status.
pub fn is_now(agent: u32, wanted: fn(&AgentStatus) -> bool) -> impl Fn(&EventMsg) -> bool {
    move |msg| match msg {
        EventMsg::SubagentLifecycle(SubagentLifecycle::Status {
            agent_id, status, ..
        }) => *agent_id == AgentId(agent) && wanted(status),
        _ => false,
    }
}

pub fn is_running(agent: u32) -> impl Fn(&EventMsg) -> bool {
    is_now(agent, |status| *status == AgentStatus::Running)
}

pub fn is_completed(agent: u32) -> impl Fn(&EventMsg) -> bool {
    is_now(agent, |status| matches!(status, AgentStatus::Completed(_)))
}

/// The lives of agents, one line for each change.
pub fn lives<'a>(events: impl IntoIterator<Item = &'a EventMsg>) -> Vec<String> {
    let lines = events.into_iter().filter_map(|msg| match msg {
        EventMsg::SubagentLifecycle(change) => Some(change_line(change)),
        _ => None,
    });
    lines.collect()
}

fn change_line(change: &SubagentLifecycle) -> String {
    match change {
        SubagentLifecycle::Created { subagent } => format!(
            "{} created below {:?}: {:?} {:?}",
            subagent.agent_id,
            subagent.parent_agent_id.map(|parent| parent.0),
            subagent.origin,
            subagent.path.as_deref().unwrap_or_default(),
        ),
        SubagentLifecycle::Status {
            agent_id, status, ..
        } => format!("{agent_id} is {status:?}"),
        SubagentLifecycle::ReasoningHeader {
            agent_id,
            reasoning_header,
            ..
        } => format!("{agent_id} thinks about {reasoning_header}"),
        SubagentLifecycle::Deleted { agent_id, .. } => format!("{agent_id} deleted"),
        SubagentLifecycle::Restored { subagent } => {
            format!("{} restored: {:?}", subagent.agent_id, subagent.status)
        }
    }
}

/// The depths of one inbox, as messages and interrupts, in the order in which they were told.
pub fn depths(actor: &Actor, agent: u32) -> Vec<(u32, u32)> {
    let events = actor.seen().iter();
    let told = events.filter_map(|event| match &event.msg {
        EventMsg::AgentInbox(inbox) if inbox.agent_id == AgentId(agent) => {
            Some((inbox.pending_messages, inbox.pending_interrupts))
        }
        _ => None,
    });
    told.collect()
}

/// Recognises the news that so much waits for an agent.
pub fn has_mail(agent: u32, messages: u32, interrupts: u32) -> impl Fn(&EventMsg) -> bool {
    move |msg| match msg {
        EventMsg::AgentInbox(inbox) => {
            inbox.agent_id == AgentId(agent)
                && inbox.pending_messages == messages
                && inbox.pending_interrupts == interrupts
        }
        _ => false,
    }
}

/// Returns one answer of the root's without what differs from run to run.
pub async fn told(stage: &Stage, actor: &Actor, index: usize) -> Value {
    let answers = play::answers(stage, actor).await;
    let text = answers[index].replace(&actor.session_id().to_string(), "/root");
    let mut value = serde_json::from_str(&text).expect("the answer is JSON");
    calm(&mut value);
    value
}

/// Leaves out what differs from run to run.
pub fn calm(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let is_time = name.ends_with("_ms") || name.ends_with("_sec");
                match value {
                    Value::Number(_) if is_time => *value = Value::from(0),
                    Value::String(_) if name == "message_id" => *value = Value::from("ID"),
                    value => calm(value),
                }
            }
        }
        Value::Array(values) => values.iter_mut().for_each(calm),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// What a user, another agent or the engine said to an agent, in the order of its last
/// request.
pub fn heard(stage: &Stage, session: SessionId) -> Vec<String> {
    let requests = play::requests_of(stage, session);
    heard_in(requests.last().expect("the agent asked its model"))
}

/// The same for one request.
pub fn heard_in(request: &Value) -> Vec<String> {
    let items = request["input"].as_array().expect("a request has an input");
    let texts = items.iter().filter(|item| item["role"] == "user");
    texts
        .map(text_of)
        .filter(|text| !is_context(text))
        .collect()
}

fn text_of(item: &Value) -> String {
    let parts = item["content"].as_array().into_iter().flatten();
    let texts = parts.filter_map(|part| part["text"].as_str());
    texts.collect()
}

/// The engine's own words at the beginning of a conversation.
fn is_context(text: &str) -> bool {
    text.starts_with('<')
}

/// All lines of a tree, in their order.
pub async fn lines(stage: &Stage, root: SessionId) -> Vec<AgentLine> {
    logs::read(&*stage.store(), root).await
}

/// A step that makes a child with a name of its own.
pub fn spawn_agent(message: &str, name: &str) -> String {
    play::call(&(
        "spawn_agent",
        json!({"message": message, "task_name": name}),
    ))
}

/// A play of the family `agents`, in a tree that is made as `adjust` says.
pub async fn stage_with(
    children: &str,
    root: &[&str],
    adjust: impl FnOnce(&mut TreeOptions),
) -> Stage {
    let stage = Stage::new(&plot(children, root)).await;
    let mut options = stage.tree_options(&[Family::Agents]);
    adjust(&mut options);
    stage.idle_timeout_ms(120_000).with_tree(options)
}

/// What the root was told by callbacks, with children's ids as their paths.
pub async fn called(stage: &Stage, actor: &Actor) -> Vec<String> {
    let views = play::agents(actor).await;
    let texts = heard(stage, actor.session_id());
    let texts = texts.iter().skip(1);
    texts.map(|text| without_ids(&views, text)).collect()
}

/// Returns a text with children's ids as their paths.
pub fn without_ids(views: &[AgentView], text: &str) -> String {
    let mut text = text.to_owned();
    for view in views {
        let id = view.session.to_string();
        text = text.replace(&id, &view.path).replace(&id[..8], &view.path);
        if let Some(task) = &view.last_task {
            text = text.replace(task.as_str(), "TASK");
        }
    }
    text
}

/// A wish of the user for a child, below the root.
pub fn wish(stage: &Stage, prompt: &str, callback: CallbackChoice) -> SpawnRequest {
    let context = CallContext {
        session_id: SessionId(uuid::Uuid::nil()),
        turn_id: SubmissionId("by-hand".to_owned()),
        cwd: stage.cwd(),
        approval_policy: ApprovalPolicy::Never,
        sandbox_policy: SandboxPolicy::DangerFullAccess,
        sandbox_held: None,
        collaboration_mode: CollaborationMode::default(),
        model: "scripted-1".to_owned(),
        effort: None,
        message_index: 0,
    };
    let items = vec![UserInput::text(prompt)];
    SpawnRequest {
        name: Some("kid".to_owned()),
        callback,
        ..SpawnRequest::new("spawn_agent", items, SpawnContext::from(&context))
    }
}

/// A message of plain text.
pub fn message(text: &str) -> AgentMessage {
    AgentMessage {
        items: vec![UserInput::text(text)],
        metadata: None,
        client_id: None,
    }
}

/// Returns how many tasks an agent began, and whether one began with an interrupt.
pub async fn begun(stage: &Stage, root: SessionId, agent: AgentId) -> (usize, bool) {
    let lines = lines(stage, root).await;
    let facts = || lines.iter().map(|line| &line.record.fact);
    let interrupt = facts().find_map(|fact| match fact {
        TreeFact::Sent { to, envelope } if *to == agent => match envelope.kind {
            MailKind::Interrupt { .. } => Some(envelope.id),
            MailKind::Regular { .. } | MailKind::Callback { .. } => None,
        },
        _ => None,
    });
    let starts: Vec<Option<MessageId>> = facts()
        .filter_map(|fact| match fact {
            TreeFact::Started {
                agent: starter,
                message,
                ..
            } if *starter == agent => Some(*message),
            _ => None,
        })
        .collect();
    (starts.len(), starts.contains(&interrupt))
}
