//! `fs/watch`: the kernel tells what changes at a path, and so is the client.
//!
//! A file is watched through its directory, because programs replace files rather than write
//! into them. Of a directory, what lies directly in it is watched.

use std::collections::{BTreeSet, HashMap};
use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd as _, AsRawFd, RawFd};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify, InotifyEvent};
use tokio::io::unix::AsyncFd;
use tokio::time::sleep;
use tokio_util::task::AbortOnDropHandle;
use troupe_protocol::discard;
use troupe_transport::rpc::{PeerGone, RpcError};

use super::{absolute, failure};
use crate::call::{Handling, MethodCall};
use crate::connection::AppConnection;
use crate::limits::{WATCH_GATHER_MS, WATCHES_MAX};
use crate::wire::Empty;
use crate::wire::files::{FsChangedNotification, FsUnwatchParams, FsWatchParams, FsWatchResponse};
use crate::wire::notification::ServerNotification;

/// What a client watches, by the names that it gave. Dropping an entry ends the watch.
#[derive(Debug, Default)]
pub(crate) struct FileWatches(Mutex<HashMap<String, AbortOnDropHandle<()>>>);

impl FileWatches {
    pub(crate) fn end(&self) {
        self.entries().clear();
    }

    fn entries(&self) -> MutexGuard<'_, HashMap<String, AbortOnDropHandle<()>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(crate) fn watch(call: MethodCall) -> Handling {
    call.answer(|client: AppConnection, params: FsWatchParams| async move {
        absolute(&params.path)?;
        let mut watches = client.belongings().watches.entries();
        if watches.contains_key(&params.watch_id) {
            let id = &params.watch_id;
            let message = format!("the watchId {id:?} is in use");
            return Err(RpcError::invalid_request(message));
        }
        if watches.len() >= WATCHES_MAX {
            let message = format!("{WATCHES_MAX} paths are watched, and no more may be");
            return Err(RpcError::invalid_request(message));
        }
        let watched = WatchedPath::at(&params.path);
        let watched = watched.map_err(|error| failure("watch", &params.path, &error))?;
        let path = watched.path();
        let (teller, id) = (client.clone(), params.watch_id.clone());
        let task = tokio::spawn(async move {
            // A client that is gone watches nothing.
            discard!(watched.follow(&teller, &id).await, "the client is gone");
        });
        watches.insert(params.watch_id, AbortOnDropHandle::new(task));
        Ok(FsWatchResponse { path })
    })
}

pub(crate) fn unwatch(call: MethodCall) -> Handling {
    call.answer(
        |client: AppConnection, params: FsUnwatchParams| async move {
            // What is not watched needs no end.
            client
                .belongings()
                .watches
                .entries()
                .remove(&params.watch_id);
            Ok(Empty {})
        },
    )
}

struct WatchedPath {
    events: AsyncFd<InotifyFd>,
    directory: PathBuf,
    /// The one name in the directory that counts; all if absent.
    name: Option<OsString>,
}

/// Where the kernel tells of changes.
struct InotifyFd(Inotify);

impl AsRawFd for InotifyFd {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_fd().as_raw_fd()
    }
}

impl WatchedPath {
    fn at(path: &Path) -> io::Result<Self> {
        let path = path.canonicalize()?;
        let (directory, name) = match (path.is_dir(), path.parent(), path.file_name()) {
            (false, Some(directory), Some(name)) => (directory.to_owned(), Some(name.to_owned())),
            _ => (path, None),
        };
        let inotify = Inotify::init(InitFlags::IN_NONBLOCK | InitFlags::IN_CLOEXEC)?;
        let changes = AddWatchFlags::IN_CREATE
            | AddWatchFlags::IN_DELETE
            | AddWatchFlags::IN_MOVED_FROM
            | AddWatchFlags::IN_MOVED_TO
            | AddWatchFlags::IN_MODIFY
            | AddWatchFlags::IN_ATTRIB
            | AddWatchFlags::IN_DELETE_SELF
            | AddWatchFlags::IN_MOVE_SELF;
        inotify.add_watch(&directory, changes)?;
        Ok(Self {
            // SAFETY: the descriptor is owned by what is registered, and stays open until that is
            // dropped.
            events: unsafe { AsyncFd::register(InotifyFd(inotify)) }?,
            directory,
            name,
        })
    }

    fn path(&self) -> PathBuf {
        match &self.name {
            Some(name) => self.directory.join(name),
            None => self.directory.clone(),
        }
    }

    async fn follow(self, client: &AppConnection, id: &str) -> Result<(), PeerGone> {
        loop {
            let Ok(mut changed) = self.next().await else {
                return Ok(());
            };
            // What comes in one go is told in one go: a checkout changes thousands of files.
            sleep(Duration::from_millis(WATCH_GATHER_MS)).await;
            // An error here is met again by the next look, which ends the watch.
            changed.extend(self.read().unwrap_or_default());
            if changed.is_empty() {
                continue;
            }
            let changed = ServerNotification::FsChanged(FsChangedNotification {
                watch_id: id.to_owned(),
                changed_paths: changed.into_iter().collect(),
            });
            client.notify(&changed).await?;
        }
    }

    /// Waits for events; what they are about may be of no interest.
    async fn next(&self) -> io::Result<BTreeSet<PathBuf>> {
        loop {
            let mut ready = self.events.readable().await?;
            match ready.try_io(|_| self.read()) {
                Ok(changed) => return changed,
                Err(_would_block) => {}
            }
        }
    }

    fn read(&self) -> io::Result<BTreeSet<PathBuf>> {
        let events = match self.events.get_ref().0.read_events() {
            Err(Errno::EAGAIN) => return Err(io::ErrorKind::WouldBlock.into()),
            events => events?,
        };
        let paths = events.into_iter().filter_map(|event| self.path_of(event));
        Ok(paths.collect())
    }

    /// Returns what an event is about; the directory itself if the kernel lost count.
    fn path_of(&self, event: InotifyEvent) -> Option<PathBuf> {
        match (event.name, &self.name) {
            (Some(name), None) => Some(self.directory.join(name)),
            (Some(name), Some(ours)) => (name == *ours).then(|| self.path()),
            (None, _) => Some(self.path()),
        }
    }
}
