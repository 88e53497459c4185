//! Listing: what is shown, filters, order, pages, names.

use std::path::Path;

use expect_test::expect;
use troupe_protocol::SessionId;
use troupe_protocol::event::EventMsg;
use troupe_protocol::input::UserInput;
use troupe_protocol::item::{TurnItem, UserMessageItem};
use troupe_protocol::rollout::{RolloutRecord, SessionMeta};
use troupe_protocol::session::SessionSource;
use troupe_protocol::usage::{TokenUsage, TokenUsageInfo};
use troupe_store::{
    ListOrder, ListPage, ListQuery, SessionStore, SortKey, SourceKind, StoreError, UnixMillis,
};

use super::home::{Home, START, event, meta, said, turn_context};

pub fn user_said(text: &str) -> RolloutRecord {
    event(EventMsg::ItemCompleted {
        thread_id: SessionId::random(),
        turn_id: "task".into(),
        item: TurnItem::UserMessage(UserMessageItem {
            id: "item".into(),
            content: vec![UserInput::text(text)],
            metadata: None,
            client_id: None,
        }),
        completed_at_ms: 0,
    })
}

pub fn named(name: &str) -> RolloutRecord {
    event(EventMsg::ThreadNameUpdated {
        thread_name: Some(name.to_owned()),
    })
}

pub fn tokens(total: u64) -> RolloutRecord {
    let total_token_usage = TokenUsage {
        total_tokens: total,
        ..TokenUsage::default()
    };
    event(EventMsg::TokenCount {
        info: Some(TokenUsageInfo {
            total_token_usage,
            ..TokenUsageInfo::default()
        }),
        rate_limits: None,
    })
}

/// Makes a session of `records` that began `minute` minutes after the first.
pub async fn session(home: &Home, minute: i64, records: &[RolloutRecord]) -> SessionMeta {
    let meta = SessionMeta {
        timestamp: UnixMillis(START + minute * 60_000).to_string(),
        ..meta()
    };
    let mut log = home.store.create(&meta).await.unwrap();
    log.append(records).unwrap();
    log.close().await.unwrap();
    meta
}

fn previews(page: &ListPage) -> Vec<&str> {
    let sessions = page.sessions.iter();
    sessions
        .map(|session| session.preview.as_deref().unwrap_or("-"))
        .collect()
}

async fn check(home: &Home, query: ListQuery, expected: &[&str]) {
    let page = home.store.list(&query).await.unwrap();
    assert_eq!(previews(&page), expected, "{query:?}");
    assert_eq!(page.warnings, [""; 0]);
}

#[tokio::test]
async fn a_summary_tells_what_the_log_says() {
    let home = Home::new();
    let records = [
        RolloutRecord::TurnContext(turn_context("/project", "model-1")),
        said("not the user"),
        user_said("  fix the parser\n"),
        user_said("and the printer"),
        tokens(10),
        named("first name"),
        RolloutRecord::TurnContext(turn_context("/moved", "model-2")),
        tokens(25),
        named("parser"),
        event(EventMsg::ThreadNoteUpdated {
            thread_note: Some("half done".to_owned()),
        }),
    ];
    let meta = session(&home, 0, &records).await;
    let page = home.store.list(&ListQuery::default()).await.unwrap();
    let [summary] = &page.sessions[..] else {
        panic!("{page:?}");
    };
    assert_eq!(summary.id, meta.id);
    assert!(summary.path.as_deref().is_some_and(Path::exists));
    assert_eq!(summary.cwd, Path::new("/moved"));
    assert_eq!(summary.source, SessionSource::Exec);
    assert_eq!(summary.model_provider, "scripted");
    assert_eq!(summary.model.as_deref(), Some("model-2"));
    assert_eq!(summary.name.as_deref(), Some("parser"));
    assert_eq!(summary.note.as_deref(), Some("half done"));
    assert_eq!(summary.preview.as_deref(), Some("fix the parser"));
    assert_eq!(summary.tokens, 25);
    assert_eq!(summary.created, UnixMillis(START));
    assert!(summary.updated > summary.created);
    assert!(!summary.archived);
}

#[tokio::test]
async fn a_long_preview_is_cut_between_characters() {
    let home = Home::new();
    session(&home, 0, &[user_said(&"é".repeat(1000))]).await;
    let page = home.store.list(&ListQuery::default()).await.unwrap();
    assert_eq!(previews(&page), ["é".repeat(200)]);
}

#[tokio::test]
async fn filters_combine() {
    let home = Home::new();
    let context = |cwd| RolloutRecord::TurnContext(turn_context(cwd, "model"));
    session(&home, 0, &[context("/a"), user_said("Read 100% of a_b")]).await;
    session(
        &home,
        1,
        &[context("/b"), user_said("write"), named("Reader")],
    )
    .await;
    let sub = SessionMeta {
        source: SessionSource::SubSession {
            parent: SessionId::random(),
            depth: 1,
            origin: "spawn".into(),
        },
        model_provider: "other".into(),
        timestamp: UnixMillis(START + 120_000).to_string(),
        ..meta()
    };
    let mut log = home.store.create(&sub).await.unwrap();
    log.append(&[context("/a"), user_said("child")]).unwrap();
    log.close().await.unwrap();

    let by_creation = ListQuery {
        sort: SortKey::Created,
        ..ListQuery::default()
    };
    let with = |change: &dyn Fn(&mut ListQuery)| {
        let mut query = by_creation.clone();
        change(&mut query);
        query
    };
    check(&home, by_creation.clone(), &["write", "Read 100% of a_b"]).await;
    let everything = with(&|query| query.sources = SourceKind::ALL.to_vec());
    check(
        &home,
        everything.clone(),
        &["child", "write", "Read 100% of a_b"],
    )
    .await;
    let oldest_first = ListQuery {
        direction: ListOrder::OldestFirst,
        ..everything
    };
    check(&home, oldest_first, &["Read 100% of a_b", "write", "child"]).await;
    let in_a = with(&|query| query.cwds = vec!["/a".into()]);
    check(&home, in_a, &["Read 100% of a_b"]).await;
    let by_people = with(&|query| query.sources = vec![SourceKind::Cli, SourceKind::Exec]);
    check(&home, by_people, &["write", "Read 100% of a_b"]).await;
    let by_other = with(&|query| {
        query.sources = vec![SourceKind::SubSession, SourceKind::Exec];
        query.model_providers = vec!["other".into()];
    });
    check(&home, by_other, &["child"]).await;
    let reading = with(&|query| query.search = Some("read".into()));
    check(&home, reading, &["write", "Read 100% of a_b"]).await;
    for (text, found) in [
        ("100%", 1),
        ("a_b", 1),
        ("%", 1),
        ("1_0", 0),
        ("'", 0),
        ("\\", 0),
    ] {
        let query = with(&|query| query.search = Some(text.into()));
        let page = home.store.list(&query).await.unwrap();
        assert_eq!(page.sessions.len(), found, "{text}");
    }
    let both = with(&|query| {
        query.cwds = vec!["/a".into(), "/nowhere".into()];
        query.sources = vec![SourceKind::SubSession];
    });
    check(&home, both, &["child"]).await;
}

#[tokio::test]
async fn pages_join_without_gap_or_overlap() {
    let home = Home::new();
    for number in 0..30 {
        // Pairs share their time, so the id decides.
        session(&home, number / 2, &[user_said(&number.to_string())]).await;
    }
    for (sort, direction) in [
        (SortKey::Created, ListOrder::NewestFirst),
        (SortKey::Created, ListOrder::OldestFirst),
        (SortKey::Updated, ListOrder::NewestFirst),
    ] {
        let mut query = ListQuery {
            sort,
            direction,
            limit: Some(7),
            ..ListQuery::default()
        };
        let mut seen = Vec::new();
        let mut sizes = Vec::new();
        loop {
            let page = home.store.list(&query).await.unwrap();
            sizes.push(page.sessions.len());
            seen.extend(page.sessions.iter().map(|session| session.id));
            match page.next {
                Some(next) => query.cursor = Some(next),
                None => break,
            }
        }
        assert_eq!(sizes, [7, 7, 7, 7, 2]);
        seen.sort();
        seen.dedup();
        assert_eq!(seen.len(), 30);
    }
    let page = home.store.list(&ListQuery::default()).await.unwrap();
    assert_eq!((page.sessions.len(), page.next.is_some()), (25, true));
}

#[tokio::test]
async fn a_cursor_by_other_hands_is_refused() {
    let home = Home::new();
    for cursor in ["", "1", "1_2", "'; DROP TABLE sessions; --"] {
        let query = ListQuery {
            cursor: Some(cursor.to_owned()),
            ..ListQuery::default()
        };
        let listed = home.store.list(&query).await;
        assert!(matches!(listed, Err(StoreError::Cursor { .. })), "{cursor}");
    }
}

#[tokio::test]
async fn a_session_is_found_by_id_prefix_or_name() {
    let home = Home::new();
    let one = session(&home, 0, &[named("parser")]).await;
    let two = session(&home, 1, &[named("printer")]).await;
    session(&home, 2, &[named("printer")]).await;
    let resolve = async |text: &str| home.store.resolve(text).await;
    assert_eq!(resolve(&one.id.to_string()).await.unwrap(), one.id);
    assert_eq!(resolve(&two.id.short()).await.unwrap(), two.id);
    assert_eq!(resolve("parser").await.unwrap(), one.id);
    let twice = resolve("printer").await.unwrap_err();
    assert!(matches!(twice, StoreError::SameName { candidates, .. } if candidates.len() == 2));
    let none = resolve("lexer").await.unwrap_err();
    expect![[r#"no session "lexer" in this home; `troupe sessions list` shows the known ones"#]]
        .assert_eq(&none.to_string());
    let unknown = SessionId::random().to_string();
    assert!(matches!(
        resolve(&unknown).await,
        Err(StoreError::NotFound { .. })
    ));
}
