//! `troupe review`: has changes reviewed by an agent that only reads.

use clap::Args;
use troupe_protocol::op::ReviewTarget;

use crate::commands::exec::{ExecAction, ExecArguments, ExecOptions, RepeatedOptions, read_prompt};
use crate::failure::CommandFailure;

#[derive(Debug, Args)]
#[command(
    after_help = "Findings go to stdout, the most urgent first: [P0] must be fixed now, to [P3] nice to have.
With --json they are one object: findings (title, body, priority, confidence_score,
code_location), overall_correctness, overall_explanation, overall_confidence_score.

Exit codes: 0 the review was done, whatever it found; 1 it failed; others as `troupe exec`.

Examples:
  troupe review                       what is not committed
  troupe review --base main           what this branch adds to main
  troupe review --commit HEAD~1
  troupe review \"only the error handling of src/net\"
  troupe review --json | jq -e '.findings | map(select(.priority == 0)) == []'"
)]
pub struct ReviewArguments {
    /// What to review, in words; `-` reads it from stdin.
    #[arg(conflicts_with_all = ["uncommitted", "base", "commit"])]
    prompt: Option<String>,
    /// Staged, unstaged and untracked changes (the default).
    #[arg(long, conflicts_with_all = ["base", "commit"])]
    uncommitted: bool,
    /// What the current branch adds to this one.
    #[arg(long, value_name = "BRANCH", conflicts_with = "commit")]
    base: Option<String>,
    /// What one commit changes.
    #[arg(long, value_name = "SHA")]
    commit: Option<String>,
    #[command(flatten)]
    pub(super) repeated: RepeatedOptions,
}

/// `troupe review`.
#[derive(Debug, Args)]
pub struct ReviewCommand {
    #[command(flatten)]
    review: ReviewArguments,
    #[command(flatten)]
    options: ExecOptions,
}

impl ReviewCommand {
    pub fn into_exec(self) -> ExecArguments {
        ExecAction::Review(self.review).with(self.options)
    }
}

impl ReviewArguments {
    pub(super) fn target(self) -> Result<ReviewTarget, CommandFailure> {
        Ok(match (self.prompt, self.base, self.commit) {
            (Some(prompt), _, _) => ReviewTarget::Custom {
                instructions: read_prompt(Some(&prompt))?,
            },
            (None, Some(branch), _) => ReviewTarget::BaseBranch { branch },
            (None, None, Some(sha)) => ReviewTarget::Commit { sha, title: None },
            (None, None, None) => ReviewTarget::UncommittedChanges,
        })
    }
}
