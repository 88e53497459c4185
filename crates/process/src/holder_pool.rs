//! The holders that a launcher has running: one for unconfined commands and those that only
//! Landlock confines, one for each policy that has namespaces.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use tokio::sync::OnceCell;

use crate::cage::Cage;
use crate::holder::{Holder, HolderError, HolderSetup};
use crate::limits::HOLDERS_MAX;
use crate::nested::{self, NestedPaths, UnfinishedSearch};
use crate::placeholder::is_placeholder;

/// Started when first asked for. Those of policies not used for longest are let go when there
/// are too many; they end once their last command has.
#[derive(Debug, Default)]
pub(crate) struct HolderPool(Mutex<Vec<PoolEntry>>);

#[derive(Debug)]
struct PoolEntry {
    key: HolderKey,
    cell: Cell,
}

/// The outer handle is shared by those who wait for the same holder to start.
type Cell = Arc<OnceCell<PolicyHolder>>;

/// A holder and what its policy's workspaces had in them when it was set up.
#[derive(Debug, Clone)]
pub(crate) struct PolicyHolder {
    pub holder: Arc<Holder>,
    pub nested: Arc<NestedPaths>,
}

/// What a holder was set up for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HolderKey {
    /// None for a holder without namespaces.
    cage: Option<Cage>,
    /// Mounts hold on to the directories they were made from. One that was deleted and made again
    /// needs another holder.
    files: Vec<Option<FileId>>,
}

/// Which file a path leads to. Numbers of deleted files are used again, times of birth are not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileId {
    device: u64,
    inode: u64,
    /// Not every file system knows it.
    born: Option<SystemTime>,
}

impl FileId {
    fn of(path: &Path) -> Option<Self> {
        if is_placeholder(path) {
            return None;
        }
        Some(Self::new(&path.metadata().ok()?))
    }

    pub fn new(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            born: metadata.created().ok(),
        }
    }
}

impl HolderKey {
    pub fn bare() -> Self {
        Self {
            cage: None,
            files: Vec::new(),
        }
    }

    pub fn namespaces(cage: Cage) -> Self {
        let paths = [&cage.writable, &cage.protected, &cage.hidden];
        let files = paths
            .into_iter()
            .flatten()
            .map(|path| FileId::of(path))
            .collect();
        Self {
            cage: Some(cage),
            files,
        }
    }
}

impl PolicyHolder {
    /// Blocks for some milliseconds.
    fn start(cage: Option<Cage>, earlier: &NestedPaths) -> Result<Self, HolderError> {
        let (setup, nested) = match cage {
            None => (HolderSetup::Bare, NestedPaths::default()),
            Some(cage) => {
                let nested = nested::search(&cage).remembering(earlier);
                (HolderSetup::Namespaces(cage.with_nested(&nested)), nested)
            }
        };
        tracing::debug!(
            namespaces = matches!(setup, HolderSetup::Namespaces(_)),
            "a holder starts"
        );
        Ok(Self {
            holder: Arc::new(Holder::start(&setup)?),
            nested: Arc::new(nested),
        })
    }
}

impl HolderPool {
    pub async fn get(&self, key: &HolderKey) -> Result<PolicyHolder, HolderError> {
        let cage = key.cage.clone();
        let mut earlier = Arc::default();
        let mut cell = self.cell(key);
        // Like the paths in the key: a mount holds on to the file that it was made from.
        let stale = cell.get().filter(|held| !held.nested.is_current());
        if let Some(held) = stale.cloned() {
            earlier = held.nested;
            self.forget_cell(&cell);
            cell = self.cell(key);
        }
        let start = async {
            tokio::task::spawn_blocking(move || PolicyHolder::start(cage, &earlier))
                .await
                .map_err(std::io::Error::other)?
        };
        let held = cell.get_or_try_init(|| start).await;
        if let Err(error) = &held {
            tracing::warn!(%error, "a holder could not be started");
            self.forget_cell(&cell);
        }
        Ok(held?.clone())
    }

    /// The searches that did not come to their end, of the policies that are in use.
    pub fn stopped_searches(&self) -> Vec<UnfinishedSearch> {
        let entries = self.entries();
        let searches = entries.iter().filter_map(|entry| entry.cell.get());
        let stopped = searches.filter_map(|held| held.nested.stopped.clone());
        let mut stopped: Vec<_> = stopped.collect();
        stopped.sort();
        stopped.dedup();
        stopped
    }

    /// Forgets a holder that has ended, unless that was done already.
    pub fn forget(&self, ended: &Arc<Holder>) {
        tracing::warn!("a holder has ended by itself");
        let is_it = |entry: &PoolEntry| {
            entry
                .cell
                .get()
                .is_some_and(|it| Arc::ptr_eq(&it.holder, ended))
        };
        self.entries().retain(|entry| !is_it(entry));
    }

    fn forget_cell(&self, cell: &Cell) {
        self.entries()
            .retain(|entry| !Arc::ptr_eq(&entry.cell, cell));
    }

    /// Finds or makes the entry and moves it to the end, where the latest are.
    fn cell(&self, key: &HolderKey) -> Cell {
        let mut entries = self.entries();
        let entry = match entries.iter().position(|entry| entry.key == *key) {
            Some(position) => entries.remove(position),
            None => PoolEntry {
                key: key.clone(),
                cell: Cell::default(),
            },
        };
        if entries.len() >= HOLDERS_MAX {
            entries.remove(0);
        }
        let cell = Arc::clone(&entry.cell);
        entries.push(entry);
        cell
    }

    fn entries(&self) -> MutexGuard<'_, Vec<PoolEntry>> {
        // Each change is a single step, so a panic elsewhere leaves the list whole.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
