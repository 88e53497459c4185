//! A session as a member of a tree: what it tells its host, and what it writes together.

mod appends;
mod orders;
mod results;
mod telling;

use std::sync::Arc;

use expect_test::Expect;
use troupe_engine::SessionOrder;
use troupe_protocol::approval::ReviewDecision;
use troupe_protocol::input::UserInput;
use troupe_protocol::op::Op;
use troupe_protocol::policy::{ApprovalPolicy, SandboxPolicy};
use troupe_protocol::rollout::RolloutRecord;
use troupe_protocol::tree::{AgentMessage, MessageId, TreeFact};
use troupe_protocol::{EventMsg, ResponseItem};
use troupe_testkit::{Actor, Stage, line};

use super::fake_host::FakeHost;
use super::faulty::Faulty;

/// A stage whose sessions are members of a tree.
struct Tree {
    stage: Stage,
    host: Arc<FakeHost>,
    store: Faulty,
}

async fn tree(screenplay: &str) -> Tree {
    tree_on(Stage::new(screenplay).await)
}

fn tree_on(stage: Stage) -> Tree {
    let (host, store) = (FakeHost::new(), Faulty::default());
    let member = Arc::clone(&host);
    let stage = stage
        .keeping_in(Arc::new(store.clone()))
        .adjusting(move |setup| setup.host = member.clone());
    Tree { stage, host, store }
}

impl Tree {
    /// Checks which lines came in one append with the line of a fact.
    fn check_append(&self, kind: &str, expected: Expect) {
        let appends = self.store.appends();
        let mut found = appends
            .iter()
            .map(|append| append.iter().map(record).collect::<Vec<_>>())
            .filter(|append| append.iter().any(|line| line == kind));
        let append = found.next().expect("the fact was written");
        expected.assert_eq(&append.join("\n"));
        assert_eq!(found.next(), None, "the fact was written once");
    }
}

/// Returns a line of the log in few words.
fn record(record: &RolloutRecord) -> String {
    match record {
        RolloutRecord::Agent(line) => match &line.record.fact {
            TreeFact::Started { .. } => "agent started".to_owned(),
            TreeFact::Took { .. } => "agent took".to_owned(),
            TreeFact::Consumed { .. } => "agent consumed".to_owned(),
            TreeFact::Ended { .. } => "agent ended".to_owned(),
            other => format!("agent {other:?}"),
        },
        RolloutRecord::EventMsg(event) => line(&event.msg),
        RolloutRecord::ResponseItem(item) => match item {
            ResponseItem::Message { content, .. } => {
                let text = content.iter().find_map(|part| part.text());
                let first = text.unwrap_or_default().lines().next().unwrap_or_default();
                format!("message {first:?}")
            }
            ResponseItem::FunctionCallOutput { call_id, .. } => format!("answer of {call_id}"),
            _ => "item".to_owned(),
        },
        other => other.kind().to_owned(),
    }
}

fn message(text: &str) -> AgentMessage {
    AgentMessage {
        items: vec![UserInput::text(text)],
        metadata: None,
        client_id: None,
    }
}

fn message_id(number: u128) -> MessageId {
    MessageId(uuid::Uuid::from_u128(number))
}

fn start(number: u128, text: &str) -> SessionOrder {
    SessionOrder::Start {
        task: message_id(number).task(),
        message: message_id(number),
        mail: message(text),
        ahead: Vec::new(),
        output_schema: None,
    }
}

fn lines(msgs: &[EventMsg]) -> String {
    let lines: Vec<String> = msgs.iter().map(line).collect();
    lines.join("\n")
}

const HELLO: &str = r#"
[[scene]]
[[scene.turn]]
response_id = "resp_1"
steps = [{ say = "one" }]
[[scene.turn]]
steps = [{ say = "two" }]
"#;

const ASKING: &str = r#"
[[scene]]
[[scene.turn]]
steps = [{ call = "shell_command", call_id = "a", arguments = { command = "touch made" } }]
[[scene.turn]]
steps = [{ say = "done" }, { pause_ms = 200 }]
[[scene.turn]]
steps = [{ say = "more" }]
"#;

/// A tree whose agent waits for a person's word.
async fn asking() -> (Tree, Actor) {
    let stage = Stage::new(ASKING).await;
    let stage = stage
        .approval(ApprovalPolicy::Untrusted)
        .sandbox(SandboxPolicy::workspace_write());
    let tree = tree_on(stage);
    let mut actor = tree.stage.start().await;
    tree.host.give(start(1, "go"));
    actor
        .until(|msg| matches!(msg, EventMsg::ExecApprovalRequest(_)))
        .await;
    (tree, actor)
}

async fn approve(actor: &mut Actor) {
    let (id, decision) = ("a".to_owned(), ReviewDecision::Approved);
    actor.submit(Op::ExecApproval { id, decision }).await;
}
