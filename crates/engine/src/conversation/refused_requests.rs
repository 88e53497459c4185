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
use crate::task::{StopCause, Task, TaskPhase};

impl Conversation {
    /// Takes away what a request was refused for. Returns whether there was anything: each
    /// refusal leaves less of it, so asking again comes to an end.
    pub(super) fn repair_refused_request(
        &mut self,
        task: &Task,
        out: &mut Emitter,
        error: &ModelError,
    ) -> Result<bool, StoreError> {
        let history = &mut self.ledgers.history;
        let warning = match error.kind {
            ModelErrorKind::PreviousResponseUnknown if history.previous().is_some() => {
                history.forget_held();
                format!(
                    "the provider no longer has the response to go on from ({error}); the whole \
                     conversation is sent instead"
                )
            }
            ModelErrorKind::PictureRefused => {
                let pictures = refused_pictures(history, &error.message);
                if pictures.is_empty() {
                    return Ok(false);
                }
                let shown: Vec<&str> = pictures.iter().map(|url| printable_url(url)).collect();
                let shown = shown.join(", ");
                without_pictures(history, &pictures);
                format!(
                    "the provider could not use a picture ({error}); taken out of the conversation: \
                     {shown}"
                )
            }
            _ => return Ok(false),
        };
        out.warn(&task.id, warning)?;
        Ok(true)
    }

    /// Sends the request of the running phase again, as it is now.
    pub(super) async fn ask_again(
        &mut self,
        task: &mut Task,
        out: &mut Emitter,
    ) -> Result<(), StoreError> {
        if let TaskPhase::Compacting(_) = task.phase {
            self.repeat_compaction(task);
            return Ok(());
        }
        self.drop_response(task, out)?;
        Box::pin(self.sample(task, out)).await
    }

    /// Returns how much a task begins with, if that alone is too much for a window that is known.
    pub(super) fn oversized_start_tokens(&self, task: &Task) -> Option<u64> {
        if task.cycles > 0 {
            return None;
        }
        let window = self.known_window(&task.context.model)?;
        let turn = self.ledgers.history.turn_start(1).ok()?;
        let tokens = self.ledgers.history.tokens_since(turn.len);
        (tokens > window).then_some(tokens)
    }

    /// Ends a task whose request is too long although nothing is left that could be summarised.
    /// A first message that does not fit is not kept for the model: no later request would.
    pub(super) async fn fail_oversized_task(
        &mut self,
        task: &mut Task,
        out: &mut Emitter,
        unfit: RequestOverflow<'_>,
    ) -> Result<(), StoreError> {
        let model = &task.context.model;
        let known = self.known_window(model);
        let estimated = self.ledgers.context_tokens();
        let window = match known {
            Some(tokens) => format!("{tokens} tokens"),
            None => "a size that nobody told".to_owned(),
        };
        let sent = match unfit {
            RequestOverflow::Said { tokens } => format!("about {tokens} tokens"),
            RequestOverflow::Refused(error) => {
                match error.overflow.and_then(|overflow| overflow.sent) {
                    Some(tokens) => format!("{tokens} tokens"),
                    None => format!("about {estimated} tokens"),
                }
            }
        };
        let cause = match unfit {
            RequestOverflow::Said { .. } => String::new(),
            RequestOverflow::Refused(error) => format!(": {error}"),
        };
        let is_guess = matches!(unfit, RequestOverflow::Refused(error) if error.overflow.is_none());
        let numbers = if is_guess && known.is_some_and(|window| estimated <= window) {
            // By our count it fits: the provider counts otherwise, or has another window.
            format!("the provider says so, and not by how much it is too long for {model}")
        } else {
            format!("it has {sent}, the context window of {model} has {window}")
        };
        let message = format!(
            "the request does not fit: {numbers}; send less, put long material into a file and \
             name it, or choose a model with a larger window{cause}"
        );
        let is_silent = match &task.phase {
            TaskPhase::Sampling { response, .. } => response.last_message().is_none(),
            TaskPhase::Starting | TaskPhase::Equipping { .. } => true,
            TaskPhase::Calling(_)
            | TaskPhase::Compacting(_)
            | TaskPhase::Shell
            | TaskPhase::Leaving { .. }
            | TaskPhase::Stopping(_)
            | TaskPhase::Over => false,
        };
        let is_unanswered = task.cycles == 0 && is_silent;
        let turn = self.ledgers.history.turn_start(1).ok().cloned();
        let stop = StopCause::fatal(
            AbortReason::Error,
            message,
            ErrorInfo::ContextWindowExceeded,
        );
        self.stop(task, out, stop).await?;
        match turn {
            Some(turn) if is_unanswered && task.is_over() => {
                let rewind = RewindRecord {
                    to: turn.position.0,
                    reason: RewindReason::Rollback { num_turns: 1 },
                    carried: self.carried(out),
                };
                out.record(&[RolloutRecord::Rewind(Box::new(rewind))])?;
                self.ledgers.cut_history(turn.len);
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
