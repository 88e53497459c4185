//! What a task came to.

use expect_test::expect;
use serde_json::json;
use troupe_engine::SessionOrder;
use troupe_protocol::EventMsg;
use troupe_protocol::result::{StopReason, StructuredOutput};

use super::{HELLO, Tree, lines, message, message_id, start, tree};

#[tokio::test]
async fn a_task_that_cannot_begin_has_a_result() {
    let tree = tree(HELLO).await;
    let mut actor = tree.stage.start().await;
    std::fs::remove_dir_all(tree.stage.cwd()).unwrap();
    tree.host.give(start(1, "go"));
    let msgs = actor.until(|msg| matches!(msg, EventMsg::Error(_))).await;
    assert!(
        lines(&msgs).contains("is not a directory"),
        "{}",
        lines(&msgs)
    );
    let result = &tree.host.results()[0];
    assert!(
        matches!(&result.stop, StopReason::FailedToStart { message } if message.contains("cwd")),
        "{:?}",
        result.stop
    );
    assert_eq!(tree.host.fates(), ["end written"]);
}

#[tokio::test]
async fn a_task_whose_answer_could_not_be_checked_does_not_begin() {
    let tree = tree(HELLO).await;
    let mut actor = tree.stage.start().await;
    tree.host.give(SessionOrder::Start {
        task: "t".into(),
        message: message_id(1),
        mail: message("how many?"),
        ahead: Vec::new(),
        output_schema: Some(json!({ "items": { "unevaluatedItems": false } })),
    });
    actor.until(|msg| matches!(msg, EventMsg::Error(_))).await;
    let result = &tree.host.results()[0];
    expect![[r#"FailedToStart { message: "the output schema is not one that answers can be checked by: at /items: the keyword \"unevaluatedItems\" is not supported; leave it out or say it otherwise" }"#]]
        .assert_eq(&format!("{:?}", result.stop));
    assert_eq!(tree.stage.requests().len(), 0, "the model was not asked");
    assert_eq!(tree.host.fates(), ["end written"]);
}

const COUNT: &str = r#"
[[scene]]
[[scene.turn]]
steps = [{ say = "about three" }]
[[scene.turn]]
expect = "is not JSON"
steps = [{ say = "ANSWER" }]
"#;

async fn structured(answer: &str) -> (Tree, Vec<EventMsg>) {
    let tree = tree(&COUNT.replace("ANSWER", answer)).await;
    let mut actor = tree.stage.start().await;
    tree.host.give(SessionOrder::Start {
        task: "t".into(),
        message: message_id(1),
        mail: message("how many?"),
        ahead: Vec::new(),
        output_schema: Some(json!({
            "type": "object",
            "required": ["count"],
            "properties": { "count": { "type": "integer" } },
        })),
    });
    let msgs = actor.until_task_ends().await;
    (tree, msgs)
}

#[tokio::test]
async fn an_answer_of_the_wrong_shape_may_be_given_again() {
    let (tree, msgs) = structured(r#"{\"count\": 3}"#).await;
    assert!(
        lines(&msgs).contains("warning the answer does not fit its output schema"),
        "{}",
        lines(&msgs)
    );
    let result = &tree.host.results()[0];
    assert_eq!(result.stop, StopReason::Completed);
    let value = json!({ "count": 3 });
    assert_eq!(result.output, Some(StructuredOutput::Valid { value }));
}

#[tokio::test]
async fn but_once_only() {
    let (tree, msgs) = structured("three, really").await;
    assert!(
        lines(&msgs).ends_with("turn_aborted Error"),
        "{}",
        lines(&msgs)
    );
    assert_eq!(tree.stage.requests().len(), 2);
    let result = &tree.host.results()[0];
    assert!(
        matches!(&result.stop, StopReason::OutputInvalid { message } if message.contains("JSON")),
        "{:?}",
        result.stop
    );
    assert!(matches!(
        result.output,
        Some(StructuredOutput::Invalid { .. })
    ));
}

#[tokio::test]
async fn the_result_tells_what_the_engine_saw() {
    let tree = tree(
        r#"
        [[scene]]
        [[scene.turn]]
        usage = { input = 100, output = 20 }
        steps = [
            { say = "let me see" },
            { call = "shell_command", arguments = { command = "exit 3" } },
            { custom = "apply_patch", input = """
*** Begin Patch
*** Update File: old
@@
-a
+b
*** Add File: new
+n
*** End Patch""" },
        ]
        [[scene.turn]]
        usage = { input = 200, output = 30 }
        steps = [{ say = "done" }]
        "#,
    )
    .await;
    tree.stage.write("old", "a\n");
    let mut actor = tree.stage.start().await;
    tree.host.give(start(1, "go"));
    actor.until_task_ends().await;
    let results = tree.host.results();
    let evidence = &results[0].evidence;
    assert_eq!(evidence.usage.total_tokens, 350);
    assert_eq!(evidence.messages, 2);
    assert_eq!(evidence.tool_use_count(), 2);
    assert_eq!(evidence.tool_calls["apply_patch"], 1);
    assert_eq!(evidence.commands.len(), 1);
    assert_eq!(evidence.commands[0].command, "exit 3");
    assert_eq!(evidence.commands[0].exit_code, Some(3));
    let files: Vec<String> = evidence
        .files
        .iter()
        .map(|file| {
            let name = file.path.file_name().unwrap().display();
            let short = |hash: &Option<String>| hash.as_ref().map(|hash| hash[..8].to_owned());
            format!("{name} {:?} {:?}", short(&file.before), short(&file.after))
        })
        .collect();
    expect![[r#"
        old Some("87428fc5") Some("02638299")
        new None Some("a4fb6214")"#]]
    .assert_eq(&files.join("\n"));
    assert!(evidence.started_at_ms > 0 && evidence.ended_at_ms >= evidence.started_at_ms);
}
