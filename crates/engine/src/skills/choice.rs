//! Skills that the user asked for, and the text that they bring.

use std::collections::HashMap;
use std::path::Path;

use troupe_protocol::{ContextFragment, ResponseItem};

use super::{Skill, SkillCatalogue, SkillFileProblem, scan};
use crate::limits::{SKILL_NAME_CHARS_MAX, SKILL_TEXT_BYTES_MAX};

const OPEN: &str = ContextFragment::Skill.opening();
const CLOSE: &str = "\n</skill>";

/// A chosen skill as the model is told it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ChosenSkill {
    pub skill: Skill,
    pub text: String,
    /// Not all of it is in the text.
    pub truncated: bool,
}

impl ChosenSkill {
    pub(crate) fn item(&self) -> ResponseItem {
        ResponseItem::user_text(self.text.as_str())
    }
}

/// Returns the skills that a text names as `$name`, each once. A `$name` that is none is text.
pub(crate) fn mentioned<'a>(text: &str, catalogue: &'a SkillCatalogue) -> Vec<&'a Skill> {
    let mut found: Vec<&Skill> = Vec::new();
    if !text.contains('$') || catalogue.skills.is_empty() {
        return found;
    }
    let skills = catalogue.skills.iter();
    let by_name: HashMap<&str, &Skill> = skills.map(|skill| (skill.name.as_str(), skill)).collect();
    for (at, sign) in text.match_indices('$') {
        // A sign in a longer word, `$$` and `\$` name nothing.
        let before = text[..at].chars().next_back();
        if before.is_some_and(|c| c.is_alphanumeric() || "_$\\".contains(c)) {
            continue;
        }
        let skill = named(&text[at + sign.len()..], &by_name);
        let is_new = |skill: &&Skill| found.iter().all(|other| other.path != skill.path);
        let skill = skill.filter(is_new);
        found.extend(skill);
    }
    found
}

/// Returns the skill that a text begins with. Punctuation after a name is not part of it.
fn named<'a>(text: &str, by_name: &HashMap<&str, &'a Skill>) -> Option<&'a Skill> {
    let is_part = |c: char| c.is_alphanumeric() || "_-:.".contains(c);
    let length = text.chars().take_while(|c| is_part(*c));
    let length: usize = length.take(SKILL_NAME_CHARS_MAX).map(char::len_utf8).sum();
    let mut name = &text[..length];
    while !name.is_empty() {
        if let Some(skill) = by_name.get(name).copied() {
            return Some(skill);
        }
        name = name.strip_suffix(['-', ':', '.'])?;
    }
    None
}

/// Returns the skill whose file, or whose directory, a path names. Blocks.
pub(crate) fn at<'a>(path: &Path, catalogue: &'a SkillCatalogue) -> Option<&'a Skill> {
    let file = if path.is_dir() {
        path.join(scan::FILE_NAME)
    } else {
        path.to_owned()
    };
    let real = file.canonicalize().ok()?;
    let is_it = |skill: &&Skill| {
        skill.path == file || skill.path.canonicalize().is_ok_and(|path| path == real)
    };
    let mut all = catalogue.skills.iter().chain(&catalogue.shadowed);
    all.find(is_it)
}

/// Reads a skill as its file is now. Blocks.
pub(crate) fn choose(skill: &Skill) -> Result<ChosenSkill, SkillFileProblem> {
    let (_, body) = scan::read(&skill.path)?;
    let (text, truncated) = render(skill, &body);
    Ok(ChosenSkill {
        skill: skill.clone(),
        text,
        truncated,
    })
}

/// Returns the message, and whether the body was cut for it.
fn render(skill: &Skill, body: &str) -> (String, bool) {
    let head = format!(
        "{OPEN}<name>{}</name>\n<path>{}</path>\n",
        skill.name,
        skill.path.display()
    );
    let room = SKILL_TEXT_BYTES_MAX.saturating_sub(head.len() + CLOSE.len());
    if body.len() <= room {
        return (format!("{head}{body}{CLOSE}"), false);
    }
    let note = format!(
        "\n[… cut: the file goes on, read it from here; the whole has {} bytes]",
        body.len()
    );
    let kept = &body[..body.floor_char_boundary(room.saturating_sub(note.len()))];
    (format!("{head}{kept}{note}{CLOSE}"), true)
}

#[cfg(test)]
mod tests;
