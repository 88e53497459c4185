use std::sync::Arc;

use async_trait::async_trait;
use expect_test::expect;
use serde_json::json;
use tokio_util::sync::CancellationToken;
use troupe_protocol::command::WorkStatus;
use troupe_protocol::item::{ImageViewItem, ToolCallItem, TurnItem};
use troupe_protocol::tool::ToolSpec;
use troupe_tools::{
    BUILT_IN_TOOLS, CallChannel, Registry, Tool, ToolConcurrency, ToolEvent, ToolInput,
    ToolInvocation, ToolOutput,
};

use crate::support::{Bench, Recorder};

#[tokio::test]
async fn a_tool_that_is_not_there_is_answered_with_those_that_are() {
    let bench = Bench::new();
    let text = bench.text("shell_comand", json!({"command": "ls"})).await;
    expect![[r#"there is no tool "shell_comand"; the nearest is shell_command; the tools are: apply_patch, exec_command, find_files, grep_files, list_dir, read_file, request_user_input, shell_command, update_plan, view_image, write_stdin"#]].assert_eq(&text);
    let TurnItem::ToolCall(item) = bench.channel.completed() else {
        panic!("the call is shown");
    };
    assert_eq!(
        (&*item.tool, item.status),
        ("shell_comand", WorkStatus::Failed)
    );
}

#[test]
fn the_list_of_built_in_tools_is_what_is_offered() {
    let bench = Bench::new();
    let mut offered: Vec<&str> = bench.registry.specs().map(ToolSpec::name).collect();
    let mut known = BUILT_IN_TOOLS.to_vec();
    offered.sort_unstable();
    known.sort_unstable();
    assert_eq!(offered, known);
}

#[test]
fn every_tool_is_offered_with_a_schema_of_its_own() {
    let bench = Bench::new();
    for spec in bench.registry.specs() {
        assert!(bench.registry.find(spec.name()).is_some());
        match spec {
            ToolSpec::Function {
                name,
                description,
                parameters,
            } => {
                assert!(description.len() > 40, "{name} is described");
                assert_eq!(parameters["type"], "object", "{name}");
                assert_eq!(parameters["additionalProperties"], false, "{name}");
                let text = parameters.to_string();
                for noise in ["$schema", "\"title\"", "$ref", "null", "\"format\""] {
                    assert!(!text.contains(noise), "{name}: {noise} in {text}");
                }
            }
            ToolSpec::Freeform { name, grammar, .. } => {
                assert_eq!(name, "apply_patch");
                assert!(grammar.contains("*** Begin Patch"));
            }
        }
    }
}

#[test]
fn edits_and_plans_run_alone() {
    let bench = Bench::new();
    let alone: Vec<String> = bench
        .registry
        .specs()
        .map(|spec| spec.name().to_owned())
        .filter(|name| bench.registry.concurrency(name) == ToolConcurrency::Exclusive)
        .collect();
    assert_eq!(alone, ["apply_patch", "update_plan"]);
}

/// Starts something and falls over.
#[derive(Debug)]
struct Clumsy {
    spec: ToolSpec,
    item: TurnItem,
}

#[async_trait]
impl Tool for Clumsy {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn concurrency(&self) -> ToolConcurrency {
        ToolConcurrency::Shared
    }

    async fn call(&self, call: ToolInvocation) -> ToolOutput {
        call.channel
            .report(ToolEvent::Started(self.item.clone()))
            .await;
        panic!("stumbled over {}", call.id);
    }
}

async fn stumble(item: TurnItem) -> (ToolOutput, TurnItem) {
    let spec = ToolSpec::Function {
        name: "clumsy".to_owned(),
        description: String::new(),
        parameters: json!({}).into(),
    };
    let registry = Registry::new([Arc::new(Clumsy { spec, item }) as Arc<dyn Tool>]);
    let bench = Bench::new();
    let channel = Arc::new(Recorder::default());
    let call = ToolInvocation {
        id: "call".into(),
        input: ToolInput::Json("{}".to_owned()),
        context: Arc::new(bench.context.clone()),
        channel: Arc::clone(&channel) as Arc<dyn CallChannel>,
        cancel: CancellationToken::new(),
        aborted: Arc::default(),
    };
    (registry.call("clumsy", call).await, channel.completed())
}

#[tokio::test]
async fn a_panic_is_an_answer_and_leaves_no_item_open() {
    let (output, item) = stumble(TurnItem::ToolCall(ToolCallItem {
        id: "call".into(),
        tool: "clumsy".to_owned(),
        arguments: json!({}),
        status: WorkStatus::InProgress,
        output: None,
    }))
    .await;
    expect!["the tool clumsy failed inside the engine (stumbled over call); this is a defect of the engine, not of the call: go on another way"]
        .assert_eq(output.text().unwrap());
    assert!(!output.success);
    let TurnItem::ToolCall(item) = item else {
        panic!("the same item is completed");
    };
    assert_eq!(item.status, WorkStatus::Failed);

    let view = TurnItem::ImageView(ImageViewItem {
        id: "call".into(),
        path: "a.png".into(),
    });
    assert_eq!(stumble(view.clone()).await.1, view);
}
