//! What the positional arguments of `exec` mean.

use troupe_agents::RecoveryPolicy;

use super::{ExecAction, RepeatedOptions};
use crate::commands::review::ReviewArguments;
use crate::exec::request::SessionChoice;
use crate::failure::CommandFailure;

/// What the command line is about.
#[derive(Debug)]
pub struct ExecPositionals {
    pub continues: SessionChoice,
    pub prompt: PromptSource,
    pub repeated: RepeatedOptions,
}

#[derive(Debug)]
pub enum PromptSource {
    /// Read from stdin if it is not given.
    Required(Option<String>),
    /// Who was at work goes on, whether there is something new to do or not.
    Optional(Option<String>),
    Review(ReviewArguments),
}

impl PromptSource {
    /// Returns who is to go on; as configured if nobody said. A prompt is new work for the
    /// first agent, in the place of what it was at.
    pub fn recovery(&self) -> Option<RecoveryPolicy> {
        match self {
            Self::Required(_) | Self::Review(_) => None,
            Self::Optional(Some(_)) => Some(RecoveryPolicy::ContinueChildren),
            Self::Optional(None) => Some(RecoveryPolicy::Continue),
        }
    }
}

/// Sorts out what the positional arguments mean.
pub fn aim(
    action: Option<ExecAction>,
    prompt: Option<String>,
    repeated: RepeatedOptions,
) -> Result<ExecPositionals, CommandFailure> {
    Ok(match action {
        None => ExecPositionals {
            continues: SessionChoice::New,
            prompt: PromptSource::Required(prompt),
            repeated,
        },
        Some(ExecAction::Resume(resume)) => {
            // With --last nothing has to be named, so the one positional is the prompt.
            let (continues, given) = if resume.last {
                let any_directory = resume.all;
                let given = resume.prompt.or(resume.session);
                (SessionChoice::Last { any_directory }, given)
            } else {
                let session = resume.session.ok_or_else(|| {
                    CommandFailure::usage("which session? give an id or a name, or use --last")
                })?;
                (SessionChoice::Resume(session), resume.prompt)
            };
            let given = given.or(prompt);
            ExecPositionals {
                continues,
                prompt: if resume.go_on {
                    PromptSource::Optional(given)
                } else {
                    PromptSource::Required(given)
                },
                repeated: repeated.then(resume.repeated),
            }
        }
        Some(ExecAction::Fork(fork)) => ExecPositionals {
            continues: SessionChoice::Fork {
                session: fork.session,
                at: fork.at.map(Into::into),
            },
            prompt: PromptSource::Required(fork.prompt.or(prompt)),
            repeated: repeated.then(fork.repeated),
        },
        Some(ExecAction::Review(review)) => ExecPositionals {
            continues: SessionChoice::New,
            repeated: repeated.then(review.repeated.clone()),
            prompt: PromptSource::Review(review),
        },
    })
}
