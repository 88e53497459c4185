//! Full disks, homes that cannot be written, files that cannot be read.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::signal::{SigHandler, Signal, signal};
use nix::unistd::{Gid, Uid, geteuid, setresgid, setresuid};
use troupe_store::{EmbeddedStore, ListQuery, SessionStore, StoreError};

use super::child::{Actor, MEET_A_READ_ONLY_HOME, RUN_OUT_OF_SPACE};
use super::home::{Home, meta, said, texts};

#[tokio::test]
async fn a_full_disk_refuses_whole_appends_and_loses_nothing() {
    let home = Home::new();
    Actor::start(RUN_OUT_OF_SPACE, home.dir.path()).succeeds();
}

/// Plays [`RUN_OUT_OF_SPACE`]: the kernel lets no file grow beyond a limit, cuts the write
/// that crosses it, and refuses the next, as a full disk does.
pub async fn run_out_of_space(home: &Path) {
    const LIMIT: u64 = 8 * 1024;
    let store = EmbeddedStore::open(home).unwrap();
    let meta = meta();
    let mut log = store.create(&meta).await.unwrap();
    log.append(&[said("before")]).unwrap();
    log.commit().await.unwrap();

    // SAFETY: no handler is installed; the signal becomes the error EFBIG.
    unsafe { signal(Signal::SIGXFSZ, SigHandler::SigIgn) }.unwrap();
    let (_, hard) = getrlimit(Resource::RLIMIT_FSIZE).unwrap();
    setrlimit(Resource::RLIMIT_FSIZE, LIMIT, hard).unwrap();

    let end = log.position();
    for _ in 0..3 {
        let error = log
            .append(&[said("lost"), said(&"x".repeat(10_000))])
            .unwrap_err();
        assert!(matches!(error, StoreError::Full { .. }), "{error:?}");
        assert_eq!(log.position(), end);
        assert_eq!(log.path().unwrap().metadata().unwrap().len(), end.0);
    }
    log.append(&[said("small")]).unwrap();
    log.commit().await.unwrap();
    let page = store.list(&ListQuery::default()).await.unwrap();
    assert_eq!(page.sessions.len(), 1, "{:?}", page.warnings);

    setrlimit(Resource::RLIMIT_FSIZE, hard, hard).unwrap();
    log.append(&[said("after")]).unwrap();
    log.close().await.unwrap();
    let history = store.read_live(meta.id).await.unwrap();
    assert_eq!(texts(&history), ["before", "small", "after"]);
    assert_eq!(history.warnings, [""; 0]);
}

#[tokio::test]
async fn a_home_that_cannot_be_written_can_be_read() {
    let home = Home::new();
    let meta = meta();
    let mut log = home.store.create(&meta).await.unwrap();
    log.append(&[said("one")]).unwrap();
    log.close().await.unwrap();
    let everything = super::home::files_below(home.dir.path());
    for path in &everything {
        for ancestor in path
            .ancestors()
            .take_while(|path| path.starts_with(home.dir.path()))
        {
            let mode = if ancestor.is_dir() { 0o555 } else { 0o444 };
            fs::set_permissions(ancestor, fs::Permissions::from_mode(mode)).unwrap();
        }
    }
    Actor::start(MEET_A_READ_ONLY_HOME, home.dir.path()).succeeds();
    for path in &everything {
        for ancestor in path
            .ancestors()
            .take_while(|path| path.starts_with(home.dir.path()))
        {
            fs::set_permissions(ancestor, fs::Permissions::from_mode(0o755)).unwrap();
        }
    }
}

/// Plays [`MEET_A_READ_ONLY_HOME`].
pub async fn meet_a_read_only_home(home: &Path) {
    if geteuid().is_root() {
        // Nothing is closed to root, so somebody else plays this.
        let (user, group) = (Uid::from_raw(65_534), Gid::from_raw(65_534));
        setresgid(group, group, group).unwrap();
        setresuid(user, user, user).unwrap();
    }
    let store = EmbeddedStore::open(home).unwrap();
    let error = store.create(&meta()).await.unwrap_err();
    assert!(matches!(error, StoreError::NotWritable { .. }), "{error:?}");

    let page = store.list(&ListQuery::default()).await.unwrap();
    let id = page.sessions[0].id;
    assert_eq!(page.warnings.len(), 1, "{:?}", page.warnings);
    assert_eq!(texts(&store.read_live(id).await.unwrap()), ["one"]);
    let error = store.open(id).await.unwrap_err();
    assert!(matches!(error, StoreError::NotWritable { .. }), "{error:?}");
    let error = EmbeddedStore::open(&home.join("below")).unwrap_err();
    assert!(matches!(error, StoreError::NotWritable { .. }), "{error:?}");
}

#[tokio::test]
async fn a_home_that_is_a_file_is_refused() {
    let home = Home::new();
    fs::write(home.path("file"), "").unwrap();
    let error = EmbeddedStore::open(&home.path("file")).unwrap_err();
    assert!(error.to_string().contains("file"), "{error}");
}

#[tokio::test]
async fn an_unreadable_log_does_not_hide_the_others() {
    let home = Home::new();
    let (readable, broken) = (meta(), meta());
    for meta in [&readable, &broken] {
        home.store
            .create(meta)
            .await
            .unwrap()
            .close()
            .await
            .unwrap();
    }
    let (log, _) = home.store.open(broken.id).await.unwrap();
    let path = log.path().unwrap().to_owned();
    drop(log);
    // A directory cannot be read as a file, not even by root.
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    let page = home.again().list(&ListQuery::default()).await.unwrap();
    let ids: Vec<_> = page.sessions.iter().map(|session| session.id).collect();
    assert_eq!(ids, [readable.id]);
    assert_eq!(page.warnings.len(), 1, "{:?}", page.warnings);
    assert!(matches!(
        home.store.read_live(broken.id).await,
        Err(StoreError::Io { .. })
    ));
}

#[tokio::test]
async fn strange_entries_among_the_sessions_are_passed_over() {
    let home = Home::new();
    let meta = meta();
    home.store
        .create(&meta)
        .await
        .unwrap()
        .close()
        .await
        .unwrap();
    fs::write(home.path("sessions/2027"), "a file").unwrap();
    fs::write(home.path("sessions/notes.txt"), "a file").unwrap();
    std::os::unix::fs::symlink("..", home.path("sessions/2026/12")).unwrap();
    let page = home.again().list(&ListQuery::default()).await.unwrap();
    assert_eq!((page.sessions.len(), page.warnings), (1, vec![]));
    assert_eq!(home.store.resolve(&meta.id.short()).await.unwrap(), meta.id);
}
