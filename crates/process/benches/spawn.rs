//! What one command costs, beside a bare fork and exec of the same command.
//!
//! CPU is that of the whole tree: this program, holder, keepers and commands.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use troupe_process::{
    BackendChoice, CommandSpec, Confinement, Launcher, LauncherOptions, StdinMode,
};
use troupe_protocol::policy::SandboxPolicy;

/// Commands per batch; the first of a batch pays for its holder.
const COMMANDS: u32 = 50;

/// Batches of each kind, taken in turn. The best one counts: other work on the machine can only
/// make a batch dearer.
const BATCHES: u32 = 8;

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime starts");
    let policy = Confinement::Policy {
        policy: SandboxPolicy::workspace_write(),
        cwd: "/tmp".into(),
    };
    let kinds = [
        ("unconfined", Confinement::Unconfined, BackendChoice::Auto),
        ("Landlock", policy.clone(), BackendChoice::Landlock),
        ("namespaces", policy, BackendChoice::Namespaces),
    ];
    let mut bare = Figures::default();
    let mut ours = [Figures::default(); 3];
    for _ in 0..BATCHES {
        bare.take(fork_and_exec);
        for ((_, confinement, backend), figures) in kinds.iter().zip(&mut ours) {
            figures.take(|| runtime.block_on(run(confinement, *backend)));
        }
    }
    println!("`bash -c true`, per command, best of {BATCHES} batches of {COMMANDS}:");
    println!("  {:<14} {bare}", "fork and exec");
    for ((name, ..), figures) in kinds.iter().zip(ours) {
        println!("  {name:<14} {figures}");
    }
}

fn fork_and_exec() {
    for _ in 0..COMMANDS {
        let mut command = std::process::Command::new("bash");
        command.args(["-c", "true"]).output().expect("bash runs");
    }
}

async fn run(confinement: &Confinement, backend: BackendChoice) {
    let launcher = Launcher::new(LauncherOptions {
        backend,
        ..LauncherOptions::default()
    });
    for _ in 0..COMMANDS {
        let spec = CommandSpec {
            argv: ["bash", "-c", "true"].map(String::from).to_vec(),
            cwd: "/tmp".into(),
            env: BTreeMap::from([("PATH".into(), "/usr/bin:/bin".into())]),
            confinement: confinement.clone(),
            terminal: None,
            stdin: StdinMode::Null,
        };
        let mut process = launcher.spawn(spec).await.expect("the command starts");
        while process.next().await.is_some() {}
    }
    drop(launcher);
    // The holder's time counts once the runtime has reaped it.
    while has_children() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

fn has_children() -> bool {
    let threads = Path::new("/proc/self/task")
        .read_dir()
        .expect("/proc is there");
    threads.flatten().any(|thread| {
        std::fs::read_to_string(thread.path().join("children")).is_ok_and(|list| !list.is_empty())
    })
}

#[derive(Clone, Copy)]
struct Figures {
    cpu_us: i64,
    wall_us: u128,
}

impl Default for Figures {
    fn default() -> Self {
        Self {
            cpu_us: i64::MAX,
            wall_us: u128::MAX,
        }
    }
}

impl Figures {
    fn take(&mut self, batch: impl FnOnce()) {
        let (started, before) = (Instant::now(), cpu_micros());
        batch();
        let wall = started.elapsed().as_micros() / u128::from(COMMANDS);
        let cpu = (cpu_micros() - before) / i64::from(COMMANDS);
        self.wall_us = self.wall_us.min(wall);
        self.cpu_us = self.cpu_us.min(cpu);
    }
}

impl std::fmt::Display for Figures {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:>6} µs CPU  {:>6} µs wall", self.cpu_us, self.wall_us)
    }
}

fn cpu_micros() -> i64 {
    [UsageWho::RUSAGE_SELF, UsageWho::RUSAGE_CHILDREN]
        .into_iter()
        .map(|who| {
            let usage = getrusage(who).expect("usage of oneself is always known");
            usage.user_time().num_microseconds() + usage.system_time().num_microseconds()
        })
        .sum()
}
