//! Items grouped into messages. Roles alternate, so neighbours that speak as the same side are
//! one message.

use std::sync::Arc;

use bytes::Bytes;
use troupe_protocol::ResponseItem;
use troupe_protocol::history::Role;

use super::CACHE_MARK;
use crate::request::HistoryItem;
use crate::wire::WireEncoding;
use crate::wire::pieces::{ArrayElements, BodyBuilder};

#[derive(Debug)]
pub(super) struct MessageGroup<'a> {
    side: MessageSide,
    /// Answers of tools, which come first.
    results: Vec<&'a Bytes>,
    blocks: Vec<&'a Bytes>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MessageSide {
    User,
    Assistant,
}

/// A conversation must begin with the user; one of which only a part is told may not.
static OPENING: Bytes =
    Bytes::from_static(b",{\"type\":\"text\",\"text\":\"(What was said before is left out.)\"}");

pub(super) fn group(items: &[Arc<HistoryItem>]) -> Vec<MessageGroup<'_>> {
    let mut turns: Vec<MessageGroup<'_>> = Vec::new();
    for item in items {
        let encoded = item.encoded(WireEncoding::Messages);
        if encoded.is_empty() {
            continue;
        }
        let side = side(item.item());
        if turns.is_empty() && side == MessageSide::Assistant {
            turns.push(MessageGroup {
                blocks: vec![&OPENING],
                ..MessageGroup::new(MessageSide::User)
            });
        }
        if turns.last().is_none_or(|turn| turn.side != side) {
            turns.push(MessageGroup::new(side));
        }
        let turn = turns.last_mut().expect("a turn of this side was just made");
        if item.item().answered_call().is_some() {
            turn.results.push(encoded);
        } else {
            turn.blocks.push(encoded);
        }
    }
    turns
}

impl MessageGroup<'_> {
    fn new(side: MessageSide) -> Self {
        Self {
            side,
            results: Vec::new(),
            blocks: Vec::new(),
        }
    }
}

fn side(item: &ResponseItem) -> MessageSide {
    match item {
        ResponseItem::Message {
            role: Role::Assistant,
            ..
        }
        | ResponseItem::Reasoning { .. }
        | ResponseItem::FunctionCall { .. }
        | ResponseItem::CustomToolCall { .. } => MessageSide::Assistant,
        _ => MessageSide::User,
    }
}

/// Writes the messages, with cache marks at the end of the two newest of the user.
pub(super) fn write(turns: &[MessageGroup<'_>], builder: &mut BodyBuilder) {
    let mut marks_left = 2;
    let mut marked = vec![false; turns.len()];
    for (index, turn) in turns.iter().enumerate().rev() {
        if turn.side == MessageSide::User && marks_left > 0 {
            marked[index] = true;
            marks_left -= 1;
        }
    }
    for (index, (turn, is_marked)) in turns.iter().zip(marked).enumerate() {
        builder.glue(if index == 0 { "" } else { "," });
        builder.glue(match turn.side {
            MessageSide::User => "{\"role\":\"user\",\"content\":[",
            MessageSide::Assistant => "{\"role\":\"assistant\",\"content\":[",
        });
        write_blocks(turn, is_marked, builder);
        builder.glue("]}");
    }
}

fn write_blocks(turn: &MessageGroup<'_>, is_marked: bool, builder: &mut BodyBuilder) {
    let mut elements = ArrayElements::default();
    let mut left = turn.results.len() + turn.blocks.len();
    for block in turn.results.iter().chain(&turn.blocks) {
        left -= 1;
        if left == 0 && is_marked {
            // The mark goes inside the last block, in front of its closing brace.
            elements.push(builder, &block.slice(..block.len() - 1));
            builder.glue(CACHE_MARK);
        } else {
            elements.push(builder, block);
        }
    }
}
