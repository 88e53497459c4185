//! The sessions of a home, with the counts of their trees, from the index alone.

use troupe_protocol::AgentId;
use troupe_protocol::link::query::{LinkAnswer, SessionCard, SessionFilter, TreeCount};
use troupe_protocol::tree::TaskEnding;
use troupe_store::{
    ArchivedFilter, IndexFreshness, ListQuery, RecordedStatus, SessionOverview, SessionStore,
    SortKey, StoreError,
};

use crate::limits::{SESSION_CARDS_DEFAULT, SESSION_CARDS_MAX};

/// Lists a page of sessions.
pub async fn session_cards(
    store: &dyn SessionStore,
    filter: SessionFilter,
    freshness: IndexFreshness,
) -> Result<LinkAnswer, StoreError> {
    let limit = filter.limit.unwrap_or(SESSION_CARDS_DEFAULT);
    let query = ListQuery {
        cwds: filter.cwd.into_iter().collect(),
        archived: if filter.archived {
            ArchivedFilter::Archived
        } else {
            ArchivedFilter::Live
        },
        search: filter.search,
        sort: if filter.by_creation {
            SortKey::Created
        } else {
            SortKey::Updated
        },
        cursor: filter.cursor,
        limit: Some(limit.min(SESSION_CARDS_MAX) as usize),
        ..ListQuery::default()
    };
    let page = store.overview(&query, freshness).await?;
    Ok(LinkAnswer::Sessions {
        sessions: page.sessions.into_iter().map(card).collect(),
        next: page.next,
    })
}

fn card(overview: SessionOverview) -> SessionCard {
    let SessionOverview {
        summary,
        agents,
        questions,
        is_held,
    } = overview;
    let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    let below = agents.iter().filter(|row| row.agent != AgentId::ROOT);
    let is_stopped = |end| matches!(end, RecordedStatus::Ended(TaskEnding::Interrupted { .. }));
    let tree = TreeCount {
        agents: count(below.clone().count()),
        stopped: count(below.filter(|row| is_stopped(row.standing)).count()),
        questions: count(questions),
        is_open: is_held,
    };
    SessionCard {
        session_id: summary.id,
        name: summary.name,
        note: summary.note,
        preview: summary.preview,
        cwd: summary.cwd,
        model: summary.model,
        created_ms: summary.created.0,
        updated_ms: summary.updated.0,
        tokens: summary.tokens,
        forked_from: summary.forked_from,
        tree,
    }
}
