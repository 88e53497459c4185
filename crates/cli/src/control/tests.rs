//! Real sockets in a home of its own. Trees are served in the tests of the binary.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use expect_test::{Expect, expect};
use tokio::io::AsyncWriteExt;
use tokio::net::{UnixListener, UnixStream};
use troupe_protocol::{SessionId, StopVerb};

use super::client::{ask, exchange};
use super::line;
use super::request::{ControlAnswer, ControlMode, ControlRequest, VERSION, VersionedLine};
use super::server::answer;
use super::socket::{self, ControlSocket};
use troupe_protocol::link::query::MessageUrgency;

fn root() -> SessionId {
    SessionId(uuid::Uuid::from_u128(7))
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[tokio::test]
async fn a_socket_is_for_its_user_alone_and_ends_with_its_owner() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join(format!("run/{}.sock", root()));
    fs::create_dir(home.path().join("run")).unwrap();
    fs::write(&path, "left over").unwrap();
    let socket = ControlSocket::bind(home.path(), root()).unwrap();
    assert_eq!(mode(&home.path().join("run")), 0o700);
    assert_eq!(mode(&path), 0o600);
    let connected = socket::connect(home.path(), root()).await.unwrap();
    assert!(connected.is_some());
    drop(socket);
    assert!(!path.exists());
}

#[tokio::test]
async fn a_socket_does_not_take_its_successor_along() {
    let home = tempfile::tempdir().unwrap();
    let first = ControlSocket::bind(home.path(), root()).unwrap();
    let second = ControlSocket::bind(home.path(), root()).unwrap();
    drop(first);
    let connected = socket::connect(home.path(), root()).await.unwrap();
    assert!(connected.is_some());
    drop(second);
}

#[tokio::test]
async fn a_home_may_be_deeper_than_a_socket_path() {
    let home = tempfile::tempdir().unwrap();
    let deep = home.path().join("d".repeat(120));
    fs::create_dir(&deep).unwrap();
    let _socket = ControlSocket::bind(&deep, root()).unwrap();
    assert!(socket::connect(&deep, root()).await.unwrap().is_some());
}

#[tokio::test]
async fn nobody_listens_where_a_process_died_or_never_was() {
    let home = tempfile::tempdir().unwrap();
    let none = ask(home.path(), root(), &ControlRequest::Look)
        .await
        .unwrap();
    assert_eq!(none, None);
    fs::create_dir(home.path().join("run")).unwrap();
    // Dropping a plain listener leaves its file, as a crash does.
    drop(UnixListener::bind(home.path().join(format!("run/{}.sock", root()))).unwrap());
    let dead = ask(home.path(), root(), &ControlRequest::Look)
        .await
        .unwrap();
    assert_eq!(dead, None);
}

#[tokio::test]
async fn a_client_does_not_talk_to_another_users_process() {
    let (client, _server) = UnixStream::pair().unwrap();
    let somebody_else = socket::own_user() + 1;
    let refused = exchange(client, &ControlRequest::Look, somebody_else).await;
    let text = refused.unwrap_err().to_string();
    assert!(text.starts_with("another user ("), "{text}");
}

/// Sends a line to a server of `user` that has nothing to say but "done".
async fn served(line: &str, user: u32) -> ControlAnswer {
    let (mut client, server) = UnixStream::pair().unwrap();
    client.write_all(line.as_bytes()).await.unwrap();
    let done = |_| async {
        let message = "done".to_owned();
        ControlAnswer::Refused { message }
    };
    let feed = answer(server, user, done).await.unwrap();
    assert!(feed.is_none());
    line::read(client, 1_000).await.unwrap()
}

#[tokio::test]
async fn a_server_acts_for_its_user_alone_and_in_its_own_version() {
    let own = socket::own_user();
    let check = async |line: &str, user, expected: &str| {
        let ControlAnswer::Refused { message } = served(line, user).await else {
            panic!("{line}");
        };
        let shown = message.replace(&own.to_string(), "0");
        assert!(shown.starts_with(expected), "{line}: {message}");
    };
    let look = "{\"version\":1,\"request\":\"look\"}\n";
    check(look, own, "done").await;
    check(look, own + 1, "user 0 may not speak for user").await;
    let newer = "{\"version\":2,\"request\":\"look\"}\n";
    check(newer, own, "the tree is run by troupe").await;
    let unknown = "{\"version\":1,\"request\":\"dance\"}\n";
    check(unknown, own, "not understood: unknown variant `dance`").await;
    check("hello\n", own, "not understood:").await;
}

#[tokio::test]
async fn lines_have_a_length() {
    let (mut sender, receiver) = UnixStream::pair().unwrap();
    sender.write_all(b"\"0123456789\"\n").await.unwrap();
    let error = line::read::<String>(receiver, 8).await.unwrap_err();
    assert_eq!(error.to_string(), "a line of more than 8 bytes");
}

#[tokio::test]
async fn a_line_that_is_cut_off_is_none() {
    let (mut sender, receiver) = UnixStream::pair().unwrap();
    sender.write_all(b"{\"version\":1").await.unwrap();
    drop(sender);
    let error = line::read::<serde_json::Value>(receiver, 100)
        .await
        .unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::UnexpectedEof);
}

#[test]
fn the_lines_of_this_version() {
    let check = |body: ControlRequest, expected: Expect| {
        let version = VERSION;
        let line = serde_json::to_string(&VersionedLine { version, body }).unwrap();
        expected.assert_eq(&line);
    };
    check(
        ControlRequest::Look,
        expect![[r#"{"version":1,"request":"look"}"#]],
    );
    check(
        ControlRequest::Send {
            to: "2".to_owned(),
            text: "go on".to_owned(),
            urgency: MessageUrgency::Interrupt,
        },
        expect![[
            r#"{"version":1,"request":"send","to":"2","text":"go on","urgency":"interrupt"}"#
        ]],
    );
    check(
        ControlRequest::Stop {
            verb: StopVerb::Cancel,
            target: "2".to_owned(),
            mode: ControlMode::DryRun,
        },
        expect![[
            r#"{"version":1,"request":"stop","verb":"cancel","target":"2","mode":"dry_run"}"#
        ]],
    );
    check(
        ControlRequest::Resume { target: None },
        expect![[r#"{"version":1,"request":"resume","target":null}"#]],
    );
    let refused = ControlAnswer::Refused {
        message: "no".to_owned(),
    };
    expect![[r#"{"answer":"refused","message":"no"}"#]]
        .assert_eq(&serde_json::to_string(&refused).unwrap());
}
