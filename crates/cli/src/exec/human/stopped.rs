//! The notice for people about a task that ended early: why, and how to go on.

use troupe_protocol::SessionId;
use troupe_protocol::event::AbortReason;

/// A session that is kept can be gone on with.
pub fn stopped(reason: AbortReason, kept: Option<SessionId>) -> String {
    let why = match reason {
        AbortReason::Interrupted => {
            "Stopped. Files stay as they are; `troupe undo` takes them back."
        }
        AbortReason::Error => "Stopped by this error; what was done before it is kept.",
        AbortReason::BudgetLimited => "Stopped: the budget is used up.",
        AbortReason::Replaced => "Stopped: another prompt took its place.",
        AbortReason::ReviewEnded => "The review was ended.",
        AbortReason::Crash => {
            "Troupe was killed during this task; what was done until then is kept."
        }
        AbortReason::Shutdown => "Stopped because the program ends.",
    };
    match kept {
        Some(session) => {
            let session = session.short();
            format!("{why} Go on with: troupe exec resume {session} --continue")
        }
        None => why.to_owned(),
    }
}
