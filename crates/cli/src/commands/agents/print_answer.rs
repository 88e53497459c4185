//! Answers of a tree, for people and programs.

use std::fmt::Write as _;

use anyhow::anyhow;

use super::{OutputAudience, draw};
use crate::commands;
use crate::control::request::ReachedAgent;
use crate::control::{ControlAnswer, ControlMode, ControlRequest};
use crate::failure::{CommandExit, CommandFailure, Outcome};
use troupe_protocol::link::query::{MessageReceipt, MessageUrgency, StopExemption};

/// Prints an answer. What was refused, or not taken, is a failure.
pub fn print(answer: ControlAnswer, request: &ControlRequest, shown: OutputAudience) -> Outcome {
    if let ControlAnswer::Refused { message } = answer {
        return Err(CommandFailure::failed(anyhow!(message)));
    }
    let text = match shown {
        OutputAudience::Programs => {
            serde_json::to_string(&answer).map_err(CommandFailure::failed)? + "\n"
        }
        OutputAudience::People => answer_text(&answer, request)?,
    };
    commands::print(&text)?;
    Ok(CommandExit::Success)
}

fn answer_text(answer: &ControlAnswer, request: &ControlRequest) -> Result<String, CommandFailure> {
    match answer {
        ControlAnswer::Sent { to, receipt } => match receipt {
            _ if is_interrupt(request) && is_taken(receipt) => Ok(format!(
                "sent: {} stops its task and begins with your message\n",
                to.path
            )),
            MessageReceipt::Delivered => Ok(format!("sent: {} begins with it\n", to.path)),
            MessageReceipt::Queued { position: 1 } => Ok(format!(
                "sent: {} reads it after its current step\n",
                to.path
            )),
            MessageReceipt::Queued { position } => {
                let before = position.saturating_sub(1);
                Ok(format!(
                    "sent: {} reads it after {before} others\n",
                    to.path
                ))
            }
            MessageReceipt::Held { until } => {
                Ok(format!("sent: {} reads it once {until}\n", to.path))
            }
            MessageReceipt::Dead { why } => Err(CommandFailure::failed(anyhow!(
                "{} did not take it: {why}",
                to.path
            ))),
        },
        ControlAnswer::Stopped { touched, skipped } => Ok(stopped(touched, skipped, request)),
        ControlAnswer::Resumed { agents } if agents.is_empty() => Ok(
            "No agent was cut off by a crash. To restart one that was stopped: troupe agents \
                resume NAME (`troupe agents tree` names them)\n"
                .to_owned(),
        ),
        ControlAnswer::Resumed { agents } => {
            let lines = agents.iter().map(|row| {
                let status = draw::word(&row.status);
                format!("{} is back ({status})\n", row.path)
            });
            Ok(lines.collect())
        }
        ControlAnswer::Agents { agents } => {
            let lines = agents.iter().map(|row| format!("{}\n", row.path));
            Ok(lines.collect())
        }
        ControlAnswer::Answered { agent } => Ok(format!("answered: {} goes on\n", agent.path)),
        ControlAnswer::Refused { message } => Err(CommandFailure::failed(anyhow!(message.clone()))),
    }
}

fn stopped(
    touched: &[ReachedAgent],
    skipped: &[StopExemption],
    request: &ControlRequest,
) -> String {
    let is_rehearsal = matches!(
        request,
        ControlRequest::Stop {
            mode: ControlMode::DryRun,
            ..
        }
    );
    let mut text = String::new();
    for touched in touched {
        let word = if is_rehearsal {
            format!("would {}", touched.action.as_str())
        } else {
            touched.action.done().to_owned()
        };
        writeln!(text, "{word} {} {}", touched.agent_id, touched.path)
            .expect("a string takes any text");
    }
    for skipped in skipped {
        writeln!(
            text,
            "left {} {}: {}",
            skipped.agent_id, skipped.path, skipped.why
        )
        .expect("a string takes any text");
    }
    text
}

fn is_interrupt(request: &ControlRequest) -> bool {
    matches!(
        request,
        ControlRequest::Send {
            urgency: MessageUrgency::Interrupt,
            ..
        }
    )
}

fn is_taken(receipt: &MessageReceipt) -> bool {
    matches!(
        receipt,
        MessageReceipt::Delivered | MessageReceipt::Queued { .. }
    )
}
