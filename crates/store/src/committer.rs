//! Group commit: one thread per store makes appended lines last. Commits that arrive while
//! the disk is busy are done together, each file once.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};

use crate::error::Error;
use crate::limits::COMMITS_QUEUED_MAX;
use crate::worker::Worker;

#[derive(Debug)]
pub(crate) struct Committer {
    worker: Worker<Request>,
}

#[derive(Debug)]
struct Request {
    file: Arc<File>,
    /// Directories whose new entries lead to the file.
    directories: Vec<PathBuf>,
    done: oneshot::Sender<io::Result<()>>,
}

impl Committer {
    pub(crate) fn new() -> Self {
        Self {
            worker: Worker::new("commit"),
        }
    }

    /// Returns when the file's data, and the directory entries that lead to it, are on disk.
    pub(crate) async fn sync(
        &self,
        file: Arc<File>,
        directories: Vec<PathBuf>,
    ) -> Result<io::Result<()>, Error> {
        let (done, answer) = oneshot::channel();
        let request = Request {
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

fn run(mut requests: mpsc::Receiver<Request>) {
    let mut group = Vec::new();
    while let Some(first) = requests.blocking_recv() {
        group.push(first);
        while let Ok(next) = requests.try_recv() {
            group.push(next);
        }
        sync_group(&mut group);
    }
}

fn sync_group(group: &mut Vec<Request>) {
    let directories: BTreeSet<PathBuf> = group
        .iter_mut()
        .flat_map(|request| std::mem::take(&mut request.directories))
        .collect();
    let directories = directories
        .iter()
        .try_for_each(|directory| File::open(directory)?.sync_all());

    // Requests for one file are neighbours, and the first one speaks for all.
    group.sort_by_key(|request| request.file.as_raw_fd());
    let mut last: Option<(i32, io::Result<()>)> = None;
    for request in group.drain(..) {
        let descriptor = request.file.as_raw_fd();
        let result = match last {
            Some((of, result)) if of == descriptor => result,
            _ => request.file.sync_data().and(again(&directories)),
        };
        last = Some((descriptor, again(&result)));
        // Whoever asked may have been cancelled; the data is on disk all the same.
        let _ = request.done.send(result);
    }
}

/// `io::Error` cannot be cloned.
fn again(result: &io::Result<()>) -> io::Result<()> {
    result.as_ref().copied().map_err(|error| {
        error
            .raw_os_error()
            .map_or_else(|| error.kind().into(), io::Error::from_raw_os_error)
    })
}
