//! What was sent to an agent, and what became of it.

use crate::text::append;
use crate::text::quantity::age_text;
use troupe_protocol::link::query::{MailCard, MailCardState};
use troupe_protocol::tree::{MailKind, MailSender};

use crate::state::AppState;

/// Returns an inbox as text, newest last.
pub fn inbox_text(state: &AppState, messages: &[MailCard]) -> String {
    if messages.is_empty() {
        return "nothing was sent to it".to_owned();
    }
    let sender = |from: &MailSender| match from {
        MailSender::User => "you".to_owned(),
        MailSender::Agent(agent) => state.roster.name(*agent),
        MailSender::Watchdog(agent) => format!("the watchdog of {}", state.roster.name(*agent)),
    };
    let mut text = String::new();
    for message in messages {
        let what = match &message.kind {
            Some(MailKind::Interrupt { from }) => format!("interrupt by {}", sender(from)),
            Some(MailKind::Regular { from }) => format!("message from {}", sender(from)),
            Some(MailKind::Callback { child, .. }) => {
                format!("result of {}", state.roster.name(*child))
            }
            None => "message".to_owned(),
        };
        let became = match message.state {
            MailCardState::Waiting => "waits",
            MailCardState::Taken => "taken",
            MailCardState::Consumed => "delivered by a wait",
            MailCardState::Dropped => "dropped: what it was for was stopped",
        };
        let age = message.queued_ms.map(|at| {
            let age = u64::try_from(state.now_ms - at).unwrap_or(0);
            format!("  {} ago", age_text(age))
        });
        let age = age.unwrap_or_default();
        append(&mut text, format_args!("{what:<32} {became}{age}\n"));
    }
    text
}
