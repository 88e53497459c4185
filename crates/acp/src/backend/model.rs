//! The program's words, as the answers of a model.

use std::sync::Arc;

use agent_client_protocol_schema::v1::StopReason;
use futures_util::stream;
use troupe_model::{
    ItemKind, LanguageModel, ModelError, ModelErrorKind, ModelEvent, ModelRequest, ModelStream,
};
use troupe_protocol::history::SummaryPart;
use troupe_protocol::usage::TokenUsage;
use troupe_protocol::{CallId, ResponseId, ResponseItem};
use uuid::Uuid;

use super::connection::{AcpConnection, ProgramUpdate, TextPiece};
use super::link::BackendLink;
use super::tool;

#[derive(Debug)]
pub(super) struct AcpModel {
    link: Arc<BackendLink>,
}

impl AcpModel {
    pub(super) fn new(link: Arc<BackendLink>) -> Self {
        Self { link }
    }
}

impl LanguageModel for AcpModel {
    fn provider_id(&self) -> &str {
        self.link.name()
    }

    fn open(&self, request: ModelRequest) -> ModelStream {
        if let Some(why) = self.link.take_failure() {
            return ModelStream::failed(ModelError::new(ModelErrorKind::ServerError, why));
        }
        self.link.reap();
        self.link.note_news(&request);
        match self.link.take() {
            Some(companion) if companion.has_more() && !companion.is_cancelled() => {
                ModelStream::new(stream::unfold(
                    AcpResponse::new(Arc::clone(&self.link), companion),
                    AcpResponse::next,
                ))
            }
            // A new turn begins with a call, which has the rights to begin it.
            resting => {
                if let Some(companion) = resting {
                    self.link.give_back(companion);
                }
                let begin = response(vec![call()], TokenUsage::default());
                ModelStream::new(stream::iter([begin]))
            }
        }
    }
}

/// A response on its way. Dropped before its end, it stops the program.
struct AcpResponse {
    link: Arc<BackendLink>,
    /// Until the response is complete.
    companion: Option<Box<AcpConnection>>,
    open: Option<OpenResponseItem>,
    begun: bool,
}

/// An item that is being said.
struct OpenResponseItem {
    id: String,
    voice: ResponseTextKind,
    /// The program's name for it.
    message: Option<String>,
    text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ResponseTextKind {
    Message,
    Thought,
}

impl AcpResponse {
    fn new(link: Arc<BackendLink>, companion: Box<AcpConnection>) -> Self {
        Self {
            link,
            companion: Some(companion),
            open: None,
            begun: false,
        }
    }

    async fn next(mut self) -> Option<(Vec<ModelEvent>, Self)> {
        let companion = self.companion.as_mut()?;
        let said = companion.next().await;
        let mut events = Vec::new();
        if !self.begun {
            self.begun = true;
            events.push(ModelEvent::Created { response_id: None });
        }
        match said {
            Ok(ProgramUpdate::Text(words)) => {
                self.say(ResponseTextKind::Message, words, &mut events);
            }
            Ok(ProgramUpdate::Thought(words)) => {
                self.say(ResponseTextKind::Thought, words, &mut events);
            }
            Ok(ProgramUpdate::Ended { reason, usage }) => {
                self.close(&mut events);
                self.release_connection();
                events.extend(self.end(reason, usage));
            }
            Ok(ProgramUpdate::Failed(why)) => {
                self.close(&mut events);
                self.release_connection();
                let why = format!("backend {}: {why}", self.link.name());
                events.push(failed(ModelErrorKind::ServerError, why));
            }
            Ok(work) => {
                companion.put_back([work]);
                self.close(&mut events);
                self.release_connection();
                events.extend(response(vec![call()], TokenUsage::default()));
            }
            Err(why) => {
                self.companion = None;
                self.link.fail(&why);
                let why = self.link.take_failure().unwrap_or(why);
                events.push(failed(ModelErrorKind::ServerError, why));
            }
        }
        Some((events, self))
    }

    fn say(&mut self, voice: ResponseTextKind, words: TextPiece, events: &mut Vec<ModelEvent>) {
        let TextPiece { message, text } = words;
        let is_other = |open: &OpenResponseItem| open.voice != voice || open.message != message;
        if self.open.as_ref().is_some_and(is_other) {
            self.close(events);
        }
        let open = self.open.get_or_insert_with(|| {
            let id = Uuid::new_v4().to_string();
            let kind = match voice {
                ResponseTextKind::Message => ItemKind::Message,
                ResponseTextKind::Thought => ItemKind::Reasoning,
            };
            let item_id = id.clone();
            events.push(ModelEvent::ItemStarted { item_id, kind });
            OpenResponseItem {
                id,
                voice,
                message,
                text: String::new(),
            }
        });
        open.text.push_str(&text);
        let (item_id, delta) = (open.id.clone(), text);
        events.push(match voice {
            ResponseTextKind::Message => ModelEvent::TextDelta { item_id, delta },
            ResponseTextKind::Thought => ModelEvent::ReasoningSummaryDelta {
                item_id,
                summary_index: 0,
                delta,
            },
        });
    }

    fn close(&mut self, events: &mut Vec<ModelEvent>) {
        let Some(OpenResponseItem {
            id, voice, text, ..
        }) = self.open.take()
        else {
            return;
        };
        let item = match voice {
            ResponseTextKind::Message => ResponseItem::assistant_text(text),
            ResponseTextKind::Thought => ResponseItem::Reasoning {
                id: None,
                summary: vec![SummaryPart::SummaryText { text }],
                content: None,
                encrypted_content: None,
            },
        };
        events.push(ModelEvent::ItemDone { item_id: id, item });
    }

    /// Returns how the response ends with the end of a prompt.
    fn end(&self, reason: StopReason, usage: TokenUsage) -> Vec<ModelEvent> {
        if let Some((kind, why)) = fault(reason) {
            let why = format!("backend {}: {why}", self.link.name());
            return vec![failed(kind, why)];
        }
        // Somebody spoke meanwhile.
        let further = self.link.has_prompt().then(call);
        response(further.into_iter().collect(), usage)
    }

    /// The response is over, and the program is somebody else's.
    fn release_connection(&mut self) {
        if let Some(companion) = self.companion.take() {
            self.link.give_back(companion);
        }
    }
}

impl Drop for AcpResponse {
    fn drop(&mut self) {
        if let Some(mut companion) = self.companion.take() {
            companion.cancel();
            self.link.give_back(companion);
        }
    }
}

/// Returns what is wrong with an end that is no success.
fn fault(reason: StopReason) -> Option<(ModelErrorKind, &'static str)> {
    match reason {
        StopReason::Refusal => Some((ModelErrorKind::Refused, "it refused to go on")),
        StopReason::MaxTokens => Some((
            ModelErrorKind::ServerError,
            "it stopped at its limit of tokens (max_tokens)",
        )),
        StopReason::MaxTurnRequests => Some((
            ModelErrorKind::ServerError,
            "it stopped at its limit of requests (max_turn_requests)",
        )),
        // Nobody listens any more to one that was cancelled here.
        StopReason::Cancelled => Some((
            ModelErrorKind::Refused,
            "it stopped as if it was cancelled, which nobody here did (cancelled)",
        )),
        _ => None,
    }
}

fn call() -> ResponseItem {
    ResponseItem::FunctionCall {
        id: None,
        name: tool::NAME.to_owned(),
        arguments: "{}".to_owned(),
        call_id: CallId(Uuid::new_v4().to_string()),
    }
}

/// Returns the end of a response, with these items. Tokens are those that the program tells of,
/// which it does when a prompt is answered.
fn response(items: Vec<ResponseItem>, usage: TokenUsage) -> Vec<ModelEvent> {
    let done = |item| ModelEvent::ItemDone {
        item_id: Uuid::new_v4().to_string(),
        item,
    };
    let completed = ModelEvent::Completed {
        response_id: ResponseId(format!("acp_{}", Uuid::new_v4().simple())),
        usage,
    };
    items.into_iter().map(done).chain([completed]).collect()
}

fn failed(kind: ModelErrorKind, why: String) -> ModelEvent {
    ModelEvent::Failed(ModelError::new(kind, why))
}
