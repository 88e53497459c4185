//! Work of this program itself, held to a policy like a command.

use std::io::{Read as _, Write as _};
use std::path::PathBuf;

use troupe_process::{Confinement, SpawnError, WorkerSpec, register_worker};
use troupe_protocol::policy::SandboxPolicy;

use crate::support::{
    BACKENDS, finish, gone, launcher, launcher_with, read_until, scratch, workspace_only, write,
};

// SAFETY: the section holds pointers to functions, which the loader calls once.
#[used]
#[unsafe(link_section = ".init_array.00101")]
static REGISTER: extern "C" fn() = register;

extern "C" fn register() {
    register_worker("copy", copy);
    register_worker("wait", wait);
    register_worker("panic", || panic!("as it was told"));
}

/// Writes the rest of its input to the file that the first line names.
fn copy() -> i32 {
    let mut input = String::new();
    std::io::stdin().read_to_string(&mut input).unwrap();
    let (path, text) = input.split_once('\n').unwrap();
    match std::fs::write(path, text) {
        Ok(()) => 0,
        Err(error) => {
            say(&error.to_string());
            1
        }
    }
}

fn wait() -> i32 {
    say("waiting");
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
    0
}

fn say(text: &str) {
    let mut stdout = std::io::stdout();
    stdout.write_all(text.as_bytes()).unwrap();
    stdout.flush().unwrap();
}

fn worker(name: &'static str, policy: SandboxPolicy, cwd: PathBuf) -> WorkerSpec {
    WorkerSpec {
        name,
        env: std::collections::BTreeMap::new(),
        confinement: Confinement::Policy { policy, cwd },
    }
}

#[tokio::test]
async fn it_writes_where_its_policy_lets_it() {
    for backend in BACKENDS {
        let launcher = launcher_with(backend);
        let place = scratch();
        let work = place.path().join("work");
        let outside = write(place.path().join("outside"), "untouched");
        write(work.join("inside"), "untouched");
        for (file, is_allowed) in [(&work.join("inside"), true), (&outside, false)] {
            let worker = worker("copy", workspace_only(), work.clone());
            let mut process = launcher.spawn_worker(worker).await.unwrap();
            let input = format!("{}\nchanged", file.display());
            process.write_stdin(input.as_bytes()).await.unwrap();
            process.close_stdin();
            let done = finish(&mut process).await;
            assert_eq!(done.exit.is_success(), is_allowed, "{done:?}");
            let expected = if is_allowed { "changed" } else { "untouched" };
            assert_eq!(std::fs::read_to_string(file).unwrap(), expected);
        }
    }
}

#[tokio::test]
async fn it_ends_with_its_owner() {
    let place = scratch();
    let worker = worker("wait", workspace_only(), place.path().to_path_buf());
    let mut process = launcher().spawn_worker(worker).await.unwrap();
    read_until(&mut process, |text| text == "waiting").await;
    let pid = process.pid().cast_signed();
    drop(process);
    gone(pid).await;
}

#[tokio::test]
async fn a_panic_ends_it_alone() {
    let place = scratch();
    let cwd = place.path().to_path_buf();
    let worker = worker("panic", SandboxPolicy::DangerFullAccess, cwd);
    let mut process = launcher().spawn_worker(worker).await.unwrap();
    let done = finish(&mut process).await;
    assert_eq!(done.exit.signal, Some(libc::SIGABRT));
    assert!(done.stderr.contains("as it was told"), "{}", done.stderr);
}

#[tokio::test]
async fn work_that_nobody_registered_is_not_found() {
    let place = scratch();
    let worker = worker("nothing", workspace_only(), place.path().to_path_buf());
    let spawned = launcher().spawn_worker(worker).await;
    assert!(matches!(spawned, Err(SpawnError::NotFound { .. })));
}
