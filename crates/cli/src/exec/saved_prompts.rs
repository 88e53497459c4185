//! `/name words` in the place of a prompt: a prompt that somebody wrote down, with arguments.
//! They lie where other agents keep theirs too (`.claude/commands/NAME.md`).

use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use troupe_protocol::link::query::PromptCommand;
use troupe_server::called_command;
use troupe_tui::FindPrompts;

use crate::failure::CommandFailure;
use crate::home::{TroupeHome, repository_root, user_home};
use crate::limits::{
    PROMPT_SUMMARY_CHARS_MAX, SAVED_PROMPT_BYTES_MAX, SAVED_PROMPT_DEPTH_MAX, SAVED_PROMPTS_MAX,
};

/// Where they lie in a project, in this order.
const IN_PROJECT: [&str; 2] = [".troupe/commands", ".claude/commands"];

/// A prompt as it is sent.
#[derive(Debug, PartialEq, Eq)]
pub struct FilledPrompt {
    pub text: String,
    /// Keys of its front matter that do nothing here: rights and models are the session's.
    pub ignored: Vec<String>,
}

impl FilledPrompt {
    /// Returns what a person should know of it, a sentence each.
    pub fn notes(&self) -> Vec<String> {
        let note = |key| format!("the key {key} of the saved prompt does nothing here");
        self.ignored.iter().map(note).collect()
    }
}

/// Where saved prompts are looked for, nearest first.
#[derive(Debug)]
pub struct PromptPlaces(Vec<PromptPlace>);

#[derive(Debug)]
enum PromptPlace {
    /// Whoever wrote the repository may have put a link there that leads to the user's keys.
    Project(PathBuf),
    User(PathBuf),
}

impl PromptPlaces {
    pub fn around(cwd: &Path, home: &TroupeHome) -> Self {
        let top = repository_root(cwd).unwrap_or(cwd);
        let project = cwd
            .ancestors()
            .take_while(|directory| directory.starts_with(top))
            .flat_map(|directory| IN_PROJECT.map(|place| directory.join(place)))
            .map(PromptPlace::Project);
        let own = home.path().join("commands");
        let others = user_home().map(|home| home.join(".claude/commands"));
        let user = [own].into_iter().chain(others).map(PromptPlace::User);
        Self(project.chain(user).collect())
    }

    /// Returns the saved prompt that is meant; none if the words are a prompt themselves.
    pub fn fill(&self, words: &str) -> Result<Option<FilledPrompt>, CommandFailure> {
        let Some((name, arguments)) = called_command(words) else {
            return Ok(None);
        };
        let file = format!("{}.md", name.replace(':', "/"));
        let found = self.0.iter().find_map(|place| place.find(&file));
        let Some(path) = found else {
            return Ok(None);
        };
        let text = read(&path).map_err(|why| {
            CommandFailure::usage(format!("/{name} cannot be used: {}: {why}", path.display()))
        })?;
        Ok(Some(filled(&text, arguments)))
    }
}

impl PromptPlaces {
    /// Returns the saved prompts, the nearest of each name.
    pub fn list(&self) -> Vec<PromptCommand> {
        let mut commands = BTreeMap::new();
        for place in &self.0 {
            let (PromptPlace::Project(directory) | PromptPlace::User(directory)) = place;
            let mut found = Vec::new();
            names_in(directory, "", 0, &mut found);
            found.retain(|name| called_command(&format!("/{name}")).is_some());
            for name in found {
                let file = format!("{}.md", name.replace(':', "/"));
                let Some(text) = place.find(&file).and_then(|path| read(&path).ok()) else {
                    continue;
                };
                commands
                    .entry(name.clone())
                    .or_insert_with(|| described(name, &text));
            }
        }
        commands.into_values().collect()
    }
}

/// Finds the names of the prompts below a directory. What cannot be read has none.
fn names_in(directory: &Path, prefix: &str, depth: usize, into: &mut Vec<String>) {
    let Ok(entries) = fs::read_dir(directory) else {
        return;
    };
    for entry in entries.flatten() {
        if into.len() >= SAVED_PROMPTS_MAX {
            return;
        }
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = entry.path();
        if path.is_dir() && depth < SAVED_PROMPT_DEPTH_MAX {
            names_in(&path, &format!("{prefix}{name}:"), depth + 1, into);
        } else if let Some(name) = name.strip_suffix(".md") {
            into.push(format!("{prefix}{name}"));
        }
    }
}

fn described(name: String, text: &str) -> PromptCommand {
    let (front, body) = split_front_matter(text);
    let value = |wanted: &str| {
        let mut pairs = front.lines().filter_map(|line| line.split_once(':'));
        let (_, value) = pairs.find(|(key, _)| *key == wanted)?;
        let value = value.trim().trim_matches(['"', '\'']);
        (!value.is_empty()).then(|| value.to_owned())
    };
    let first_line = || {
        let line = body.lines().find(|line| !line.trim().is_empty())?;
        let line = line.trim_start_matches(['#', ' ']);
        Some(line.chars().take(PROMPT_SUMMARY_CHARS_MAX).collect())
    };
    PromptCommand {
        name,
        description: value("description").or_else(first_line),
        argument_hint: value("argument-hint"),
    }
}

impl FindPrompts for PromptPlaces {
    fn names(&self) -> Vec<String> {
        self.list().into_iter().map(|prompt| prompt.name).collect()
    }

    fn fill(&self, line: &str) -> Result<Option<String>, String> {
        let filled = self.fill(line).map_err(|failure| failure.to_string())?;
        Ok(filled.map(|prompt| prompt.text))
    }
}

impl PromptPlace {
    fn find(&self, file: &str) -> Option<PathBuf> {
        match self {
            Self::User(place) => Some(place.join(file)).filter(|path| path.is_file()),
            Self::Project(place) => {
                let path = place.join(file).canonicalize().ok()?;
                let is_inside = path.starts_with(place.canonicalize().ok()?);
                (is_inside && path.is_file()).then_some(path)
            }
        }
    }
}

fn read(path: &Path) -> Result<String, String> {
    let file = fs::File::open(path).map_err(|error| error.to_string())?;
    let mut text = String::new();
    file.take(SAVED_PROMPT_BYTES_MAX + 1)
        .read_to_string(&mut text)
        .map_err(|error| error.to_string())?;
    if text.len() as u64 > SAVED_PROMPT_BYTES_MAX {
        return Err(format!("larger than {SAVED_PROMPT_BYTES_MAX} bytes"));
    }
    Ok(text)
}

/// Puts the arguments where the text wants them, or behind it.
fn filled(text: &str, arguments: &str) -> FilledPrompt {
    let (front, body) = split_front_matter(text);
    let known = ["description", "argument-hint"];
    let keys = front.lines().filter_map(|line| line.split_once(':'));
    let keys = keys.map(|(key, _)| key);
    let is_key = |key: &&str| !key.is_empty() && !key.starts_with([' ', '#', '-']);
    let ignored = keys.filter(|key| is_key(key) && !known.contains(key));
    FilledPrompt {
        ignored: ignored.map(str::to_owned).collect(),
        text: with_arguments(body.trim(), arguments),
    }
}

fn split_front_matter(text: &str) -> (&str, &str) {
    let parts = text
        .strip_prefix("---\n")
        .and_then(|rest| rest.split_once("\n---\n"));
    parts.unwrap_or(("", text))
}

fn with_arguments(body: &str, arguments: &str) -> String {
    let words = shlex::split(arguments).unwrap_or_default();
    let mut text = String::with_capacity(body.len() + arguments.len());
    let mut is_used = false;
    let mut rest = body;
    while let Some(at) = rest.find('$') {
        let (before, from) = rest.split_at(at);
        text.push_str(before);
        let after = &from[1..];
        if let Some(after) = after.strip_prefix("ARGUMENTS") {
            text.push_str(arguments);
            is_used = true;
            rest = after;
        } else if let Some(digit @ 1..=9) = after.chars().next().and_then(|it| it.to_digit(10)) {
            let word = words.get(digit as usize - 1);
            text.push_str(word.map_or("", String::as_str));
            is_used = true;
            rest = &after[1..];
        } else {
            text.push('$');
            rest = after;
        }
    }
    text.push_str(rest);
    if !is_used && !arguments.is_empty() {
        text.extend(["\n\n", arguments]);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::filled;

    #[test]
    fn arguments_stand_where_the_text_wants_them() {
        let text = |text: &str, arguments: &str| filled(text, arguments).text;
        assert_eq!(
            text("Fix issue $1 for $2.", "12 'Jo M'"),
            "Fix issue 12 for Jo M."
        );
        assert_eq!(
            text("Do $ARGUMENTS, for $HOME", "it now"),
            "Do it now, for $HOME"
        );
        assert_eq!(text("Fix it", "now"), "Fix it\n\nnow");
        assert_eq!(text("Fix $3.", "a"), "Fix .");
    }

    #[test]
    fn keys_that_do_nothing_are_named() {
        let prompt = filled(
            "---\ndescription: d\nallowed-tools: Bash(git:*)\nmodel: opus\n---\nGo.\n",
            "",
        );
        assert_eq!(prompt.text, "Go.");
        assert_eq!(prompt.ignored, ["allowed-tools", "model"]);
    }
}
