//! What a session works with, and does not own: its log's store, its model, its tree, its mailbox.

use std::sync::Arc;

use troupe_model::LanguageModel;
use troupe_protocol::CallId;
use troupe_store::SessionStore;

use crate::calls::{CallOrigin, SessionChannel};
use crate::deps::{IdSource, SessionClock};
use crate::host::SessionHost;
use crate::mailbox::Mailbox;
use crate::sharing::SharedEncodings;

#[derive(Debug)]
pub(super) struct SessionServices {
    pub store: Arc<dyn SessionStore>,
    pub model: Arc<dyn LanguageModel>,
    pub host: Arc<dyn SessionHost>,
    pub encodings: Arc<SharedEncodings>,
    pub mailbox: Mailbox,
    pub clock: SessionClock,
    pub ids: IdSource,
}

impl SessionServices {
    /// Returns the way from a call to the session.
    pub(super) fn channel(&self, caller: CallOrigin, call_id: CallId) -> SessionChannel {
        SessionChannel {
            mailbox: self.mailbox.clone(),
            caller,
            call_id,
        }
    }

    /// Returns what a question to the provider needs that is asked beside the loop.
    pub(super) fn model_and_mailbox(&self) -> (Arc<dyn LanguageModel>, Mailbox) {
        (Arc::clone(&self.model), self.mailbox.clone())
    }
}
