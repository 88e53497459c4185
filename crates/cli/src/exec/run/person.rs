//! The person at the terminal of a run: shown questions, and what they type.

use std::io::{self, IsTerminal as _};

use troupe_protocol::Op;
use troupe_protocol::input::UserInput;
use troupe_protocol::tree::AgentMessage;
use troupe_tree::command::SendUrgency;

use super::ExecRun;
use crate::exec::asking::{LineOutcome, QuestionQueue, RefusalExplanation};
use crate::exec::request::ExecOutput;
use crate::exec::terminal_lines::TerminalLines;
use crate::failure::CommandFailure;

/// The person at the terminal, and how what they type is read.
pub(super) struct TerminalPerson {
    pub(super) asker: QuestionQueue,
    lines: TerminalLines,
}

impl TerminalPerson {
    /// None if a program reads the output, or nobody could type an answer.
    pub(super) fn at_terminal(output: ExecOutput) -> Option<Self> {
        let is_for_people = matches!(output, ExecOutput::Human(_));
        let is_there = io::stdin().is_terminal() && io::stderr().is_terminal();
        let lines = (is_for_people && is_there).then(TerminalLines::open)?;
        Some(Self {
            asker: QuestionQueue::default(),
            lines: lines.ok()?,
        })
    }
}

/// Waits for a line as long as one is asked for.
pub(super) async fn typed(person: &mut Option<TerminalPerson>) -> io::Result<Option<String>> {
    match person {
        Some(person) if person.asker.is_asking() => person.lines.next().await,
        _ => std::future::pending().await,
    }
}

impl ExecRun {
    /// Shows the next question, or goes on if there is none.
    pub(super) async fn put_question(&mut self) {
        let Some(person) = &mut self.person else {
            return;
        };
        if let Some(page) = person.asker.page() {
            person.lines.forget();
            self.printer.ask(&page).await;
        } else if !person.asker.is_asking() {
            self.printer.end_asking().await;
        }
    }

    /// Takes in what the person typed.
    pub(super) async fn take_line(
        &mut self,
        line: io::Result<Option<String>>,
    ) -> Result<(), CommandFailure> {
        let Some(person) = &mut self.person else {
            return Ok(());
        };
        // A terminal that is gone says nothing any more, which is a no.
        let line = line.unwrap_or_default();
        match person.asker.take(line.as_deref()) {
            LineOutcome::Unasked => Ok(()),
            LineOutcome::More(page) => {
                self.printer.ask(&page).await;
                Ok(())
            }
            LineOutcome::Answered { op, explanation } => {
                self.submit(*op).await?;
                if let Some(explanation) = explanation {
                    self.explain(explanation).await?;
                }
                self.put_question().await;
                Ok(())
            }
        }
    }

    /// Tells an agent why a person said no.
    async fn explain(
        &mut self,
        RefusalExplanation { agent, text }: RefusalExplanation,
    ) -> Result<(), CommandFailure> {
        let Some(path) = agent else {
            let items = vec![UserInput::text(text)];
            return self
                .submit(Op::Steer {
                    items,
                    client_id: None,
                })
                .await;
        };
        let Some(agents) = self.configurator.agents() else {
            return Ok(());
        };
        let message = AgentMessage {
            items: vec![UserInput::text(text)],
            client_id: None,
            metadata: None,
        };
        let sent = agents
            .user()
            .send(&path, message, SendUrgency::Regular)
            .await;
        if let Err(trouble) = sent {
            let text = format!("warning: {path} was not told why: {trouble}");
            self.printer.print_notice(&text).await;
        }
        Ok(())
    }
}
