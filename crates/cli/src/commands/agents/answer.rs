//! `troupe agents answer`: what agents ask to be allowed, and a word about it.

use anyhow::anyhow;
use serde_json::json;
use troupe_protocol::approval::{ReviewDecision, in_full};
use troupe_protocol::{AgentId, EventMsg};
use troupe_store::{ApprovalRow, SessionStore};

use super::address;
use super::logged_tree::LoggedTree;
use super::{CommandSite, OutputAudience, print_answer};
use crate::commands::{print, tell};
use crate::control::{ControlRequest, client};
use crate::failure::{CommandExit, CommandFailure, Outcome};
use crate::terminal;

/// What can be said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum AnswerChoice {
    /// This once.
    Approve,
    /// The same again too, as long as the session lasts.
    ApproveForSession,
    /// Commands that begin with the same words too, from now on: the rule is added that the
    /// question shows.
    ApproveAlways,
    /// The agent is told, and goes on.
    Deny,
    /// The agent's task ends.
    Abort,
}

impl From<AnswerChoice> for ReviewDecision {
    fn from(word: AnswerChoice) -> Self {
        match word {
            AnswerChoice::Approve => Self::Approved,
            AnswerChoice::ApproveForSession => Self::ApprovedForSession,
            AnswerChoice::ApproveAlways => Self::ApprovedAlways,
            AnswerChoice::Deny => Self::Denied,
            AnswerChoice::Abort => Self::Abort,
        }
    }
}

/// Lists what is asked in the newest tree of this directory.
pub async fn list(site: &CommandSite, shown: OutputAudience) -> Outcome {
    let Some(target) = address::find_or_none(site, None).await? else {
        if shown == OutputAudience::Programs {
            print("{\"questions\":[]}\n")?;
        }
        tell(&address::nothing_yet(site));
        return Ok(CommandExit::Success);
    };
    let open = open(site, &target.tree).await?;
    let text = match shown {
        OutputAudience::Programs => {
            let mut questions = Vec::new();
            for row in &open {
                questions.push(object(row, asked(site, row).await?.as_ref()));
            }
            let listed = json!({"root": target.tree.root, "questions": questions});
            terminal::harmless_json(&listed.to_string()) + "\n"
        }
        OutputAudience::People => {
            let root = target.tree.root.short();
            let mut text = String::new();
            for row in &open {
                text += &page(&root, row, asked(site, row).await?.as_ref());
            }
            text
        }
    };
    if open.is_empty() {
        tell("nobody asks anything");
    }
    print(&text)?;
    Ok(CommandExit::Success)
}

/// Answers one question, through the process that runs the tree.
pub async fn give(
    site: &CommandSite,
    question: &str,
    word: AnswerChoice,
    shown: OutputAudience,
) -> Outcome {
    let (session, question) = match question.split_once(':') {
        Some((session, question)) if !question.is_empty() && !session.contains('/') => (
            Some(session).filter(|session| !session.is_empty()),
            question,
        ),
        _ => (None, question),
    };
    let target = address::find(site, session).await?;
    let root = target.tree.root;
    let open = open(site, &target.tree).await?;
    let meant: Vec<&ApprovalRow> = open.iter().filter(|row| is_meant(row, question)).collect();
    let row = match meant.as_slice() {
        [row] => row,
        [] => {
            return Err(CommandFailure::failed(anyhow!(
                "nothing is asked under {question} in the tree of session {}; `troupe agents \
                 answer` lists what is",
                root.short()
            )));
        }
        several => {
            let ids: Vec<String> = several.iter().map(|row| id(row)).collect();
            return Err(CommandFailure::failed(anyhow!(
                "{question} asks several things: {}",
                ids.join(", ")
            )));
        }
    };
    let whole = asked(site, row).await?;
    if let (
        AnswerChoice::Approve | AnswerChoice::ApproveForSession | AnswerChoice::ApproveAlways,
        None,
    ) = (word, &whole)
    {
        return Err(CommandFailure::failed(anyhow!(
            "what {} asks cannot be read from its log, so nobody can agree to it; deny it",
            id(row)
        )));
    }
    if let Some(EventMsg::ExecApprovalRequest(request)) = &whole
        && !request.offers(word.into())
    {
        let why = if request.is_asked_each_time() {
            "what it runs can be rewritten from inside the sandbox, so a yes counts once"
        } else {
            "no rule can stand for this command"
        };
        return Err(CommandFailure::failed(anyhow!(
            "this is not offered for {}: {why}; say approve",
            id(row)
        )));
    }
    // Also who was told the id by somebody else sees what the word is about, before it counts.
    if shown == OutputAudience::People {
        tell(page(&root.short(), row, whole.as_ref()).trim_end());
    }
    let request = ControlRequest::Answer {
        agent: row.agent,
        call_id: row.call_id.clone(),
        decision: word.into(),
    };
    let answer = client::ask(site.home.path(), root, &request).await;
    match answer.map_err(CommandFailure::failed)? {
        Some(answer) => print_answer::print(answer, &request, shown),
        None => Err(CommandFailure::failed(anyhow!(
            "no process runs this tree any more, so nobody asks; `troupe agents resume {}` goes \
             on with it",
            root.short()
        ))),
    }
}

/// Returns what is asked, as long as somebody runs the tree to ask it.
async fn open(site: &CommandSite, tree: &LoggedTree) -> Result<Vec<ApprovalRow>, CommandFailure> {
    if !client::is_there(site.home.path(), tree.root).await {
        return Ok(Vec::new());
    }
    let open = site.store.open_approvals(tree.root).await;
    open.map_err(CommandFailure::failed)
}

/// Returns the id under which the root's clients know a question.
fn id(row: &ApprovalRow) -> String {
    if row.agent == AgentId::ROOT {
        row.call_id.to_string()
    } else {
        format!("{}#{}", row.path, row.call_id)
    }
}

fn is_meant(row: &ApprovalRow, text: &str) -> bool {
    let name = row.path.rsplit('/').next();
    let names = [
        id(row),
        row.call_id.to_string(),
        row.path.clone(),
        row.agent.to_string(),
    ];
    names.iter().any(|known| known == text) || name == Some(text)
}

/// Returns all of what is asked; `None` if it cannot be read.
async fn asked(site: &CommandSite, row: &ApprovalRow) -> Result<Option<EventMsg>, CommandFailure> {
    site.store
        .question(row)
        .await
        .map_err(CommandFailure::failed)
}

/// Returns a question with everything that an answer is about. Its lines are indented, so that
/// none of them can be taken for another question, and nothing in them acts on a terminal: what
/// goes through a pipe mostly ends on one.
fn page(root: &str, row: &ApprovalRow, whole: Option<&EventMsg>) -> String {
    let words = whole.and_then(in_full);
    let words = words.unwrap_or_else(|| format!("cannot be read: {} …", row.what));
    let mut text = format!("{root}:{}  {}\n", id(row), row.kind.as_str());
    for line in words.lines() {
        text.extend(["    ", line, "\n"]);
    }
    terminal::harmless(&text)
}

fn object(row: &ApprovalRow, whole: Option<&EventMsg>) -> serde_json::Value {
    json!({
        "id": id(row),
        "agent_id": row.agent,
        "path": row.path,
        "kind": row.kind.as_str(),
        "what": whole.and_then(in_full),
        "request": whole,
        "asked_ms": row.asked.0,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use troupe_protocol::SessionId;
    use troupe_store::{ApprovalKind, LogPosition, UnixMillis};

    use super::*;

    #[test]
    fn what_acts_on_a_terminal_is_not_in_a_question_wherever_it_goes() {
        let row = ApprovalRow {
            session: SessionId::random(),
            agent: AgentId::ROOT,
            path: "/root".to_owned(),
            call_id: "c".into(),
            task: "t".into(),
            kind: ApprovalKind::Exec,
            what: "ls".to_owned(),
            asked: UnixMillis(0),
            position: LogPosition(0),
        };
        let command = "ls \u{1b}]0;title\u{7} \u{9b}31m \u{202e}~ fr- mr\u{202c}";
        let asked = json!({
            "type": "exec_approval_request", "call_id": "c", "turn_id": "t", "cwd": "/w",
            "command": ["bash", "-lc", command], "parsed_cmd": [], "available_decisions": [],
        });
        let asked: EventMsg = serde_json::from_value(asked).unwrap();
        let text = page("1234", &row, Some(&asked));
        let acts = |letter: char| letter != '\n' && letter != terminal::shown(letter);
        assert!(!text.contains(acts), "{text:?}");
        assert!(text.contains("~ fr- mr"), "{text:?}");
        let listed = terminal::harmless_json(&object(&row, Some(&asked)).to_string());
        assert!(!listed.contains(acts), "{listed:?}");
        let read: serde_json::Value = serde_json::from_str(&listed).unwrap();
        assert_eq!(read["request"]["command"][2], command);
    }
}
