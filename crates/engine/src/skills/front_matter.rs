//! The beginning of a `SKILL.md`: YAML between two lines `---`. Pure.
//!
//! Skills are written for many programs, so keys that we do not know are theirs. That is the
//! difference to role files, whose keys are locks and must all be understood.

use serde::Deserialize;
use serde_json::Value;
use serde_saphyr::options::{DuplicateKeyPolicy, MergeKeyPolicy};

use crate::limits::{
    SKILL_DESCRIPTION_CHARS_MAX, SKILL_FILE_BYTES_MAX, SKILL_HEAD_BYTES_MAX, SKILL_NAME_CHARS_MAX,
    SKILL_PROBLEM_BYTES_MAX, YAML_DEPTH_MAX, YAML_NODES_MAX,
};

const FENCE: &str = "---";

/// What a skill says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillFrontMatter {
    pub name: String,
    pub description: String,
    pub short_description: Option<String>,
}

/// Why a `SKILL.md` is not used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SkillFileProblem {
    #[error("cannot be read: {0}")]
    Unreadable(String),
    #[error("is not a regular file")]
    NoFile,
    #[error("has {bytes} bytes; at most {SKILL_FILE_BYTES_MAX} are taken")]
    TooLarge { bytes: u64 },
    #[error("is not UTF-8")]
    NotText,
    #[error(
        "has no front matter: its first line must be `---`, then come `name` and `description`, then `---`"
    )]
    NoFrontMatter,
    #[error(
        "has a front matter without an end: a second line `---` is missing in its first {SKILL_HEAD_BYTES_MAX} bytes"
    )]
    Unclosed,
    #[error("has a front matter that is not YAML: {0}")]
    Yaml(String),
    #[error("has no description: say in its front matter when to use it")]
    NoDescription,
    #[error(
        "has a description of {chars} characters; at most {SKILL_DESCRIPTION_CHARS_MAX} are taken"
    )]
    LongDescription { chars: usize },
    #[error(
        "has no usable name: give it one of at most {SKILL_NAME_CHARS_MAX} characters, in one line"
    )]
    BadName,
}

#[derive(Debug, Deserialize)]
struct FrontMatterKeys {
    name: Option<String>,
    description: Option<String>,
    /// Anybody's.
    metadata: Option<Value>,
}

/// Reads the beginning of a skill; returns it with what follows. `default_name` is the name
/// of one that does not say its own.
pub fn parse<'a>(
    text: &'a str,
    default_name: &str,
) -> Result<(SkillFrontMatter, &'a str), SkillFileProblem> {
    let (yaml, body) = split(text)?;
    let keys = match read(yaml) {
        Ok(keys) => keys,
        // `description: Use this when: …` is what many people write.
        Err(problem) => read(&repaired(yaml)).map_err(|_| SkillFileProblem::Yaml(problem))?,
    };
    let name = keys.name.as_deref().map(str::trim);
    let name = name.filter(|name| !name.is_empty()).unwrap_or(default_name);
    let is_bad = |name: &str| name.is_empty() || name.contains(char::is_control);
    if is_bad(name) || name.chars().count() > SKILL_NAME_CHARS_MAX {
        return Err(SkillFileProblem::BadName);
    }
    let description = one_line(keys.description.as_deref().unwrap_or_default());
    let chars = description.chars().count();
    match chars {
        0 => return Err(SkillFileProblem::NoDescription),
        chars if chars > SKILL_DESCRIPTION_CHARS_MAX => {
            return Err(SkillFileProblem::LongDescription { chars });
        }
        _ => (),
    }
    let metadata = keys.metadata.as_ref();
    let short = metadata.and_then(|metadata| metadata.get("short-description")?.as_str());
    let short = short
        .map(one_line)
        .filter(|text| !text.is_empty() && text.chars().count() <= SKILL_DESCRIPTION_CHARS_MAX);
    Ok((
        SkillFrontMatter {
            name: name.to_owned(),
            description,
            short_description: short,
        },
        body,
    ))
}

fn split(text: &str) -> Result<(&str, &str), SkillFileProblem> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut at = 0;
    let mut begin = None;
    for line in text.split_inclusive('\n') {
        let is_fence = line.trim_end() == FENCE;
        let here = at;
        at += line.len();
        match (begin, is_fence) {
            (None, true) => begin = Some(at),
            (None, false) => return Err(SkillFileProblem::NoFrontMatter),
            (Some(begin), true) => return Ok((&text[begin..here], text[at..].trim())),
            (Some(_), false) => {}
        }
    }
    match begin {
        Some(_) => Err(SkillFileProblem::Unclosed),
        None => Err(SkillFileProblem::NoFrontMatter),
    }
}

/// Returns the keys, or the parser's complaint.
fn read(yaml: &str) -> Result<FrontMatterKeys, String> {
    let options = serde_saphyr::options! {
        // No skill needs references, and every bomb does.
        budget: serde_saphyr::budget! {
            max_aliases: 0,
            max_anchors: 0,
            max_depth: YAML_DEPTH_MAX,
            flow_nesting_limit: YAML_DEPTH_MAX,
            max_nodes: YAML_NODES_MAX,
            max_events: 4 * YAML_NODES_MAX,
            max_documents: 1,
        },
        duplicate_keys: DuplicateKeyPolicy::Error,
        merge_keys: MergeKeyPolicy::Error,
        with_snippet: false,
    };
    serde_saphyr::from_str_with_options(yaml, options).map_err(|error| complaint(&error))
}

/// Returns what the parser complains of, in one short line that counts lines as the file does.
fn complaint(error: &serde_saphyr::Error) -> String {
    let text = match error {
        serde_saphyr::Error::DuplicateMappingKey { key, .. } => {
            format!("the key {} is there twice", key.as_deref().unwrap_or("?"))
        }
        error => one_line(&error.to_string()),
    };
    let what = text
        .rsplit_once(" at line ")
        .map_or(text.as_str(), |(what, _)| what);
    let what = &what[..what.floor_char_boundary(SKILL_PROBLEM_BYTES_MAX)];
    match error.location() {
        Some(place) => format!("{what} (line {})", place.line() + 1),
        None => what.to_owned(),
    }
}

/// Puts quotes around the values of plain `key: value` lines.
fn repaired(yaml: &str) -> String {
    let quoted = |line: &str| {
        let (key, value) = line.split_once(": ")?;
        let value = value.trim();
        let is_plain = !value.is_empty() && !value.starts_with(['"', '\'', '|', '>', '[', '{']);
        let is_key = !key.trim().is_empty() && !key.contains(['"', '\'', '#']);
        (is_plain && is_key).then(|| format!("{key}: {}", Value::from(value)))
    };
    let lines = yaml.lines();
    let lines = lines.map(|line| quoted(line).unwrap_or_else(|| line.to_owned()));
    lines.collect::<Vec<_>>().join("\n")
}

fn one_line(text: &str) -> String {
    let words = text.split(|c: char| c.is_whitespace() || c.is_control());
    words
        .filter(|word| !word.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}
