//! What the picker asks of a home, whoever reads it.

use async_trait::async_trait;
use troupe_protocol::link::query::SessionCard;
use troupe_protocol::{EventMsg, SessionId};

/// Which sessions are listed, in which order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionScope {
    /// Of any directory, and not only of the one where the person is.
    pub everywhere: bool,
    pub archived: bool,
    pub order: SessionOrder,
    pub search: String,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SessionOrder {
    #[default]
    Updated,
    Created,
}

/// Whether the logs are looked at for a page. Of ten thousand that takes a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageFreshness {
    /// As the index was left.
    Remembered,
    LookedUp,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CatalogueRequest {
    /// A page of sessions; answered with [`CatalogueAnswer::Page`].
    Page {
        scope: SessionScope,
        /// `next` of the page before.
        cursor: Option<String>,
        freshness: PageFreshness,
    },
    /// What was said last; answered with [`CatalogueAnswer::Preview`].
    Preview(SessionId),
    Rename(SessionId, String),
    /// An empty note clears it.
    Note(SessionId, String),
    /// Puts it away, or takes it back.
    Archive {
        session: SessionId,
        is_archived: bool,
    },
}

#[derive(Debug, Clone, PartialEq)]
pub enum CatalogueAnswer {
    Page {
        scope: SessionScope,
        /// Whether these stand behind those that are listed.
        continues: bool,
        freshness: PageFreshness,
        sessions: Vec<SessionCard>,
        next: Option<String>,
    },
    Preview {
        session: SessionId,
        events: Vec<EventMsg>,
    },
    /// Done; what is listed may be another now.
    Changed,
    /// Not done, and why.
    Refused(String),
}

/// The sessions of a home. Rows come from its index; a log is read for a preview alone.
#[async_trait]
pub trait SessionCatalogue: Send {
    async fn ask(&mut self, request: CatalogueRequest) -> CatalogueAnswer;
}
