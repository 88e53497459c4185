//! The user's own rules about commands, edits and tools of MCP servers, in files that people edit.
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
//!
//! [[rule]]
//! edit = "*.lock"            # or mcp = "SERVER/TOOL": a pattern, in the place of a prefix
//! decision = "forbid"
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
//! Deliberately absent: patterns of commands, and rules about their directories. A rule that a person cannot
//! foresee the reach of protects nobody, and the sandbox is what holds a command that hides
//! its words.

mod amend;
mod book;
mod matching;
mod parse;
mod pattern;
mod prefix;

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

pub use amend::{AmendError, RuleChoice, append, remove};
pub use book::{ProjectTrust, RuleBook, RuleSet, RuleSource};
pub use matching::{CommandRuling, RuleCoverage};
pub use parse::RulesFileError;

/// What a rule says about a command. The stricter one is the greater one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RuleDecision {
    Allow,
    Ask,
    Forbid,
}

impl RuleDecision {
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
#[serde(try_from = "WrittenRule")]
pub struct CommandRule {
    pub matter: RuleMatter,
    pub decision: RuleDecision,
    /// `off` only with [`RuleDecision::Allow`] of a command.
    pub sandbox: SandboxUse,
    pub reason: Option<String>,
}

/// What a rule is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RuleMatter {
    /// The words that a command begins with.
    Command(Vec<String>),
    /// A pattern of paths, as in a `.gitignore`.
    Edit(String),
    /// `SERVER/TOOL`, either a pattern.
    Mcp(String),
}

/// A rule as it stands in a file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenRule {
    prefix: Option<Vec<String>>,
    edit: Option<String>,
    mcp: Option<String>,
    decision: RuleDecision,
    #[serde(default)]
    sandbox: SandboxUse,
    #[serde(default)]
    reason: Option<String>,
}

impl TryFrom<WrittenRule> for CommandRule {
    type Error = &'static str;

    fn try_from(written: WrittenRule) -> Result<Self, Self::Error> {
        let matter = match (written.prefix, written.edit, written.mcp) {
            (Some(prefix), None, None) => RuleMatter::Command(prefix),
            (None, Some(pattern), None) => RuleMatter::Edit(pattern),
            (None, None, Some(pattern)) => RuleMatter::Mcp(pattern),
            (None, None, None) => return Err("missing field `prefix` (or `edit`, or `mcp`)"),
            _ => return Err("a rule has one of `prefix`, `edit` and `mcp`"),
        };
        Ok(Self {
            matter,
            decision: written.decision,
            sandbox: written.sandbox,
            reason: written.reason,
        })
    }
}

impl CommandRule {
    /// Says what is wrong with the rule, if anything is.
    pub fn check(&self) -> Result<(), String> {
        let prefix = match &self.matter {
            RuleMatter::Command(prefix) => prefix,
            RuleMatter::Edit(_) | RuleMatter::Mcp(_) if self.sandbox == SandboxUse::Off => {
                return Err("sandbox = \"off\" is for commands".to_owned());
            }
            RuleMatter::Edit(pattern) => return pattern::check_path(pattern),
            RuleMatter::Mcp(pattern) => return pattern::check_tool(pattern),
        };
        if prefix.first().is_none_or(|word| word.trim().is_empty()) {
            return Err("prefix is empty: expected the first words of a command".to_owned());
        }
        match self.decision {
            RuleDecision::Ask | RuleDecision::Forbid if self.sandbox == SandboxUse::Off => {
                Err(format!(
                    "sandbox = \"off\" goes with the decision allow, found {}",
                    self.decision.as_str()
                ))
            }
            RuleDecision::Ask | RuleDecision::Forbid => Ok(()),
            RuleDecision::Allow => match prefix::too_broad(prefix) {
                Some(why) => Err(format!("allow {}: {why}", self.words())),
                None => Ok(()),
            },
        }
    }

    /// What the rule is about, as one would type it.
    pub fn words(&self) -> String {
        self.matter.words()
    }

    /// Returns the first words of a command; none if the rule is about something else.
    pub(crate) fn prefix(&self) -> &[String] {
        match &self.matter {
            RuleMatter::Command(prefix) => prefix,
            RuleMatter::Edit(_) | RuleMatter::Mcp(_) => &[],
        }
    }
}

impl RuleMatter {
    pub fn words(&self) -> String {
        let quoted = |words: &[&str]| {
            // Only a NUL cannot be quoted, and no program can be given one.
            shlex::try_join(words.iter().copied()).unwrap_or_else(|_| words.join(" "))
        };
        match self {
            Self::Command(prefix) => {
                let words: Vec<&str> = prefix.iter().map(String::as_str).collect();
                quoted(&words)
            }
            Self::Edit(pattern) => quoted(&["--edit", pattern]),
            Self::Mcp(pattern) => quoted(&["--mcp", pattern]),
        }
    }
}

/// A rule and where it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlacedRule {
    pub rule: CommandRule,
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
