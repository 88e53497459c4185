//! TLS on every network transport.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::net::TcpStream;
use troupe_client::{Client, ClientOptions, ClientUpdate, TlsOptions};
use troupe_protocol::EventMsg;
use troupe_protocol::link::{ClientRole, Secret};
use troupe_protocol::op::{ConfigureSession, Op};
use troupe_server::limits::CONNECTIONS_MAX;
use troupe_server::tls::{TlsError, TlsIdentity};
use troupe_server::token::AccessToken;
use troupe_server::{ListenReach, ProtoServer};
use troupe_testkit::Stage;
use troupe_transport::{HostPort, SessionAddress};

use super::house::{Bell, KEEPALIVE, TOKEN, token_in};

const PLAY: &str = "[[scene]]\n[[scene.turn]]\nsteps = [{ say = 'ok' }]\n";
const KINDS: [&str; 4] = ["tcp", "ws", "http", "grpc"];

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures/tls")
        .join(name)
}

/// The key as people keep it: what a checkout makes can be read by everybody.
fn key_in(directory: &Path, mode: u32) -> PathBuf {
    let key = directory.join("key.pem");
    std::fs::copy(fixture("key.pem"), &key).unwrap();
    std::fs::set_permissions(&key, Permissions::from_mode(mode)).unwrap();
    key
}

/// Addresses of a server whose session ends with the test.
async fn open(stage: &Stage, token: AccessToken) -> Vec<SessionAddress> {
    let place = |kind: &str| format!("{kind}:0.0.0.0:0").parse().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let key = key_in(directory.path(), 0o600);
    let server = ProtoServer::bind(troupe_server::ListenOptions {
        listen: KINDS.map(place).to_vec(),
        token: Some(token),
        reach: ListenReach::Network,
        hosts: Vec::new(),
        origins: Vec::new(),
        tls: Some(TlsIdentity::read(&fixture("cert.pem"), &key).unwrap()),
        keepalive: KEEPALIVE,
    })
    .await
    .unwrap();
    let addresses = server.addresses().collect();
    let (handle, events) = stage.queue_pair();
    tokio::spawn(server.run(handle, events, Bell(Arc::default())));
    addresses
}

/// The certificate is that of a name, not of a number.
fn by_name(address: SessionAddress) -> SessionAddress {
    match address {
        SessionAddress::Net(protocol, place) => {
            let host = "localhost".to_owned();
            SessionAddress::Net(protocol, HostPort { host, ..place })
        }
        other => other,
    }
}

/// An address of this machine that the certificate does not know.
fn nameless(address: SessionAddress) -> SessionAddress {
    match address {
        SessionAddress::Net(protocol, place) => {
            let host = "127.0.0.2".to_owned();
            SessionAddress::Net(protocol, HostPort { host, ..place })
        }
        other => other,
    }
}

#[tokio::test]
async fn a_session_is_driven_over_tls() {
    let directory = tempfile::tempdir().unwrap();
    for index in 0..KINDS.len() {
        let stage = Stage::new(PLAY).await;
        let addresses = open(&stage, token_in(&directory)).await;
        let options = ClientOptions {
            token: Some(Secret(TOKEN.to_owned())),
            tls: Some(TlsOptions {
                trusted: fixture("ca.pem"),
            }),
            ..ClientOptions::default()
        };
        let address = by_name(addresses[index].clone());
        let mut client = Client::connect(address, options).await.unwrap();
        let configure = Op::ConfigureSession(ConfigureSession::default());
        client.submit("1", configure).await.unwrap();
        loop {
            match client.next().await.unwrap().expect("an answer") {
                ClientUpdate::Event(event)
                    if matches!(event.msg, EventMsg::SessionConfigured(_)) =>
                {
                    break;
                }
                _ => {}
            }
        }
    }
}

/// Before TLS is set up nobody has shown anything.
#[tokio::test]
async fn silent_connections_lock_nobody_out_behind_tls() {
    let directory = tempfile::tempdir().unwrap();
    let stage = Stage::new(PLAY).await;
    let addresses = open(&stage, token_in(&directory)).await;
    for address in &addresses {
        let SessionAddress::Net(_, place) = by_name(address.clone()) else {
            panic!("{address} is of the network");
        };
        let mut silent = Vec::new();
        for _ in 0..CONNECTIONS_MAX + 8 {
            silent.push(TcpStream::connect(("127.0.0.1", place.port)).await.unwrap());
        }
        for other in &addresses {
            let options = ClientOptions {
                role: ClientRole::Follow,
                token: Some(Secret(TOKEN.to_owned())),
                tls: Some(TlsOptions {
                    trusted: fixture("ca.pem"),
                }),
                ..ClientOptions::default()
            };
            let joined = Client::connect(by_name(other.clone()), options).await;
            assert!(joined.is_ok(), "{address} keeps clients out of {other}");
        }
    }
}

#[tokio::test]
async fn who_does_not_trust_the_certificate_does_not_connect() {
    let directory = tempfile::tempdir().unwrap();
    let stage = Stage::new(PLAY).await;
    let addresses = open(&stage, token_in(&directory)).await;
    for address in addresses {
        // The name is not the certificate's.
        let address = nameless(address);
        let trusted = fixture("ca.pem");
        let options = ClientOptions {
            token: Some(Secret(TOKEN.to_owned())),
            tls: Some(TlsOptions { trusted }),
            ..ClientOptions::default()
        };
        let stranger = Client::connect(address.clone(), options).await;
        assert!(stranger.is_err(), "{stranger:?}");
        let bare = Client::connect(by_name(address), ClientOptions::default()).await;
        assert!(bare.is_err(), "{bare:?}");
    }
}

#[test]
fn files_that_hold_no_certificate_are_named() {
    let missing = TlsIdentity::read(&fixture("README.md"), &fixture("key.pem"));
    assert!(
        matches!(missing, Err(TlsError::Certificate { .. })),
        "{missing:?}"
    );
    let directory = tempfile::tempdir().unwrap();
    let key = key_in(directory.path(), 0o600);
    std::fs::write(&key, "no key").unwrap();
    let missing = TlsIdentity::read(&fixture("cert.pem"), &key);
    assert!(matches!(missing, Err(TlsError::Key { .. })), "{missing:?}");
}

#[test]
fn a_key_that_everybody_can_read_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    for mode in [0o644, 0o604, 0o602] {
        let read = TlsIdentity::read(&fixture("cert.pem"), &key_in(directory.path(), mode));
        let error = read.expect_err("others can read it, or change it");
        assert!(error.to_string().contains("chmod 600"), "{error}");
    }
    for mode in [0o600, 0o640] {
        TlsIdentity::read(&fixture("cert.pem"), &key_in(directory.path(), mode)).unwrap();
    }
}
