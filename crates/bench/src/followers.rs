//! A driver and its followers, on one streaming session of a process that is measured.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::limits::BENCH_START_MAX;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::task::JoinSet;
use troupe_client::{Client, ClientOptions};
use troupe_protocol::EventMsg;
use troupe_protocol::input::UserInput;
use troupe_protocol::op::{ConfigureSession, Op};
use troupe_transport::SessionAddress;

const FOLLOW: &[u8] = b"{\"type\":\"hello\",\"role\":\"follow\"}\n";

/// Drives a session from a thread of its own, and then ends it. The thread returns how long the
/// driver took to hear all that the model had to say.
pub fn drive_session(socket: PathBuf, followers: u32) -> JoinHandle<io::Result<Duration>> {
    thread::spawn(move || {
        runtime()?.block_on(async {
            let mut driver = connect(&socket).await?;
            let heard = perform(&mut driver, &socket, followers).await;
            // Also when it went wrong: somebody waits for the process.
            submit(&driver, Op::Shutdown).await?;
            while driver
                .next_event()
                .await
                .map_err(io::Error::other)?
                .is_some()
            {}
            heard
        })
    })
}

async fn perform(driver: &mut Client, socket: &Path, followers: u32) -> io::Result<Duration> {
    submit(driver, Op::ConfigureSession(ConfigureSession::default())).await?;
    until(driver, |msg| matches!(msg, EventMsg::SessionConfigured(_))).await?;
    let audience = audience(socket.to_owned(), followers);
    // They are all there before anything is said.
    audience.there.recv().map_err(io::Error::other)?;
    let begun = Instant::now();
    submit(
        driver,
        Op::UserInput {
            items: vec![UserInput::text("talk at length")],
            final_output_json_schema: None,
            last_response_id: None,
        },
    )
    .await?;
    until(driver, |msg| matches!(msg, EventMsg::TurnComplete(_))).await?;
    Ok(begun.elapsed())
}

/// Followers that read what they are sent, on a thread that ends with their connections.
struct FollowerThread {
    there: mpsc::Receiver<()>,
}

fn audience(socket: PathBuf, count: u32) -> FollowerThread {
    let (arrived, there) = mpsc::channel();
    thread::spawn(move || -> io::Result<()> {
        runtime()?.block_on(async {
            let mut readers = JoinSet::new();
            for _ in 0..count {
                let mut stream = UnixStream::connect(&socket).await?;
                stream.write_all(FOLLOW).await?;
                stream.read_u8().await?;
                readers.spawn(async move {
                    let mut sink = vec![0; 64 * 1024];
                    while stream.read(&mut sink).await.is_ok_and(|read| read > 0) {}
                });
            }
            // Who measures may have given up.
            arrived.send(()).ok();
            while readers.join_next().await.is_some() {}
            Ok(())
        })
    });
    FollowerThread { there }
}

fn runtime() -> io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
}

/// Connects as soon as the process listens.
async fn connect(socket: &Path) -> io::Result<Client> {
    let begun = Instant::now();
    loop {
        let address = SessionAddress::Unix(socket.to_owned());
        match Client::connect(address, ClientOptions::default()).await {
            Ok(client) => return Ok(client),
            Err(error) if begun.elapsed() > BENCH_START_MAX => return Err(io::Error::other(error)),
            Err(_) => tokio::time::sleep(Duration::from_millis(5)).await,
        }
    }
}

async fn submit(client: &Client, op: Op) -> io::Result<()> {
    // Each kind once, so the kind is name enough.
    let id = match &op {
        Op::ConfigureSession(_) => "configure",
        Op::UserInput { .. } => "talk",
        _ => "end",
    };
    client.submit(id, op).await.map_err(io::Error::other)
}

async fn until(client: &mut Client, is_it: impl Fn(&EventMsg) -> bool) -> io::Result<()> {
    while let Some(event) = client.next_event().await.map_err(io::Error::other)? {
        if let EventMsg::Error(error) = &event.msg {
            return Err(io::Error::other(error.message.clone()));
        }
        if is_it(&event.msg) {
            return Ok(());
        }
    }
    Err(io::Error::other("the session ended early"))
}
