//! `troupe agents show`: everything about one agent.

use std::fmt::Write as _;

use serde_json::json;
use troupe_protocol::agent::AgentCard;
use troupe_protocol::input::UserInput;
use troupe_protocol::policy::SandboxMode;
use troupe_protocol::result::TaskResult;
use troupe_protocol::text::one_line;
use troupe_protocol::tree::{AgentMessage, MailKind, MailSender};
use troupe_protocol::{AgentId, SubmissionId};
use troupe_store::{ApprovalRow, SessionStore};

use super::address::{AgentTarget, find};
use super::draw::{self, thousands};
use super::logged_tree::{LoggedTree, TreeLiveness};
use super::tree_listing::look;
use super::{CommandSite, OutputAudience};
use crate::commands::print;
use crate::failure::{CommandExit, CommandFailure, Outcome};
use crate::limits::SHOWN_PREVIEW_CHARS_MAX;

pub async fn run(site: &CommandSite, address: Option<&str>, shown: OutputAudience) -> Outcome {
    let AgentTarget { tree, agent } = find(site, address).await?;
    let seen = look(site, &tree).await;
    let row = seen.agents.iter().find(|row| row.agent_id == agent);
    let row = match row {
        Some(row) => row.clone(),
        None => tree.row(tree.agent(agent)?, TreeLiveness::Yes),
    };
    let questions = site.store.open_approvals(tree.root).await;
    let mut questions = questions.map_err(CommandFailure::failed)?;
    questions.retain(|question| question.agent == agent);
    let text = match shown {
        OutputAudience::Programs => object(&tree, &row, &questions),
        OutputAudience::People => page(&tree, &row, &questions),
    };
    print(&text)?;
    Ok(CommandExit::Success)
}

fn object(tree: &LoggedTree, row: &AgentCard, questions: &[ApprovalRow]) -> String {
    let tasks: Vec<&TaskResult> = tree
        .facts
        .results
        .get(&row.agent_id)
        .into_iter()
        .flatten()
        .collect();
    let questions: Vec<_> = questions
        .iter()
        .map(|question| {
            json!({
                "call_id": question.call_id,
                "kind": question.kind.as_str(),
                "what": question.what,
            })
        })
        .collect();
    let object = json!({
        "root": tree.root,
        "agent": row,
        "spec": tree.facts.specs.get(&row.agent_id),
        "children": children(tree, row.agent_id),
        "results": tasks,
        "questions": questions,
    });
    format!("{object}\n")
}

fn page(tree: &LoggedTree, row: &AgentCard, questions: &[ApprovalRow]) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: &str| {
        writeln!(text, "{name:<10} {value}").expect("a string takes any text");
    };
    line("agent", &format!("{} {}", row.agent_id, row.path));
    line("session", &row.session_id.to_string());
    line("status", &standing(row));
    if let Some(parent) = row.parent_agent_id.and_then(|id| tree.memory.get(id)) {
        line("parent", &format!("{} {}", parent.id, parent.path));
    }
    let below = children(tree, row.agent_id);
    if !below.is_empty() {
        line("children", &below.join(", "));
    }
    if let Some(spec) = tree.facts.specs.get(&row.agent_id) {
        let persona = spec.agent_name.as_ref().map(|name| format!(" ({name})"));
        let role = format!("{}{}", spec.agent_type, persona.unwrap_or_default());
        line("role", &role);
        line("model", &spec.model);
        line("directory", &spec.cwd.display().to_string());
        line("sandbox", sandbox(spec.sandbox_policy.mode()));
        line("made by", &made_by(tree, row.agent_id, &spec.tool));
        line("task", &spec.summary);
    } else {
        line("directory", &tree.meta.cwd.display().to_string());
    }
    if let Some(note) = &row.note {
        line("note", note);
    }
    let own = thousands(row.tokens.own);
    let subtree = thousands(row.tokens.subtree);
    line("tokens", &format!("{own}, {subtree} with its agents"));
    for question in questions {
        line(
            "asks",
            &format!("{} ({})", question.what, question.kind.as_str()),
        );
    }
    for (from, words) in mail(tree, row.agent_id) {
        line("mail", &format!("{from}: {words}"));
    }
    for result in tree.facts.results.get(&row.agent_id).into_iter().flatten() {
        line("result", &task(&result.task_id, result));
    }
    text
}

fn sandbox(mode: SandboxMode) -> &'static str {
    match mode {
        SandboxMode::ReadOnly => "read-only",
        SandboxMode::WorkspaceWrite => "workspace-write",
        SandboxMode::DangerFullAccess => "danger-full-access",
    }
}

fn standing(row: &AgentCard) -> String {
    let now = jiff::Timestamp::now().as_millisecond();
    let since = draw::age(now - row.since_ms);
    let detail = row.detail.as_ref().map(|detail| format!(", {detail}"));
    let pruned = if row.pruned { ", pruned" } else { "" };
    format!(
        "{} for {since}{}{pruned}",
        draw::standing(row),
        detail.unwrap_or_default()
    )
}

fn children(tree: &LoggedTree, agent: AgentId) -> Vec<String> {
    let agent = tree.memory.get(agent);
    let children = agent.map_or(&[][..], |agent| agent.children.as_slice());
    let found = children.iter().filter_map(|child| tree.memory.get(*child));
    found.map(|child| child.path.clone()).collect()
}

fn made_by(tree: &LoggedTree, agent: AgentId, tool: &str) -> String {
    let genealogy = tree.memory.get(agent).and_then(|it| it.genealogy.as_ref());
    match genealogy.and_then(|genealogy| genealogy.point.as_ref()) {
        Some(point) => format!("{tool} in task {}", point.task),
        None => tool.to_owned(),
    }
}

/// Returns what waits in the inbox: from whom, and how it begins.
fn mail(tree: &LoggedTree, agent: AgentId) -> Vec<(String, String)> {
    let Some(agent) = tree.memory.get(agent) else {
        return Vec::new();
    };
    let mail = agent.inbox.iter();
    mail.map(|envelope| {
        let from = match &envelope.kind {
            MailKind::Interrupt { from } => format!("interrupt from {}", sender(*from)),
            MailKind::Regular { from } => format!("message from {}", sender(*from)),
            MailKind::Callback { child, .. } => format!("callback of agent {child}"),
        };
        let words = tree
            .facts
            .mail
            .get(&envelope.id)
            .map(words)
            .unwrap_or_default();
        (from, words)
    })
    .collect()
}

fn sender(sender: MailSender) -> String {
    match sender {
        MailSender::User => "the user".to_owned(),
        MailSender::Agent(agent) => format!("agent {agent}"),
        MailSender::Watchdog(agent) => format!("a watchdog of agent {agent}"),
    }
}

fn words(message: &AgentMessage) -> String {
    let texts = message.items.iter().map(|item| match item {
        UserInput::Text { text, .. } => text.as_str(),
        _ => "[attachment]",
    });
    one_line(
        &texts.collect::<Vec<_>>().join(" "),
        SHOWN_PREVIEW_CHARS_MAX,
    )
}

fn task(id: &SubmissionId, result: &TaskResult) -> String {
    let tokens = thousands(result.evidence.usage.total_tokens);
    let duration = draw::age(result.evidence.ended_at_ms - result.evidence.started_at_ms);
    let words = one_line(&result.text().unwrap_or_default(), SHOWN_PREVIEW_CHARS_MAX);
    format!("{id}  {duration}, {tokens} tokens  {words}")
}
