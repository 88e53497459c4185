//! Group commit: one thread per store makes appended lines last. Commits that arrive while
//! the disk is busy are done together, each file once and several at a time.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;

use tokio::sync::{mpsc, oneshot};
use troupe_protocol::discard;

use crate::error::StoreError;
use crate::limits::{COMMIT_THREADS_MAX, COMMITS_QUEUED_MAX};
use crate::worker::WorkerThread;

#[derive(Debug)]
pub(crate) struct LogCommitter {
    worker: WorkerThread<CommitRequest>,
}

#[derive(Debug)]
struct CommitRequest {
    file: Arc<File>,
    /// Directories whose new entries lead to the file.
    directories: Vec<PathBuf>,
    done: oneshot::Sender<io::Result<()>>,
}

impl LogCommitter {
    pub(crate) fn new() -> Self {
        Self {
            worker: WorkerThread::new("commit"),
        }
    }

    /// Returns when the file's data, and the directory entries that lead to it, are on disk.
    pub(crate) async fn sync(
        &self,
        file: Arc<File>,
        directories: Vec<PathBuf>,
    ) -> Result<io::Result<()>, StoreError> {
        let (done, answer) = oneshot::channel();
        let request = CommitRequest {
            file,
            directories,
            done,
        };
        let mailbox = self.worker.mailbox(COMMITS_QUEUED_MAX, || run)?;
        let sent = mailbox.send(request).await;
        sent.map_err(|_| self.worker.stopped())?;
        answer.await.map_err(|_| self.worker.stopped())
    }
}

fn run(mut requests: mpsc::Receiver<CommitRequest>) {
    let mut group = Vec::new();
    while let Some(first) = requests.blocking_recv() {
        group.push(first);
        while let Ok(next) = requests.try_recv() {
            group.push(next);
        }
        sync_group(&mut group);
    }
}

fn sync_group(group: &mut Vec<CommitRequest>) {
    let directories: BTreeSet<PathBuf> = group
        .iter_mut()
        .flat_map(|request| std::mem::take(&mut request.directories))
        .collect();
    let directories = directories
        .iter()
        .try_for_each(|directory| File::open(directory)?.sync_all());

    let files: BTreeMap<RawFd, &File> = group
        .iter()
        .map(|request| (request.file.as_raw_fd(), &*request.file))
        .collect();
    let synced = sync_files(&files.values().copied().collect::<Vec<_>>());
    let synced: BTreeMap<RawFd, io::Result<()>> = files.into_keys().zip(synced).collect();
    for request in group.drain(..) {
        let result = clone_result(&synced[&request.file.as_raw_fd()]);
        // Whoever asked may have been cancelled; the data is on disk all the same.
        discard!(
            request.done.send(result.and(clone_result(&directories))),
            "nobody waits for the answer"
        );
    }
}

/// Several files are synced at once: then the file system writes its journal for many of them
/// together, instead of once for each.
fn sync_files(files: &[&File]) -> Vec<io::Result<()>> {
    let sync = |files: &[&File]| -> Vec<io::Result<()>> {
        files.iter().map(|file| file.sync_data()).collect()
    };
    let share = files.len().div_ceil(COMMIT_THREADS_MAX).max(1);
    thread::scope(|scope| {
        let threads: Vec<_> = files
            .chunks(share)
            .skip(1)
            .map(|share| {
                (
                    share,
                    thread::Builder::new().spawn_scoped(scope, move || sync(share)),
                )
            })
            .collect();
        let mut results = sync(&files[..share.min(files.len())]);
        for (share, thread) in threads {
            results.extend(match thread {
                Ok(thread) => thread.join().expect("a sync does not panic"),
                // No thread could be started, so this one does the work.
                Err(_) => sync(share),
            });
        }
        results
    })
}

/// `io::StoreError` cannot be cloned.
fn clone_result(result: &io::Result<()>) -> io::Result<()> {
    result.as_ref().copied().map_err(|error| {
        error
            .raw_os_error()
            .map_or_else(|| error.kind().into(), io::Error::from_raw_os_error)
    })
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::sync::Arc;

    use tokio::sync::oneshot;

    use super::{CommitRequest, sync_group};

    #[test]
    fn each_of_a_group_hears_of_its_own_file() {
        let regular = || Arc::new(tempfile::tempfile().unwrap());
        let mut files: Vec<Arc<File>> = (0..30).map(|_| regular()).collect();
        // What is no file cannot be synced.
        files[17] = Arc::new(File::open("/dev/null").unwrap());
        files.push(files[17].clone());
        files.push(files[3].clone());
        let (mut group, answers): (Vec<CommitRequest>, Vec<_>) = files
            .into_iter()
            .map(|file| {
                let (done, answer) = oneshot::channel();
                let directories = vec![std::env::temp_dir()];
                let request = CommitRequest {
                    file,
                    directories,
                    done,
                };
                (request, answer)
            })
            .unzip();
        sync_group(&mut group);
        let failed: Vec<usize> = answers
            .into_iter()
            .enumerate()
            .filter_map(|(at, answer)| answer.blocking_recv().unwrap().is_err().then_some(at))
            .collect();
        assert_eq!(failed, [17, 30]);
    }
}
