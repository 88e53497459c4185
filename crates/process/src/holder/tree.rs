//! The processes below the calling one, found in `/proc` and signalled.

use std::collections::BTreeSet;
use std::path::PathBuf;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

const FIRST_OF_NAMESPACE: Pid = Pid::from_raw(1);

/// Signals every descendant of the calling process.
pub(super) fn signal_all(signal: Signal) {
    const EVERYBODY: Pid = Pid::from_raw(-1);
    if Pid::this() == FIRST_OF_NAMESPACE {
        // The kernel reaches all others of the namespace at once; it fails if there are none.
        let _ = kill(EVERYBODY, signal);
        return;
    }
    signal_below(&children_of(Pid::this()), signal);
}

/// Signals every descendant but those below, and including, the given children.
pub(super) fn signal_children_except(kept: &BTreeSet<Pid>, signal: Signal) {
    let mut children = children_of(Pid::this());
    children.retain(|pid| !kept.contains(pid));
    signal_below(&children, signal);
}

fn signal_below(roots: &[Pid], signal: Signal) {
    let mut open = roots.to_vec();
    while let Some(pid) = open.pop() {
        open.extend(children_of(pid));
        // The only failure left is that it has ended by itself.
        let _ = kill(pid, signal);
    }
}

/// The children of all threads of a process. None if it has ended.
fn children_of(pid: Pid) -> Vec<Pid> {
    let mut children = Vec::new();
    let Ok(threads) = PathBuf::from(format!("/proc/{pid}/task")).read_dir() else {
        return children;
    };
    for thread in threads.flatten() {
        let Ok(list) = std::fs::read_to_string(thread.path().join("children")) else {
            continue;
        };
        children.extend(
            list.split_whitespace()
                .flat_map(str::parse)
                .map(Pid::from_raw),
        );
    }
    children
}
