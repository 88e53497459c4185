//! `troupe agents answer`: what agents ask to be allowed, and a word about it.

use anyhow::anyhow;
use serde_json::json;
use troupe_protocol::approval::{ReviewDecision, in_full};
use troupe_protocol::{AgentId, EventMsg, SessionId};
use troupe_store::{ApprovalRow, SessionStore};

use super::address;
use super::{CommandSite, OutputAudience, print_answer};
use crate::commands::{print, tell};
use crate::control::{ControlRequest, client, socket};
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

/// A question that waits in a tree that some process runs.
struct WaitingQuestion {
    root: SessionId,
    row: ApprovalRow,
}

/// Lists what is asked in all trees that run, those of this directory first.
pub async fn list(site: &CommandSite, shown: OutputAudience) -> Outcome {
    let waiting = waiting(site, None).await?;
    let text = match shown {
        OutputAudience::Programs => {
            let mut questions = Vec::new();
            for question in &waiting {
                let whole = asked(site, &question.row).await?;
                questions.push(object(question, whole.as_ref()));
            }
            let listed = json!({ "questions": questions });
            terminal::harmless_json(&listed.to_string()) + "\n"
        }
        OutputAudience::People => {
            let mut text = String::new();
            for question in &waiting {
                text += &page(question, asked(site, &question.row).await?.as_ref());
            }
            text
        }
    };
    if waiting.is_empty() {
        tell("no running session asks anything");
    }
    print(&text)?;
    Ok(CommandExit::Success)
}

/// Answers one question, through the process that runs the tree.
pub async fn give(
    site: &CommandSite,
    text: &str,
    word: AnswerChoice,
    shown: OutputAudience,
) -> Outcome {
    let (session, name) = match text.split_once(':') {
        Some((session, name)) if !name.is_empty() && !session.contains('/') => {
            (Some(session).filter(|session| !session.is_empty()), name)
        }
        _ => (None, text),
    };
    let mut meant = waiting(site, session).await?;
    meant.retain(|question| is_meant(&question.row, name));
    let question = match meant.as_slice() {
        [question] => question,
        [] => return Err(nothing_asked(name, session)),
        several => {
            let names: Vec<String> = several.iter().map(full_id).collect();
            return Err(CommandFailure::failed(anyhow!(
                "several questions are named {name}; say which: {}",
                names.join(", ")
            )));
        }
    };
    let whole = asked(site, &question.row).await?;
    check_offered(&question.row, word, whole.as_ref())?;
    // Also who was told the id by somebody else sees what the word is about, before it counts.
    if shown == OutputAudience::People {
        tell(page(question, whole.as_ref()).trim_end());
    }
    let request = ControlRequest::Answer {
        agent: question.row.agent,
        call_id: question.row.call_id.clone(),
        decision: word.into(),
    };
    let answer = client::ask(site.home.path(), question.root, &request).await;
    match answer.map_err(CommandFailure::failed)? {
        Some(answer) => print_answer::print(answer, &request, shown),
        None => Err(CommandFailure::failed(anyhow!(
            "no process runs this tree any more, so nobody asks; `troupe agents resume {}` goes \
             on with it",
            question.root.short()
        ))),
    }
}

fn nothing_asked(name: &str, session: Option<&str>) -> CommandFailure {
    let place = match session {
        Some(session) => format!("the tree of session {session}"),
        None => "any running session".to_owned(),
    };
    CommandFailure::failed(anyhow!(
        "nothing is asked under {name} in {place}; `troupe agents answer` lists what is"
    ))
}

/// Refuses a word that the question does not offer, and a yes to what nobody can read.
fn check_offered(
    row: &ApprovalRow,
    word: AnswerChoice,
    whole: Option<&EventMsg>,
) -> Result<(), CommandFailure> {
    if let (
        AnswerChoice::Approve | AnswerChoice::ApproveForSession | AnswerChoice::ApproveAlways,
        None,
    ) = (word, whole)
    {
        return Err(CommandFailure::failed(anyhow!(
            "what {} asks cannot be read from its log, so nobody can agree to it; deny it",
            id(row)
        )));
    }
    if let Some(EventMsg::ExecApprovalRequest(request)) = whole
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
    Ok(())
}

/// Returns what is asked in the tree of a session, or in all that run: a question stands only as
/// long as some process is there to take the answer.
async fn waiting(
    site: &CommandSite,
    session: Option<&str>,
) -> Result<Vec<WaitingQuestion>, CommandFailure> {
    let home = site.home.path();
    let roots = if let Some(session) = session {
        let session = address::session(site, session).await?;
        let place = site.store.tree_of(session).await;
        let place = place.map_err(CommandFailure::not_started)?;
        vec![place.map_or(session, |place| place.root)]
    } else {
        let mut roots = socket::bound(home).map_err(CommandFailure::failed)?;
        let here = address::sessions_here(site).await?;
        roots.sort_by_key(|root| !here.contains(root));
        roots
    };
    let mut waiting = Vec::new();
    for root in roots {
        if client::is_there(home, root).await {
            let open = site.store.open_approvals(root).await;
            let open = open.map_err(CommandFailure::failed)?;
            waiting.extend(open.into_iter().map(|row| WaitingQuestion { root, row }));
        }
    }
    Ok(waiting)
}

/// Returns the id under which the root's clients know a question.
fn id(row: &ApprovalRow) -> String {
    if row.agent == AgentId::ROOT {
        row.call_id.to_string()
    } else {
        format!("{}#{}", row.path, row.call_id)
    }
}

/// Returns the id that names a question among those of all sessions.
fn full_id(question: &WaitingQuestion) -> String {
    format!("{}:{}", question.root.short(), id(&question.row))
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
fn page(question: &WaitingQuestion, whole: Option<&EventMsg>) -> String {
    let row = &question.row;
    let words = whole.and_then(in_full);
    let words = words.unwrap_or_else(|| format!("cannot be read: {} …", row.what));
    let mut text = format!("{}  {}\n", full_id(question), row.kind.as_str());
    for line in words.lines() {
        text.extend(["    ", line, "\n"]);
    }
    terminal::harmless(&text)
}

fn object(question: &WaitingQuestion, whole: Option<&EventMsg>) -> serde_json::Value {
    let row = &question.row;
    json!({
        "root": question.root,
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
    use troupe_store::{ApprovalKind, LogPosition, UnixMillis};

    use super::*;

    #[test]
    fn what_acts_on_a_terminal_is_not_in_a_question_wherever_it_goes() {
        let session = SessionId::random();
        let row = ApprovalRow {
            session,
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
        let question = WaitingQuestion { root: session, row };
        let text = page(&question, Some(&asked));
        let acts = |letter: char| letter != '\n' && letter != terminal::shown(letter);
        assert!(!text.contains(acts), "{text:?}");
        assert!(text.contains("~ fr- mr"), "{text:?}");
        let listed = terminal::harmless_json(&object(&question, Some(&asked)).to_string());
        assert!(!listed.contains(acts), "{listed:?}");
        let read: serde_json::Value = serde_json::from_str(&listed).unwrap();
        assert_eq!(read["request"]["command"][2], command);
    }
}
