//! Finding what was said.

use troupe_protocol::SessionId;
use troupe_protocol::event::EventMsg;
use troupe_protocol::item::{AgentMessageItem, TurnItem};
use troupe_protocol::rollout::RolloutRecord;
use troupe_store::search::{SearchPage, SearchQuery, search};
use troupe_store::{ArchivedFilter, SessionStore, StoreError, UnixMillis};

use super::home::{Home, START, event};
use super::list::{session, user_said};

fn agent_said(text: &str) -> RolloutRecord {
    event(EventMsg::ItemCompleted {
        thread_id: SessionId::random(),
        turn_id: "task".into(),
        item: TurnItem::AgentMessage(AgentMessageItem {
            id: "item".into(),
            text: text.to_owned(),
        }),
        completed_at_ms: 0,
    })
}

fn query(text: &str) -> SearchQuery {
    SearchQuery {
        text: text.to_owned(),
        ..SearchQuery::default()
    }
}

fn snippets(page: &SearchPage) -> Vec<&str> {
    page.hits.iter().map(|hit| hit.snippet.as_str()).collect()
}

#[tokio::test]
async fn words_of_both_are_found_newest_session_first() {
    let home = Home::new();
    session(
        &home,
        0,
        &[
            user_said("Fix the parser"),
            agent_said("The PARSER is fixed"),
        ],
    )
    .await;
    session(
        &home,
        1,
        &[user_said("hello"), agent_said("a parser again")],
    )
    .await;
    let page = search(&home.store, &query("parser")).await.unwrap();
    assert_eq!(
        snippets(&page),
        ["a parser again", "Fix the parser", "The PARSER is fixed"]
    );
    assert_eq!(page.hits[1].speaker.as_str(), "user");
    assert_eq!(page.next, None);
    let page = search(&home.store, &query("nowhere")).await.unwrap();
    assert_eq!(snippets(&page), [""; 0]);
}

#[tokio::test]
async fn pages_give_each_hit_once() {
    let home = Home::new();
    for minute in 0..3 {
        let said: Vec<_> = (0..3)
            .map(|n| user_said(&format!("word {minute} {n}")))
            .collect();
        session(&home, minute, &said).await;
    }
    let whole = search(&home.store, &query("word")).await.unwrap();
    assert_eq!(whole.hits.len(), 9);
    let mut paged = Vec::new();
    let mut cursor = None;
    loop {
        let page = SearchQuery {
            limit: Some(2),
            cursor,
            ..query("word")
        };
        let page = search(&home.store, &page).await.unwrap();
        assert!(page.hits.len() <= 2);
        paged.extend(page.hits);
        cursor = page.next;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(paged, whole.hits);
    let nonsense = SearchQuery {
        cursor: Some("nonsense".to_owned()),
        ..query("word")
    };
    let refused = search(&home.store, &nonsense).await;
    assert!(
        matches!(refused, Err(StoreError::Cursor { .. })),
        "{refused:?}"
    );
}

#[tokio::test]
async fn filters_leave_out_the_old_and_the_archived() {
    let home = Home::new();
    let old = session(&home, 0, &[user_said("old word")]).await;
    session(&home, 1, &[user_said("new word")]).await;
    home.store.archive(old.id).await.unwrap();
    let page = search(&home.store, &query("word")).await.unwrap();
    assert_eq!(snippets(&page), ["new word"]);
    let any = SearchQuery {
        archived: ArchivedFilter::Any,
        ..query("word")
    };
    let page = search(&home.store, &any).await.unwrap();
    assert_eq!(page.hits.len(), 2);
    let elsewhere = SearchQuery {
        cwd: Some("/elsewhere".into()),
        ..query("word")
    };
    let page = search(&home.store, &elsewhere).await.unwrap();
    assert_eq!(page.hits.len(), 0);
    let later = SearchQuery {
        since: Some(UnixMillis(START + 365 * 24 * 3_600_000)),
        ..query("word")
    };
    let page = search(&home.store, &later).await.unwrap();
    assert_eq!(page.hits.len(), 0);
}
