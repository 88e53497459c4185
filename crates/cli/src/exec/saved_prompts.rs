//! `/name words` in the place of a prompt: a prompt that somebody wrote down, with arguments.
//! They lie where other agents keep theirs too (`.claude/commands/NAME.md`).

use std::collections::BTreeSet;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use troupe_tui::FindPrompts;

use crate::failure::CommandFailure;
use crate::home::{TroupeHome, repository_root, user_home};
use crate::limits::{SAVED_PROMPT_BYTES_MAX, SAVED_PROMPTS_MAX};

/// Where they lie in a project, in this order.
const IN_PROJECT: [&str; 2] = [".troupe/commands", ".claude/commands"];

/// A prompt as it is sent.
#[derive(Debug, PartialEq, Eq)]
pub struct FilledPrompt {
    pub text: String,
    /// Keys of its front matter that do nothing here: rights and models are the session's.
    pub ignored: Vec<String>,
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

    /// Returns the names that prompts are called by, in their order.
    pub fn names(&self) -> Vec<String> {
        let mut names = BTreeSet::new();
        for place in &self.0 {
            let (PromptPlace::Project(place) | PromptPlace::User(place)) = place;
            names.extend(names_in(place, ""));
            let folders = fs::read_dir(place).into_iter().flatten().flatten();
            for folder in folders.take(SAVED_PROMPTS_MAX) {
                let prefix = format!("{}:", folder.file_name().to_string_lossy());
                names.extend(names_in(&folder.path(), &prefix));
            }
        }
        names.retain(|name| called(&format!("/{name}")).is_some());
        names.into_iter().take(SAVED_PROMPTS_MAX).collect()
    }

    /// Returns the saved prompt that is meant; none if the words are a prompt themselves.
    pub fn fill(&self, words: &str) -> Result<Option<FilledPrompt>, CommandFailure> {
        let Some((name, arguments)) = called(words) else {
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

fn names_in(directory: &Path, prefix: &str) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let names = entries.take(SAVED_PROMPTS_MAX).filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        Some(format!("{prefix}{}", name.strip_suffix(".md")?))
    });
    names.collect()
}

impl FindPrompts for PromptPlaces {
    fn names(&self) -> Vec<String> {
        self.names()
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

/// Splits `/name words`. Paths and other words with a slash are none.
fn called(words: &str) -> Option<(&str, &str)> {
    let words = words.strip_prefix('/')?;
    let (name, arguments) = words.split_once(char::is_whitespace).unwrap_or((words, ""));
    let is_part = |letter: char| letter.is_alphanumeric() || "-_:".contains(letter);
    let is_name = !name.is_empty() && name.chars().all(is_part);
    is_name.then_some((name, arguments.trim()))
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
    use super::{called, filled};

    #[test]
    fn a_name_is_called_and_a_path_is_not() {
        assert_eq!(called("/fix 12 now"), Some(("fix", "12 now")));
        assert_eq!(called("/ui:button"), Some(("ui:button", "")));
        assert_eq!(called("/etc/hosts is wrong"), None);
        assert_eq!(called("/ what"), None);
        assert_eq!(called("fix /this"), None);
    }

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
