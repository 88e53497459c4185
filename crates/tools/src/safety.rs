//! What can be told about a command from its words, before it runs.
//!
//! ```text
//! argv ──unwrap `bash -lc`──► script ──tree──┬─ danger: every command anywhere in the tree
//!                                            └─ plain: words of plain commands, else why not
//!                                                 └─ safe: one rule per command known to read
//! ```
//!
//! Two opposite readings of the same tree. *Danger* is tolerant: it looks into
//! substitutions, wrappers, traps and broken scripts, and one destructive command anywhere
//! decides. *Plain* is strict: it has a list of what it understands completely, and
//! everything else, down to a single unusual character, makes the command unknown. A command
//! is safe only if it is plain and each of its parts only reads, whatever it is told to read.
//!
//! Decided: `git` is not safe after `cd`, because the configuration of another directory
//! names programs; `env` is not, because it prints secrets; builds and tests are not, because
//! they run what is in the tree; wildcards are not, because a file may be named like an
//! option. The judgement supports a policy and never replaces the sandbox: a safe command is
//! still confined, and a command that is not dangerous may still do harm.
//!
//! Deliberately absent: running or resolving anything, the file system, and the user's own
//! rules, which are matched with the same two readings in [`crate::rules`].

mod danger;
mod describe;
mod limits;
pub(crate) mod plain;
mod safe;
pub(crate) mod script;
pub(crate) mod search;

use troupe_protocol::command::ParsedCommand;

use plain::plain_commands;
use script::shell_script;

/// What the words of a command tell about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SafetyJudgement {
    /// It only reads, whatever its arguments name.
    KnownSafe,
    /// Nothing is known against it, but not enough for it.
    Unknown { why: String },
    /// It destroys what cannot be brought back, or hides something that does.
    Dangerous { why: String },
}

/// Judges a command as it will be executed: program and arguments.
pub fn judge(argv: &[String]) -> SafetyJudgement {
    if let Some(why) = danger::in_command(argv) {
        return SafetyJudgement::Dangerous { why };
    }
    verdict(reads_only(argv.to_vec()))
}

/// Judges the text of a shell script.
pub fn judge_script(script: &str) -> SafetyJudgement {
    if let Some(why) = danger::in_script(script) {
        return SafetyJudgement::Dangerous { why };
    }
    verdict(plain_commands(script).and_then(all_read_only))
}

/// The words of each command of a script that consists of plain commands, joined by `&&`,
/// `||`, `;`, `|` or line ends; `None` when anything else is in it.
///
/// Redirections that neither read nor write a file (`2>&1`, `>/dev/null`) are left out.
pub fn segments(script: &str) -> Option<Vec<Vec<String>>> {
    plain_commands(script).ok()
}

/// What a command does, for display: one entry per part that matters.
pub fn describe(argv: &[String]) -> Vec<ParsedCommand> {
    describe::describe(argv)
}

fn verdict(safe: Result<(), String>) -> SafetyJudgement {
    match safe {
        Ok(()) => SafetyJudgement::KnownSafe,
        Err(why) => SafetyJudgement::Unknown { why },
    }
}

fn reads_only(argv: Vec<String>) -> Result<(), String> {
    all_read_only(vec![argv])
}

fn all_read_only(commands: Vec<Vec<String>>) -> Result<(), String> {
    safe::all_read_only(&unwrapped(commands)?)
}

/// The words of each command that these words run, if all of them are plain; shells are
/// replaced by what they run.
pub(crate) fn parts(argv: &[String]) -> Option<Vec<Vec<String>>> {
    unwrapped(vec![argv.to_vec()]).ok()
}

/// Whether commands, one after the other, only read.
pub(crate) fn parts_read_only(parts: &[Vec<String>]) -> bool {
    safe::all_read_only(parts).is_ok()
}

fn unwrapped(commands: Vec<Vec<String>>) -> Result<Vec<Vec<String>>, String> {
    let mut commands = commands;
    for _ in 0..limits::SHELL_DEPTH_MAX {
        let mut unwrapped = Vec::with_capacity(commands.len());
        let mut shells = false;
        for argv in commands {
            match shell_script(&argv) {
                Some(script) => {
                    shells = true;
                    unwrapped.extend(plain_commands(script)?);
                }
                None => unwrapped.push(argv),
            }
        }
        commands = unwrapped;
        if !shells {
            return Ok(commands);
        }
    }
    Err("shells are nested too deeply".to_owned())
}

#[cfg(test)]
mod tests;
