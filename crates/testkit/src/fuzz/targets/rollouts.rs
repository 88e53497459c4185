//! Logs of conversations, as they may be found on a disk.

use std::cell::OnceCell;
use std::fs;
use std::path::PathBuf;

use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};
use troupe_protocol::SessionId;
use troupe_store::{EmbeddedStore, LiveHistory, LogPosition, SessionStore as _};

use crate::fuzz::{Shape, Target};

pub(super) const TARGET: Target = Target {
    name: "rollouts",
    run,
    words: &[
        "{\"timestamp\":\"2026-01-02T03:04:05.678Z\",\"type\":\"",
        "\",\"payload\":",
        "}\n",
        "event_msg",
        "response_item",
        "turn_context",
        "compacted",
        "rewind",
        "{\"to\":",
        "seq_reserved",
        "submitted",
        "files",
        "agent",
        "18446744073709551615",
        "\n\n",
    ],
};

const ID: &str = "67e55044-10b1-426f-9247-bb680e5fe0c8";

struct Desk {
    _home: TempDir,
    log: PathBuf,
    store: EmbeddedStore,
    runtime: Runtime,
    meta: Vec<u8>,
}

thread_local! {
    static DESK: OnceCell<Desk> = const { OnceCell::new() };
}

fn run(input: &[u8]) -> Shape {
    DESK.with(|desk| {
        let desk = desk.get_or_init(Desk::new);
        desk.runtime.block_on(read(desk, input))
    })
}

impl Desk {
    fn new() -> Self {
        let home = TempDir::new().expect("a directory can be made");
        let directory = home.path().join("sessions/2026/01/02");
        fs::create_dir_all(&directory).expect("it is ours");
        let meta = format!(
            "{{\"timestamp\":\"2026-01-02T03:04:05.678Z\",\"type\":\"session_meta\",\"payload\":\
             {{\"id\":\"{ID}\",\"timestamp\":\"2026-01-02T03:04:05.678Z\",\"cwd\":\"/repo\",\
             \"originator\":\"troupe\",\"cli_version\":\"0.0.0\",\"source\":\"cli\",\
             \"model_provider\":\"openai\"}}}}\n"
        );
        Self {
            log: directory.join(format!("rollout-2026-01-02T03-04-05-{ID}.jsonl")),
            store: EmbeddedStore::open(home.path()).expect("the home is ours"),
            runtime: Builder::new_current_thread()
                .enable_all()
                .build()
                .expect("a runtime can be made"),
            meta: meta.into_bytes(),
            _home: home,
        }
    }
}

/// The first line is whole, or all of it is fuzzed if the input begins with a zero.
async fn read(desk: &Desk, input: &[u8]) -> Shape {
    let content = match input.strip_prefix(b"\0") {
        Some(rest) => rest.to_vec(),
        None => [&desk.meta, input].concat(),
    };
    fs::write(&desk.log, &content).expect("it is ours");
    let id: SessionId = ID.parse().expect("it is an id");
    let live = desk.store.read_live(id).await;
    let lines = lines(desk, id).await;
    assert!(lines <= content.len() as u64);
    let agents = desk.store.agent_lines(id).await;
    // Opening cuts off a torn last line, which is no line for readers either.
    let opened = desk.store.open(id).await;
    match (&live, &opened) {
        (Ok(live), Ok((_, opened))) => assert_eq!(records(live), records(opened)),
        (Err(_), Ok(_)) => panic!("what can be opened can be read"),
        (_, Err(_)) => {}
    }
    let said = match &live {
        Ok(live) => live.warnings.join(" "),
        Err(error) => error.to_string(),
    };
    let agents = agents.map_or_else(|error| error.to_string(), |it| it.warnings.join(" "));
    Shape::of(&format!("{said}{agents}"))
}

fn records(live: &LiveHistory) -> String {
    format!("{:?}", live.records)
}

async fn lines(desk: &Desk, id: SessionId) -> u64 {
    let mut from = LogPosition(0);
    let mut count = 0;
    loop {
        let Ok(batch) = desk.store.read_all(id, from).await else {
            return count;
        };
        for line in &batch.lines {
            count += 1;
            // Readable or not is all that matters here.
            drop(line.record());
        }
        if batch.at_end {
            return count;
        }
        assert!(batch.next > from, "reading goes on");
        from = batch.next;
    }
}
