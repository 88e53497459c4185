//! Sessions that this server does not have in memory: another process works with them, or did
//! until it died.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;
use troupe_testkit::Stage;

use super::ENDLESS;
use super::client::Client;

#[tokio::test]
async fn a_session_that_another_process_holds_is_waited_for_and_takes_no_prompt() {
    let stage = Stage::new(ENDLESS).await;
    let mut owner = Client::connect(&stage).await;
    let id = owner.spawned("go").await;
    let mut other = Client::connect(&stage).await;
    let about = json!({"sessionId": id});
    let got = loop {
        let got = other.call("troupe_sessions_get", about.clone()).await;
        // Until its first line is written, there is nothing to be seen.
        if got["status"] == "running" {
            break got;
        }
    };
    assert_eq!(got["readyForPrompt"], false);
    assert_eq!(got["heldElsewhere"], true);
    let look = json!({"sessionIds": [id], "timeoutMs": 0});
    let looked = other.call("troupe_sessions_wait", look).await;
    assert_eq!(looked["timedOut"], true);
    assert_eq!(looked["running"][0]["sessionId"], json!(id));

    let waiting = json!({"sessionIds": [id]});
    let wait = other.begin("troupe_sessions_wait", waiting).await;
    owner.call("troupe_sessions_cancel", about.clone()).await;
    let waited = other.ended(wait).await;
    assert_eq!(waited["finished"][0]["status"], "cancelled", "{waited}");
    // It is done, and still not ours.
    assert_eq!(waited["finished"][0]["readyForPrompt"], false);
    owner.end().await;
    let got = other.call("troupe_sessions_get", about).await;
    assert_eq!(got["readyForPrompt"], true);
    assert_eq!(got["heldElsewhere"], false);
    other.end().await;
}

/// Returns the log of a session.
fn log_of(directory: &Path, session: &str) -> Option<PathBuf> {
    let entries = fs::read_dir(directory).ok()?.flatten();
    entries.map(|entry| entry.path()).find_map(|path| {
        let name = path.file_name()?.to_string_lossy().into_owned();
        if path.is_dir() {
            log_of(&path, session)
        } else {
            (name.ends_with(&format!("{session}.jsonl"))).then_some(path)
        }
    })
}

#[tokio::test]
async fn after_a_crash_nothing_runs_and_a_wait_has_something_to_tell() {
    let stage = Stage::new(ENDLESS).await;
    let mut client = Client::connect(&stage).await;
    let id = client.spawned("go").await;
    let log = log_of(&stage.home(), &id).expect("the session is kept");
    let at_work = loop {
        let text = fs::read_to_string(&log).expect("the log can be read");
        if text.contains("\"UserMessage\"") {
            break text;
        }
        tokio::task::yield_now().await;
    };
    client.end().await;
    // As a process leaves it that is killed.
    let whole = at_work.rfind('\n').map_or(0, |end| end + 1);
    fs::write(&log, &at_work[..whole]).expect("the log can be written");
    for file in ["state.db", "state.db-wal", "state.db-shm"] {
        // Whichever there are.
        fs::remove_file(stage.home().join(file)).ok();
    }

    let mut client = Client::connect(&stage).await;
    let about = json!({"sessionId": id});
    let got = client.call("troupe_sessions_get", about.clone()).await;
    assert_eq!(got["status"], "interrupted", "{got}");
    assert_eq!(got["readyForPrompt"], true);
    let waited = client
        .call("troupe_sessions_wait", json!({"sessionIds": [id]}))
        .await;
    assert_eq!(waited["timedOut"], false);
    assert_eq!(waited["finished"][0]["status"], "interrupted");
    let tasks = client.call("troupe_tasks_list", about.clone()).await;
    assert_eq!(tasks["tasks"][0]["status"], "crash");
    let tree = client.call("troupe_agents_tree", about).await;
    for agent in tree["agents"].as_array().expect("there are agents") {
        assert_eq!(agent["status"], "interrupted");
    }
    client.end().await;
}
