//! The `[hooks]` section.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};

use crate::limits::{HOOK_TIMEOUT_SEC_DEFAULT, HOOK_TIMEOUT_SEC_MAX};

/// Commands that run around what agents do, by moment. Each is given JSON on its standard
/// input, and may refuse.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default)]
pub struct HookSettings {
    /// Before a tool runs; a refusal is its answer.
    pub before_tool: Vec<Hook>,
    /// After a tool ran; a refusal is added to its answer.
    pub after_tool: Vec<Hook>,
    /// Before a model makes another agent.
    pub on_spawn: Vec<Hook>,
    /// When a task is about to end; a refusal makes the model go on.
    pub on_stop: Vec<Hook>,
    /// When a person is about to be asked; a refusal is the answer.
    pub on_approval: Vec<Hook>,
}

impl HookSettings {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
pub struct Hook {
    pub command: HookCommand,
    /// Which tools it is for: a name in which `*` stands for any text and `?` for one
    /// character. All, if absent. Without meaning for on_stop.
    pub matcher: Option<String>,
    /// How long it may take (default 60, at most 600).
    #[serde(default = "timeout_default", deserialize_with = "timeout")]
    pub timeout_sec: f64,
    /// What to do when it fails or takes too long.
    #[serde(default)]
    pub on_failure: OnFailure,
}

/// A program with its arguments, or a text for the shell.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "expected a text for the shell, or a list: a program and its arguments"
)]
pub enum HookCommand {
    Shell(String),
    Argv(Vec<String>),
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OnFailure {
    /// Go on, with a warning.
    #[default]
    Allow,
    Refuse,
}

impl Hook {
    /// Returns how people are told of it.
    pub fn name(&self) -> String {
        match &self.command {
            HookCommand::Shell(text) => format!("`{text}`"),
            HookCommand::Argv(argv) => format!("`{}`", argv.join(" ")),
        }
    }

    pub(super) fn matches(&self, subject: &str) -> bool {
        let pattern = self.matcher.as_deref();
        subject.is_empty() || pattern.is_none_or(|pattern| matches(pattern, subject))
    }
}

/// Matches a whole name. Each star is tried at the latest place that worked, so the time is
/// bounded by the product of the lengths.
pub(super) fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), name.chars().collect());
    let (mut p, mut n) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, n));
                p += 1;
            }
            Some(c) if *c == '?' || *c == name[n] => {
                p += 1;
                n += 1;
            }
            _ => {
                let Some((at, from)) = star else {
                    return false;
                };
                star = Some((at, from + 1));
                p = at + 1;
                n = from + 1;
            }
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}

fn timeout_default() -> f64 {
    HOOK_TIMEOUT_SEC_DEFAULT
}

fn timeout<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let seconds = f64::deserialize(deserializer)?;
    if seconds > 0.0 && seconds <= HOOK_TIMEOUT_SEC_MAX {
        return Ok(seconds);
    }
    Err(serde::de::Error::custom(format!(
        "timeout_sec must be above 0 and at most {HOOK_TIMEOUT_SEC_MAX}"
    )))
}
