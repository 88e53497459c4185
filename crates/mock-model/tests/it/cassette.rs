//! Recorded and played back.

use std::sync::Arc;

use troupe_mock_model::cassette::{CassettePlayer, CassetteRecorder};
use troupe_model::{LanguageModel, ModelEvent, WireApi};

use super::support::{ask, connect_to, request, show, turns};

#[tokio::test]
async fn a_replay_gives_the_same_events() {
    let server = turns(&[
        "steps = [{ think = 'hm' }, { call = 'shell', arguments = { n = 1 } }]",
        "steps = [{ status = 429, retry_after = 0 }]",
        "steps = [{ say = 'done' }]",
        "steps = [{ status = 400, message = 'no' }]",
    ])
    .await;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("tape.jsonl");
    let model = server
        .provider(WireApi::Responses)
        .connect("test", Some("s3cret".into()))
        .unwrap();
    let recorder = CassetteRecorder::wrap(model, &path).unwrap();
    let texts = ["one", "two words", "three"];
    let mut recorded = Vec::new();
    for text in texts {
        recorded.push(ask(&recorder, text).await);
    }
    assert!(show(&recorded[1]).contains("retrying 1/4"));

    let tape = std::fs::read_to_string(&path).unwrap();
    assert_eq!(tape.lines().count(), 3);
    assert!(!tape.contains("s3cret") && !tape.contains("two words"));

    let player = CassettePlayer::open(&path).unwrap();
    assert_eq!(player.provider_id(), "cassette");
    for (text, recorded) in texts.iter().zip(recorded) {
        assert_eq!(ask(&player, text).await, recorded);
    }
    let over = show(&ask(&player, "four").await);
    assert!(
        over.contains("the tape is over after 3 responses"),
        "{over}"
    );
}

#[tokio::test]
async fn another_request_is_refused_with_both_named() {
    let server = turns(&["steps = [{ say = 'a' }]"]).await;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("tape.jsonl");
    let recorder =
        CassetteRecorder::wrap(connect_to(server.provider(WireApi::Responses)), &path).unwrap();
    ask(&recorder, "fix it").await;

    let player = CassettePlayer::open(&path).unwrap();
    let mut other = request("fix it");
    other.model = "bigger".into();
    let events = super::support::read_all(player.open(other)).await;
    let shown = show(&events);
    assert!(
        shown.contains("(line 1): recorded scripted with 1 items"),
        "{shown}"
    );
    assert!(shown.contains("asked for bigger with 1 items"), "{shown}");
    assert!(show(&ask(&player, "fix it").await).contains("completed"));
}

#[tokio::test]
async fn requests_at_the_same_time_find_their_own_answers() {
    let server = turns(&["steps = [{ say = 'a' }]", "steps = [{ say = 'b' }]"]).await;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("tape.jsonl");
    let recorder =
        CassetteRecorder::wrap(connect_to(server.provider(WireApi::Responses)), &path).unwrap();
    let first = ask(&recorder, "first agent").await;
    let second = ask(&recorder, "second agent").await;

    let player = CassettePlayer::open(&path).unwrap();
    assert_eq!(ask(&player, "second agent").await, second);
    assert_eq!(ask(&player, "first agent").await, first);
}

#[tokio::test]
async fn a_response_that_was_left_is_silent_where_it_was_left() {
    let server = turns(&["steps = [{ say = 'half', chunks = 1 }, { end = 'stall' }]"]).await;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("tape.jsonl");
    let recorder =
        CassetteRecorder::wrap(connect_to(server.provider(WireApi::Responses)), &path).unwrap();
    let mut stream = recorder.open(request("go"));
    let mut recorded = Vec::new();
    while !recorded
        .iter()
        .any(|event| matches!(event, ModelEvent::ItemDone { .. }))
    {
        recorded.extend(stream.next_batch().await.unwrap());
    }
    drop(stream);

    let player: Arc<dyn LanguageModel> = Arc::new(CassettePlayer::open(&path).unwrap());
    let mut replay = player.open(request("go"));
    assert_eq!(replay.next_batch().await.unwrap(), recorded);
    let more = futures_util::FutureExt::now_or_never(replay.next_batch());
    assert_eq!(more, None);
}

#[tokio::test]
async fn a_tape_that_cannot_be_written_fails_the_response() {
    let server = turns(&["steps = [{ say = 'a' }]"]).await;
    let model = connect_to(server.provider(WireApi::Responses));
    let recorder = CassetteRecorder::wrap(model, "/dev/full").unwrap();
    let shown = show(&ask(&recorder, "go").await);
    assert!(
        shown.contains("failed Cassette: cassette /dev/full: No space left"),
        "{shown}"
    );
    let shown = show(&ask(&recorder, "go").await);
    assert!(shown.starts_with("failed Cassette"), "{shown}");
}

#[test]
fn a_torn_tape_names_the_line() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("tape.jsonl");
    std::fs::write(&path, "{\"request\":").unwrap();
    let error = CassettePlayer::open(&path).unwrap_err().to_string();
    assert!(error.contains("tape.jsonl, line 1: EOF"), "{error}");
}
