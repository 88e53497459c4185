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

const ROUNDS: u32 = 300;

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime starts");
    println!("{ROUNDS} × `bash -c true`, per command:");
    measure("fork and exec", || {
        for _ in 0..ROUNDS {
            let mut command = std::process::Command::new("bash");
            command.args(["-c", "true"]).output().expect("bash runs");
        }
    });
    let policy = Confinement::Policy {
        policy: SandboxPolicy::workspace_write(),
        cwd: "/tmp".into(),
    };
    for (name, confinement, backend) in [
        ("unconfined", Confinement::Unconfined, BackendChoice::Auto),
        ("Landlock", policy.clone(), BackendChoice::Landlock),
        ("namespaces", policy, BackendChoice::Namespaces),
    ] {
        measure(name, || {
            runtime.block_on(run(&confinement, backend));
        });
    }
}

async fn run(confinement: &Confinement, backend: BackendChoice) {
    let launcher = Launcher::new(LauncherOptions {
        backend,
        ..LauncherOptions::default()
    });
    for _ in 0..ROUNDS {
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

fn measure(name: &str, work: impl FnOnce()) {
    let (started, before) = (Instant::now(), cpu_micros());
    work();
    let wall = started.elapsed().as_micros() / u128::from(ROUNDS);
    let cpu = (cpu_micros() - before) / i64::from(ROUNDS);
    println!("  {name:<14} {cpu:>6} µs CPU  {wall:>6} µs wall");
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
