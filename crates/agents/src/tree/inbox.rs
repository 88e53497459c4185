//! The mail of one agent: envelopes in the order of their arrival.

use std::collections::VecDeque;

use super::id::MessageId;

pub use troupe_protocol::tree::{Envelope, MailKind, Sender};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Inbox {
    interrupts: VecDeque<Envelope>,
    regular: VecDeque<Envelope>,
    callbacks: VecDeque<Envelope>,
}

/// How much waits, as `agent_inbox` tells it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Depth {
    /// Regular messages and callbacks.
    pub messages: usize,
    pub interrupts: usize,
}

impl Inbox {
    /// Adds a message; one that is there already changes nothing.
    pub fn put(&mut self, envelope: Envelope) {
        if self.find(envelope.id).is_none() {
            self.queue_mut(&envelope.kind).push_back(envelope);
        }
    }

    /// Returns the message that starts the next task of an idle agent.
    pub fn next(&self, callbacks: TakeCallbacks) -> Option<&Envelope> {
        let callback = match callbacks {
            TakeCallbacks::Yes => self.callbacks.front(),
            TakeCallbacks::Held => None,
        };
        self.interrupts
            .front()
            .or_else(|| self.regular.front())
            .or(callback)
    }

    pub fn take(&mut self, id: MessageId) -> Option<Envelope> {
        [&mut self.interrupts, &mut self.regular, &mut self.callbacks]
            .into_iter()
            .find_map(|queue| {
                let at = queue.iter().position(|envelope| envelope.id == id)?;
                let taken = queue.remove(at);
                // Most inboxes are empty most of the time, and keep no room for mail then.
                if queue.is_empty() {
                    *queue = VecDeque::new();
                }
                taken
            })
    }

    pub fn find(&self, id: MessageId) -> Option<&Envelope> {
        self.iter().find(|envelope| envelope.id == id)
    }

    /// Returns the place of a message among those that are taken before it; 1 is next.
    pub fn position(&self, id: MessageId) -> Option<usize> {
        self.iter()
            .position(|envelope| envelope.id == id)
            .map(|at| at + 1)
    }

    /// Returns the mail in the order in which it is taken.
    pub fn iter(&self) -> impl Iterator<Item = &Envelope> {
        self.interrupts
            .iter()
            .chain(&self.regular)
            .chain(&self.callbacks)
    }

    /// Throws away what was sent to the agent, but keeps results that are owed to it.
    pub fn drop_input(&mut self) {
        self.interrupts.clear();
        self.regular.clear();
    }

    /// Throws away what timers have sent: it would rouse whoever was stopped.
    pub fn drop_pings(&mut self) {
        self.regular.retain(|envelope| match envelope.kind {
            MailKind::Regular { from } => !matches!(from, Sender::Watchdog(_)),
            MailKind::Interrupt { .. } | MailKind::Callback { .. } => true,
        });
    }

    pub fn depth(&self) -> Depth {
        Depth {
            messages: self.regular.len() + self.callbacks.len(),
            interrupts: self.interrupts.len(),
        }
    }

    /// Returns the messages that count against the bound of the inbox.
    pub fn bounded_len(&self) -> usize {
        self.interrupts.len() + self.regular.len()
    }

    pub fn is_empty(&self) -> bool {
        self.iter().next().is_none()
    }

    pub fn has_input(&self) -> bool {
        self.bounded_len() > 0
    }

    fn queue_mut(&mut self, kind: &MailKind) -> &mut VecDeque<Envelope> {
        match kind {
            MailKind::Interrupt { .. } => &mut self.interrupts,
            MailKind::Regular { .. } => &mut self.regular,
            MailKind::Callback { .. } => &mut self.callbacks,
        }
    }
}

/// Whether callbacks may start a task now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TakeCallbacks {
    Yes,
    Held,
}
