//! `fs/copy`: a file, a link, or a directory with all that is in it.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use tokio::task::spawn_blocking;
use tokio_util::sync::CancellationToken;
use troupe_transport::rpc::RpcError;

use super::{absolute, failure};
use crate::call::{Handling, MethodCall};
use crate::connection::AppConnection;
use crate::limits::COPY_ENTRIES_MAX;
use crate::wire::Empty;
use crate::wire::files::FsCopyParams;

pub(crate) fn copy(call: MethodCall) -> Handling {
    call.answer(|_: AppConnection, params: FsCopyParams| async move {
        absolute(&params.source_path)?;
        absolute(&params.destination_path)?;
        let stop = CancellationToken::new();
        // A client that leaves ends what it asked for.
        let _stop = stop.clone().drop_guard();
        let copied = spawn_blocking(move || {
            let mut copying = CopyOperation {
                stop,
                entries_left: COPY_ENTRIES_MAX,
            };
            copying.begin(&params)
        });
        let lost = |_| RpcError::internal("the copy broke off");
        copied.await.map_err(lost)??;
        Ok(Empty {})
    })
}

struct CopyOperation {
    stop: CancellationToken,
    entries_left: usize,
}

impl CopyOperation {
    fn begin(&mut self, params: &FsCopyParams) -> Result<(), RpcError> {
        let (from, to) = (&params.source_path, &params.destination_path);
        let about = fs::symlink_metadata(from).map_err(|error| failure("copy", from, &error))?;
        if !about.is_dir() {
            return self.entry(from, to, about.file_type());
        }
        if params.recursive != Some(true) {
            let message = format!(
                "{} is a directory; set recursive to copy it with all that is in it",
                from.display()
            );
            return Err(RpcError::invalid_request(message));
        }
        if is_inside(to, from) {
            let (from, to) = (from.display(), to.display());
            let message = format!("{to} lies in {from}; a directory cannot be copied into itself");
            return Err(RpcError::invalid_request(message));
        }
        self.directory(from, to)
    }

    /// Directories that are there already are filled; files in them are replaced.
    fn directory(&mut self, from: &Path, to: &Path) -> Result<(), RpcError> {
        fs::create_dir_all(to).map_err(|error| failure("create", to, &error))?;
        let failed = |error| failure("read", from, &error);
        for entry in fs::read_dir(from).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let kind = entry.file_type().map_err(failed)?;
            let (from, to) = (entry.path(), to.join(entry.file_name()));
            if kind.is_dir() {
                self.directory(&from, &to)?;
            } else {
                self.entry(&from, &to, kind)?;
            }
        }
        Ok(())
    }

    fn entry(&mut self, from: &Path, to: &Path, kind: fs::FileType) -> Result<(), RpcError> {
        if self.stop.is_cancelled() {
            return Err(RpcError::internal("the client is gone"));
        }
        self.entries_left = self.entries_left.checked_sub(1).ok_or_else(|| {
            RpcError::invalid_request(format!(
                "there are more than {COPY_ENTRIES_MAX} files; the first ones were copied"
            ))
        })?;
        let copied = if kind.is_symlink() {
            fs::read_link(from).and_then(|leads_to| relink(&leads_to, to))
        } else if kind.is_file() {
            fs::copy(from, to).map(drop)
        } else {
            // A pipe or a device may never end.
            Err(io::Error::other("it is neither a file nor a directory"))
        };
        copied.map_err(|error| failure("copy", from, &error))
    }
}

fn relink(leads_to: &Path, at: &Path) -> io::Result<()> {
    match symlink(leads_to, at) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            fs::remove_file(at)?;
            symlink(leads_to, at)
        }
        made => made,
    }
}

/// Tells whether a path, which need not exist, leads below a directory.
fn is_inside(path: &Path, directory: &Path) -> bool {
    let real = |path: &Path| -> Option<PathBuf> {
        let there = path.ancestors().find(|above| above.exists())?;
        let rest = path.strip_prefix(there).ok()?;
        Some(there.canonicalize().ok()?.join(rest))
    };
    match (real(path), real(directory)) {
        (Some(path), Some(directory)) => path.starts_with(directory),
        _ => path.starts_with(directory),
    }
}
