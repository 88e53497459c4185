//! What a long session costs: opening it again, indexing it anew, adding to it.
//!
//! The log has 60 MB and was compacted 50 turns before its end. To aim at: a resume in at
//! most 30 ms, reindexing at 200 MB/s or more.

#![expect(clippy::unwrap_used, reason = "in a bench a panic is the report")]

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};
use troupe_protocol::event::EventMsg;
use troupe_protocol::policy::{ApprovalPolicy, CollaborationMode, ReasoningSummary, SandboxPolicy};
use troupe_protocol::rollout::{
    CarriedState, CompactionRecord, EventRecord, RolloutRecord, SessionMeta,
};
use troupe_protocol::session::{SessionSource, TurnContext};
use troupe_protocol::usage::{TokenUsage, TokenUsageInfo};
use troupe_protocol::{ResponseItem, SessionId};
use troupe_store::{EmbeddedStore, SessionStore, UnixMillis};

const LOG_BYTES: u64 = 60 * 1024 * 1024;
const LIVE_TURNS: usize = 50;

fn meta() -> SessionMeta {
    SessionMeta {
        id: SessionId::random(),
        timestamp: UnixMillis(1_794_804_480_000).to_string(),
        cwd: "/project".into(),
        originator: "bench".into(),
        cli_version: "0.0.0".into(),
        source: SessionSource::Exec,
        model_provider: "scripted".into(),
        forked_from_id: None,
        base_instructions: None,
        developer_instructions: None,
        personality: None,
        git: None,
        imported_from: None,
        dynamic_tools: Vec::new(),
    }
}

fn context() -> TurnContext {
    TurnContext {
        cwd: "/project".into(),
        approval_policy: ApprovalPolicy::Never,
        sandbox_policy: SandboxPolicy::read_only(),
        model: "model".to_owned(),
        effort: None,
        summary: ReasoningSummary::Auto,
        collaboration_mode: CollaborationMode::Default,
        mode_instructions: None,
        plan_writes: false,
        personality: None,
        developer_instructions: None,
    }
}

fn event(seq: u64, msg: EventMsg) -> RolloutRecord {
    let id = "019a8b1c".into();
    RolloutRecord::EventMsg(EventRecord { id, seq, msg })
}

/// Five model cycles, each with a tool call whose output has 8 kB.
fn turn(number: u64) -> Vec<RolloutRecord> {
    let output = "   42 | let total = items.iter().map(|item| item.price).sum();\n".repeat(130);
    let mut records = vec![
        RolloutRecord::TurnContext(context()),
        RolloutRecord::ResponseItem(ResponseItem::user_text("now look at the next file")),
    ];
    for cycle in 0..5 {
        let call_id = format!("call_{number}_{cycle}");
        records.extend([
            RolloutRecord::ResponseItem(ResponseItem::assistant_text(
                "I read it first. ".repeat(9),
            )),
            RolloutRecord::ResponseItem(ResponseItem::FunctionCall {
                id: None,
                name: "shell".to_owned(),
                arguments: r#"{"command":["sed","-n","1,130p","src/lib.rs"]}"#.to_owned(),
                call_id: call_id.as_str().into(),
            }),
            RolloutRecord::ResponseItem(ResponseItem::FunctionCallOutput {
                call_id: call_id.as_str().into(),
                output: output.as_str().into(),
            }),
            event(
                number,
                EventMsg::TokenCount {
                    info: Some(TokenUsageInfo::default()),
                    rate_limits: None,
                },
            ),
            event(
                number,
                EventMsg::ResponseCompleted {
                    turn_id: "019a8b1c".into(),
                    response_id: format!("resp_{number}_{cycle}").into(),
                    usage: TokenUsage::default(),
                },
            ),
        ]);
    }
    records
}

fn compacted() -> RolloutRecord {
    RolloutRecord::Compacted(Box::new(CompactionRecord {
        message: "all done so far".to_owned(),
        replacement_history: vec![ResponseItem::user_text("summary ".repeat(2000))],
        carried: CarriedState {
            turn_context: context(),
            total_token_usage: TokenUsage::default(),
            seq_reserved_until: 0,
            thread_name: None,
            thread_note: None,
            last_response_id: None,
            has_agents: false,
            output_schema: None,
        },
    }))
}

fn long_log(runtime: &Runtime, home: &Path) -> SessionId {
    let store = EmbeddedStore::open(home).unwrap();
    let meta = meta();
    let mut log = runtime.block_on(store.create(&meta)).unwrap();
    let mut number = 0;
    while log.position().0 < LOG_BYTES {
        log.append(&turn(number)).unwrap();
        number += 1;
    }
    log.append(&[compacted()]).unwrap();
    for number in 0..LIVE_TURNS {
        log.append(&turn(number as u64)).unwrap();
    }
    meta.id
}

fn resume(criterion: &mut Criterion) {
    let runtime = Builder::new_current_thread().build().unwrap();
    let home = TempDir::new().unwrap();
    let id = long_log(&runtime, home.path());
    let store = EmbeddedStore::open(home.path()).unwrap();

    criterion.bench_function("resume 60 MB", |bencher| {
        bencher.iter_with_large_drop(|| runtime.block_on(store.open(id)).unwrap().1);
    });

    let mut group = criterion.benchmark_group("reindex 60 MB");
    group
        .throughput(Throughput::Bytes(LOG_BYTES))
        .sample_size(20);
    group.bench_function("whole", |bencher| {
        bencher.iter(|| runtime.block_on(store.reindex(&mut |_| ())).unwrap());
    });
    group.finish();

    let mut group = criterion.benchmark_group("agent lines of 60 MB");
    group.throughput(Throughput::Bytes(LOG_BYTES));
    group.bench_function("none", |bencher| {
        bencher.iter(|| runtime.block_on(store.agent_lines(id)).unwrap());
    });
    group.finish();
}

fn append(criterion: &mut Criterion) {
    let runtime = Builder::new_current_thread().build().unwrap();
    let home = TempDir::new().unwrap();
    let store = EmbeddedStore::open(home.path()).unwrap();
    let mut log = runtime.block_on(store.create(&meta())).unwrap();
    let path = log.path().unwrap().to_owned();
    let record = [RolloutRecord::ResponseItem(ResponseItem::assistant_text(
        "word ".repeat(40),
    ))];

    criterion.bench_function("append one item", |bencher| {
        bencher.iter(|| log.append(&record).unwrap());
    });
    drop(log);

    // The floor: the same bytes, written by hand.
    let file = OpenOptions::new().append(true).open(path).unwrap();
    let line = vec![b'x'; 300];
    criterion.bench_function("append 300 bytes (write only)", |bencher| {
        bencher.iter(|| (&file).write_all(&line).unwrap());
    });
    // What a headless run pays: threads, two syncs and SQLite among it.
    criterion.bench_function("a whole short session", |bencher| {
        bencher.iter(|| {
            let store = EmbeddedStore::open(home.path()).unwrap();
            runtime.block_on(async {
                let mut log = store.create(&meta()).await.unwrap();
                log.append(&turn(1)).unwrap();
                log.commit().await.unwrap();
                log.append(&turn(2)).unwrap();
                log.close().await.unwrap();
            });
        });
    });
}

criterion_group!(benches, resume, append);
criterion_main!(benches);
