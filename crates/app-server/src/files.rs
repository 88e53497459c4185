//! `fs/*`: files of this machine, with the rights of whoever started the server. A client has
//! those rights anyway: the sandbox is for what models do.

mod copy;
mod watch;

use std::io::{self, ErrorKind};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use tokio::fs;
use troupe_transport::rpc::RpcError;

use super::call::{Handling, MethodCall};
use super::connection::AppConnection;
use super::wire::Empty;
use super::wire::files::{
    FsCreateDirectoryParams, FsDirectoryEntry, FsGetMetadataResponse, FsPathParams,
    FsReadDirectoryResponse, FsReadFileResponse, FsRemoveParams, FsWriteFileParams,
};
use crate::limits::{DIRECTORY_ENTRIES_MAX, FILE_BYTES_MAX};
pub(super) use copy::copy;
pub(super) use watch::{FileWatches, unwatch, watch};

pub(super) fn read(call: MethodCall) -> Handling {
    call.answer(|_: AppConnection, FsPathParams { path }| async move {
        absolute(&path)?;
        let failed = |error| failure("read", &path, &error);
        let about = fs::metadata(&path).await.map_err(failed)?;
        // A pipe or a device may never end.
        if !about.is_file() {
            let message = format!("{} is not a file", path.display());
            return Err(RpcError::invalid_request(message));
        }
        if about.len() > FILE_BYTES_MAX {
            let message = format!("{} has more than {FILE_BYTES_MAX} bytes", path.display());
            return Err(RpcError::invalid_request(message));
        }
        let bytes = fs::read(&path).await.map_err(failed)?;
        Ok(FsReadFileResponse {
            data_base64: BASE64_STANDARD.encode(bytes),
        })
    })
}

pub(super) fn write(call: MethodCall) -> Handling {
    call.answer(|_: AppConnection, params: FsWriteFileParams| async move {
        absolute(&params.path)?;
        let bytes = BASE64_STANDARD.decode(params.data_base64);
        let bytes = bytes.map_err(|error| {
            RpcError::invalid_params(format!("invalid params: dataBase64: {error}"))
        })?;
        let written = fs::write(&params.path, bytes).await;
        written.map_err(|error| failure("write", &params.path, &error))?;
        Ok(Empty {})
    })
}

pub(super) fn create_directory(call: MethodCall) -> Handling {
    call.answer(
        |_: AppConnection, params: FsCreateDirectoryParams| async move {
            absolute(&params.path)?;
            let made = match params.recursive {
                None | Some(true) => fs::create_dir_all(&params.path).await,
                Some(false) => fs::create_dir(&params.path).await,
            };
            made.map_err(|error| failure("create", &params.path, &error))?;
            Ok(Empty {})
        },
    )
}

pub(super) fn metadata(call: MethodCall) -> Handling {
    call.answer(|_: AppConnection, FsPathParams { path }| async move {
        absolute(&path)?;
        let failed = |error| failure("look at", &path, &error);
        let itself = fs::symlink_metadata(&path).await.map_err(failed)?;
        let about = fs::metadata(&path).await.map_err(failed)?;
        Ok(FsGetMetadataResponse {
            is_directory: about.is_dir(),
            is_file: about.is_file(),
            is_symlink: itself.is_symlink(),
            created_at_ms: unix_ms(about.created()),
            modified_at_ms: unix_ms(about.modified()),
        })
    })
}

pub(super) fn read_directory(call: MethodCall) -> Handling {
    call.answer(|_: AppConnection, FsPathParams { path }| async move {
        absolute(&path)?;
        let failed = |error| failure("read", &path, &error);
        let mut found = fs::read_dir(&path).await.map_err(failed)?;
        let mut entries = Vec::new();
        while let Some(entry) = found.next_entry().await.map_err(failed)? {
            if entries.len() == DIRECTORY_ENTRIES_MAX {
                let message = format!(
                    "{} has more than {DIRECTORY_ENTRIES_MAX} entries",
                    path.display()
                );
                return Err(RpcError::invalid_request(message));
            }
            // Follows links; what a broken one leads to is neither.
            let about = fs::metadata(entry.path()).await.ok();
            entries.push(FsDirectoryEntry {
                file_name: entry.file_name().to_string_lossy().into_owned(),
                is_directory: about.as_ref().is_some_and(std::fs::Metadata::is_dir),
                is_file: about.as_ref().is_some_and(std::fs::Metadata::is_file),
            });
        }
        entries.sort_by(|one, other| one.file_name.cmp(&other.file_name));
        Ok(FsReadDirectoryResponse { entries })
    })
}

pub(super) fn remove(call: MethodCall) -> Handling {
    call.answer(|_: AppConnection, params: FsRemoveParams| async move {
        absolute(&params.path)?;
        match remove_path(&params.path, params.recursive.unwrap_or(true)).await {
            Err(error) if error.kind() == ErrorKind::NotFound && params.force.unwrap_or(true) => {
                Ok(Empty {})
            }
            Err(error) => Err(failure("remove", &params.path, &error)),
            Ok(()) => Ok(Empty {}),
        }
    })
}

/// Removes a link, never what it leads to.
async fn remove_path(path: &Path, recursive: bool) -> io::Result<()> {
    if !fs::symlink_metadata(path).await?.is_dir() {
        return fs::remove_file(path).await;
    }
    if recursive {
        fs::remove_dir_all(path).await
    } else {
        fs::remove_dir(path).await
    }
}

/// A relative path would be relative to wherever the server was started.
fn absolute(path: &Path) -> Result<(), RpcError> {
    if path.is_absolute() {
        return Ok(());
    }
    Err(RpcError::invalid_request(format!(
        "{} is not an absolute path",
        path.display()
    )))
}

fn failure(what: &str, path: &Path, error: &io::Error) -> RpcError {
    RpcError::invalid_request(format!("cannot {what} {}: {error}", path.display()))
}

fn unix_ms(time: io::Result<SystemTime>) -> i64 {
    let since = time
        .ok()
        .and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    since.map_or(0, |since| {
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    })
}
