//! Asking a person, and remembering what need not be asked again.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use troupe_protocol::approval::ReviewDecision;

use crate::call::{Ask, Call};
use crate::policy::Sandbox;

/// One thing a person has agreed to for the rest of the session.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Agreed {
    /// Exactly this command, there, with or without the sandbox.
    Command {
        argv: Vec<String>,
        cwd: PathBuf,
        sandbox: Sandbox,
    },
    /// Edits of this file.
    Edit(PathBuf),
}

/// The session's memory of what was agreed to. It grows by a person's answers alone.
#[derive(Debug, Default)]
pub(crate) struct Agreements {
    known: Mutex<HashSet<Agreed>>,
}

/// How an approval ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    Yes,
    No,
    /// The call was cancelled while it waited.
    Cancelled,
}

/// How long a person's word is meant to hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lasting {
    /// As long as [`Agreements`] know it.
    Known,
    /// Beyond the session; who asked has to write it down.
    Always,
}

impl Agreements {
    /// Asks unless everything in `matter` was agreed to before. A word that is meant to hold
    /// longer than the session is remembered as long as that.
    pub(crate) async fn obtain(&self, call: &Call, matter: Vec<Agreed>, ask: Ask) -> Answer {
        let (answer, lasting) = self.obtain_lasting(call, &matter, ask).await;
        if lasting == Lasting::Always {
            self.remember(matter);
        }
        answer
    }

    /// Asks unless everything in `matter` was agreed to before.
    pub(crate) async fn obtain_lasting(
        &self,
        call: &Call,
        matter: &[Agreed],
        ask: Ask,
    ) -> (Answer, Lasting) {
        if self.cover(matter) {
            return (Answer::Yes, Lasting::Known);
        }
        let decision = tokio::select! {
            decision = call.channel.ask(ask) => decision,
            () = call.cancel.cancelled() => return (Answer::Cancelled, Lasting::Known),
        };
        match decision {
            ReviewDecision::Approved => (Answer::Yes, Lasting::Known),
            ReviewDecision::ApprovedForSession => {
                self.remember(matter.to_vec());
                (Answer::Yes, Lasting::Known)
            }
            ReviewDecision::ApprovedAlways => (Answer::Yes, Lasting::Always),
            // That an abort also interrupts the task is the engine's part.
            ReviewDecision::Denied | ReviewDecision::Abort => (Answer::No, Lasting::Known),
        }
    }

    /// Lets the matter run unasked for the rest of the session.
    pub(crate) fn remember(&self, matter: Vec<Agreed>) {
        self.lock().extend(matter);
    }

    fn cover(&self, matter: &[Agreed]) -> bool {
        let known = self.lock();
        !matter.is_empty() && matter.iter().all(|one| known.contains(one))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashSet<Agreed>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
