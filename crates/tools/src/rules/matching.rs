//! Which rule decides about a command.

use std::path::Path;
use std::slice::from_ref;

use troupe_protocol::policy::{ApprovalPolicy, SandboxPolicy};

use super::book::RuleSet;
use super::prefix::can_leave_the_sandbox;
use super::{
    CommandRule, PlacedRule, RuleDecision, RuleMatter, RulesFileError, SandboxUse, pattern,
};
use crate::limits::{PROPOSED_RULES_MAX, PROPOSED_WORDS_BYTES_MAX};
use crate::policy::{self, PolicyVerdict, SandboxEscalation};
use crate::safety::script::{is_of_the_system, program_name};
use crate::safety::search::{ScriptFinding, Word, in_command};
use crate::safety::{judge, parts, parts_read_only};

/// What the rules say about a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandRuling {
    /// No rule is about it.
    Silent,
    Allow {
        /// The first one that was needed.
        rule: PlacedRule,
        sandbox: SandboxUse,
        wording: RuleCoverage,
    },
    Ask(PlacedRule),
    /// A file cannot be read, and might forbid it.
    Unreadable(RulesFileError),
    Forbid(PlacedRule),
}

impl CommandRuling {
    /// The stricter one is the greater one. What no rule is about is less allowed than what one
    /// allows.
    fn strictness(&self) -> u8 {
        match self {
            Self::Allow { .. } => 0,
            Self::Silent => 1,
            Self::Ask(_) => 2,
            Self::Unreadable(_) => 3,
            Self::Forbid(_) => 4,
        }
    }
}

/// How much of a command its rules spell out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleCoverage {
    Whole,
    /// The command goes on after the words of a rule.
    Beginning,
}

impl RuleSet {
    /// Decides about a command as it will be executed: program and arguments.
    pub fn ruling(&self, argv: &[String]) -> CommandRuling {
        let strictest = self.tightening(argv);
        match (strictest, self.broken.first()) {
            (Some(found), _) if found.rule.decision == RuleDecision::Forbid => {
                CommandRuling::Forbid(found.clone())
            }
            (_, Some(broken)) => CommandRuling::Unreadable(broken.clone()),
            (Some(found), None) => CommandRuling::Ask(found.clone()),
            (None, None) => self.allowing_rules(argv).unwrap_or(CommandRuling::Silent),
        }
    }

    /// Decides about a change to these files. Each name of a file counts, so that a link is no way
    /// around a rule.
    pub fn edit_ruling<'p>(
        &self,
        files: impl IntoIterator<Item = &'p [&'p Path]>,
    ) -> CommandRuling {
        let rulings = files.into_iter().map(|names| {
            self.pattern_ruling(|rule| match &rule.matter {
                RuleMatter::Edit(glob) => {
                    let mut names = names.iter();
                    if rule.decision == RuleDecision::Allow {
                        names.all(|name| pattern::matches_path(glob, name))
                    } else {
                        names.any(|name| pattern::matches_path(glob, name))
                    }
                }
                RuleMatter::Command(_) | RuleMatter::Mcp(_) => false,
            })
        });
        let strictest = rulings.max_by_key(CommandRuling::strictness);
        strictest.unwrap_or(CommandRuling::Silent)
    }

    /// Decides about a call of a server's tool.
    pub fn tool_ruling(&self, server: &str, tool: &str) -> CommandRuling {
        self.pattern_ruling(|rule| match &rule.matter {
            RuleMatter::Mcp(glob) => pattern::matches_tool(glob, server, tool),
            RuleMatter::Command(_) | RuleMatter::Edit(_) => false,
        })
    }

    /// The strictest rule counts; a file that cannot be read might forbid.
    fn pattern_ruling(&self, is_meant: impl Fn(&CommandRule) -> bool) -> CommandRuling {
        let meant = self.placed.iter().filter(|placed| is_meant(&placed.rule));
        let strictest = meant.reduce(stricter);
        match (strictest, self.broken.first()) {
            (Some(found), _) if found.rule.decision == RuleDecision::Forbid => {
                CommandRuling::Forbid(found.clone())
            }
            (_, Some(broken)) => CommandRuling::Unreadable(broken.clone()),
            (None, None) => CommandRuling::Silent,
            (Some(found), None) if found.rule.decision == RuleDecision::Ask => {
                CommandRuling::Ask(found.clone())
            }
            (Some(found), None) => CommandRuling::Allow {
                rule: found.clone(),
                sandbox: SandboxUse::On,
                wording: RuleCoverage::Whole,
            },
        }
    }

    /// Foresees what happens to a command that does not ask to leave the sandbox.
    pub fn verdict(
        &self,
        argv: &[String],
        approval: ApprovalPolicy,
        sandbox: &SandboxPolicy,
    ) -> PolicyVerdict {
        let ruling = self.ruling(argv);
        policy::command(
            &judge(argv),
            &ruling,
            &SandboxEscalation::None,
            approval,
            sandbox,
        )
    }

    /// Returns the rules that would let a command run unasked from now on; `None` if no sound
    /// ones would.
    pub(crate) fn proposal(
        &self,
        argv: &[String],
        sandbox: SandboxUse,
    ) -> Option<Vec<CommandRule>> {
        let uncovered: Vec<Vec<String>> = parts(argv)?
            .into_iter()
            .filter(|part| match (sandbox, self.allow_for(part)) {
                (SandboxUse::On, found) => found.is_none() && !parts_read_only(from_ref(part)),
                (SandboxUse::Off, found) => {
                    found.is_none_or(|placed| placed.rule.sandbox == SandboxUse::On)
                }
            })
            .collect();
        let proposed: Vec<CommandRule> = uncovered
            .into_iter()
            .map(|prefix| CommandRule {
                matter: RuleMatter::Command(prefix),
                decision: RuleDecision::Allow,
                sandbox,
                reason: None,
            })
            .collect();
        let sound = !proposed.is_empty()
            && proposed.len() <= PROPOSED_RULES_MAX
            && proposed.iter().all(is_sound_proposal);
        sound.then_some(proposed)
    }

    /// Finds the strictest rule that tightens, in whatever can be seen of the command.
    fn tightening(&self, argv: &[String]) -> Option<&PlacedRule> {
        let strict: Vec<&PlacedRule> = self
            .placed
            .iter()
            .filter(|placed| placed.rule.decision > RuleDecision::Allow)
            .collect();
        if strict.is_empty() {
            return None;
        }
        let mut found: Option<&PlacedRule> = None;
        // Nothing ends the search: what comes later may be forbidden.
        in_command(argv, &mut |finding| {
            if let ScriptFinding::Command(words) = finding {
                let hits = strict.iter().filter(|placed| is_seen(&placed.rule, words));
                found = found.into_iter().chain(hits.copied()).reduce(stricter);
            }
            None
        });
        found
    }

    fn allowing_rules(&self, argv: &[String]) -> Option<CommandRuling> {
        let allows = |placed: &PlacedRule| placed.rule.decision == RuleDecision::Allow;
        if !self.placed.iter().any(allows) {
            return None;
        }
        let parts = parts(argv)?;
        let found: Vec<Option<&PlacedRule>> =
            parts.iter().map(|part| self.allow_for(part)).collect();
        let first = found.iter().flatten().next()?;
        // `git` after `cd` is not known to be safe, whoever allowed the `cd`.
        let rest: Vec<Vec<String>> = parts
            .iter()
            .zip(&found)
            .filter(|(part, rule)| rule.is_none() || part[0] == "cd")
            .map(|(part, _)| part.clone())
            .collect();
        let all_found = found.iter().all(Option::is_some);
        if !all_found && !parts_read_only(&rest) {
            return None;
        }
        let mut used = found.iter().flatten();
        let all_off = all_found && used.all(|placed| placed.rule.sandbox == SandboxUse::Off);
        let whole = parts
            .iter()
            .zip(&found)
            .all(|(part, rule)| rule.is_none_or(|placed| placed.rule.prefix().len() == part.len()));
        Some(CommandRuling::Allow {
            rule: (*first).clone(),
            sandbox: if all_off {
                SandboxUse::Off
            } else {
                SandboxUse::On
            },
            wording: if whole {
                RuleCoverage::Whole
            } else {
                RuleCoverage::Beginning
            },
        })
    }

    /// Finds the rule that says most about a command; of two such the one with the sandbox.
    fn allow_for(&self, part: &[String]) -> Option<&PlacedRule> {
        self.placed
            .iter()
            .filter(|placed| placed.rule.decision == RuleDecision::Allow)
            .filter(|placed| is_exactly(&placed.rule, part))
            .max_by_key(|placed| {
                let confined = placed.rule.sandbox == SandboxUse::On;
                (placed.rule.prefix().len(), confined)
            })
    }
}

/// Of two that are equally strict the one that was met first.
fn stricter<'r>(one: &'r PlacedRule, other: &'r PlacedRule) -> &'r PlacedRule {
    if other.rule.decision > one.rule.decision {
        other
    } else {
        one
    }
}

/// Whether visible words begin with the rule's. A program counts wherever it lies, and options
/// between it and the next word of the rule are passed over: `git -C . push` is a `git push`.
fn is_seen(rule: &CommandRule, words: &[Word]) -> bool {
    let Some((wanted, rest)) = rule.prefix().split_first() else {
        return false;
    };
    let Some((Some(program), words)) = words.split_first() else {
        return false;
    };
    let is_meant = program == wanted || program_name(program) == wanted;
    is_meant && after_options(words).any(|words| begins_with(words, rest))
}

fn begins_with(words: &[Word], wanted: &[String]) -> bool {
    words.len() >= wanted.len()
        && wanted
            .iter()
            .zip(words)
            .all(|(wanted, word)| word.as_ref() == Some(wanted))
}

/// Returns the words, and what is left of them after options that stand first. Which option takes
/// a value is known to its program alone, so both readings are given. A word that cannot be seen
/// may be an option too.
fn after_options(words: &[Word]) -> impl Iterator<Item = &[Word]> {
    let mut is_reached = vec![false; words.len() + 1];
    is_reached[0] = true;
    for (at, word) in words.iter().enumerate() {
        let (is_option, has_value) = match word.as_deref() {
            None => (true, false),
            Some(word) => (word.starts_with(['-', '+']), word.contains('=')),
        };
        if !is_reached[at] || !is_option {
            continue;
        }
        is_reached[at + 1] = true;
        if !has_value && at + 2 <= words.len() {
            is_reached[at + 2] = true;
        }
    }
    let reached = is_reached.into_iter().enumerate();
    let reached = reached.filter(|(_, is_reached)| *is_reached);
    reached.map(|(at, _)| &words[at..])
}

/// Whether a command begins with the rule's words. A bare name is a program of the system:
/// not one of that name in the work tree.
fn is_exactly(rule: &CommandRule, part: &[String]) -> bool {
    let mut pairs = rule.prefix().iter().zip(part);
    let program = |(wanted, word): (&String, &String)| {
        word == wanted || (is_of_the_system(word) && program_name(word) == wanted)
    };
    part.len() >= rule.prefix().len()
        && pairs.next().is_some_and(program)
        && pairs.all(|(wanted, word)| wanted == word)
}

fn is_sound_proposal(rule: &CommandRule) -> bool {
    let program = rule.prefix().first().map_or("", String::as_str);
    let is_relative = program.contains('/') && !program.starts_with('/');
    let bytes: usize = rule.prefix().iter().map(String::len).sum();
    // The rule would hold in every project, where the path leads elsewhere.
    !is_relative
        && bytes <= PROPOSED_WORDS_BYTES_MAX
        && rule.check().is_ok()
        && (rule.sandbox == SandboxUse::On || can_leave_the_sandbox(rule.prefix()))
}
