//! Items that come into the history from beside the task: a client's own, and the output of
//! commands that the user ran.
//!
//! What is put into the history at once could come between a call and its answer, which
//! providers refuse. While a task runs they go with its next model request, or follow it if
//! none is made. Until then the event that tells of them is where a resume finds them.

use std::collections::HashSet;

use troupe_protocol::error::ErrorInfo;
use troupe_protocol::event::{ErrorEvent, EventMsg};
use troupe_protocol::history::ContentItem;
use troupe_protocol::input::UserInput;
use troupe_protocol::{CallId, ResponseItem, SubmissionId};
use troupe_store::StoreError;

use super::OpenSession;
use crate::emit::Emitter;
use crate::limits::{INJECTED_BYTES_MAX, INJECTED_ITEMS_MAX};
use crate::user_input::{self, DecodedPictures};

impl OpenSession {
    /// Adds items of a client to what the model knows.
    pub(crate) async fn inject(
        &mut self,
        out: &mut Emitter,
        id: &SubmissionId,
        items: Vec<ResponseItem>,
    ) -> Result<(), StoreError> {
        let ledgers = &mut self.conversation.ledgers;
        let mut known = ledgers.history.call_ids();
        let untold = ledgers.untold.iter();
        known.extend(untold.filter_map(ResponseItem::open_call).cloned());
        let pictures = std::mem::take(&mut self.conversation.pictures);
        let items = match check_items(items, &known, &pictures).await {
            Ok(items) => items,
            Err(problem) => return out.error(id, refusal(problem)),
        };
        let told = items.clone();
        out.emit(id, vec![EventMsg::ItemsInjected { items }])?;
        ledgers.untold.extend(told);
        if self.task.is_none() {
            ledgers.tell_untold(out)?;
        }
        out.commit().await
    }
}

/// Returns the items as they can be sent, or says which one would have every later request of
/// the conversation refused.
async fn check_items(
    items: Vec<ResponseItem>,
    known: &HashSet<CallId>,
    pictures: &DecodedPictures,
) -> Result<Vec<ResponseItem>, String> {
    if items.is_empty() {
        return Err("items must not be empty".to_owned());
    }
    if items.len() > INJECTED_ITEMS_MAX {
        return Err(format!(
            "there are {} items; at most {INJECTED_ITEMS_MAX} are taken at a time",
            items.len()
        ));
    }
    let bytes = serde_json::to_vec(&items).map_or(0, |text| text.len());
    if bytes > INJECTED_BYTES_MAX {
        return Err(format!(
            "the items have {bytes} bytes; at most {INJECTED_BYTES_MAX} are taken at a time"
        ));
    }
    check_calls(&items, known)?;
    let mut checked = Vec::with_capacity(items.len());
    for (index, item) in items.into_iter().enumerate() {
        let item = with_pictures(item, pictures).await;
        checked.push(item.map_err(|problem| format!("items[{index}]: {problem}"))?);
    }
    Ok(checked)
}

/// Every call must be answered, once, behind it.
fn check_calls(items: &[ResponseItem], known: &HashSet<CallId>) -> Result<(), String> {
    let mut open: HashSet<&CallId> = HashSet::new();
    let mut called: HashSet<&CallId> = HashSet::new();
    for (index, item) in items.iter().enumerate() {
        if let Some(call) = item.open_call() {
            if known.contains(call) || !called.insert(call) {
                return Err(format!("items[{index}]: there is a call {call} already"));
            }
            open.insert(call);
        }
        if let Some(call) = item.answered_call()
            && !open.remove(call)
        {
            return Err(format!(
                "items[{index}]: it answers the call {call}, which is not open; send the call with \
                 its answer"
            ));
        }
    }
    match open.into_iter().next() {
        Some(call) => Err(format!("the call {call} has no answer; send both together")),
        None => Ok(()),
    }
}

/// Returns the pictures among items of a client, so that they can be decoded beside the session.
pub(super) fn pictures(items: &[ResponseItem]) -> Vec<UserInput> {
    let contents = items.iter().filter_map(|item| match item {
        ResponseItem::Message { content, .. } => Some(content),
        _ => None,
    });
    let picture = |part: &ContentItem| match part {
        ContentItem::InputImage { image_url, detail } => Some(UserInput::Image {
            image_url: image_url.clone(),
            detail: *detail,
        }),
        _ => None,
    };
    contents.flatten().filter_map(picture).collect()
}

async fn with_pictures(
    item: ResponseItem,
    pictures: &DecodedPictures,
) -> Result<ResponseItem, String> {
    match item {
        ResponseItem::Other(_) => Err(
            "it is no item that this engine knows: message, reasoning, function_call, \
             function_call_output, custom_tool_call or custom_tool_call_output"
                .to_owned(),
        ),
        ResponseItem::Message { content, .. } if content.is_empty() => {
            Err("the message has no content".to_owned())
        }
        ResponseItem::Message {
            id, role, content, ..
        } => {
            let mut parts = Vec::with_capacity(content.len());
            for part in content {
                parts.push(match part {
                    ContentItem::InputImage { image_url, detail } => {
                        user_input::linked_picture(&image_url, detail, pictures).await?
                    }
                    other => other,
                });
            }
            // Only the engine says of a message that it wrote it.
            Ok(ResponseItem::Message {
                id,
                role,
                content: parts,
                metadata: None,
                said: false,
            })
        }
        item => Ok(item),
    }
}

fn refusal(message: String) -> ErrorEvent {
    ErrorEvent {
        message,
        fatal: false,
        error_info: Some(ErrorInfo::InvalidSubmission),
    }
}
