//! The modes of a session, by the names that clients know them by.

use agent_client_protocol_schema::v1::{SessionConfigSelectOption, SessionMode, SessionModeState};
use troupe_protocol::policy::CollaborationMode;

const ALL: [CollaborationMode; 2] = [CollaborationMode::Default, CollaborationMode::Plan];

/// Returns what there is to choose from, and what is chosen.
pub(super) fn state(current: CollaborationMode) -> SessionModeState {
    let modes = ALL.map(|mode| SessionMode::new(id(mode), name(mode)).description(about(mode)));
    SessionModeState::new(id(current), modes.to_vec())
}

/// Returns the same as the values of an option.
pub(super) fn choices() -> Vec<SessionConfigSelectOption> {
    let choice = |mode| {
        SessionConfigSelectOption::new(id(mode), name(mode)).description(about(mode).to_owned())
    };
    ALL.map(choice).to_vec()
}

pub(super) fn id(mode: CollaborationMode) -> &'static str {
    match mode {
        CollaborationMode::Default => "default",
        CollaborationMode::Plan => "plan",
    }
}

/// Returns the mode of this id, or what to choose instead.
pub(super) fn mode_of_id(wanted: &str) -> Result<CollaborationMode, String> {
    let mut all = ALL.into_iter();
    all.find(|mode| id(*mode) == wanted).ok_or_else(|| {
        let known = ALL.map(id).join(", ");
        format!("modeId: there is no mode {wanted:?}; known are {known}")
    })
}

fn name(mode: CollaborationMode) -> &'static str {
    match mode {
        CollaborationMode::Default => "Default",
        CollaborationMode::Plan => "Plan",
    }
}

fn about(mode: CollaborationMode) -> &'static str {
    match mode {
        CollaborationMode::Default => "Does what it is asked to",
        CollaborationMode::Plan => "Talks the work through and proposes a plan first",
    }
}
