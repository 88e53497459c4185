//! What a session and its tree write together.

use std::sync::Arc;

use async_trait::async_trait;
use expect_test::expect;
use serde_json::json;
use troupe_engine::{ActivityKind, SessionHost, SessionOrder};
use troupe_protocol::item::TurnItem;
use troupe_protocol::op::Op;
use troupe_protocol::policy::{ApprovalPolicy, SandboxPolicy};
use troupe_protocol::rollout::RolloutRecord;
use troupe_protocol::tool::ToolSpec;
use troupe_protocol::tree::{AgentMessage, MessageMetadata};
use troupe_protocol::{EventMsg, SessionId};
use troupe_testkit::Stage;
use troupe_tools::{DeliveryClaim, Tool, ToolConcurrency, ToolInvocation, ToolOutput};

use super::{HELLO, Tree, approve, asking, lines, message, message_id, start, tree, tree_on};

#[tokio::test]
async fn a_task_begins_in_one_append_with_its_message() {
    let tree = tree(HELLO).await;
    let mut actor = tree.stage.start().await;
    assert!(tree.host.give(start(1, "from the inbox")));
    actor.until_task_ends().await;
    tree.check_append(
        "agent started",
        expect![[r#"
            turn_context
            task_started
            message "<environment_context>"
            agent started
            message "from the inbox"
            item_started UserMessage
            item_completed UserMessage"#]],
    );
    tree.check_append(
        "agent ended",
        expect![[r#"
            agent ended
            task_complete Some("resp_1") Some("one")"#]],
    );
    assert_eq!(tree.host.fates(), ["start written", "end written"]);
    assert_eq!(
        tree.host.results()[0].task_id,
        message_id(1).task(),
        "the task has the id that the order gave it"
    );
}

#[tokio::test]
async fn older_messages_come_before_the_one_that_a_task_begins_with() {
    let tree = tree(HELLO).await;
    let mut actor = tree.stage.start().await;
    tree.host.give(SessionOrder::Start {
        task: message_id(3).task(),
        message: message_id(3),
        mail: message("no, neither"),
        ahead: vec![
            (message_id(1), message("this")),
            (message_id(2), message("or that")),
        ],
        output_schema: None,
    });
    actor.until_task_ends().await;
    tree.check_append(
        "agent started",
        expect![[r#"
        turn_context
        task_started
        message "<environment_context>"
        agent started
        message "this"
        item_started UserMessage
        item_completed UserMessage
        message "or that"
        item_started UserMessage
        item_completed UserMessage
        message "no, neither"
        item_started UserMessage
        item_completed UserMessage"#]],
    );
    let requests = tree.stage.requests();
    assert_eq!(requests.len(), 1);
}

#[tokio::test]
async fn mail_joins_the_running_task_at_its_next_request() {
    let (tree, mut actor) = asking().await;
    let metadata = MessageMetadata::callback(SessionId::random(), "t".into());
    let callback = AgentMessage {
        metadata: Some(metadata.clone()),
        ..message("by the way")
    };
    let mail = vec![(message_id(2), callback), (message_id(3), message("and"))];
    tree.host.give(SessionOrder::Mail(mail.clone()));
    // Heard of already, and the one that it began with.
    tree.host.give(SessionOrder::Mail(mail));
    tree.host
        .give(SessionOrder::Mail(vec![(message_id(1), message("go"))]));
    approve(&mut actor).await;
    let msgs = actor.until_task_ends().await;
    tree.check_append(
        "agent took",
        expect![[r#"
            agent took
            message "by the way"
            item_started UserMessage
            item_completed UserMessage
            message "and"
            item_started UserMessage
            item_completed UserMessage"#]],
    );
    let sent = serde_json::to_string(&tree.stage.input_of(1)).unwrap();
    assert_eq!(sent.matches("by the way").count(), 1, "{sent}");
    assert_eq!(
        tree.host.fates(),
        ["start written", "take written", "end written"]
    );
    let kept = msgs.iter().find_map(|msg| match msg {
        EventMsg::ItemCompleted {
            item: TurnItem::UserMessage(item),
            ..
        } => item.metadata.clone(),
        _ => None,
    });
    assert_eq!(kept, Some(metadata));
}

/// Hands over something that counts once its answer is written.
#[derive(Debug)]
struct Delivering(ToolSpec);

#[async_trait]
impl Tool for Delivering {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn concurrency(&self) -> ToolConcurrency {
        ToolConcurrency::Shared
    }

    async fn call(&self, call: ToolInvocation) -> ToolOutput {
        let context = &call.context;
        let text = format!("{} {}", context.model, context.message_index);
        ToolOutput::success(text).with_claim(DeliveryClaim(7))
    }
}

fn delivering() -> Arc<dyn Tool> {
    Arc::new(Delivering(ToolSpec::Function {
        name: "deliver".to_owned(),
        description: String::new(),
        parameters: json!({ "type": "object" }).into(),
    }))
}

/// A tree whose agents can also deliver.
async fn delivering_tree(screenplay: &str) -> Tree {
    let stage = Stage::new(screenplay).await;
    let stage = stage
        .approval(ApprovalPolicy::Untrusted)
        .sandbox(SandboxPolicy::workspace_write());
    let Tree { stage, host, store } = tree_on(stage);
    let member = Arc::clone(&host);
    let stage = stage.adjusting(move |setup| {
        setup.host = member.clone();
        setup.tools.add(delivering());
    });
    Tree { stage, host, store }
}

#[tokio::test]
async fn what_an_answer_delivers_is_written_with_it() {
    let tree = delivering_tree(
        r#"
        [[scene]]
        [[scene.turn]]
        response_id = "resp_1"
        steps = [{ call = "deliver", call_id = "a", arguments = {} }]
        [[scene.turn]]
        steps = [{ say = "{{last_output}}" }]
        "#,
    )
    .await;
    let mut actor = tree.stage.start().await;
    let msgs = actor.turn("go").await;
    tree.check_append(
        "agent consumed",
        expect![[r#"
            agent consumed
            answer of a
            response_completed resp_1"#]],
    );
    assert_eq!(
        tree.host.fates(),
        ["start written", "claim written", "end written"]
    );
    // The surroundings, the message, the call.
    assert!(
        lines(&msgs).ends_with("Some(\"scripted-1 3\")"),
        "{}",
        lines(&msgs)
    );
}

#[tokio::test]
async fn what_an_answer_delivers_counts_also_if_the_task_is_stopped() {
    let tree = delivering_tree(
        r#"
        [[scene]]
        [[scene.turn]]
        steps = [
            { call = "shell_command", call_id = "asks", arguments = { command = "touch made" } },
            { call = "deliver", call_id = "a", arguments = {} },
        ]
        "#,
    )
    .await;
    let mut actor = tree.stage.start().await;
    tree.host.give(start(1, "go"));
    actor
        .until(|msg| matches!(msg, EventMsg::ExecApprovalRequest(_)))
        .await;
    // The answer waits for that of the call before it.
    while tools(&tree) != ["shell_command"] {
        tokio::task::yield_now().await;
    }
    actor.submit(Op::Interrupt).await;
    actor.until_task_ends().await;
    tree.check_append(
        "agent consumed",
        expect![[r#"
            agent consumed
            answer of asks
            answer of a
            message "<turn_aborted>"
            agent ended
            error fatal=true interrupted
            turn_aborted Interrupted"#]],
    );
    assert_eq!(
        tree.host.fates(),
        ["start written", "claim written", "end written"]
    );
}

/// Returns the tools that run.
fn tools(tree: &Tree) -> Vec<String> {
    match SessionHost::activity_handle(&*tree.host).read().doing {
        ActivityKind::Tools(tools) => tools,
        ActivityKind::Idle | ActivityKind::Model | ActivityKind::Compacting => Vec::new(),
    }
}

#[tokio::test]
async fn lines_that_the_disk_refused_are_told_as_lost() {
    let tree = tree(HELLO).await;
    let mut actor = tree.stage.start().await;
    tree.store.refuse(|record| {
        matches!(record, RolloutRecord::EventMsg(event)
            if matches!(event.msg, EventMsg::TurnComplete(_)))
    });
    tree.host.give(start(1, "go"));
    let msgs = actor.until_task_ends().await;
    assert!(
        lines(&msgs).ends_with("turn_aborted Error"),
        "{}",
        lines(&msgs)
    );
    assert_eq!(tree.host.fates(), ["start written", "end lost"]);
}
