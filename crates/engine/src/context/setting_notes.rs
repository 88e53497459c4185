//! Settings that the model is told of in the history: the mode, and a manner that changed.
//!
//! They are notes among the user's messages, which every provider takes in the middle of a
//! conversation. What was sent before stays as it was, and so does the provider's cache of
//! it; the newest note of a kind counts. Because the history itself says what was told, a
//! rollback, a fork, a resume and a compaction need no rule of their own.

use troupe_protocol::policy::{CollaborationMode, Personality};
use troupe_protocol::session::TurnContext;
use troupe_protocol::{ContextFragment, ResponseItem};

use super::manner;

const MODE_OPEN: &str = ContextFragment::Mode.opening();
const MODE_CLOSE: &str = "</collaboration_mode>";
const MODE_PLAN: &str = include_str!("../prompts/mode_plan.md");
const MODE_DEFAULT: &str = include_str!("../prompts/mode_default.md");

const MANNER_OPEN: &str = ContextFragment::Personality.opening();
const MANNER_CLOSE: &str = "</personality_spec>";
const MANNER_CHANGED: &str = "From now on, this is how you speak:";
const MANNER_NONE: &str =
    "From now on no particular manner is asked of you: speak as the task suggests.";

/// A setting of which the model knows by notes.
#[derive(Debug)]
pub(crate) struct SettingNote {
    open: &'static str,
    /// The note for what holds now.
    now: String,
    /// The note for what holds where there is none.
    unsaid: String,
}

impl SettingNote {
    pub(crate) fn mode(context: &TurnContext) -> Self {
        let own = context.mode_instructions.as_deref();
        let own = own.filter(|text| !text.trim().is_empty());
        let text = own.unwrap_or(match context.collaboration_mode {
            CollaborationMode::Plan => MODE_PLAN,
            CollaborationMode::Default => MODE_DEFAULT,
        });
        Self {
            open: MODE_OPEN,
            now: note(MODE_OPEN, text, MODE_CLOSE),
            unsaid: note(MODE_OPEN, MODE_DEFAULT, MODE_CLOSE),
        }
    }

    /// The manner that the user wants, where the instructions were filled with another.
    pub(crate) fn manner(wanted: Personality, filled: Personality) -> Self {
        Self {
            open: MANNER_OPEN,
            now: manner_note(wanted),
            unsaid: manner_note(filled),
        }
    }

    /// Returns the note that a model needs which was told this, in the order of telling.
    pub(crate) fn missing(self, told: &[&str]) -> Option<ResponseItem> {
        let last = told.iter().rev().find(|text| text.starts_with(self.open));
        let known = last.copied().unwrap_or(&self.unsaid);
        (known != self.now).then(|| ResponseItem::user_text(self.now))
    }
}

fn manner_note(personality: Personality) -> String {
    let text = match personality {
        Personality::None => MANNER_NONE.to_owned(),
        Personality::Friendly | Personality::Pragmatic => {
            format!("{MANNER_CHANGED}\n\n{}", manner(personality))
        }
    };
    note(MANNER_OPEN, &text, MANNER_CLOSE)
}

fn note(open: &str, text: &str, close: &str) -> String {
    format!("{open}\n{}\n{close}", text.trim())
}
