//! Events of Anthropic Messages → ours. A response is a list of blocks, each of which begins,
//! grows and ends under its index; each becomes one item.
//!
//! ```text
//! message_start · (content_block_start · …_delta* · …_stop)* · message_delta · message_stop
//! ```

mod block;
mod frames;

use std::sync::Arc;

use serde::Deserialize;
use troupe_protocol::ResponseId;

use crate::error::{ModelError, ModelErrorKind};
use crate::event::ModelEvent;
use crate::limits::ITEMS_PER_RESPONSE_MAX;
use crate::request::ToolSet;
use crate::sse::SseEvent;
use crate::wire::fault::{self, ProviderComplaint};
use block::GrowingBlock;
use frames::{
    BlockDelta, BlockDeltaFields, BlockStart, BlockStop, ContentBlock, FrameTag, MessageDelta,
    MessageStart, MessagesUsage,
};

#[derive(Debug)]
pub(crate) struct MessagesDecoder {
    tools: Arc<ToolSet>,
    response_id: Option<ResponseId>,
    state: MessagesState,
    /// Blocks that began so far.
    begun: usize,
    open: Vec<OpenBlock>,
    /// The end of the newest call. It is told when something follows: an answer that is cut
    /// ends with a torn one.
    call_done: Option<ModelEvent>,
    usage: MessagesUsage,
}

#[derive(Debug, PartialEq, Eq)]
enum MessagesState {
    Fresh,
    Streaming,
    /// The reason of the end is known and good.
    Finished,
    Completed,
}

#[derive(Debug)]
struct OpenBlock {
    index: u64,
    item_id: String,
    block: GrowingBlock,
}

impl MessagesDecoder {
    pub(crate) fn new(tools: Arc<ToolSet>) -> Self {
        Self {
            tools,
            response_id: None,
            state: MessagesState::Fresh,
            begun: 0,
            open: Vec::new(),
            call_done: None,
            usage: MessagesUsage::default(),
        }
    }

    pub(crate) fn event(
        &mut self,
        event: SseEvent<'_>,
        out: &mut Vec<ModelEvent>,
    ) -> Result<(), ModelError> {
        let SseEvent { name, data } = event;
        if !name.is_empty() {
            return self.named(name, data, out);
        }
        if data == "[DONE]" {
            return Ok(());
        }
        let tag: FrameTag<'_> = parse("without a type", data)?;
        self.named(&tag.kind, data, out)
    }

    fn named(
        &mut self,
        kind: &str,
        data: &str,
        out: &mut Vec<ModelEvent>,
    ) -> Result<(), ModelError> {
        match kind {
            "content_block_delta" => {
                let event: BlockDelta = parse(kind, data)?;
                self.delta(event, out);
            }
            "content_block_start" => {
                let event: BlockStart<'_> = parse(kind, data)?;
                self.start(event, out)?;
            }
            "content_block_stop" => {
                let event: BlockStop = parse(kind, data)?;
                if let Some(at) = self.position(event.index) {
                    let open = self.open.remove(at);
                    self.close(open, out);
                }
            }
            "message_start" => {
                let MessageStart { message } = parse(kind, data)?;
                self.response_id = message.id.filter(|id| !id.is_empty()).map(ResponseId);
                self.usage.learn(message.usage);
                self.begin(out);
            }
            "message_delta" => {
                let event: MessageDelta = parse(kind, data)?;
                self.usage.learn(event.usage);
                if let Some(reason) = event.delta.and_then(|delta| delta.stop_reason) {
                    self.end(&reason, out)?;
                }
            }
            "message_stop" => return self.finish(out),
            "error" => return Err(ProviderComplaint::parse(data).into_stream_error()),
            // `ping`, and what providers add: an unknown kind is no fault.
            _ => {}
        }
        Ok(())
    }

    pub(crate) fn held_bytes(&self) -> usize {
        let open = self.open.iter().map(|open| open.block.untold_bytes());
        let done = self.call_done.as_ref().map_or(0, ModelEvent::content_bytes);
        open.sum::<usize>() + done
    }

    /// The stream is over. It is complete if the reason of its end was told.
    pub(crate) fn finish(&mut self, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        match self.state {
            MessagesState::Completed => Ok(()),
            MessagesState::Finished => {
                self.state = MessagesState::Completed;
                let made_up = || ResponseId(format!("msg_{}", uuid::Uuid::now_v7().simple()));
                out.push(ModelEvent::Completed {
                    response_id: self.response_id.take().unwrap_or_else(made_up),
                    usage: self.usage.into(),
                });
                Ok(())
            }
            MessagesState::Fresh | MessagesState::Streaming => Err(fault::closed_early()),
        }
    }

    fn begin(&mut self, out: &mut Vec<ModelEvent>) {
        if self.state == MessagesState::Fresh {
            self.state = MessagesState::Streaming;
            out.push(ModelEvent::Created {
                response_id: self.response_id.clone(),
            });
        }
    }

    fn start(
        &mut self,
        event: BlockStart<'_>,
        out: &mut Vec<ModelEvent>,
    ) -> Result<(), ModelError> {
        self.begin(out);
        out.extend(self.call_done.take());
        // A server that never ends its blocks begins the next one all the same.
        if let Some(at) = self.position(event.index) {
            let open = self.open.remove(at);
            self.close(open, out);
        }
        self.begun += 1;
        if self.begun > ITEMS_PER_RESPONSE_MAX {
            return Err(ModelError::new(
                ModelErrorKind::Incomplete,
                format!("the response has more than {ITEMS_PER_RESPONSE_MAX} items"),
            ));
        }
        let item_id = format!("block_{}", self.begun - 1);
        let ContentBlock { text, thinking, .. } = &event.content_block;
        let first = BlockDeltaFields {
            text: text.clone(),
            partial_json: None,
            thinking: thinking.clone(),
            signature: None,
        };
        let block = GrowingBlock::new(event.content_block);
        if let Some(kind) = block.kind(&self.tools) {
            let item_id = item_id.clone();
            out.push(ModelEvent::ItemStarted { item_id, kind });
        }
        self.open.push(OpenBlock {
            index: event.index,
            item_id,
            block,
        });
        self.delta(
            BlockDelta {
                index: event.index,
                delta: first,
            },
            out,
        );
        Ok(())
    }

    fn delta(&mut self, event: BlockDelta, out: &mut Vec<ModelEvent>) {
        let Some(at) = self.position(event.index) else {
            return;
        };
        let OpenBlock { item_id, block, .. } = &mut self.open[at];
        block.grow(event.delta, item_id, out);
    }

    fn position(&self, index: u64) -> Option<usize> {
        self.open.iter().position(|open| open.index == index)
    }

    fn close(&mut self, open: OpenBlock, out: &mut Vec<ModelEvent>) {
        let OpenBlock { item_id, block, .. } = open;
        let is_call = matches!(block, GrowingBlock::Call { .. });
        let Some(item) = block.item(&self.tools) else {
            return;
        };
        let done = ModelEvent::ItemDone { item_id, item };
        if is_call {
            out.extend(self.call_done.replace(done));
        } else {
            out.push(done);
        }
    }

    /// Ends the answer for the reason that the server gives. What was said stays, also when
    /// the end is a bad one.
    fn end(&mut self, reason: &str, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        for open in std::mem::take(&mut self.open) {
            self.close(open, out);
        }
        match reason {
            "end_turn" | "tool_use" | "stop_sequence" => {
                out.extend(self.call_done.take());
                self.state = MessagesState::Finished;
                Ok(())
            }
            // The provider runs tools of its own, and has worked on them long enough.
            "pause_turn" => {
                out.extend(self.call_done.take());
                out.push(ModelEvent::Paused);
                self.state = MessagesState::Finished;
                Ok(())
            }
            cut => Err(fault::incomplete(cut)),
        }
    }
}

fn parse<'a, T: Deserialize<'a>>(what: &str, data: &'a str) -> Result<T, ModelError> {
    serde_json::from_str(data).map_err(|error| fault::malformed(what, &error))
}

#[cfg(test)]
mod tests;
