//! The mail of one agent: envelopes in the order of their arrival.

use std::collections::VecDeque;

use troupe_protocol::agent::PendingMail;
use troupe_protocol::tree::{MailEnvelope, MailKind, MailSender, MessageId};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Inbox(VecDeque<MailEnvelope>);

impl Inbox {
    /// Adds a message; one that is there already changes nothing.
    pub fn put(&mut self, envelope: MailEnvelope) {
        if self.find(envelope.id).is_none() {
            self.0.push_back(envelope);
        }
    }

    /// Returns the message that starts the next task of an idle agent. Of interrupts it is
    /// the newest: it takes the place of what those before it would have begun.
    pub fn next(&self, callbacks: TakeCallbacks) -> Option<&MailEnvelope> {
        let callback = match callbacks {
            TakeCallbacks::Yes => self.callbacks().next(),
            TakeCallbacks::Held => None,
        };
        self.interrupts()
            .last()
            .or_else(|| self.regular().next())
            .or(callback)
    }

    /// Returns the mail that came before a message, the oldest first.
    pub fn older_than(&self, id: MessageId) -> impl Iterator<Item = &MailEnvelope> {
        self.0.iter().take_while(move |envelope| envelope.id != id)
    }

    pub fn take(&mut self, id: MessageId) -> Option<MailEnvelope> {
        let at = self.0.iter().position(|envelope| envelope.id == id)?;
        let taken = self.0.remove(at);
        // Most inboxes are empty most of the time, and keep no room for mail then.
        if self.0.is_empty() {
            self.0 = VecDeque::new();
        }
        taken
    }

    pub fn find(&self, id: MessageId) -> Option<&MailEnvelope> {
        self.0.iter().find(|envelope| envelope.id == id)
    }

    /// Returns the place of a message among those that are taken before it; 1 is next.
    pub fn position(&self, id: MessageId) -> Option<usize> {
        self.iter()
            .position(|envelope| envelope.id == id)
            .map(|at| at + 1)
    }

    /// Returns the mail in the order in which it is taken.
    pub fn iter(&self) -> impl Iterator<Item = &MailEnvelope> {
        self.interrupts()
            .chain(self.regular())
            .chain(self.callbacks())
    }

    /// Throws away what was sent to the agent, but keeps results that are owed to it.
    pub fn drop_input(&mut self) {
        self.0.retain(|envelope| !envelope.kind.joins_task());
    }

    /// Throws away what timers have sent: it would rouse whoever was stopped.
    pub fn drop_pings(&mut self) {
        self.0.retain(|envelope| match envelope.kind {
            MailKind::Regular { from } => !matches!(from, MailSender::Watchdog(_)),
            MailKind::Interrupt { .. } | MailKind::Callback { .. } => true,
        });
    }

    pub fn depth(&self) -> PendingMail {
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let interrupts = self.interrupts().count();
        PendingMail {
            messages: count(self.0.len() - interrupts),
            interrupts: count(interrupts),
        }
    }

    /// Returns the messages that count against the bound of the inbox.
    pub fn bounded_len(&self) -> usize {
        self.0.len() - self.callbacks().count()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn has_input(&self) -> bool {
        self.bounded_len() > 0
    }

    fn interrupts(&self) -> impl Iterator<Item = &MailEnvelope> {
        let mail = self.0.iter();
        mail.filter(|envelope| matches!(envelope.kind, MailKind::Interrupt { .. }))
    }

    fn regular(&self) -> impl Iterator<Item = &MailEnvelope> {
        let mail = self.0.iter();
        mail.filter(|envelope| matches!(envelope.kind, MailKind::Regular { .. }))
    }

    fn callbacks(&self) -> impl Iterator<Item = &MailEnvelope> {
        let mail = self.0.iter();
        mail.filter(|envelope| matches!(envelope.kind, MailKind::Callback { .. }))
    }
}

/// Whether callbacks may start a task now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TakeCallbacks {
    Yes,
    Held,
}
