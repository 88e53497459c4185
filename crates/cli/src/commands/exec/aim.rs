//! The positional arguments of `exec`: prompt, session, or both.

use troupe_agents::Recovery;

use super::{ExecAction, Repeated};
use crate::commands::review::ReviewArguments;
use crate::exec::request::Continue;
use crate::failure::Failure;

/// What the command line is about.
#[derive(Debug)]
pub struct Aim {
    pub continues: Continue,
    pub prompt: Prompt,
    pub repeated: Repeated,
}

#[derive(Debug)]
pub enum Prompt {
    /// Read from stdin if it is not given.
    Required(Option<String>),
    /// Who was at work goes on, whether there is something new to do or not.
    Optional(Option<String>),
    Review(ReviewArguments),
}

impl Prompt {
    /// Returns who is to go on; as configured if nobody said. A prompt is new work for the
    /// first agent, in the place of what it was at.
    pub fn recovery(&self) -> Option<Recovery> {
        match self {
            Self::Required(_) | Self::Review(_) => None,
            Self::Optional(Some(_)) => Some(Recovery::ContinueChildren),
            Self::Optional(None) => Some(Recovery::Continue),
        }
    }
}

/// Sorts out what the positional arguments mean.
pub fn aim(
    action: Option<ExecAction>,
    prompt: Option<String>,
    repeated: Repeated,
) -> Result<Aim, Failure> {
    Ok(match action {
        None => Aim {
            continues: Continue::New,
            prompt: Prompt::Required(prompt),
            repeated,
        },
        Some(ExecAction::Resume(resume)) => {
            // With --last nothing has to be named, so the one positional is the prompt.
            let (continues, given) = if resume.last {
                let any_directory = resume.all;
                let given = resume.prompt.or(resume.session);
                (Continue::Last { any_directory }, given)
            } else {
                let session = resume.session.ok_or_else(|| {
                    Failure::usage("which session? give an id or a name, or use --last")
                })?;
                (Continue::Resume(session), resume.prompt)
            };
            let given = given.or(prompt);
            Aim {
                continues,
                prompt: if resume.go_on {
                    Prompt::Optional(given)
                } else {
                    Prompt::Required(given)
                },
                repeated: repeated.then(resume.repeated),
            }
        }
        Some(ExecAction::Fork(fork)) => Aim {
            continues: Continue::Fork {
                session: fork.session,
                at: fork.at.map(Into::into),
            },
            prompt: Prompt::Required(fork.prompt.or(prompt)),
            repeated: repeated.then(fork.repeated),
        },
        Some(ExecAction::Review(review)) => Aim {
            continues: Continue::New,
            repeated: repeated.then(review.repeated.clone()),
            prompt: Prompt::Review(review),
        },
    })
}
