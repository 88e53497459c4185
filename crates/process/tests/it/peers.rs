//! Whom a listener of ours hears: not the commands in a sandbox.

use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;

use troupe_process::{BackendChoice, PeerError, check_peer};
use troupe_protocol::policy::SandboxPolicy;

use crate::support::{BACKENDS, confined, launcher_with, scratch, within, workspace_only};

/// Connects when the socket has come, and stays until it is told anything, or nothing more.
const CONNECT: &str = "touch started; while [ ! -S late.sock ]; do :; done; python3 -c \"
import socket
s = socket.socket(socket.AF_UNIX)
s.connect('late.sock')
s.recv(1)
\"";

/// Leaves the connection to a child and ends.
const HAND_OVER: &str = "touch started; while [ ! -S late.sock ]; do :; done; python3 -c \"
import os, socket
s = socket.socket(socket.AF_UNIX)
s.connect('late.sock')
if os.fork() == 0:
    s.recv(1)
\"";

/// Runs a command that connects to a socket which is bound after it started, and asks about it.
async fn heard(
    backend: BackendChoice,
    policy: SandboxPolicy,
    script: &str,
) -> Result<(), PeerError> {
    let place = scratch();
    let work = place.path().canonicalize().unwrap();
    let launcher = launcher_with(backend);
    let spec = confined(script, policy, &work);
    let mut process = launcher.spawn(spec).await.unwrap();
    within(until_exists(&work.join("started"))).await;
    let listener = UnixListener::bind(work.join("late.sock")).unwrap();
    let accept = tokio::task::spawn_blocking(move || listener.accept());
    let (stream, _): (UnixStream, _) = within(accept).await.unwrap().unwrap();
    let user = nix::unistd::geteuid().as_raw();
    let heard = check_peer(&stream, user);
    drop(stream);
    process.kill().await;
    heard
}

async fn until_exists(path: &Path) {
    while !path.exists() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_confined_command_is_not_heard_at_a_socket_that_is_bound_after_it_started() {
    for backend in BACKENDS {
        let refused = heard(backend, workspace_only(), CONNECT).await;
        assert!(matches!(refused, Err(PeerError::Sandboxed)), "{refused:?}");
    }
}

#[tokio::test]
async fn who_may_use_the_network_is_not_heard_either() {
    let policy = SandboxPolicy::WorkspaceWrite {
        writable_roots: Vec::new(),
        network_access: true,
        exclude_tmpdir_env_var: true,
        exclude_slash_tmp: true,
    };
    for backend in BACKENDS {
        let refused = heard(backend, policy.clone(), CONNECT).await;
        assert!(matches!(refused, Err(PeerError::Sandboxed)), "{refused:?}");
    }
}

#[tokio::test]
async fn nor_is_one_that_leaves_its_connection_to_another() {
    for backend in BACKENDS {
        let refused = heard(backend, workspace_only(), HAND_OVER).await;
        let is_refused = matches!(refused, Err(PeerError::Sandboxed | PeerError::Unknown(_)));
        assert!(is_refused, "{refused:?}");
    }
}

#[tokio::test]
async fn a_command_without_a_sandbox_is_heard() {
    let heard = heard(
        BackendChoice::Auto,
        SandboxPolicy::DangerFullAccess,
        CONNECT,
    )
    .await;
    heard.unwrap();
}
