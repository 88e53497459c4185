//! One client that follows one thread: a task that tells what happens in the order in which it
//! does, asks what is asked, and answers requests in their place among the events.
//!
//! It holds the thread, so that this stays in memory. The children of the thread are followed
//! with it: each is a thread of its own to the client. A client can also follow one child
//! alone; then the rest of the tree is read only for what that child asks.

mod asking;
mod child;
mod children;
mod reviews;
mod tool_calls;

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use serde_json::Value;
use tokio::sync::mpsc;
use tracing::Instrument as _;
use troupe_engine::EventStream;
use troupe_protocol::agent::SubagentLifecycle;
use troupe_protocol::discard;
use troupe_protocol::event::{ErrorEvent, SteerReceipt};
use troupe_protocol::input::UserInput;
use troupe_protocol::op::ReviewRequest;
use troupe_protocol::session::TurnOverrides;
use troupe_protocol::{CallId, Event, EventMsg, Op, PendingQuestion, SessionId, SubmissionId};
use troupe_server::session_pool::RootSession;
use troupe_transport::rpc::{PeerGone, PeerRequest, RpcError};

use super::call::MethodReply;
use super::connection::AppConnection;
use super::questions;
use super::translate::EventTranslator;
use super::trees;
use super::wire::Empty;
use super::wire::notification::{
    ServerNotification, ThreadIdNotification, ThreadStatusChangedNotification,
};
use super::wire::thread::ThreadStatus;
use super::wire::turn::{ItemsView, Turn, TurnStartResponse, TurnStatus, TurnSteerResponse};
use crate::limits::SUBSCRIPTION_REQUESTS_QUEUED_MAX;
use asking::{AskedQuestion, ClientAnswer};
use children::{ChildNews, FollowedChildren};
use tool_calls::ToolCalls;

/// The way to the task. Dropping it ends the subscription, after what the client asked and
/// answered so far.
#[derive(Debug)]
pub(super) struct ThreadSubscription {
    controls: mpsc::Sender<(SessionId, ThreadControl)>,
    root: SessionId,
}

/// What is asked of a thread that runs.
#[derive(Debug)]
pub(super) enum ThreadControl {
    Start {
        input: Box<NewTurn>,
        reply: MethodReply,
    },
    Steer {
        items: Vec<UserInput>,
        client_id: Option<String>,
        expected: String,
        reply: MethodReply,
    },
    Interrupt {
        turn: String,
        reply: MethodReply,
    },
    Review {
        request: ReviewRequest,
        reply: MethodReply,
    },
}

#[derive(Debug, Clone)]
pub(super) struct NewTurn {
    pub items: Vec<UserInput>,
    pub overrides: TurnOverrides,
    pub output_schema: Option<Value>,
    /// The client's own name for the message.
    pub client_id: Option<String>,
}

/// What a subscription begins with.
pub(super) struct SubscriptionStart {
    pub thread: RootSession,
    pub events: EventStream,
    pub translator: EventTranslator,
    /// Events up to this one are known to the client.
    pub seen: u64,
    /// What was asked before, and has no answer yet.
    pub questions: Vec<PendingQuestion>,
    pub scope: SubscriptionScope,
}

/// How much of a tree is followed.
pub(super) enum SubscriptionScope {
    Tree,
    Child(Box<ChildScope>),
}

/// The child that is followed, and what is known of it.
pub(super) struct ChildScope {
    pub id: SessionId,
    pub translator: EventTranslator,
    /// Its events up to this one are known to the client.
    pub seen: u64,
}

impl ThreadSubscription {
    pub(super) fn start(connection: AppConnection, beginning: SubscriptionStart) -> Self {
        let (controls, asked) = mpsc::channel(SUBSCRIPTION_REQUESTS_QUEUED_MAX);
        let SubscriptionStart {
            thread,
            events,
            translator,
            seen,
            questions,
            scope,
        } = beginning;
        let root = thread.id();
        let only = match &scope {
            SubscriptionScope::Tree => None,
            SubscriptionScope::Child(child) => Some(child.id),
        };
        let teller = SubscriptionActor {
            id: only.unwrap_or(root).to_string(),
            only,
            children: FollowedChildren::new(connection.clone(), &thread, scope),
            connection,
            translator,
            asked: HashMap::new(),
            answers: FuturesUnordered::new(),
            tool_calls: ToolCalls::new(only.is_none().then(|| thread.follow_tools())),
            thread,
            submitted: HashMap::new(),
            interrupts: Vec::new(),
        };
        // Ends when nobody has a way to it.
        tokio::spawn(teller.run(events, asked, seen, questions).in_current_span());
        Self { controls, root }
    }

    /// Returns where requests go, each with the thread that it is about.
    pub(super) fn controls(&self) -> mpsc::Sender<(SessionId, ThreadControl)> {
        self.controls.clone()
    }

    /// Returns the root of the tree that is followed.
    pub(super) fn root(&self) -> SessionId {
        self.root
    }

    pub(super) fn is_over(&self) -> bool {
        self.controls.is_closed()
    }
}

struct SubscriptionActor {
    connection: AppConnection,
    thread: RootSession,
    /// Of what is followed.
    id: String,
    /// The child that is followed, if not all are.
    only: Option<SessionId>,
    translator: EventTranslator,
    children: FollowedChildren,
    /// Questions that were put to the client.
    asked: HashMap<CallId, AskedQuestion>,
    answers: FuturesUnordered<BoxFuture<'static, ClientAnswer>>,
    tool_calls: ToolCalls,
    /// What was submitted for the client and is not answered yet.
    submitted: HashMap<SubmissionId, PendingSubmission>,
    /// Who waits for the end of a turn.
    interrupts: Vec<(SubmissionId, MethodReply)>,
}

/// What happens in a tree.
enum SubscriptionNews {
    Child(ChildNews),
    Event(Arc<Event>),
    End,
}

/// Children and root take turns: a busy one does not keep the others from being heard.
async fn next(children: &mut FollowedChildren, events: &mut EventStream) -> SubscriptionNews {
    tokio::select! {
        news = children.next() => SubscriptionNews::Child(news),
        event = events.next() => event.map_or(SubscriptionNews::End, SubscriptionNews::Event),
    }
}

enum PendingSubmission {
    Turn(MethodReply),
    /// Input for the running turn; if there is none by then, it begins one.
    Joining {
        input: Box<NewTurn>,
        reply: MethodReply,
    },
    Steer(MethodReply),
    Review(MethodReply),
    Answer {
        call: CallId,
        request: PeerRequest,
    },
}

impl SubscriptionActor {
    async fn run(
        mut self,
        mut events: EventStream,
        mut controls: mpsc::Receiver<(SessionId, ThreadControl)>,
        seen: u64,
        questions: Vec<PendingQuestion>,
    ) {
        let begun = async {
            self.children.listen().await;
            for question in questions {
                self.put(question).await?;
            }
            self.put_waiting_tool_calls().await
        };
        let mut told: Result<(), PeerGone> = begun.await;
        while told.is_ok() {
            told = tokio::select! {
                biased;
                control = controls.recv() => match control {
                    Some((thread, control)) => {
                        self.control(thread, control).await;
                        Ok(())
                    }
                    None => return self.answered().await,
                },
                Some(answered) = self.answers.next() => self.answer(answered).await,
                Some(answer) = self.tool_calls.next() => {
                    self.tool_calls.answer(answer);
                    Ok(())
                }
                news = next(&mut self.children, &mut events) => match news {
                    SubscriptionNews::Child(news) => self.children.news(news).await,
                    SubscriptionNews::Event(event) if event.seq <= seen => Ok(()),
                    SubscriptionNews::Event(event) => self.event(&event).await,
                    SubscriptionNews::End => {
                        // A client that is gone does not need to know.
                        discard!(self.closed().await, "the client is gone");
                        return;
                    }
                },
            };
        }
    }

    async fn control(&mut self, thread: SessionId, control: ThreadControl) {
        if thread != self.thread.id() {
            return self.children.control(thread, control).await;
        }
        match control {
            ThreadControl::Start { reply, .. } if self.translator.review().is_some() => {
                reply.refuse(reviews::in_review()).await;
            }
            ThreadControl::Start { input, reply } if self.thread.is_idle() => {
                self.begin(*input, reply).await;
            }
            ThreadControl::Start { input, reply } => {
                let op = Op::Steer {
                    items: input.items.clone(),
                    client_id: input.client_id.clone(),
                };
                self.submit(op, PendingSubmission::Joining { input, reply })
                    .await;
            }
            ThreadControl::Steer {
                expected, reply, ..
            } if self.is_review(&expected) => reply.refuse(reviews::in_review()).await,
            ThreadControl::Steer {
                items,
                client_id,
                expected,
                reply,
            } => {
                if let Err(error) = check_turn(&self.translator, &expected) {
                    return reply.refuse(error).await;
                }
                let op = Op::Steer { items, client_id };
                self.submit(op, PendingSubmission::Steer(reply)).await;
            }
            ThreadControl::Interrupt { turn, reply } if self.is_review(&turn) => {
                self.interrupt_review(turn, reply).await;
            }
            ThreadControl::Review { request, reply } => self.begin_review(request, reply).await,
            ThreadControl::Interrupt { turn, reply } => match check_turn(&self.translator, &turn) {
                Err(error) => reply.refuse(error).await,
                Ok(turn) => {
                    self.interrupts.push((turn, reply));
                    // One that has ended has told so, and that answers.
                    discard!(
                        self.thread.submit(Op::Interrupt).await,
                        "the session has ended"
                    );
                }
            },
        }
    }

    async fn begin(&mut self, input: NewTurn, reply: MethodReply) {
        let op = Op::UserTurn {
            items: input.items,
            overrides: input.overrides,
            final_output_json_schema: input.output_schema,
            last_response_id: None,
            client_id: input.client_id,
        };
        self.submit(op, PendingSubmission::Turn(reply)).await;
    }

    /// Submits; what waits for it is answered by the events. A session that takes nothing more
    /// answers nothing: what waited is dropped, and says so.
    async fn submit(&mut self, op: Op, waits: PendingSubmission) {
        if let Ok(id) = self.thread.submit(op).await {
            self.submitted.insert(id, waits);
        }
    }

    async fn event(&mut self, event: &Event) -> Result<(), PeerGone> {
        self.before(event).await;
        if let Some(call_id) = PendingQuestion::settled_by(&event.msg) {
            self.resolved(call_id).await?;
        }
        match &event.msg {
            EventMsg::SubagentLifecycle(SubagentLifecycle::Created { subagent }) => {
                self.children.created(subagent).await?;
            }
            // Told to who asked.
            EventMsg::Error(error) if !error.fatal && self.refused(event, error).await => {
                return Ok(());
            }
            _ => {}
        }
        if self.only.is_none() {
            let of_tree = trees::tree_notification(&self.id, &event.msg);
            for notification in of_tree.into_iter().chain(self.translator.translate(event)) {
                self.connection.notify(&notification).await?;
            }
        }
        self.tool_call_news(&event.msg).await?;
        match PendingQuestion::of(&event.msg) {
            Some(question)
                if self
                    .only
                    .is_none_or(|only| questions::is_of(&question, only)) =>
            {
                self.put(question).await
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Answers the requests whose answer comes before what is told of the event.
    async fn before(&mut self, event: &Event) {
        match &event.msg {
            EventMsg::TurnStarted(started) => {
                if let Some(PendingSubmission::Turn(reply)) = self.submitted.remove(&event.id) {
                    let turn = running(&started.turn_id, Some(started.started_at_ms / 1000));
                    reply.send(Ok(TurnStartResponse { turn })).await;
                }
            }
            EventMsg::SteerReceipt(
                SteerReceipt::Queued { turn_id, .. } | SteerReceipt::Delivered { turn_id },
            ) => match self.submitted.remove(&event.id) {
                Some(PendingSubmission::Steer(reply)) => {
                    let turn_id = turn_id.0.clone();
                    reply.send(Ok(TurnSteerResponse { turn_id })).await;
                }
                Some(PendingSubmission::Joining { reply, .. }) => {
                    let turn = running(turn_id, None);
                    reply.send(Ok(TurnStartResponse { turn })).await;
                }
                Some(
                    PendingSubmission::Turn(_)
                    | PendingSubmission::Review(_)
                    | PendingSubmission::Answer { .. },
                )
                | None => {}
            },
            EventMsg::EnteredReviewMode { .. } => self.review_begun(event).await,
            EventMsg::TurnComplete(_)
            | EventMsg::TurnAborted(_)
            | EventMsg::ExitedReviewMode { .. } => {
                let over = self
                    .interrupts
                    .extract_if(.., |(turn, _)| *turn == event.id);
                for (_, reply) in over.collect::<Vec<_>>() {
                    reply.send(Ok(Empty {})).await;
                }
            }
            _ => {}
        }
    }

    /// Tells whoever asked why it was not done. Returns whether somebody did.
    async fn refused(&mut self, event: &Event, error: &ErrorEvent) -> bool {
        let message = error.message.clone();
        match self.submitted.remove(&event.id) {
            // The turn ended a moment before.
            Some(PendingSubmission::Joining { input, reply }) if self.thread.is_idle() => {
                self.begin(*input, reply).await;
            }
            Some(
                PendingSubmission::Turn(reply)
                | PendingSubmission::Steer(reply)
                | PendingSubmission::Review(reply)
                | PendingSubmission::Joining { reply, .. },
            ) => {
                reply.refuse(RpcError::invalid_request(message)).await;
            }
            Some(PendingSubmission::Answer { call, request }) if self.asked.contains_key(&call) => {
                // One that is gone does not need to know.
                discard!(
                    self.ask_on(call, request, message).await,
                    "the client is gone"
                );
            }
            // Somebody else was faster.
            Some(PendingSubmission::Answer { .. }) => {}
            None => return false,
        }
        true
    }

    async fn closed(&mut self) -> Result<(), PeerGone> {
        let thread_id = self.id.clone();
        let status = ServerNotification::ThreadStatusChanged(ThreadStatusChangedNotification {
            thread_id: thread_id.clone(),
            status: ThreadStatus::NotLoaded,
        });
        self.connection.notify(&status).await?;
        let closed = ServerNotification::ThreadClosed(ThreadIdNotification { thread_id });
        self.connection.notify(&closed).await
    }
}

/// Returns the running turn if it is the one that is meant.
fn check_turn(translator: &EventTranslator, expected: &str) -> Result<SubmissionId, RpcError> {
    let Some(turn) = translator.turn() else {
        return Err(RpcError::invalid_request("no active turn"));
    };
    if turn.id.0 != expected {
        let found = &turn.id;
        return Err(RpcError::invalid_request(format!(
            "expected active turn id `{expected}` but found `{found}`"
        )));
    }
    Ok(turn.id.clone())
}

fn running(id: &SubmissionId, started_at: Option<i64>) -> Turn {
    Turn {
        id: id.0.clone(),
        items: Vec::new(),
        items_view: ItemsView::NotLoaded,
        status: TurnStatus::InProgress,
        error: None,
        started_at,
        completed_at: None,
        duration_ms: None,
    }
}
