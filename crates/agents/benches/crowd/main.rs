//! What an agent costs that has nothing to do: bytes on the heap, counted one by one. (The
//! peak of a process, which `troupe-bench` shows, tells of its busiest moment.)
//!
//! To aim at, with 20 turns of history each: at most 64 KB for one whose session is in memory,
//! its history not counted, and 2 KB for one whose session is not; from the wish for a child
//! to its first request at most 1 ms of the engine's time.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a bench prints its figures, and a panic is its report"
)]

mod cpu;
mod heap;
mod stage;

use std::sync::Arc;
use std::time::{Duration, Instant};

use troupe_agents::tree_access::AgentScope;
use troupe_model::HistoryItem;
use troupe_protocol::rollout::RolloutRecord;

use cpu::process_time;
use heap::live_bytes;
use stage::Stage;

const AGENTS: usize = 1_000;
const TURNS: usize = 20;
/// Agents that come before the first count: what is made once is made with them.
const FIRST_AGENTS: usize = 10;
/// How often a child is made to see how long that takes.
const BIRTHS: usize = 300;
/// How long nothing may go away until nothing more will.
const SETTLE_INTERVAL: Duration = Duration::from_millis(300);

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        // First: a file system that has just deleted the logs of a crowd makes new ones slowly.
        births().await;
        println!("{AGENTS} agents with {TURNS} turns each");
        let resident = crowd(AGENTS + FIRST_AGENTS + 1).await;
        let history = resident.history;
        show("of its history", history);
        show(
            "beyond it, if its session is in memory",
            resident.beyond.saturating_sub(history),
        );
        show("if it is not", crowd(1).await.beyond);
    });
}

fn show(what: &str, bytes: usize) {
    println!("{what:<40} {bytes:>8} bytes per agent");
}

/// What one agent of a crowd holds.
struct Held {
    /// Of all that came with it.
    beyond: usize,
    /// Of its history alone, made again from its log.
    history: usize,
}

async fn crowd(max_resident: usize) -> Held {
    let stage = Stage::open(TURNS, max_resident, AGENTS + FIRST_AGENTS).await;
    stage.fill(FIRST_AGENTS).await;
    let before = settled().await;
    stage.fill(AGENTS).await;
    let beyond = (settled().await - before) / AGENTS;
    let history = histories(&stage).await / (AGENTS + FIRST_AGENTS);
    stage.close().await;
    Held { beyond, history }
}

/// Waits until nothing goes away any more: sessions that may not stay take a moment to leave.
async fn settled() -> usize {
    let mut least = live_bytes();
    loop {
        tokio::time::sleep(SETTLE_INTERVAL).await;
        match live_bytes() {
            fewer if fewer < least => least = fewer,
            _ => return least,
        }
    }
}

/// Returns the bytes of what every agent said and heard, as sessions hold it.
async fn histories(stage: &Stage) -> usize {
    let agents = stage
        .agents
        .user()
        .list(AgentScope::All, true)
        .await
        .unwrap();
    let mut bytes = 0;
    for agent in agents {
        let live = stage.store.read_live(agent.session).await.unwrap();
        let before = live_bytes();
        let mut items: Vec<Arc<HistoryItem>> = Vec::new();
        for (_, line) in &live.records {
            if let RolloutRecord::ResponseItem(item) = &line.record {
                items.push(Arc::new(HistoryItem::new(item.clone())));
            }
        }
        bytes += live_bytes() - before;
    }
    bytes
}

/// Measures from the wish for a child to its first request, one child after the other.
async fn births() {
    let mut stage = Stage::open(1, 64, BIRTHS + FIRST_AGENTS).await;
    stage.fill(FIRST_AGENTS).await;
    while stage.first_requests.try_recv().is_ok() {}
    let (mut cpu, mut wall) = (Vec::new(), Vec::new());
    for _ in 0..BIRTHS {
        let (began, used) = (Instant::now(), process_time());
        stage.make_child().await;
        let asked = stage.first_requests.recv().await.unwrap();
        cpu.push(asked.cpu.saturating_sub(used));
        wall.push(asked.at - began);
        stage.agents.wait_until_idle().await;
    }
    cpu.sort_unstable();
    wall.sort_unstable();
    println!(
        "spawn to first request: CPU {:?}, wall {:?}",
        cpu[BIRTHS / 2],
        wall[BIRTHS / 2]
    );
    stage.close().await;
}
