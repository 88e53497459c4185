//! What the messages say that wait in inboxes. The tree knows only that they are there.

use std::collections::HashMap;

use troupe_protocol::tree::{AgentMessage, MessageId};

#[derive(Debug, Default)]
pub(super) struct MailContents(HashMap<MessageId, AgentMessage>);

impl MailContents {
    /// Keeps what a message says until its inbox lets go of it. Returns it for its line.
    pub(super) fn keep(
        &mut self,
        id: MessageId,
        message: Option<AgentMessage>,
    ) -> Option<Box<AgentMessage>> {
        let message = message?;
        self.0.insert(id, message.clone());
        Some(Box::new(message))
    }

    pub(super) fn take(&mut self, id: MessageId) -> Option<AgentMessage> {
        self.0.remove(&id)
    }

    pub(super) fn forget(&mut self, messages: &[MessageId]) {
        for message in messages {
            self.0.remove(message);
        }
    }

    /// Returns what a message says. Its words may be missing only if its line was damaged.
    pub(super) fn message(&self, id: MessageId) -> AgentMessage {
        let lost = || {
            AgentMessage::text(
                "[a message for you could not be read from the log; ask its sender for it]",
            )
        };
        self.0.get(&id).cloned().unwrap_or_else(lost)
    }

    pub(super) fn messages(&self, ids: Vec<MessageId>) -> Vec<(MessageId, AgentMessage)> {
        ids.into_iter().map(|id| (id, self.message(id))).collect()
    }
}
