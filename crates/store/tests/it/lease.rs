//! A session has one owner.

use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use troupe_store::{EmbeddedStore, SessionStore, StoreError};

use super::child::{Actor, HOLD_A_LEASE};
use super::home::{Home, meta, said, texts};

fn owner(error: StoreError) -> Option<u32> {
    match error {
        StoreError::Owned { by, .. } => by,
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn a_second_handle_is_refused_until_the_first_is_gone() {
    let home = Home::new();
    let meta = meta();
    let mut log = home.store.create(&meta).await.unwrap();
    log.append(&[said("one")]).unwrap();
    for store in [&home.store, &home.again()] {
        let error = store.open(meta.id).await.unwrap_err();
        assert_eq!(owner(error), Some(std::process::id()));
        let error = store.archive(meta.id).await.unwrap_err();
        assert_eq!(owner(error), Some(std::process::id()));
        let history = store.read_live(meta.id).await.unwrap();
        assert_eq!(texts(&history), ["one"]);
    }
    drop(log);
    home.again().open(meta.id).await.unwrap();
}

#[tokio::test]
async fn another_process_is_named_and_its_death_frees_the_session() {
    let home = Home::new();
    let mut actor = Actor::start(HOLD_A_LEASE, home.dir.path());
    let id = actor.told("holding").parse().unwrap();
    let error = home.store.open(id).await.unwrap_err();
    let text = error.to_string();
    assert_eq!(owner(error), Some(actor.id()));
    assert!(
        text.contains(&format!("in use by process {}", actor.id())),
        "{text}"
    );
    assert_eq!(texts(&home.store.read_live(id).await.unwrap()), ["mine"]);
    actor.kill();
    home.store.open(id).await.unwrap();
}

/// Between fork and exec a child has all our open files, the log among them.
#[tokio::test]
async fn a_released_session_is_free_while_a_process_is_being_started() {
    let home = Home::new();
    let meta = meta();
    let log = home.store.create(&meta).await.unwrap();
    let (mut forked, mut has_forked) = std::io::pipe().unwrap();
    let (mut may_exec, mut go_on) = std::io::pipe().unwrap();
    let mut command = Command::new("true");
    // SAFETY: the child only writes to one pipe and reads from another before it execs.
    unsafe {
        command.pre_exec(move || {
            has_forked.write_all(b"!")?;
            may_exec.read_exact(&mut [0])
        });
    }
    let starting = std::thread::spawn(move || command.status());
    forked.read_exact(&mut [0]).unwrap();
    drop(log);
    let opened = home.store.open(meta.id).await;
    go_on.write_all(b"!").unwrap();
    assert!(starting.join().unwrap().unwrap().success());
    opened.unwrap();
}

/// Plays [`HOLD_A_LEASE`].
#[expect(clippy::print_stdout, reason = "the parent reads it")]
pub async fn hold(home: &Path) {
    let store = EmbeddedStore::open(home).unwrap();
    let mut log = store.create(&meta()).await.unwrap();
    log.append(&[said("mine")]).unwrap();
    println!("holding: {}", log.session());
    // Ends with the parent.
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
}
