//! What was said in a session, and what waits to be.

use troupe_protocol::AgentId;
use troupe_protocol::tree::{AgentMessage, MailKind, MailSender};
use troupe_store::{AgentLocation, MailRow, MailState};

use crate::daemon::Daemon;
use crate::limits::{MESSAGES_PAGE_DEFAULT, MESSAGES_PAGE_MAX};
use crate::members::FoundSession;
use crate::problem::Problem;
use crate::route::{NoMembers, RouteCall, RouteReply};
use crate::session_log::read_messages;
use crate::wire::message::{MessagePage, MessageQuery, QueuePage, QueuedMessageView};

pub(crate) async fn list(
    call: RouteCall<MessageQuery, NoMembers>,
) -> Result<RouteReply<MessagePage>, Problem> {
    let RouteCall {
        daemon,
        path,
        query,
        ..
    } = call;
    let found = daemon.find(path.get("session")).await?;
    let limit = query.limit.unwrap_or(MESSAGES_PAGE_DEFAULT);
    if limit == 0 || limit > MESSAGES_PAGE_MAX {
        let detail = format!("limit must be between 1 and {MESSAGES_PAGE_MAX}");
        return Err(Problem::bad_request("bad_limit", detail).field("limit"));
    }
    if query.after.is_some() && query.before.is_some() {
        let detail = "after and before are two ways to page; give one of them";
        return Err(Problem::bad_request("bad_query", detail).field("before"));
    }
    let log = daemon.read_log(found.session).await?;
    let total = log.messages.len();
    let index = |number: u64| usize::try_from(number).unwrap_or(usize::MAX).min(total);
    let range = match (query.after, query.before) {
        (Some(after), _) => {
            let begin = index(after.saturating_add(1));
            begin..index(after.saturating_add(1).saturating_add(limit))
        }
        (None, Some(before)) => index(before.saturating_sub(limit))..index(before),
        (None, None) => 0..index(limit),
    };
    let data = read_messages(&*daemon.store()?, found.session, &log, range).await?;
    Ok(RouteReply::new(MessagePage { data, total }))
}

pub(crate) async fn queue(
    call: RouteCall<NoMembers, NoMembers>,
) -> Result<RouteReply<QueuePage>, Problem> {
    let found = call.daemon.find(call.path.get("session")).await?;
    let version = call.daemon.describe(found).await?.version;
    let data = call.daemon.queue_of(found).await?;
    let tag = version.clone();
    Ok(RouteReply::new(QueuePage { data, version }).version(tag))
}

impl Daemon {
    /// Returns what waits for a session, in the order in which it is taken.
    pub(crate) async fn queue_of(
        &self,
        found: FoundSession,
    ) -> Result<Vec<QueuedMessageView>, Problem> {
        let store = self.store()?;
        let rows = store.tree(found.root).await?;
        let Some(row) = rows.iter().find(|row| row.session == found.session) else {
            return Ok(Vec::new());
        };
        let at = AgentLocation {
            root: found.root,
            agent: row.agent,
        };
        let mut waiting = store.inbox(at).await?;
        waiting.retain(|mail| mail.state == MailState::Waiting);
        // Interrupts, then messages, then callbacks; each in the order of their arrival.
        waiting.sort_by_key(|mail| rank(mail.kind.as_ref()));
        let session_of = |agent: AgentId| rows.iter().find(|row| row.agent == agent);
        let mut queue = Vec::new();
        for (number, mail) in waiting.into_iter().enumerate() {
            let sender = session_of(log_of(mail.kind.as_ref())).map(|row| row.session);
            let mut message = None;
            for log in [sender, Some(found.root)].into_iter().flatten() {
                message = self.read_log(log).await?.sent.remove(&mail.message);
                if message.is_some() {
                    break;
                }
            }
            queue.push(QueuedMessageView {
                position: number + 1,
                text: message.as_ref().and_then(AgentMessage::plain_text),
                metadata: message.and_then(|message| message.metadata).map(Into::into),
                ..queued(&mail)
            });
        }
        Ok(queue)
    }
}

fn rank(kind: Option<&MailKind>) -> u8 {
    match kind {
        Some(MailKind::Interrupt { .. }) => 0,
        Some(MailKind::Regular { .. }) | None => 1,
        Some(MailKind::Callback { .. }) => 2,
    }
}

/// Returns the agent in whose log a message stands.
fn log_of(kind: Option<&MailKind>) -> AgentId {
    match kind {
        Some(MailKind::Callback { child, .. }) => *child,
        Some(MailKind::Interrupt { from } | MailKind::Regular { from }) => match from {
            MailSender::Agent(agent) | MailSender::Watchdog(agent) => *agent,
            MailSender::User => AgentId::ROOT,
        },
        None => AgentId::ROOT,
    }
}

fn queued(mail: &MailRow) -> QueuedMessageView {
    QueuedMessageView {
        id: mail.message.to_string(),
        position: 0,
        kind: match mail.kind {
            Some(MailKind::Interrupt { .. }) => "interrupt",
            Some(MailKind::Callback { .. }) => "callback",
            Some(MailKind::Regular { .. }) | None => "message",
        },
        queued_at: mail.queued.map(|at| at.to_string()),
        text: None,
        metadata: None,
    }
}
