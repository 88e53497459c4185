//! Which messages of the role `user` nobody typed.
//!
//! Providers know no role for what an engine tells its model in the middle of a conversation, so
//! it is told as the user's message and begins with words by which it is known again. This table
//! is the one rule for telling the two apart: the engine writes by it, and whoever shows a
//! conversation reads by it. Who says such words themselves is recorded with a mark that it was
//! said ([`ResponseItem::marked_as_said`]).

use crate::history::{ContentItem, ResponseItem, Role};

/// What the engine writes into a history under the role of the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContextFragment {
    /// Where the session works, and under which rules.
    Environment,
    /// The instruction files of user and project.
    ProjectDoc,
    SkillList,
    /// The text of a skill that was chosen.
    Skill,
    Mode,
    Personality,
    /// The plan that was set, told again after a compaction.
    Plan,
    /// The plan that was proposed, told again after a compaction.
    Proposal,
    /// The agents that there are, and what became of them.
    Agents,
    /// Why a hook does not let the task end.
    Hook,
    /// A command of the user's own, with its output.
    UserShell,
    /// A person has a stopped agent go on, without words of their own.
    GoOn,
    /// The turn before was interrupted.
    Aborted,
    /// Files were taken back by `undo`.
    Undone,
    /// What a compaction put in the place of the earlier conversation.
    Summary,
    /// The answer is asked for again, because it did not fit its schema.
    OutputRepair,
    /// A child ended.
    Callback,
    /// What another agent had told its model, in a conversation that was taken over from it.
    Imported,
}

impl ContextFragment {
    pub const ALL: [Self; 18] = [
        Self::Environment,
        Self::ProjectDoc,
        Self::SkillList,
        Self::Skill,
        Self::Mode,
        Self::Personality,
        Self::Plan,
        Self::Proposal,
        Self::Agents,
        Self::Hook,
        Self::UserShell,
        Self::GoOn,
        Self::Aborted,
        Self::Undone,
        Self::Summary,
        Self::OutputRepair,
        Self::Callback,
        Self::Imported,
    ];

    /// Returns the words that such a message begins with.
    pub const fn opening(self) -> &'static str {
        match self {
            Self::Environment => "<environment_context>",
            Self::ProjectDoc => "# AGENTS.md instructions for ",
            Self::SkillList => "<skills_instructions>",
            Self::Skill => "<skill>\n",
            Self::Mode => "<collaboration_mode>",
            Self::Personality => "<personality_spec>",
            Self::Plan => "<current_plan>",
            Self::Proposal => "<latest_proposal>",
            Self::Agents => "<agents>",
            Self::Hook => "<hook>",
            Self::UserShell => "<user_shell_command>",
            Self::GoOn => "You were stopped before your task was done.",
            Self::Aborted => "<turn_aborted>",
            Self::Undone => "<files_taken_back>",
            Self::Summary => "The earlier part of this conversation was replaced by this summary",
            Self::OutputRepair => "Your answer does not fit the JSON schema that was asked for.",
            Self::Callback => "[Troupe] Child session ",
            Self::Imported => "<imported_note>",
        }
    }

    /// Returns what a reader is told that such a message is about.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Environment => "surroundings",
            Self::ProjectDoc => "project instructions",
            Self::SkillList => "skills",
            Self::Skill => "skill",
            Self::Mode => "mode",
            Self::Personality => "personality",
            Self::Plan => "plan so far",
            Self::Proposal => "plan proposed last",
            Self::Agents => "agents",
            Self::Hook => "hook",
            Self::UserShell => "command of the user",
            Self::GoOn => "go on",
            Self::Aborted => "interrupt",
            Self::Undone => "undo",
            Self::Summary => "summary",
            Self::OutputRepair => "output schema",
            Self::Callback => "callback",
            Self::Imported => "imported",
        }
    }

    /// Returns what a user message is whose first text this is; `None` if somebody said it.
    pub fn of(text: &str) -> Option<Self> {
        let begins = |fragment: &Self| text.starts_with(fragment.opening());
        Self::ALL.into_iter().find(begins)
    }

    /// Tells whether this is news that the model must take up like a person's words, and not a
    /// description of how things stand, which is told anew when it changes.
    pub const fn is_news(self) -> bool {
        matches!(self, Self::OutputRepair | Self::Callback | Self::GoOn)
    }
}

/// What a model puts around a plan that it proposes, each on a line of its own.
pub const PLAN_TAGS: [&str; 2] = ["<proposed_plan>", "</proposed_plan>"];

/// Returns a model's message as people read it: without the tags around a plan.
fn without_plan_tags(message: &str) -> String {
    let lines = message.split_inclusive('\n');
    lines
        .filter(|line| !PLAN_TAGS.contains(&line.trim()))
        .collect()
}

impl ResponseItem {
    /// Returns which of the engine's own messages this is; `None` for everything else, and so
    /// for what a person said.
    pub fn fragment(&self) -> Option<ContextFragment> {
        match self {
            Self::Message { said: true, .. } => None,
            // The text of a callback is the user's to choose; what it is stands beside it.
            Self::Message {
                role: Role::User,
                metadata: Some(_),
                ..
            } => Some(ContextFragment::Callback),
            Self::Message {
                role: Role::User,
                content,
                ..
            } => content
                .iter()
                .find_map(ContentItem::text)
                .and_then(ContextFragment::of),
            _ => None,
        }
    }

    /// Returns a message as it is recorded that somebody said. Without the mark, one that begins
    /// like the engine's own would be taken for that. (Who only has the engine's own words sent,
    /// to have an agent go on, says nothing.)
    #[must_use]
    pub fn marked_as_said(mut self) -> Self {
        let is_alike = self
            .fragment()
            .is_some_and(|it| it != ContextFragment::GoOn);
        if let Self::Message { said, .. } = &mut self {
            *said = is_alike;
        }
        self
    }

    /// Returns the words of a message as a transcript shows them. Only what a model says has tags
    /// that are not meant to be read; the engine's note on plans explains them.
    pub fn shown_words(&self, words: &str) -> String {
        match self {
            Self::Message {
                role: Role::Assistant,
                ..
            } => without_plan_tags(words),
            _ => words.to_owned(),
        }
    }

    /// Returns how a transcript names the author of a message; `None` if it is no message.
    pub fn author_title(&self) -> Option<String> {
        let Self::Message { role, .. } = self else {
            return None;
        };
        Some(match (role, self.fragment()) {
            (_, Some(fragment)) => format!("note ({})", fragment.title()),
            (Role::User, None) => "user".to_owned(),
            (Role::Assistant, None) => "assistant".to_owned(),
            (Role::Developer, None) => "developer".to_owned(),
            (Role::System, None) => "system".to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_opening_is_known_for_what_it_is() {
        for fragment in ContextFragment::ALL {
            let text = format!("{}…", fragment.opening());
            assert_eq!(ContextFragment::of(&text), Some(fragment));
            let told = ResponseItem::user_text(&text);
            assert_eq!(told.fragment(), Some(fragment));
            let title = told.author_title().unwrap();
            assert!(title.starts_with("note ("), "{title}");
        }
    }

    #[test]
    fn a_plan_is_shown_without_its_tags() {
        let said = "Here:\n<proposed_plan>\n1. bake\n</proposed_plan>\nGood?";
        assert_eq!(without_plan_tags(said), "Here:\n1. bake\nGood?");
        assert_eq!(
            without_plan_tags("no <proposed_plan> here"),
            "no <proposed_plan> here"
        );
    }

    #[test]
    fn what_people_and_models_say_is_theirs() {
        assert_eq!(
            ResponseItem::user_text("what is <agents>?").fragment(),
            None
        );
        let said = ResponseItem::user_text("hello");
        assert_eq!(said.author_title().as_deref(), Some("user"));
        let quoted = ResponseItem::assistant_text("<hook> is a tag");
        assert_eq!(quoted.fragment(), None);
        for fragment in ContextFragment::ALL {
            let typed = ResponseItem::user_text(fragment.opening()).marked_as_said();
            let is_own = fragment == ContextFragment::GoOn;
            assert_eq!(typed.fragment(), is_own.then_some(fragment));
        }
        assert_eq!(quoted.author_title().as_deref(), Some("assistant"));
    }
}
