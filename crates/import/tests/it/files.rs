//! Files that are no conversations.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use troupe_import::limits::LINE_BYTES_MAX;
use troupe_import::{ForeignConversation, ImportError};

use crate::chronicle::Home;

fn fixture(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/fixtures/{name}/input.jsonl"))
}

fn refusal(path: &Path) -> String {
    ForeignConversation::open(path).unwrap_err().to_string()
}

#[test]
fn links_and_special_files_are_refused() {
    let home = Home::new();
    let link = home.path("link.jsonl");
    symlink(fixture("codex-0.169"), &link).unwrap();
    assert!(matches!(
        ForeignConversation::open(&link),
        Err(ImportError::Link { .. })
    ));
    assert!(refusal(&home.path("")).contains("is a directory"));
    assert!(refusal(Path::new("/dev/zero")).contains("is a device"));
    let socket = home.path("socket.jsonl");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    assert!(refusal(&socket).contains("is a socket"));
    let packed = home.path("rollout.jsonl.zst");
    fs::write(&packed, "").unwrap();
    assert!(refusal(&packed).contains("zstd -d"));
    assert!(refusal(&home.path("absent.jsonl")).starts_with("cannot read"));
}

#[test]
fn what_is_no_conversation_is_refused() {
    let home = Home::new();
    let file = home.path("file.jsonl");
    for text in [
        "",
        "hello\n",
        "{}\n",
        "[1]\n",
        "{\"type\":\"user\"}\n",
        "\u{0}\u{0}",
    ] {
        fs::write(&file, text).unwrap();
        assert!(refusal(&file).contains("is no conversation"), "{text:?}");
    }
}

#[tokio::test]
async fn a_conversation_in_which_nobody_speaks_leaves_no_session() {
    let home = Home::new();
    let file = home.path("file.jsonl");
    let meta = fs::read_to_string(fixture("codex-0.169")).unwrap();
    fs::write(&file, meta.lines().next().unwrap()).unwrap();
    let error = home.import(&file).await.unwrap_err();
    assert!(matches!(error, ImportError::Empty { .. }), "{error}");
    let session = ForeignConversation::open(&file).unwrap().session();
    let gone = troupe_store::SessionStore::read_live(&home.store(), session).await;
    assert!(matches!(
        gone,
        Err(troupe_store::StoreError::NotFound { .. })
    ));
}

/// A log of ours has lines of the same shape as a rollout of Codex.
#[tokio::test]
async fn our_own_logs_are_not_taken_over() {
    let home = Home::new();
    let imported = home.import(&fixture("codex-0.169")).await.unwrap();
    let mut logs = vec![home.path("home/sessions")];
    while logs[0].is_dir() {
        let directory = logs.remove(0);
        logs.extend(
            fs::read_dir(directory)
                .unwrap()
                .map(|it| it.unwrap().path()),
        );
    }
    let told = refusal(&logs[0]);
    assert!(told.contains("log of Troupe itself"), "{told}");
    assert!(told.contains(&imported.session.to_string()), "{told}");
}

#[tokio::test]
async fn a_line_without_end_costs_itself() {
    let home = Home::new();
    let file = home.path("file.jsonl");
    let mut text = fs::read_to_string(fixture("codex-rolled-back")).unwrap();
    text.push_str("{\"type\":\"");
    text.push_str(&"x".repeat(LINE_BYTES_MAX));
    text.push_str("\"}\n");
    let user = r#"{"timestamp":"2026-03-01T11:00:00.000Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"behind it"}]}}"#;
    text.push_str(user);
    fs::write(&file, &text).unwrap();
    let imported = home.import(&file).await.unwrap();
    let number = text.lines().count() - 1;
    assert_eq!(imported.losses.broken_lines()[0].0, number);
    let last = home.history(imported.session).await.pop().unwrap();
    assert!(format!("{last:?}").contains("behind it"));
}
