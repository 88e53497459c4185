//! Where others keep their conversations.

use std::fs;
use std::path::Path;

use troupe_import::ForeignDirectories;
use troupe_import::places::FoundConversations;
use troupe_protocol::rollout::ForeignAgent;

use crate::chronicle::Home;

fn copy(fixture: &str, to: &Path) {
    let from =
        Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/fixtures/{fixture}/input.jsonl"));
    fs::create_dir_all(to.parent().unwrap()).unwrap();
    fs::copy(from, to).unwrap();
}

fn previews(found: &FoundConversations) -> Vec<&str> {
    let headings = found.candidates.iter().map(|it| &it.origin.heading);
    // The files are made in the same moment, so any of them may be the newest.
    let mut all: Vec<&str> = headings.filter_map(|it| it.preview.as_deref()).collect();
    all.sort_unstable();
    all
}

#[tokio::test]
async fn rollouts_of_codex_are_found_by_their_directory_and_named_by_its_index() {
    let home = Home::new();
    let places = ForeignDirectories {
        agent: ForeignAgent::Codex,
        home: home.path("codex"),
    };
    let day = home.path("codex/sessions/2026/03/01");
    let compacted = day.join("rollout-2026-03-01T10-00-00-b.jsonl");
    copy("codex-0.169-compacted", &compacted);
    copy(
        "codex-rolled-back",
        &day.join("rollout-2026-03-01T10-00-00-a.jsonl"),
    );
    copy(
        "codex-2025",
        &day.join("rollout-2026-03-01T10-00-00-c.jsonl"),
    );
    fs::write(day.join("rollout-broken.jsonl"), "nothing\n").unwrap();
    let here = places.search(Some(Path::new("/home/user/project")));
    assert_eq!(
        previews(&here),
        ["What do the notes say?", "first question"]
    );
    assert_eq!(here.skipped.len(), 1);
    assert_eq!(places.search(None).candidates.len(), 3);
    assert_eq!(places.search(Some(Path::new("/"))).candidates.len(), 0);

    let id = here.candidates[0].origin.id();
    let compacted_id = troupe_import::ForeignConversation::open(&compacted)
        .unwrap()
        .id();
    let index = format!(
        "{{\"id\":\"{compacted_id}\",\"thread_name\":\"old\"}}\nbroken\n{{\"id\":\"{compacted_id}\",\"thread_name\":\"groceries\"}}\n"
    );
    fs::write(home.path("codex/session_index.jsonl"), index).unwrap();
    assert!(!id.is_empty());
    let imported = home.import(&compacted).await.unwrap();
    assert_eq!(imported.name.as_deref(), Some("groceries"));
}

#[test]
fn conversations_of_claude_are_found_in_the_folder_of_their_directory() {
    let home = Home::new();
    let places = ForeignDirectories {
        agent: ForeignAgent::Claude,
        home: home.path("claude"),
    };
    let projects = home.path("claude/projects");
    copy("claude-2.1", &projects.join("-home-user-project/a.jsonl"));
    copy(
        "claude-branches",
        &projects.join("-home-user-other/b.jsonl"),
    );
    // The transcript of a sub-agent is no conversation of a person.
    let child = r#"{"parentUuid":null,"isSidechain":true,"type":"user","uuid":"u","sessionId":"s","cwd":"/home/user/project","message":{"role":"user","content":"look"}}"#;
    fs::write(projects.join("-home-user-project/agent-1.jsonl"), child).unwrap();
    let here = places.search(Some(Path::new("/home/user/project")));
    assert_eq!(previews(&here), ["What do the groceries notes say?"]);
    assert_eq!(places.search(None).candidates.len(), 2);
}
