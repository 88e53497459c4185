//! Short plays: a root that makes some calls, children that answer, and what everybody was
//! told.

use std::fmt::Write as _;

use serde_json::Value;
use troupe_agents::tree_access::{AgentScope, AgentView};
use troupe_agents::{Family, TreeOptions};
use troupe_protocol::rollout::RolloutRecord;
use troupe_protocol::{EventMsg, SessionId};
use troupe_store::LogReader;
use troupe_testkit::{Actor, Stage};

/// A call of a tool, with its arguments.
pub type Cue = (&'static str, Value);

/// What the user says to the root.
const OPENING: &str = "curtain up";

/// How long a model may be silent. Longer than any play: a silent child is one at work.
const SILENCE_MS: u64 = 120_000;

/// Arguments of a command that waits until the test opens the gate by writing the file `go`.
pub const GATE: &str = r#"command = "while [ ! -e go ]; do sleep 0.02; done""#;

/// A scene for conversations in which the user's text has these words, with its steps per turn.
/// One without words is for all others, so it comes last.
pub fn scene(when: &str, turns: &[&str]) -> String {
    let mut text = format!("[[scene]]\nwhen = '{when}'\n");
    for steps in turns {
        writeln!(text, "[[scene.turn]]\nsteps = [{steps}]").expect("a string takes all");
    }
    text
}

/// A scene whose turns were put together.
pub fn scene_of(when: &str, turns: &[String]) -> String {
    let turns: Vec<&str> = turns.iter().map(String::as_str).collect();
    scene(when, &turns)
}

/// A step that calls a tool with arguments in TOML.
pub fn invoke(tool: &str, arguments: &str) -> String {
    format!(r#"{{ call = "{tool}", arguments = {{ {arguments} }} }}"#)
}

pub fn say(text: &str) -> String {
    format!(r#"{{ say = "{text}" }}"#)
}

/// As many answers as anybody may want, each with its number.
pub fn numbered(count: usize, word: &str) -> Vec<String> {
    (0..count).map(|n| say(&format!("{word} {n}"))).collect()
}

/// What the model said last in a task that is complete.
pub fn said(events: &[EventMsg]) -> Option<&str> {
    match events.last() {
        Some(EventMsg::TurnComplete(complete)) => complete.last_agent_message.as_deref(),
        _ => None,
    }
}

/// A step that calls a tool.
pub fn call((tool, arguments): &Cue) -> String {
    format!("{{ call = '{tool}', arguments = '''{arguments}''' }}")
}

/// A step that runs a command until a file is there.
pub fn until_there(file: &str) -> String {
    let command = format!("until [ -e {file} ]; do sleep 0.02; done");
    call(&("shell_command", serde_json::json!({"command": command})))
}

/// A play in which the root makes these calls, one per turn. A child without a scene of its
/// own says `ok`.
pub fn script(children: &str, cues: &[Cue]) -> String {
    let root: Vec<String> = cues.iter().map(call).collect();
    let mut root: Vec<&str> = root.iter().map(String::as_str).collect();
    root.push("{ say = 'done' }");
    // Callbacks may start tasks of the root's when the calls are made.
    root.extend(["{ say = 'noted' }"; 8]);
    let root = scene(OPENING, &root);
    let extra = scene("", &["{ say = 'ok' }"; 4]);
    format!("{children}\n{root}\n{extra}")
}

pub async fn stage(children: &str, cues: &[Cue]) -> Stage {
    let stage = empty_stage(children, cues).await;
    stage.with_agents(&[Family::Agents])
}

/// A stage whose tree is made as `adjust` says.
pub async fn stage_with(
    children: &str,
    cues: &[Cue],
    adjust: impl FnOnce(&mut TreeOptions),
) -> Stage {
    let stage = empty_stage(children, cues).await;
    let mut options = stage.tree_options(&[Family::Agents]);
    adjust(&mut options);
    stage.with_tree(options)
}

pub async fn empty_stage(children: &str, cues: &[Cue]) -> Stage {
    let stage = Stage::new(&script(children, cues)).await;
    stage.idle_timeout_ms(SILENCE_MS)
}

/// Plays the root's calls to their end.
pub async fn play(stage: &Stage) -> Actor {
    let mut actor = stage.start().await;
    actor.turn(OPENING).await;
    actor
}

/// Begins a play in which somebody else has to do something.
pub async fn begin(stage: &Stage) -> Actor {
    let mut actor = stage.start().await;
    actor.say(OPENING).await;
    actor
}

/// Returns the bodies of the requests of one conversation.
pub fn requests_of(stage: &Stage, session: SessionId) -> Vec<Value> {
    let session = session.to_string();
    let requests = stage.requests().into_iter().filter_map(|request| {
        let body: Value = serde_json::from_slice(&request.body).expect("a request is JSON");
        let name = match request.headers.get("x-troupe-conversation-id") {
            Some(name) => name.to_str().expect("an id is ASCII"),
            None => body["prompt_cache_key"].as_str().unwrap_or_default(),
        };
        (name == session).then_some(body)
    });
    requests.collect()
}

/// Returns the answers of tools that a model was sent, in order.
pub fn answers_of(stage: &Stage, session: SessionId) -> Vec<String> {
    let requests = requests_of(stage, session);
    let last = requests.last().expect("the agent asked its model");
    let items = last["input"].as_array().expect("a request has an input");
    items
        .iter()
        .filter(|item| item["type"] == "function_call_output")
        .map(|item| match &item["output"] {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        })
        .collect()
}

/// Returns the answers that the root's model was sent, with agents' ids as their paths.
pub async fn answers(stage: &Stage, actor: &Actor) -> Vec<String> {
    let agents = agents(actor).await;
    let texts = answers_of(stage, actor.session_id());
    texts
        .iter()
        .map(|text| named(stage, &agents, text))
        .collect()
}

/// Returns one answer of the root's, read as JSON.
pub async fn answer(stage: &Stage, actor: &Actor, index: usize) -> Value {
    let answers = answers(stage, actor).await;
    let text = &answers[index];
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Returns everybody that was ever spawned, by number.
pub async fn agents(actor: &Actor) -> Vec<AgentView> {
    let desk = actor.agents().user();
    desk.list(AgentScope::All, true)
        .await
        .expect("the tree is there")
}

pub async fn agent(actor: &Actor, path: &str) -> AgentView {
    let desk = actor.agents().user();
    desk.view(path).await.expect("the agent is there")
}

/// Returns a text with agents' ids as their paths, and directories as names.
pub fn named(stage: &Stage, agents: &[AgentView], text: &str) -> String {
    let mut text = text.to_owned();
    for agent in agents {
        text = text.replace(&agent.session.to_string(), &agent.path);
    }
    let cwd = stage.cwd();
    let real = cwd.canonicalize().expect("the stage has a directory");
    for cwd in [&real, &cwd] {
        text = text.replace(&*cwd.to_string_lossy(), "CWD");
    }
    text
}

/// Returns what a parent read about its children, with `*` before what is final. How many
/// seconds something took differs, and is told as none.
pub fn backgrounds<'a>(events: impl IntoIterator<Item = &'a EventMsg>) -> Vec<String> {
    let lines = events.into_iter().filter_map(|msg| match msg {
        EventMsg::BackgroundEvent(event) if event.is_final => Some(format!("*{}", event.message)),
        EventMsg::BackgroundEvent(event) => Some(event.message.clone()),
        _ => None,
    });
    lines.map(timeless).map(|line| nameless(&line)).collect()
}

/// Leaves out the name of the call, which differs from run to run.
fn nameless(line: &str) -> String {
    match (line.find("[call_"), line.find("] ")) {
        (Some(start), Some(end)) if start < end => {
            format!("{}[call{}", &line[..start], &line[end..])
        }
        _ => line.to_owned(),
    }
}

fn timeless(mut line: String) -> String {
    for seconds in 1..60 {
        line = line.replace(&format!("({seconds}s)"), "(0s)");
        line = line.replace(&format!(" in {seconds}s"), " in 0s");
    }
    line
}

/// Returns all that the root said so far.
pub fn seen(actor: &Actor) -> Vec<EventMsg> {
    let events = actor.seen().iter();
    events.map(|event| event.msg.clone()).collect()
}

/// Returns the lines of one session's log.
pub async fn records(stage: &Stage, session: SessionId) -> Vec<RolloutRecord> {
    let store = stage.store();
    let mut log = LogReader::new(session);
    let mut records = Vec::new();
    while let Some(lines) = log.next(&*store).await.expect("it has a log") {
        for line in &lines {
            records.push(line.record().expect("our lines are readable").record);
        }
    }
    records
}

/// Returns the events that one session recorded.
pub async fn recorded(stage: &Stage, session: SessionId) -> Vec<EventMsg> {
    let records = records(stage, session).await;
    let events = records.into_iter().filter_map(|record| match record {
        RolloutRecord::EventMsg(event) => Some(event.msg),
        _ => None,
    });
    events.collect()
}

/// Puts a role into the project.
pub fn role(stage: &Stage, name: &str, text: &str) {
    let place = stage.cwd().join(".troupe/agents");
    std::fs::create_dir_all(&place).expect("the stage is writable");
    std::fs::write(place.join(format!("{name}.md")), text).expect("the stage is writable");
}

/// Ends a play, and makes sure that everything ends.
pub async fn end(actor: Actor) {
    actor.agents().wait_until_idle().await;
    actor.shut_down().await;
}
