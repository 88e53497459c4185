//! No process outlives its owner, however the owner ends.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use troupe_process::{Confinement, Launcher, LauncherOptions, harden_engine, sweep};
use troupe_protocol::policy::SandboxPolicy;

use crate::support::{
    BACKENDS, bash, confined, finish, gone, is_alive, launcher, launcher_with, read_until, scratch,
    workspace_only,
};

/// Set in the copy of this program that plays an engine of its own, to the directory that it may
/// use: it is killed, so it can own none.
const ROLE: &str = "TROUPE_TEST_ENGINE_IN";

fn play_engine(test: &str, place: &Path) -> Child {
    Command::new("/proc/self/exe")
        .args([test, "--exact", "--nocapture", "--test-threads=1"])
        .env(ROLE, place)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

const COMMANDS: usize = 50;

/// Starts commands that have daemons of their own, and prints the process ids as this engine
/// sees them.
async fn run_commands_forever(place: PathBuf) {
    let script =
        "(setsid bash -c 'sleep 1000; true' </dev/null >/dev/null 2>&1 &); echo up; sleep 1000";
    let mut running = Vec::new();
    for number in 0..COMMANDS {
        let mut spec = confined(script, workspace_only(), &place);
        let launcher = match number % 3 {
            0 => launcher_with(BACKENDS[0]),
            1 => launcher_with(BACKENDS[1]),
            _ => {
                spec.confinement = Confinement::Unconfined;
                launcher()
            }
        };
        let mut process = launcher.spawn(spec).await.unwrap();
        read_until(&mut process, |it| it == "up\n").await;
        running.push(process);
    }
    println!("\nrunning");
    std::future::pending::<()>().await;
}

/// Every process below the given one, by a walk of `/proc`.
fn descendants(root: u32) -> Vec<i32> {
    let mut found = Vec::new();
    let mut open = vec![root.cast_signed()];
    while let Some(pid) = open.pop() {
        let children = std::fs::read_dir(format!("/proc/{pid}/task"))
            .unwrap()
            .flatten();
        for thread in children {
            let list = std::fs::read_to_string(thread.path().join("children")).unwrap_or_default();
            let pids = list
                .split_whitespace()
                .map(|pid| pid.parse::<i32>().unwrap());
            found.extend(pids.clone());
            open.extend(pids);
        }
    }
    found
}

#[tokio::test]
async fn nothing_is_left_of_an_engine_that_was_killed() {
    if let Some(place) = std::env::var_os(ROLE) {
        return run_commands_forever(place.into()).await;
    }
    let place = scratch();
    let foreign = launcher().spawn(bash("sleep 1000")).await.unwrap();
    let test = "ownership::nothing_is_left_of_an_engine_that_was_killed";
    let mut engine = play_engine(test, place.path());
    let output = BufReader::new(engine.stdout.take().unwrap());
    assert!(
        output
            .lines()
            .map_while(Result::ok)
            .any(|line| line == "running")
    );
    let processes = descendants(engine.id());
    // A command, its sleep, its daemon and the daemon's sleep, and a keeper for all of them.
    assert!(processes.len() >= 4 * COMMANDS, "only {}", processes.len());
    engine.kill().unwrap();
    engine.wait().unwrap();
    for pid in processes {
        gone(pid).await;
    }
    assert!(is_alive(foreign.pid().cast_signed()));
}

#[tokio::test]
async fn a_hardened_engine_still_starts_commands() {
    if std::env::var_os(ROLE).is_none() {
        let test = "ownership::a_hardened_engine_still_starts_commands";
        let mut engine = play_engine(test, Path::new("/"));
        assert!(engine.wait().unwrap().success());
        return;
    }
    harden_engine().unwrap();
    // What only release builds do.
    nix::sys::prctl::set_dumpable(false).unwrap();
    assert_eq!(
        nix::sys::resource::getrlimit(nix::sys::resource::Resource::RLIMIT_CORE)
            .unwrap()
            .0,
        0
    );
    for backend in BACKENDS {
        let place = scratch();
        let spec = confined(
            "echo x > f && cat f",
            SandboxPolicy::workspace_write(),
            place.path(),
        );
        let mut process = launcher_with(backend).spawn(spec).await.unwrap();
        assert_eq!(finish(&mut process).await.stdout, "x\n");
    }
}

/// Starts a daemon, prints its process id and that of its keeper, and waits to be killed.
async fn run_a_daemon_forever(home: PathBuf) {
    let launcher = Launcher::new(LauncherOptions {
        troupe_home: Some(home),
        ..LauncherOptions::default()
    });
    let script = "setsid sleep 1000 </dev/null >/dev/null 2>&1 & \
                  echo $PPID $(ps -o ppid= $PPID) $!; sleep 1000";
    let mut process = launcher.spawn(bash(script)).await.unwrap();
    let pids = read_until(&mut process, |it| it.ends_with('\n')).await;
    println!("\nprocesses {pids}");
    std::future::pending::<()>().await;
}

#[tokio::test]
async fn a_sweep_ends_what_even_the_keepers_could_not_and_only_that() {
    if let Some(home) = std::env::var_os(ROLE) {
        return run_a_daemon_forever(home.into()).await;
    }
    let home = scratch();
    let launcher = Launcher::new(LauncherOptions {
        troupe_home: Some(home.path().to_path_buf()),
        ..LauncherOptions::default()
    });
    let of_a_living_engine = launcher.spawn(bash("sleep 1000")).await.unwrap();
    let unmarked = crate::support::launcher()
        .spawn(bash("sleep 1000"))
        .await
        .unwrap();

    let test = "ownership::a_sweep_ends_what_even_the_keepers_could_not_and_only_that";
    let mut engine = play_engine(test, home.path());
    let output = BufReader::new(engine.stdout.take().unwrap());
    let mut lines = output.lines().map_while(Result::ok);
    let line = lines.find(|line| line.starts_with("processes ")).unwrap();
    let pids: Vec<i32> = line
        .split_whitespace()
        .skip(1)
        .map(|pid| pid.parse().unwrap())
        .collect();
    let [keeper, holder, daemon] = pids[..] else {
        panic!("{line}");
    };
    // Everybody who could clean up, stopped so that none sees the others die.
    let everybody = [keeper, holder, engine.id().cast_signed()].map(Pid::from_raw);
    for signal in [Signal::SIGSTOP, Signal::SIGKILL] {
        for pid in everybody {
            kill(pid, signal).unwrap();
        }
    }
    engine.wait().unwrap();
    assert!(is_alive(daemon));

    assert!(sweep(home.path()).unwrap() >= 1);
    gone(daemon).await;
    assert!(is_alive(of_a_living_engine.pid().cast_signed()));
    assert!(is_alive(unmarked.pid().cast_signed()));
    assert_eq!(sweep(home.path()).unwrap(), 0);
    assert_eq!(home.path().join("run").read_dir().unwrap().count(), 1);
    drop((of_a_living_engine, launcher));
    assert_eq!(home.path().join("run").read_dir().unwrap().count(), 0);
}
