//! Asking a person, and remembering what need not be asked again.
//!
//! One yes counts for all sessions that share a [`ApprovalMemory`], as those of a tree do: for what
//! they ask later, and for the same question where it is open. What was agreed to inside a
//! sandbox counts in every sandbox, because each keeps its own; what was let out of one counts
//! only where the sandbox is as wide or wider.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;
use troupe_protocol::approval::ReviewDecision;
use troupe_protocol::discard;
use troupe_protocol::policy::SandboxMode;

use crate::call::{ApprovalQuestion, ToolInvocation};
use crate::command::scripts::ApprovalReach;
use crate::policy::SandboxChoice;

/// One thing a person has agreed to.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum ApprovedAction {
    /// Exactly this command, there, with or without the sandbox.
    Command {
        argv: Vec<String>,
        cwd: PathBuf,
        sandbox: SandboxChoice,
        /// What a lasting yes to it stands for.
        reach: ApprovalReach,
    },
    /// Edits of this file, inside the writable roots or beyond them.
    Edit {
        path: PathBuf,
        sandbox: SandboxChoice,
        /// Beyond the roots, the digest of the changes that were shown.
        shown: Option<String>,
    },
}

/// What people have agreed to for as long as the program runs. It grows by their answers alone.
#[derive(Debug, Default)]
pub struct ApprovalMemory(Mutex<ApprovalRecords>);

#[derive(Debug, Default)]
struct ApprovalRecords {
    /// With the narrowest sandbox in which it was agreed to.
    agreed: HashMap<ApprovedAction, SandboxMode>,
    open: Vec<PendingApproval>,
    opened: u64,
}

/// A question that waits for its answer.
#[derive(Debug)]
struct PendingApproval {
    number: u64,
    matter: Vec<ApprovedAction>,
    mode: SandboxMode,
    settle: oneshot::Sender<ReviewDecision>,
}

/// A session's end of what it shares.
#[derive(Debug, Default)]
pub(crate) struct SessionApprovals {
    consent: Mutex<Arc<ApprovalMemory>>,
}

/// How an approval ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ApprovalAnswer {
    Yes,
    No,
    /// The call was cancelled while it waited, or its task is.
    Cancelled,
}

/// How long a person's word is meant to hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ApprovalLifetime {
    /// As long as [`SessionApprovals`] know it.
    Known,
    /// Beyond the session; who asked has to write it down.
    Always,
}

impl SessionApprovals {
    /// From now on agrees with whoever has this consent.
    pub(crate) fn share(&self, consent: &Arc<ApprovalMemory>) {
        *self.lock() = Arc::clone(consent);
    }

    /// Asks unless everything in `matter` was agreed to before. A word that is meant to hold
    /// longer than the session is remembered as long as that.
    pub(crate) async fn obtain(
        &self,
        call: &ToolInvocation,
        matter: Vec<ApprovedAction>,
        ask: ApprovalQuestion,
    ) -> ApprovalAnswer {
        let (answer, lasting) = self.obtain_lasting(call, &matter, ask).await;
        if lasting == ApprovalLifetime::Always {
            self.remember(call, &matter);
        }
        answer
    }

    /// Asks unless everything in `matter` was agreed to before.
    pub(crate) async fn obtain_lasting(
        &self,
        call: &ToolInvocation,
        matter: &[ApprovedAction],
        ask: ApprovalQuestion,
    ) -> (ApprovalAnswer, ApprovalLifetime) {
        let consent = Arc::clone(&self.lock());
        let Some((_open, settled)) = consent.open(matter, mode(call)) else {
            return (ApprovalAnswer::Yes, ApprovalLifetime::Known);
        };
        let decision = tokio::select! {
            // A question is withdrawn when its call is cancelled, which is no person's word.
            biased;
            () = call.cancel.cancelled() => return (ApprovalAnswer::Cancelled, ApprovalLifetime::Known),
            decision = call.channel.ask_unless_settled(ask, settled) => decision,
        };
        match decision {
            ReviewDecision::Approved => (ApprovalAnswer::Yes, ApprovalLifetime::Known),
            ReviewDecision::ApprovedForSession => {
                self.remember(call, matter);
                (ApprovalAnswer::Yes, ApprovalLifetime::Known)
            }
            ReviewDecision::ApprovedAlways => (ApprovalAnswer::Yes, ApprovalLifetime::Always),
            ReviewDecision::Denied => (ApprovalAnswer::No, ApprovalLifetime::Known),
            // That it also interrupts the task is the engine's part.
            ReviewDecision::Abort => (ApprovalAnswer::Cancelled, ApprovalLifetime::Known),
        }
    }

    /// Lets the matter run unasked from now on, and wherever it is being asked.
    pub(crate) fn remember(&self, call: &ToolInvocation, matter: &[ApprovedAction]) {
        self.lock().remember(matter, mode(call));
    }

    /// Lets the matter run wherever it is being asked; what is asked later is decided by what
    /// was written down.
    pub(crate) fn settle(&self, call: &ToolInvocation, matter: &[ApprovedAction]) {
        self.lock().settle(matter, mode(call));
    }

    fn lock(&self) -> MutexGuard<'_, Arc<ApprovalMemory>> {
        self.consent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn mode(call: &ToolInvocation) -> SandboxMode {
    call.context.sandbox_policy.mode()
}

impl ApprovalMemory {
    /// Opens a question; `None` if everything in it was agreed to.
    fn open(
        &self,
        matter: &[ApprovedAction],
        mode: SandboxMode,
    ) -> Option<(PendingApprovalGuard<'_>, oneshot::Receiver<ReviewDecision>)> {
        let mut known = self.lock();
        if covers(&known.agreed, matter, mode) {
            return None;
        }
        let (settle, settled) = oneshot::channel();
        known.opened += 1;
        let number = known.opened;
        known.open.push(PendingApproval {
            number,
            matter: matter.to_vec(),
            mode,
            settle,
        });
        let opened = PendingApprovalGuard {
            consent: self,
            number,
        };
        Some((opened, settled))
    }

    fn remember(&self, matter: &[ApprovedAction], mode: SandboxMode) {
        let mut known = self.lock();
        note(&mut known.agreed, matter, mode);
        let ApprovalRecords { agreed, open, .. } = &mut *known;
        settle_covered(open, agreed, ReviewDecision::ApprovedForSession);
    }

    fn settle(&self, matter: &[ApprovedAction], mode: SandboxMode) {
        let mut known = self.lock();
        let mut agreed = known.agreed.clone();
        note(&mut agreed, matter, mode);
        settle_covered(&mut known.open, &agreed, ReviewDecision::Approved);
    }

    fn lock(&self) -> MutexGuard<'_, ApprovalRecords> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn note(
    agreed: &mut HashMap<ApprovedAction, SandboxMode>,
    matter: &[ApprovedAction],
    mode: SandboxMode,
) {
    for one in matter {
        let narrowest = agreed.entry(one.clone()).or_insert(mode);
        *narrowest = mode.min(*narrowest);
    }
}

fn covers(
    agreed: &HashMap<ApprovedAction, SandboxMode>,
    matter: &[ApprovedAction],
    mode: SandboxMode,
) -> bool {
    let is_agreed = |one: &ApprovedAction| {
        if matches!(
            one,
            ApprovedAction::Command {
                reach: ApprovalReach::Once,
                ..
            }
        ) {
            return false;
        }
        let (ApprovedAction::Command { sandbox, .. } | ApprovedAction::Edit { sandbox, .. }) = one;
        agreed.get(one).is_some_and(|given| match sandbox {
            SandboxChoice::Confined => true,
            SandboxChoice::Unconfined => *given <= mode,
        })
    };
    !matter.is_empty() && matter.iter().all(is_agreed)
}

fn settle_covered(
    open: &mut Vec<PendingApproval>,
    agreed: &HashMap<ApprovedAction, SandboxMode>,
    decision: ReviewDecision,
) {
    for question in open.extract_if(.., |open| covers(agreed, &open.matter, open.mode)) {
        // A call that waits no longer needs no answer.
        discard!(
            question.settle.send(decision),
            "nobody waits for the answer"
        );
    }
}

/// Closes its question when it is dropped.
#[derive(Debug)]
struct PendingApprovalGuard<'a> {
    consent: &'a ApprovalMemory,
    number: u64,
}

impl Drop for PendingApprovalGuard<'_> {
    fn drop(&mut self) {
        let mut known = self.consent.lock();
        known.open.retain(|open| open.number != self.number);
    }
}

#[cfg(test)]
mod tests;
