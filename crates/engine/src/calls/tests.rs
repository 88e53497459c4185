use async_trait::async_trait;
use std::collections::HashSet;
use troupe_protocol::tool::ToolSpec;
use troupe_tools::{Tool, ToolInvocation};

use super::*;

#[derive(Debug)]
struct Fake(ToolSpec, ToolConcurrency);

#[async_trait]
impl Tool for Fake {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn concurrency(&self) -> ToolConcurrency {
        self.1
    }

    async fn call(&self, _: ToolInvocation) -> ToolOutput {
        ToolOutput::success("unused")
    }
}

fn registry() -> Registry {
    let tool = |name: &str, concurrency| {
        let spec = ToolSpec::Function {
            name: name.to_owned(),
            description: String::new(),
            parameters: serde_json::json!({}).into(),
        };
        Arc::new(Fake(spec, concurrency)) as Arc<dyn Tool>
    };
    Registry::new([
        tool("shared", ToolConcurrency::Shared),
        tool("alone", ToolConcurrency::Exclusive),
    ])
}

fn calls(names: &[&str]) -> CycleCalls {
    let items: Vec<ResponseItem> = names
        .iter()
        .enumerate()
        .map(|(index, name)| ResponseItem::FunctionCall {
            id: None,
            name: (*name).to_owned(),
            arguments: "{}".to_owned(),
            call_id: format!("c{index}").into(),
        })
        .collect();
    CycleCalls::new("r".into(), TokenUsage::default(), &items)
}

fn startable(calls: &mut CycleCalls, registry: &Registry) -> Vec<usize> {
    std::iter::from_fn(|| calls.next_startable(registry))
        .map(|call| call.index)
        .collect()
}

fn answer(calls: &mut CycleCalls, index: usize) -> Vec<String> {
    calls.answered(index, ToolOutput::success(format!("out {index}")));
    calls
        .take_recordable()
        .answers
        .iter()
        .filter_map(|item| item.answered_call().map(ToString::to_string))
        .collect()
}

#[test]
fn shared_calls_run_together_and_an_exclusive_one_alone() {
    let registry = registry();
    let mut calls = calls(&["shared", "shared", "alone", "shared"]);
    assert_eq!(startable(&mut calls, &registry), [0, 1]);
    answer(&mut calls, 0);
    assert_eq!(startable(&mut calls, &registry), [0; 0]);
    answer(&mut calls, 1);
    assert_eq!(startable(&mut calls, &registry), [2]);
    answer(&mut calls, 2);
    assert_eq!(startable(&mut calls, &registry), [3]);
}

#[test]
fn answers_are_recorded_in_the_order_of_the_calls() {
    let registry = registry();
    let mut calls = calls(&["shared", "shared", "shared"]);
    startable(&mut calls, &registry);
    assert_eq!(answer(&mut calls, 2), [""; 0]);
    assert_eq!(answer(&mut calls, 0), ["c0"]);
    assert!(!calls.is_done());
    assert_eq!(answer(&mut calls, 1), ["c1", "c2"]);
    assert!(calls.is_done());
}

#[test]
fn a_stop_answers_what_ran_and_what_waited() {
    let registry = registry();
    let mut calls = calls(&["alone", "shared"]);
    startable(&mut calls, &registry);
    calls.stop(AbortReason::Interrupted);
    calls.answer_rest();
    let answers = calls.take_recordable().answers;
    assert_eq!(answers.len(), 2);
    assert!(calls.is_done() && !calls.is_running());
    assert!(calls.cancel.is_cancelled());
}

#[test]
fn a_call_id_that_is_taken_gets_a_number() {
    let taken = ["a".into(), "a_2".into()].into();
    assert_eq!(
        crate::history::distinct_call_id(&"a".into(), &taken),
        "a_3".into()
    );
    assert_eq!(
        crate::history::distinct_call_id(&"b".into(), &taken),
        "b".into()
    );
    assert_eq!(
        crate::history::distinct_call_id(&"".into(), &HashSet::default()),
        "_2".into()
    );
}
