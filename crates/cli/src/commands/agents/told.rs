//! Answers of a tree, for people and programs.

use std::fmt::Write as _;

use anyhow::anyhow;

use super::{Shown, draw};
use crate::commands;
use crate::control::request::{Skipped, Touched};
use crate::control::{Answer, Mode, Receipt, Request, Urgency};
use crate::failure::{Exit, Failure, Outcome};

/// Prints an answer. What was refused, or not taken, is a failure.
pub fn print(answer: Answer, request: &Request, shown: Shown) -> Outcome {
    if let Answer::Refused { message } = answer {
        return Err(Failure::failed(anyhow!(message)));
    }
    let text = match shown {
        Shown::Programs => serde_json::to_string(&answer).map_err(Failure::failed)? + "\n",
        Shown::People => people(&answer, request)?,
    };
    commands::print(&text)?;
    Ok(Exit::Success)
}

fn people(answer: &Answer, request: &Request) -> Result<String, Failure> {
    match answer {
        Answer::Sent { to, receipt } => match receipt {
            _ if is_interrupt(request) && is_taken(receipt) => Ok(format!(
                "sent: {} stops its task and begins with your message\n",
                to.path
            )),
            Receipt::Delivered => Ok(format!("sent: {} begins with it\n", to.path)),
            Receipt::Queued { position: 1 } => Ok(format!(
                "sent: {} reads it after its current step\n",
                to.path
            )),
            Receipt::Queued { position } => {
                let before = position.saturating_sub(1);
                Ok(format!(
                    "sent: {} reads it after {before} others\n",
                    to.path
                ))
            }
            Receipt::Held { until } => Ok(format!("sent: {} reads it once {until}\n", to.path)),
            Receipt::Dead { why } => Err(Failure::failed(anyhow!(
                "{} did not take it: {why}",
                to.path
            ))),
        },
        Answer::Stopped { touched, skipped } => Ok(stopped(touched, skipped, request)),
        Answer::Resumed { agents } if agents.is_empty() => Ok(
            "No agent was cut off by a crash. To restart one that was stopped: troupe agents \
                resume NAME (`troupe agents tree` names them)\n"
                .to_owned(),
        ),
        Answer::Resumed { agents } => {
            let lines = agents.iter().map(|row| {
                let status = draw::word(&row.status);
                format!("{} is back ({status})\n", row.path)
            });
            Ok(lines.collect())
        }
        Answer::Agents { agents } => {
            let lines = agents.iter().map(|row| format!("{}\n", row.path));
            Ok(lines.collect())
        }
        Answer::Answered { agent } => Ok(format!("answered: {} goes on\n", agent.path)),
        Answer::Refused { message } => Err(Failure::failed(anyhow!(message.clone()))),
    }
}

fn stopped(touched: &[Touched], skipped: &[Skipped], request: &Request) -> String {
    let is_rehearsal = matches!(
        request,
        Request::Stop {
            mode: Mode::DryRun,
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

fn is_interrupt(request: &Request) -> bool {
    matches!(
        request,
        Request::Send {
            urgency: Urgency::Interrupt,
            ..
        }
    )
}

fn is_taken(receipt: &Receipt) -> bool {
    matches!(receipt, Receipt::Delivered | Receipt::Queued { .. })
}
