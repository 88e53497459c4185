//! Requests that a provider refuses for a reason that can be taken away: a response that it no
//! longer has, a picture that it cannot use. The reason is taken away with a warning, and it is
//! asked again; otherwise every later request would meet the same refusal. What cannot be taken
//! away is what the user just said: that it does not fit is told.

use std::collections::HashSet;

use troupe_model::{ModelError, ModelErrorKind};
use troupe_protocol::ResponseItem;
use troupe_protocol::error::ErrorInfo;
use troupe_protocol::event::AbortReason;
use troupe_protocol::history::{ContentItem, ToolOutputBody};
use troupe_protocol::rollout::{RewindReason, RewindRecord, RolloutRecord};
use troupe_store::StoreError;

use super::Conversation;
use crate::emit::Emitter;
use crate::history::PromptHistory;
use crate::task::{StopCause, TaskPhase};

impl Conversation {
    /// Takes away what a request was refused for. Returns whether there was anything: each
    /// refusal leaves less of it, so asking again comes to an end.
    pub(super) fn repair_refused_request(
        &mut self,
        out: &mut Emitter,
        error: &ModelError,
    ) -> Result<bool, StoreError> {
        let Some(id) = self.task_id() else {
            return Ok(false);
        };
        let warning = match error.kind {
            ModelErrorKind::PreviousResponseUnknown if self.history.previous().is_some() => {
                self.history.forget_held();
                format!(
                    "the provider no longer has the response to go on from ({error}); the whole \
                     conversation is sent instead"
                )
            }
            ModelErrorKind::PictureRefused => {
                let pictures = refused_pictures(&self.history, &error.message);
                if pictures.is_empty() {
                    return Ok(false);
                }
                let shown: Vec<&str> = pictures.iter().map(|url| printable_url(url)).collect();
                let shown = shown.join(", ");
                without_pictures(&mut self.history, &pictures);
                format!(
                    "the provider could not use a picture ({error}); taken out of the conversation: \
                     {shown}"
                )
            }
            _ => return Ok(false),
        };
        out.warn(&id, warning)?;
        Ok(true)
    }

    /// Sends the request of the running phase again, as it is now.
    pub(super) async fn ask_again(&mut self, out: &mut Emitter) -> Result<(), StoreError> {
        let phase = self.task.as_ref().map(|task| &task.phase);
        if let Some(TaskPhase::Compacting(_)) = phase {
            self.repeat_compaction();
            return Ok(());
        }
        self.drop_response(out)?;
        Box::pin(self.sample(out)).await
    }

    /// Returns how much a task begins with, if that alone is too much for a window that is known.
    pub(super) fn oversized_start_tokens(&self) -> Option<u64> {
        self.task.as_ref().filter(|task| task.cycles == 0)?;
        let window = self.known_window(&self.turn_context().model)?;
        let turn = self.history.turn_start(1).ok()?;
        let tokens = self.history.tokens_since(turn.len);
        (tokens > window).then_some(tokens)
    }

    /// Ends a task whose request is too long although nothing is left that could be summarised.
    /// A first message that does not fit is not kept for the model: no later request would.
    pub(super) async fn fail_oversized_task(
        &mut self,
        out: &mut Emitter,
        unfit: RequestOverflow<'_>,
    ) -> Result<(), StoreError> {
        let model = &self.turn_context().model;
        let window = match self.known_window(model) {
            Some(tokens) => format!("{tokens} tokens"),
            None => "a size that nobody told".to_owned(),
        };
        let sent = match unfit {
            RequestOverflow::Said { tokens } => format!("about {tokens} tokens"),
            RequestOverflow::Refused(error) => {
                match error.overflow.and_then(|overflow| overflow.sent) {
                    Some(tokens) => format!("{tokens} tokens"),
                    None => format!("about {} tokens", self.context_tokens()),
                }
            }
        };
        let cause = match unfit {
            RequestOverflow::Said { .. } => String::new(),
            RequestOverflow::Refused(error) => format!(": {error}"),
        };
        let message = format!(
            "the request does not fit: it has {sent}, the context window of {model} has {window}; \
             send less, put long material into a file and name it, or choose a model with a larger \
             window{cause}"
        );
        let is_unanswered = self.task.as_ref().is_some_and(|task| {
            let is_silent = match &task.phase {
                TaskPhase::Sampling { response, .. } => response.last_message().is_none(),
                TaskPhase::Starting | TaskPhase::Equipping { .. } => true,
                TaskPhase::Calling(_)
                | TaskPhase::Compacting(_)
                | TaskPhase::Shell
                | TaskPhase::Leaving { .. }
                | TaskPhase::Stopping(_) => false,
            };
            task.cycles == 0 && is_silent
        });
        let turn = self.history.turn_start(1).ok().cloned();
        let stop = StopCause::fatal(
            AbortReason::Error,
            message,
            ErrorInfo::ContextWindowExceeded,
        );
        self.stop(out, stop).await?;
        match turn {
            Some(turn) if is_unanswered && self.task.is_none() => {
                let rewind = RewindRecord {
                    to: turn.position.0,
                    reason: RewindReason::Rollback { num_turns: 1 },
                    carried: self.carried(out),
                };
                out.record(&[RolloutRecord::Rewind(Box::new(rewind))])?;
                self.history.truncate(turn.len);
                self.usage.counted = None;
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

/// How it is known that a request does not fit.
#[derive(Debug, Clone, Copy)]
pub(super) enum RequestOverflow<'a> {
    /// What the task begins with is larger than the window; nothing was sent.
    Said { tokens: u64 },
    /// The provider said so.
    Refused(&'a ModelError),
}

/// Returns the pictures that a refusal is about: those whose address it names; else all that the
/// provider has to fetch, because the others were decoded here; else all.
fn refused_pictures(history: &PromptHistory, refusal: &str) -> HashSet<String> {
    let all: HashSet<String> = history
        .responses()
        .filter_map(parts_of)
        .flatten()
        .filter_map(picture_address)
        .cloned()
        .collect();
    let named: HashSet<String> = all
        .iter()
        .filter(|url| is_linked(url) && refusal.contains(url.as_str()))
        .cloned()
        .collect();
    if !named.is_empty() {
        return named;
    }
    let linked: HashSet<String> = all.iter().filter(|url| is_linked(url)).cloned().collect();
    if linked.is_empty() { all } else { linked }
}

/// Puts a note in the place of each of these pictures.
fn without_pictures(history: &mut PromptHistory, pictures: &HashSet<String>) {
    let is_refused =
        |part: &ContentItem| picture_address(part).is_some_and(|url| pictures.contains(url));
    history.change(|item| {
        parts_of(item)?.iter().any(is_refused).then_some(())?;
        let mut changed = item.clone();
        if let ResponseItem::Message { content: parts, .. }
        | ResponseItem::FunctionCallOutput {
            output: ToolOutputBody::Parts(parts),
            ..
        }
        | ResponseItem::CustomToolCallOutput {
            output: ToolOutputBody::Parts(parts),
            ..
        } = &mut changed
        {
            for part in parts.iter_mut().filter(|part| is_refused(part)) {
                let address = picture_address(part).map_or("", |url| printable_url(url));
                let text = format!("[A picture was here ({address}) that could not be used.]");
                *part = ContentItem::InputText { text };
            }
        }
        Some(changed)
    });
}

fn parts_of(item: &ResponseItem) -> Option<&Vec<ContentItem>> {
    match item {
        ResponseItem::Message { content: parts, .. }
        | ResponseItem::FunctionCallOutput {
            output: ToolOutputBody::Parts(parts),
            ..
        }
        | ResponseItem::CustomToolCallOutput {
            output: ToolOutputBody::Parts(parts),
            ..
        } => Some(parts),
        _ => None,
    }
}

fn picture_address(part: &ContentItem) -> Option<&String> {
    match part {
        ContentItem::InputImage { image_url, .. } => Some(image_url),
        _ => None,
    }
}

fn is_linked(url: &str) -> bool {
    url.starts_with("http:") || url.starts_with("https:")
}

/// Returns an address as it is told; one that is the picture itself is not.
fn printable_url(url: &str) -> &str {
    if is_linked(url) {
        url
    } else {
        "a picture of the conversation"
    }
}
