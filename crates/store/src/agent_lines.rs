//! Finds what a log says of its agent tree: its `agent` lines, forwards.
//!
//! Going back in a conversation does not undo what its agents did, so branches do not
//! matter here. Other lines are told by their heads and not looked into.

use std::io;

use troupe_protocol::Json;
use troupe_protocol::rollout::SessionMeta;
use troupe_protocol::tree::AgentLine;

use crate::forwards::Forwards;
use crate::limits::WARNINGS_MAX;
use crate::line::{Head, Unreadable};
use crate::live::{left_out, torn_warning};
use crate::source::Source;
use crate::store::{AgentLines, Position};

/// The `type` of these lines.
pub(crate) const KIND: &str = "agent";

#[derive(Debug, Default)]
pub(crate) struct Found {
    lines: Vec<(Position, AgentLine)>,
    warnings: Vec<String>,
    /// Lines that were left out without a warning of their own.
    more: usize,
}

impl Found {
    pub(crate) fn into_lines(self, meta: SessionMeta, archived: bool) -> AgentLines {
        AgentLines {
            meta,
            lines: self.lines,
            archived,
            warnings: self.warnings,
        }
    }

    fn leave_out(&mut self, number: usize, start: u64, why: &Unreadable) {
        if self.warnings.len() < WARNINGS_MAX {
            self.warnings.push(left_out(number, start, why));
        } else {
            self.more += 1;
        }
    }
}

pub(crate) fn read<S: Source + ?Sized>(source: &S) -> io::Result<Found> {
    let size = source.bytes()?;
    let mut forwards = Forwards::up_to(source, Position(0), Position(size));
    let mut found = Found::default();
    let mut number = 0;
    while let Some(line) = forwards.next_line()? {
        number += 1;
        let bytes = line.bytes.ok_or_else(Unreadable::too_long);
        match bytes.and_then(decode) {
            Ok(None) => {}
            Ok(Some(agent)) => found.lines.push((Position(line.end), agent)),
            Err(why) => found.leave_out(number, line.start, &why),
        }
    }
    if found.more > 0 {
        let more = found.more;
        found
            .warnings
            .push(format!("{more} later lines are left out too"));
    }
    let end = forwards.position();
    if end.0 < size {
        found.warnings.push(torn_warning(end, size - end.0));
    }
    Ok(found)
}

/// `None` for a line of another kind. One that does not tell its kind might be ours.
fn decode(line: &[u8]) -> Result<Option<AgentLine>, Unreadable> {
    let head = Head::of(line)?;
    if head.kind != KIND {
        return Ok(None);
    }
    let line = AgentLine::from_json(head.payload).map_err(Unreadable::json)?;
    Ok(Some(line))
}
