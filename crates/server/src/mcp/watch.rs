//! While a call waits for a session: the client hears what happens, and is asked what only a
//! person can decide.
//!
//! Events are read as they come, whatever the client does: one notification is on its way at a
//! time and the newest waits behind it, and each question waits for its answer by itself. A
//! question that somebody else answered is withdrawn.

use std::collections::HashMap;
use std::pin::pin;

use futures_util::StreamExt;
use futures_util::future::{BoxFuture, Fuse, FutureExt as _};
use futures_util::stream::FuturesUnordered;
use tokio_util::sync::CancellationToken;
use troupe_engine::EventStream;
use troupe_mcp::serve::CallingClient;
use troupe_protocol::discard;
use troupe_protocol::item::TurnItem;
use troupe_protocol::{CallId, EventMsg, Op, PendingQuestion, SubmissionId};
use troupe_store::SessionStore;

use super::error::SessionToolError;
use super::forms;
use crate::limits::MCP_PROGRESS_CHARS_MAX;
use crate::session_pool::RootSession;

/// One call's look at a tree.
pub(super) struct TreeWatch<'a> {
    thread: &'a RootSession,
    caller: &'a CallingClient,
    events: EventStream,
    /// Asked before, and not answered yet.
    earlier: Vec<PendingQuestion>,
    /// Answers that were submitted, each with what is said instead if it is not taken.
    submitted: HashMap<SubmissionId, Op>,
}

impl<'a> TreeWatch<'a> {
    /// Looks at what happens after this number.
    pub(super) fn new(thread: &'a RootSession, caller: &'a CallingClient, seq: u64) -> Self {
        Self {
            thread,
            caller,
            events: thread.events_after(seq),
            earlier: Vec::new(),
            submitted: HashMap::new(),
        }
    }

    /// Looks at what happens from now on, and at what was asked before and is still open.
    pub(super) async fn from_now(
        store: &dyn SessionStore,
        thread: &'a RootSession,
        caller: &'a CallingClient,
    ) -> Result<Self, SessionToolError> {
        let seq = thread.last_seq();
        let mut watch = Self::new(thread, caller, seq);
        if caller.can_be_asked() {
            watch.earlier = forms::open(store, thread.id(), seq).await?;
        }
        Ok(watch)
    }

    /// Runs a wait, and all this beside it.
    pub(super) async fn during<T>(mut self, until: impl Future<Output = T>) -> T {
        let mut until = pin!(until);
        let mut news = ProgressNews::default();
        let mut asking = OpenForms::default();
        for ask in std::mem::take(&mut self.earlier) {
            asking.put(self.caller, ask);
        }
        loop {
            tokio::select! {
                over = &mut until => return over,
                answer = asking.answered() => self.answer(answer).await,
                () = news.send_newest(self.caller) => {}
                event = self.events.next() => {
                    let Some(event) = event else {
                        // The session has ended, which the wait is told too.
                        return until.await;
                    };
                    if let EventMsg::Error(_) = &event.msg
                        && let Some(declined) = self.submitted.remove(&event.id)
                    {
                        // The session must not wait for ever; why is among the news.
                        discard!(self.thread.submit(declined).await, "the session has ended");
                    }
                    if let Some(id) = PendingQuestion::settled_by(&event.msg) {
                        asking.withdraw(id);
                    }
                    if self.caller.can_be_asked() && let Some(question) = PendingQuestion::of(&event.msg) {
                        asking.put(self.caller, question);
                    }
                    if self.caller.wants_progress() {
                        news.add(in_words(&event.msg));
                    }
                }
            }
        }
    }

    async fn answer(&mut self, answer: Option<AskAnswer>) {
        // A session that takes nothing more has nothing to ask.
        if let Some(AskAnswer { op, declined }) = answer
            && let Ok(id) = self.thread.submit(op).await
        {
            self.submitted.insert(id, declined);
        }
    }
}

/// What a person said to a question.
struct AskAnswer {
    op: Op,
    /// What is said instead if that is not taken.
    declined: Op,
}

/// The questions that a person has before them.
#[derive(Default)]
struct OpenForms<'a> {
    waiting: FuturesUnordered<BoxFuture<'a, (CallId, Option<AskAnswer>)>>,
    open: HashMap<CallId, CancellationToken>,
}

impl<'a> OpenForms<'a> {
    fn put(&mut self, caller: &'a CallingClient, question: PendingQuestion) {
        let id = question.id().clone();
        if self.open.contains_key(&id) {
            return;
        }
        let withdrawn = CancellationToken::new();
        self.open.insert(id.clone(), withdrawn.clone());
        let put = async move {
            let declined = question.deny();
            let op = match forms::form(&question) {
                None => Some(declined.clone()),
                Some(form) => {
                    let reply = withdrawn.run_until_cancelled(caller.ask(form)).await;
                    reply.map(|reply| forms::answer(&question, reply))
                }
            };
            (id, op.map(|op| AskAnswer { op, declined }))
        };
        self.waiting.push(put.boxed());
    }

    fn withdraw(&mut self, id: &CallId) {
        if let Some(withdrawn) = self.open.remove(id) {
            withdrawn.cancel();
        }
    }

    /// Returns what comes of the next question; never, if there is none. Safe to cancel.
    async fn answered(&mut self) -> Option<AskAnswer> {
        match self.waiting.next().await {
            Some((id, op)) => {
                self.open.remove(&id);
                op
            }
            None => std::future::pending().await,
        }
    }
}

/// What the client has not heard yet.
#[derive(Default)]
struct ProgressNews<'a> {
    sending: Option<Fuse<BoxFuture<'a, ()>>>,
    newest: Option<String>,
}

impl<'a> ProgressNews<'a> {
    fn add(&mut self, text: Option<String>) {
        if text.is_some() {
            self.newest = text;
        }
    }

    /// Tells the newest. Returns when that is done; never, if there is nothing to tell.
    async fn send_newest(&mut self, caller: &'a CallingClient) {
        if self.sending.is_none()
            && let Some(text) = self.newest.take()
        {
            self.sending = Some(caller.progress(text).boxed().fuse());
        }
        match &mut self.sending {
            Some(sending) => {
                sending.await;
                self.sending = None;
            }
            None => std::future::pending().await,
        }
    }
}

/// Says what happens, in one line; nothing for what is not worth one.
fn in_words(msg: &EventMsg) -> Option<String> {
    let line = match msg {
        EventMsg::TurnStarted(_) => "started".to_owned(),
        EventMsg::ItemStarted { item, .. } => match item {
            TurnItem::CommandExecution(item) => format!("running {}", item.command.join(" ")),
            TurnItem::FileChange(item) => {
                let paths = item.changes.keys().map(|path| path.display().to_string());
                format!("changing {}", paths.collect::<Vec<_>>().join(", "))
            }
            TurnItem::McpToolCall(item) => format!("calling {} of {}", item.tool, item.server),
            TurnItem::ToolCall(item) => format!("calling {}", item.tool),
            TurnItem::ContextCompaction(_) => "compacting the conversation".to_owned(),
            _ => return None,
        },
        EventMsg::ItemCompleted { item, .. } => match item {
            TurnItem::AgentMessage(item) => item.text.clone(),
            TurnItem::Reasoning(item) => item.summary_text.first()?.clone(),
            _ => return None,
        },
        EventMsg::ExecApprovalRequest(_) | EventMsg::ApplyPatchApprovalRequest(_) => {
            "waiting for an approval".to_owned()
        }
        EventMsg::RequestUserInput(_) | EventMsg::ElicitationRequest(_) => {
            "waiting for an answer".to_owned()
        }
        EventMsg::StreamError(error) => error.message.clone(),
        EventMsg::BackgroundEvent(event) => event.message.clone(),
        EventMsg::Warning { message } => message.clone(),
        EventMsg::Error(error) => error.message.clone(),
        _ => return None,
    };
    let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
    Some(line.chars().take(MCP_PROGRESS_CHARS_MAX).collect())
}
