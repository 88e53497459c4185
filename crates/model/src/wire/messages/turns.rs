//! Items grouped into messages. Roles alternate, so neighbours that speak as the same side are
//! one message.

use std::sync::Arc;

use bytes::Bytes;
use troupe_protocol::ResponseItem;
use troupe_protocol::history::Role;

use super::CACHE_MARK;
use crate::request::HistoryItem;
use crate::wire::Encoding;
use crate::wire::pieces::{Builder, Elements};

#[derive(Debug)]
pub(super) struct Turn<'a> {
    side: Side,
    /// Answers of tools, which come first.
    results: Vec<&'a Bytes>,
    blocks: Vec<&'a Bytes>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    User,
    Assistant,
}

/// A conversation must begin with the user; one of which only a part is told may not.
static OPENING: Bytes =
    Bytes::from_static(b",{\"type\":\"text\",\"text\":\"(What was said before is left out.)\"}");

pub(super) fn group(items: &[Arc<HistoryItem>]) -> Vec<Turn<'_>> {
    let mut turns: Vec<Turn<'_>> = Vec::new();
    for item in items {
        let encoded = item.encoded(Encoding::Messages);
        if encoded.is_empty() {
            continue;
        }
        let side = side(item.item());
        if turns.is_empty() && side == Side::Assistant {
            turns.push(Turn {
                blocks: vec![&OPENING],
                ..Turn::new(Side::User)
            });
        }
        if turns.last().is_none_or(|turn| turn.side != side) {
            turns.push(Turn::new(side));
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

impl Turn<'_> {
    fn new(side: Side) -> Self {
        Self {
            side,
            results: Vec::new(),
            blocks: Vec::new(),
        }
    }
}

fn side(item: &ResponseItem) -> Side {
    match item {
        ResponseItem::Message {
            role: Role::Assistant,
            ..
        }
        | ResponseItem::Reasoning { .. }
        | ResponseItem::FunctionCall { .. }
        | ResponseItem::CustomToolCall { .. } => Side::Assistant,
        _ => Side::User,
    }
}

/// Writes the messages, with cache marks at the end of the two newest of the user.
pub(super) fn write(turns: &[Turn<'_>], builder: &mut Builder) {
    let mut marks_left = 2;
    let mut marked = vec![false; turns.len()];
    for (index, turn) in turns.iter().enumerate().rev() {
        if turn.side == Side::User && marks_left > 0 {
            marked[index] = true;
            marks_left -= 1;
        }
    }
    for (index, (turn, is_marked)) in turns.iter().zip(marked).enumerate() {
        builder.glue(if index == 0 { "" } else { "," });
        builder.glue(match turn.side {
            Side::User => "{\"role\":\"user\",\"content\":[",
            Side::Assistant => "{\"role\":\"assistant\",\"content\":[",
        });
        write_blocks(turn, is_marked, builder);
        builder.glue("]}");
    }
}

fn write_blocks(turn: &Turn<'_>, is_marked: bool, builder: &mut Builder) {
    let mut elements = Elements::default();
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
