//! Answers of a tree, for people and programs.

use std::fmt::Write as _;

use anyhow::anyhow;

use super::{Shown, draw};
use crate::commands;
use crate::control::request::{Skipped, Touched};
use crate::control::{Answer, Mode, Receipt, Request};
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
            Receipt::Delivered => Ok(format!("{} begins with it\n", to.path)),
            Receipt::Queued { position: 1 } => Ok(format!("{} takes it next\n", to.path)),
            Receipt::Queued { position } => {
                let before = position.saturating_sub(1);
                Ok(format!("{} takes it after {before} others\n", to.path))
            }
            Receipt::Held { until } => Ok(format!("{} takes it once {until}\n", to.path)),
            Receipt::Dead { why } => Err(Failure::failed(anyhow!(
                "{} did not take it: {why}",
                to.path
            ))),
        },
        Answer::Stopped { touched, skipped } => Ok(stopped(touched, skipped, request)),
        Answer::Resumed { agents } if agents.is_empty() => Ok(
            "nobody was cut off; `troupe agents tree` shows who was stopped or closed, and \
                `troupe agents resume NAME` has one of them go on\n"
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
        Answer::Answered { agent } => Ok(format!("{} is told\n", agent.path)),
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
