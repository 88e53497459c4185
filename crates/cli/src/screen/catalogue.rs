//! The sessions of this home, for the picker.

use std::path::PathBuf;

use async_trait::async_trait;
use troupe_engine::expand;
use troupe_protocol::link::query::{LinkAnswer, SessionFilter};
use troupe_protocol::rollout::RolloutRecord;
use troupe_protocol::session::SessionSource;
use troupe_protocol::{EventMsg, Op, SessionId};
use troupe_server::session_cards;
use troupe_store::{EmbeddedStore, IndexFreshness, SessionStore, StoreError};
use troupe_tui::resume::{
    CatalogueAnswer, CatalogueRequest, PageFreshness, SessionCatalogue, SessionOrder, SessionScope,
};

use crate::commands::stored_session_op::submit_and_wait;
use crate::layers::ConfigSource;
use crate::limits::{PREVIEW_RECORDS_MAX, RESUME_PAGE_SESSIONS};
use crate::wiring::Wiring;

/// A home, seen from a directory.
pub(super) struct HomeCatalogue {
    pub store: EmbeddedStore,
    pub source: ConfigSource,
    pub cwd: PathBuf,
}

#[async_trait]
impl SessionCatalogue for HomeCatalogue {
    async fn ask(&mut self, request: CatalogueRequest) -> CatalogueAnswer {
        let answer = match request {
            CatalogueRequest::Page {
                scope,
                cursor,
                freshness,
            } => self.page(scope, cursor, freshness).await,
            CatalogueRequest::Preview(session) => self.preview(session).await,
            CatalogueRequest::Rename(session, name) => {
                self.change(session, Op::SetThreadName { name }).await
            }
            CatalogueRequest::Note(session, note) => {
                self.change(session, Op::SetThreadNote { note }).await
            }
            CatalogueRequest::Archive {
                session,
                is_archived,
            } => self.archive(session, is_archived).await,
        };
        answer.unwrap_or_else(CatalogueAnswer::Refused)
    }
}

impl HomeCatalogue {
    async fn page(
        &self,
        scope: SessionScope,
        cursor: Option<String>,
        freshness: PageFreshness,
    ) -> Result<CatalogueAnswer, String> {
        let look = match freshness {
            PageFreshness::Remembered => IndexFreshness::AsLeft,
            PageFreshness::LookedUp => IndexFreshness::CaughtUp,
        };
        let continues = cursor.is_some();
        let filter = SessionFilter {
            cwd: (!scope.everywhere).then(|| self.cwd.clone()),
            search: Some(scope.search.clone()).filter(|words| !words.is_empty()),
            archived: scope.archived,
            by_creation: scope.order == SessionOrder::Created,
            cursor,
            limit: Some(RESUME_PAGE_SESSIONS),
        };
        match session_cards(&self.store, filter, look)
            .await
            .map_err(told)?
        {
            LinkAnswer::Sessions { sessions, next } => Ok(CatalogueAnswer::Page {
                scope,
                continues,
                freshness,
                sessions,
                next,
            }),
            _ => Err("the index gave another answer".to_owned()),
        }
    }

    /// Reads what is live of a session: from its newest summary on.
    async fn preview(&self, session: SessionId) -> Result<CatalogueAnswer, String> {
        let live = self.store.read_live(session).await.map_err(told)?;
        let records = live
            .records
            .into_iter()
            .filter_map(|(_, stamped)| match stamped.record {
                RolloutRecord::EventMsg(event) => Some(event),
                _ => None,
            });
        let records: Vec<_> = records.collect();
        let from = records.len().saturating_sub(PREVIEW_RECORDS_MAX);
        let events = records.into_iter().skip(from).flat_map(expand);
        Ok(CatalogueAnswer::Preview {
            session,
            events: events.map(|event| event.msg).collect(),
        })
    }

    async fn change(&self, session: SessionId, op: Op) -> Result<CatalogueAnswer, String> {
        let wiring = Wiring::new(self.source.clone(), &self.cwd, SessionSource::Cli);
        let wiring = wiring.map_err(|failure| failure.to_string())?;
        let is_done = |msg: &EventMsg| {
            let is_answer = matches!(
                msg,
                EventMsg::ThreadNameUpdated { .. } | EventMsg::ThreadNoteUpdated { .. }
            );
            is_answer.then_some(())
        };
        let done = submit_and_wait(wiring, session, op, is_done).await;
        done.map_err(|failure| failure.to_string())?;
        Ok(CatalogueAnswer::Changed)
    }

    async fn archive(
        &self,
        session: SessionId,
        is_archived: bool,
    ) -> Result<CatalogueAnswer, String> {
        let done = if is_archived {
            self.store.archive(session).await
        } else {
            self.store.unarchive(session).await
        };
        done.map_err(told)?;
        Ok(CatalogueAnswer::Changed)
    }
}

fn told(error: StoreError) -> String {
    error.to_string()
}
