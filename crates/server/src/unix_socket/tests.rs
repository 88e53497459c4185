use std::fs;
use std::os::unix::fs::MetadataExt;

use super::{SocketError, UnixSocket};

#[tokio::test]
async fn a_socket_is_ours_alone_and_goes_with_its_owner() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("t.sock");
    let socket = UnixSocket::bind(&path).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
    drop(socket);
    assert!(!path.exists());
}

#[tokio::test]
async fn only_what_is_dead_is_replaced() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("t.sock");
    // The standard library leaves the file behind, as a process that is killed does.
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    let alive = UnixSocket::bind(&path).unwrap();
    assert!(matches!(UnixSocket::bind(&path), Err(SocketError::InUse)));
    drop(alive);

    fs::write(&path, "precious").unwrap();
    assert!(matches!(
        UnixSocket::bind(&path),
        Err(SocketError::NotASocket)
    ));
    assert_eq!(fs::read_to_string(&path).unwrap(), "precious");
}

#[tokio::test]
async fn a_path_that_the_kernel_does_not_take_is_named() {
    let path = std::path::PathBuf::from(format!("/{}", "x".repeat(120)));
    assert!(matches!(UnixSocket::bind(&path), Err(SocketError::TooLong)));
}
