//! The tool calls of one model cycle: which may run now, what they said, what they answered.
//!
//! Calls start in the order the model made them. Shared ones run side by side; an exclusive
//! one waits until nothing runs and then runs alone. Answers go into the history in the
//! order of the calls, whatever order they come in.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;
use tracing::Instrument as _;
use troupe_protocol::approval::{ReviewDecision, UserInputRequest, UserInputResponse};
use troupe_protocol::event::AbortReason;
use troupe_protocol::history::ToolOutputBody;
use troupe_protocol::item::TurnItem;
use troupe_protocol::mcp::{ElicitationRequest, ElicitationResponse};
use troupe_protocol::op::ElicitationDecision;
use troupe_protocol::usage::TokenUsage;
use troupe_protocol::{CallId, ItemId, PendingQuestion, ResponseId, ResponseItem};
use troupe_tools::{DeliveryClaim, Registry, ToolConcurrency, ToolInput, ToolOutput};

use crate::history::output_for;
use crate::inquiry::{AnswerRefusal, InquiryAnswer};
use crate::limits::RUNNING_TOOLS_SHOWN_MAX;

/// The calls of a response, until each is answered.
#[derive(Debug)]
pub(crate) struct CycleCalls {
    pub response_id: ResponseId,
    pub usage: TokenUsage,
    cancel: CancellationToken,
    /// Why the task ends, once it does.
    aborted: Arc<OnceLock<AbortReason>>,
    slots: Vec<CallSlot>,
    waiting: VecDeque<usize>,
    running: RunningCalls,
    /// Answers up to here are in the history.
    recorded: usize,
    asks: HashMap<CallId, OpenAsk>,
    /// Items that a call has begun and not ended.
    open_items: HashMap<ItemId, TurnItem>,
}

/// A call that waits for a person's word.
#[derive(Debug)]
pub(crate) struct OpenAsk {
    pub question: PendingQuestion,
    pub reply: oneshot::Sender<InquiryAnswer>,
}

#[derive(Debug)]
struct CallSlot {
    call: ResponseItem,
    state: SlotState,
}

#[derive(Debug)]
enum SlotState {
    Waiting,
    Running {
        since: Instant,
        /// Dropping the slot ends the call.
        _task: AbortOnDropHandle<()>,
    },
    Answered(ToolOutputBody, Option<DeliveryClaim>),
    Recorded,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RunningCalls {
    Nothing,
    Shared(usize),
    Exclusive,
}

/// Answers that are due, with what is delivered by them.
#[derive(Debug, Default)]
pub(crate) struct DueAnswers {
    pub answers: Vec<ResponseItem>,
    pub claims: Vec<DeliveryClaim>,
}

/// What ends a call early, and says why.
#[derive(Debug)]
pub(crate) struct CallCancellation {
    cancel: CancellationToken,
    aborted: Arc<OnceLock<AbortReason>>,
}

/// A call that is to be started now.
#[derive(Debug)]
pub(crate) struct StartableCall {
    pub index: usize,
    pub name: String,
    pub call_id: CallId,
    pub input: ToolInput,
}

impl CycleCalls {
    /// Takes the calls out of a response's items.
    pub(crate) fn new(response_id: ResponseId, usage: TokenUsage, items: &[ResponseItem]) -> Self {
        let slots: Vec<CallSlot> = items
            .iter()
            .filter(|item| item.open_call().is_some())
            .map(|call| CallSlot {
                call: call.clone(),
                state: SlotState::Waiting,
            })
            .collect();
        Self {
            response_id,
            usage,
            cancel: CancellationToken::new(),
            aborted: Arc::default(),
            waiting: (0..slots.len()).collect(),
            slots,
            running: RunningCalls::Nothing,
            recorded: 0,
            asks: HashMap::new(),
            open_items: HashMap::new(),
        }
    }

    /// Returns the next call that may start, and counts it as running.
    pub(crate) fn next_startable(&mut self, registry: &Registry) -> Option<StartableCall> {
        let index = *self.waiting.front()?;
        let (name, input) = parts(&self.slots[index].call)?;
        let concurrency = registry.concurrency(&name);
        self.running = match (self.running, concurrency) {
            (RunningCalls::Nothing, ToolConcurrency::Shared) => RunningCalls::Shared(1),
            (RunningCalls::Shared(count), ToolConcurrency::Shared) => {
                RunningCalls::Shared(count + 1)
            }
            (RunningCalls::Nothing, ToolConcurrency::Exclusive) => RunningCalls::Exclusive,
            (RunningCalls::Shared(_), ToolConcurrency::Exclusive)
            | (RunningCalls::Exclusive, _) => return None,
        };
        self.waiting.pop_front();
        let call_id = self.slots[index].call.open_call()?.clone();
        Some(StartableCall {
            index,
            name,
            call_id,
            input,
        })
    }

    /// Returns what ends calls early.
    pub(crate) fn ending(&self) -> CallCancellation {
        CallCancellation {
            cancel: self.cancel.clone(),
            aborted: Arc::clone(&self.aborted),
        }
    }

    pub(crate) fn started(&mut self, index: usize, task: AbortOnDropHandle<()>) {
        self.slots[index].state = SlotState::Running {
            since: Instant::now(),
            _task: task,
        };
    }

    pub(crate) fn answered(&mut self, index: usize, output: ToolOutput) {
        self.slots[index].state = SlotState::Answered(output.body, output.claim);
        self.running = match self.running {
            RunningCalls::Shared(count) if count > 1 => RunningCalls::Shared(count - 1),
            RunningCalls::Nothing | RunningCalls::Shared(_) | RunningCalls::Exclusive => {
                RunningCalls::Nothing
            }
        };
    }

    /// Returns the answers that come next in call order.
    pub(crate) fn take_recordable(&mut self) -> DueAnswers {
        let mut recordable = DueAnswers::default();
        while let Some(slot) = self.slots.get_mut(self.recorded) {
            let SlotState::Answered(..) = &slot.state else {
                break;
            };
            if let SlotState::Answered(body, claim) =
                std::mem::replace(&mut slot.state, SlotState::Recorded)
            {
                recordable.answers.extend(output_for(&slot.call, body));
                recordable.claims.extend(claim);
            }
            self.recorded += 1;
        }
        recordable
    }

    pub(crate) fn is_done(&self) -> bool {
        self.recorded == self.slots.len()
    }

    pub(crate) fn is_running(&self) -> bool {
        self.running != RunningCalls::Nothing
    }

    /// Returns the names of the tools that run, as many as are shown.
    pub(crate) fn running_tools(&self) -> Vec<String> {
        let running = |slot: &&CallSlot| matches!(slot.state, SlotState::Running { .. });
        let names = self.slots[self.recorded..].iter().filter(running);
        let names = names.filter_map(|slot| tool_name(&slot.call));
        names
            .take(RUNNING_TOOLS_SHOWN_MAX)
            .map(ToOwned::to_owned)
            .collect()
    }

    pub(crate) fn any(&self) -> bool {
        !self.slots.is_empty()
    }

    /// Stops what runs and forgets what waits. Questions to people are withdrawn.
    pub(crate) fn stop(&mut self, why: AbortReason) -> Vec<(CallId, InquiryAnswer)> {
        // A second stop changes nothing: the first one is why the calls end.
        self.aborted.get_or_init(|| why);
        self.cancel.cancel();
        self.waiting.clear();
        let asks = self.asks.drain();
        asks.map(|(call_id, ask)| (call_id, InquiryAnswer::withdrawal(&ask.question)))
            .collect()
    }

    /// Answers every call that has no answer, dropping the ones that still run.
    pub(crate) fn answer_rest(&mut self) {
        for slot in &mut self.slots {
            let text = match &slot.state {
                SlotState::Waiting => "aborted before it was run".to_owned(),
                SlotState::Running { since, .. } => {
                    let id = slot.call.open_call();
                    tracing::info!(id = id.map(tracing::field::display), "a call is dropped");
                    format!("aborted after {:.1} s", since.elapsed().as_secs_f64())
                }
                SlotState::Answered(..) | SlotState::Recorded => continue,
            };
            slot.state = SlotState::Answered(text.into(), None);
        }
        self.running = RunningCalls::Nothing;
    }

    pub(crate) fn asked(&mut self, call_id: CallId, ask: OpenAsk) {
        // A second question of the same call takes the place of the first, which is
        // thereby refused.
        self.asks.insert(call_id, ask);
    }

    pub(crate) fn question(&self, call_id: &CallId) -> Option<&PendingQuestion> {
        self.asks.get(call_id).map(|ask| &ask.question)
    }

    pub(crate) fn take_ask(&mut self, call_id: &CallId) -> Option<OpenAsk> {
        self.asks.remove(call_id)
    }

    /// Returns what is asked, each with what is said when nobody is there.
    pub(crate) fn refusals(&self) -> Vec<(CallId, InquiryAnswer)> {
        let asks = self.asks.iter();
        asks.map(|(call_id, ask)| (call_id.clone(), InquiryAnswer::refusal(&ask.question)))
            .collect()
    }

    /// Tells whether a call waits for this word.
    pub(crate) fn check_word(
        &self,
        call_id: &CallId,
        word: &InquiryAnswer,
    ) -> Result<(), AnswerRefusal> {
        let id = call_id.as_str();
        match self.question(call_id) {
            Some(question) => word.check(question, id),
            None => Err(AnswerRefusal::Unknown { id: id.to_owned() }),
        }
    }

    pub(crate) fn item_started(&mut self, item: TurnItem) {
        self.open_items.insert(item.id().clone(), item);
    }

    pub(crate) fn item_completed(&mut self, item: &TurnItem) {
        self.open_items.remove(item.id());
    }

    /// Returns the items that nobody will end any more.
    pub(crate) fn take_open_items(&mut self) -> Vec<TurnItem> {
        self.open_items.drain().map(|(_, item)| item).collect()
    }
}

fn parts(call: &ResponseItem) -> Option<(String, ToolInput)> {
    match call {
        ResponseItem::FunctionCall {
            name, arguments, ..
        } => Some((name.clone(), ToolInput::Json(arguments.clone()))),
        ResponseItem::CustomToolCall { name, input, .. } => {
            Some((name.clone(), ToolInput::Text(input.clone())))
        }
        _ => None,
    }
}

fn tool_name(call: &ResponseItem) -> Option<&str> {
    match call {
        ResponseItem::FunctionCall { name, .. } | ResponseItem::CustomToolCall { name, .. } => {
            Some(name)
        }
        _ => None,
    }
}

/// What a running call sends to its session.
#[derive(Debug)]
pub(crate) enum CallSignal {
    Event(troupe_tools::ToolEvent),
    Ask(OpenAsk),
    /// What it asks was agreed to elsewhere.
    Settled(ReviewDecision),
    Answered {
        index: usize,
        output: ToolOutput,
    },
    /// What the hooks say to the end of the task.
    MayStop(Result<(), troupe_tools::hooks::HookRefusal>),
}

/// Whose call it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallOrigin {
    /// The model's, in this task.
    Model { epoch: u64 },
    /// The user's own.
    User,
}

/// The call's end of the line to its session.
#[derive(Debug)]
pub(crate) struct SessionChannel {
    pub mailbox: crate::mailbox::Mailbox,
    pub caller: CallOrigin,
    pub call_id: CallId,
}

impl SessionChannel {
    /// Sends a signal. A session that is gone has ended the call too: nobody is left to hear.
    pub(crate) async fn send(&self, signal: CallSignal) {
        let input = crate::session::SessionInput::Call {
            caller: self.caller,
            call_id: self.call_id.clone(),
            signal: Box::new(signal),
        };
        if self.mailbox.post(input).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Asks and waits. Nothing is said to what is withdrawn.
    async fn inquire(&self, question: PendingQuestion) -> Option<InquiryAnswer> {
        let (reply, answer) = oneshot::channel();
        self.send(CallSignal::Ask(OpenAsk { question, reply }))
            .await;
        answer.await.ok()
    }
}

#[async_trait::async_trait]
impl troupe_tools::CallChannel for SessionChannel {
    async fn report(&self, event: troupe_tools::ToolEvent) {
        self.send(CallSignal::Event(event)).await;
    }

    async fn ask(&self, ask: troupe_tools::ApprovalQuestion) -> ReviewDecision {
        decided(self.inquire(ask.into()).await)
    }

    async fn ask_unless_settled(
        &self,
        ask: troupe_tools::ApprovalQuestion,
        settled: oneshot::Receiver<ReviewDecision>,
    ) -> ReviewDecision {
        let (reply, mut answer) = oneshot::channel();
        let question = PendingQuestion::from(ask);
        self.send(CallSignal::Ask(OpenAsk { question, reply }))
            .await;
        let word = tokio::select! {
            word = &mut answer => word,
            // The session hears it after the question, and says it like any other word.
            Ok(decision) = settled => {
                self.send(CallSignal::Settled(decision)).await;
                answer.await
            }
        };
        decided(word.ok())
    }

    async fn question(&self, request: UserInputRequest) -> Option<UserInputResponse> {
        match self.inquire(PendingQuestion::UserInput(request)).await {
            Some(InquiryAnswer::Input(response)) => response,
            Some(
                InquiryAnswer::Decision(_)
                | InquiryAnswer::ExecDecision(_)
                | InquiryAnswer::PatchDecision(_)
                | InquiryAnswer::Elicitation { .. },
            )
            | None => None,
        }
    }

    async fn elicit(&self, request: ElicitationRequest) -> ElicitationResponse {
        match self.inquire(PendingQuestion::Elicitation(request)).await {
            Some(InquiryAnswer::Elicitation { response, .. }) => response,
            Some(
                InquiryAnswer::Decision(_)
                | InquiryAnswer::ExecDecision(_)
                | InquiryAnswer::PatchDecision(_)
                | InquiryAnswer::Input(_),
            )
            | None => ElicitationResponse::without_content(ElicitationDecision::Cancel),
        }
    }
}

/// A withdrawn question is a refusal.
fn decided(word: Option<InquiryAnswer>) -> ReviewDecision {
    match word {
        Some(
            InquiryAnswer::Decision(decision)
            | InquiryAnswer::ExecDecision(decision)
            | InquiryAnswer::PatchDecision(decision),
        ) => decision,
        Some(InquiryAnswer::Input(_) | InquiryAnswer::Elicitation { .. }) | None => {
            ReviewDecision::Denied
        }
    }
}

/// Starts one call and returns the handle that ends it.
pub(crate) fn start(
    registry: Arc<Registry>,
    startable: StartableCall,
    context: Arc<troupe_tools::CallContext>,
    ending: CallCancellation,
    channel: SessionChannel,
) -> AbortOnDropHandle<()> {
    let StartableCall {
        index,
        name,
        call_id,
        input,
    } = startable;
    let channel = Arc::new(channel);
    let span = tracing::info_span!("call", tool = name, id = %call_id);
    let work = async move {
        tracing::info!("the call begins");
        let call = troupe_tools::ToolInvocation {
            id: call_id,
            input,
            context,
            channel: Arc::clone(&channel) as Arc<dyn troupe_tools::CallChannel>,
            cancel: ending.cancel,
            aborted: ending.aborted,
        };
        let output = registry.call(&name, call).await;
        tracing::info!(ok = output.success, "the call is answered");
        channel.send(CallSignal::Answered { index, output }).await;
    };
    AbortOnDropHandle::new(tokio::spawn(work.instrument(span)))
}

#[cfg(test)]
mod tests;
