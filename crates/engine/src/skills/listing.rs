//! What the model is told of the skills that there are, within a budget. Pure.

use std::fmt::Write as _;

use troupe_protocol::ContextFragment;

use super::{Skill, SkillCatalogue};
use crate::limits::{
    SKILL_LIST_CHARS_MAX, SKILL_LIST_PERCENT, SKILL_LIST_TOKENS_MAX, SKILL_WARNING_BYTES_MAX,
    SKILL_WARNINGS_MAX,
};

const OPEN: &str = ContextFragment::SkillList.opening();
const TEMPLATE: &str = include_str!("../prompts/skills.md");
const PLACEHOLDER: &str = "{{skills}}";

/// Told in place of a list that was told before.
const NONE: &str = "<skills_instructions>\nThere are no skills any more.\n</skills_instructions>";

const CHARS_PER_TOKEN: u64 = 4;

/// The list, and what a person should know of it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct SkillListing {
    pub text: Option<String>,
    pub warnings: Vec<String>,
}

/// Tells whether a message is a list of skills.
pub(crate) fn is_listing(text: &str) -> bool {
    text.starts_with(OPEN)
}

/// Returns what the model is to be told, if it is not what it was `told` last.
pub(crate) fn listing(
    catalogue: &SkillCatalogue,
    context_window: Option<u64>,
    told: Option<&str>,
) -> SkillListing {
    let mut listing = SkillListing {
        text: None,
        warnings: broken(catalogue),
    };
    if catalogue.skills.is_empty() {
        listing.text = told.filter(|told| *told != NONE).map(|_| NONE.to_owned());
        return listing;
    }
    let fitted = FittedSkills::of(&catalogue.skills, budget_chars(context_window));
    let entries: String = fitted.entries();
    let text = TEMPLATE.trim_end().replace(PLACEHOLDER, entries.trim_end());
    if told != Some(text.as_str()) {
        listing.warnings.extend(fitted.warning());
        listing.text = Some(text);
    }
    listing
}

fn budget_chars(context_window: Option<u64>) -> usize {
    let tokens = context_window.map(|window| {
        let share = window.saturating_mul(SKILL_LIST_PERCENT) / 100;
        share.min(SKILL_LIST_TOKENS_MAX)
    });
    let chars = tokens.map(|tokens| usize::try_from(tokens * CHARS_PER_TOKEN));
    chars.and_then(Result::ok).unwrap_or(SKILL_LIST_CHARS_MAX)
}

/// Returns a warning for each broken skill, of many only the first.
fn broken(catalogue: &SkillCatalogue) -> Vec<String> {
    let errors = catalogue.errors.iter();
    let mut warnings: Vec<String> = errors
        .take(SKILL_WARNINGS_MAX)
        .map(|error| {
            let mut text = format!("{} {}", error.path.display(), error.message);
            text.truncate(text.floor_char_boundary(SKILL_WARNING_BYTES_MAX));
            text
        })
        .collect();
    let more = catalogue.errors.len().saturating_sub(SKILL_WARNINGS_MAX);
    if let (1.., Some(last)) = (more, warnings.last_mut()) {
        write!(last, " (and {more} more problems; list_skills tells them)")
            .expect("writing to a string does not fail");
    }
    warnings
}

/// Skills as they fit: descriptions are cut before a skill is left out, the last ones first.
struct FittedSkills<'a> {
    shown: &'a [Skill],
    left_out: &'a [Skill],
    /// What is told of a description.
    description_chars_max: usize,
}

impl<'a> FittedSkills<'a> {
    fn of(skills: &'a [Skill], chars_max: usize) -> Self {
        let mut frames = 0;
        let fits = |skill: &&Skill| {
            frames += frame_chars(skill);
            frames <= chars_max
        };
        let count = skills.iter().take_while(fits).count();
        let (shown, left_out) = skills.split_at(count);
        let room = chars_max - shown.iter().map(frame_chars).sum::<usize>();
        let mut lengths: Vec<usize> = shown.iter().map(description_chars).collect();
        lengths.sort_unstable();
        Self {
            shown,
            left_out,
            description_chars_max: level(&lengths, room),
        }
    }

    fn entries(&self) -> String {
        let entry = |skill: &Skill| {
            let description = cut(&skill.description, self.description_chars_max);
            frame(skill, &description)
        };
        self.shown.iter().map(entry).collect()
    }

    fn warning(&self) -> Option<String> {
        let is_cut = |skill: &&Skill| description_chars(skill) > self.description_chars_max;
        let cut = self.shown.iter().filter(is_cut).count();
        match (cut, self.left_out) {
            (0, []) => None,
            (cut, []) => Some(format!(
                "the descriptions of {cut} skills are cut to {} characters for the model: there \
                 is no room for more",
                self.description_chars_max
            )),
            (_, [first, ..]) => Some(format!(
                "{} of {} skills, from {} on, are not told to the model: there is no room for \
                 more; `$name` still works",
                self.left_out.len(),
                self.shown.len() + self.left_out.len(),
                first.name
            )),
        }
    }
}

/// Returns the largest number such that lengths cut to it, shortest first, fit in the room.
fn level(lengths: &[usize], mut room: usize) -> usize {
    for (index, length) in lengths.iter().enumerate() {
        let share = room / (lengths.len() - index);
        if *length > share {
            return share;
        }
        room -= length;
    }
    usize::MAX
}

fn frame(skill: &Skill, description: &str) -> String {
    let colon = if description.is_empty() { "" } else { ": " };
    format!(
        "- {}{colon}{description} (file: {})\n",
        skill.name,
        skill.path.display()
    )
}

fn frame_chars(skill: &Skill) -> usize {
    frame(skill, "").chars().count() + 2
}

fn description_chars(skill: &Skill) -> usize {
    skill.description.chars().count()
}

fn cut(text: &str, chars_max: usize) -> String {
    match text.char_indices().nth(chars_max) {
        None => text.to_owned(),
        Some(_) if chars_max == 0 => String::new(),
        Some(_) => {
            let kept: String = text.chars().take(chars_max - 1).collect();
            format!("{kept}…")
        }
    }
}

#[cfg(test)]
mod tests;
