//! The user's own rules about commands, in files that people edit.
//!
//! ```text
//! $TROUPE_HOME/rules.toml ─┐                       ┌─ forbid, ask: the tolerant reading
//! .troupe/rules.toml ──────┴─► RuleBook ─► ruling ─┤
//!        ▲                        │                └─ allow: the strict reading
//!        └── amend ◄── "always" ──┘
//! ```
//!
//! ```toml
//! [[rule]]
//! prefix = ["git", "push"]   # the words that a command begins with
//! decision = "ask"           # allow, ask or forbid
//! reason = "others see it"   # told to the user, or to the model
//! ```
//!
//! A rule that tightens looks for its words wherever they can be seen in a script, as
//! [`crate::safety`] does for danger, also behind options of the program. A rule that loosens counts only for scripts that are
//! understood completely, and only if every command in them is allowed or known to only read.
//! The strictest of all rules and commands wins.
//!
//! Decided: `allow` skips the question and nothing else. The command stays in the sandbox,
//! unless the rule says `sandbox = "off"` and the session may write at all; and a dangerous
//! command is still asked for, unless the rule spells it out to its last word. Files of a project
//! tighten; their `allow` counts only if the user trusts the project, and they are as they were
//! when that was said. While a file cannot be read, everything that is not known to be safe is
//! asked for.
//!
//! Deliberately absent: patterns, and rules about directories. A rule that a person cannot
//! foresee the reach of protects nobody, and the sandbox is what holds a command that hides
//! its words.

mod amend;
mod book;
mod matching;
mod parse;
mod prefix;

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

pub use amend::{AmendError, RuleChoice, append, remove};
pub use book::{RuleBook, RuleSource, Rules, Trust};
pub use matching::{Ruling, Wording};
pub use parse::FileError;

/// What a rule says about a command. The stricter one is the greater one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    Allow,
    Ask,
    Forbid,
}

impl Decision {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Forbid => "forbid",
        }
    }
}

/// Whether a command that a rule allows runs in the sandbox.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SandboxUse {
    #[default]
    On,
    Off,
}

/// One rule.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// The words that a command begins with.
    pub prefix: Vec<String>,
    pub decision: Decision,
    /// `off` only with [`Decision::Allow`].
    #[serde(default)]
    pub sandbox: SandboxUse,
    #[serde(default)]
    pub reason: Option<String>,
}

impl Rule {
    /// Says what is wrong with the rule, if anything is.
    pub fn check(&self) -> Result<(), String> {
        if self
            .prefix
            .first()
            .is_none_or(|word| word.trim().is_empty())
        {
            return Err("prefix is empty: expected the first words of a command".to_owned());
        }
        match self.decision {
            Decision::Ask | Decision::Forbid if self.sandbox == SandboxUse::Off => Err(format!(
                "sandbox = \"off\" goes with the decision allow, found {}",
                self.decision.as_str()
            )),
            Decision::Ask | Decision::Forbid => Ok(()),
            Decision::Allow => match prefix::too_broad(&self.prefix) {
                Some(why) => Err(format!("allow {}: {why}", self.words())),
                None => Ok(()),
            },
        }
    }

    /// The prefix as one would type it.
    pub fn words(&self) -> String {
        let words = self.prefix.iter().map(String::as_str);
        // Only a NUL cannot be quoted, and no program can be given one.
        shlex::try_join(words).unwrap_or_else(|_| self.prefix.join(" "))
    }
}

/// A rule and where it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlacedRule {
    pub rule: Rule,
    pub file: PathBuf,
    pub line: usize,
}

/// For a sentence: `the rule "git push" (rules.toml:3: others see it)`.
impl fmt::Display for PlacedRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (file, line) = (self.file.display(), self.line);
        write!(f, "the rule `{}` ({file}:{line}", self.rule.words())?;
        match &self.rule.reason {
            Some(reason) => write!(f, ": {reason})"),
            None => f.write_str(")"),
        }
    }
}

#[cfg(test)]
mod tests;
