//! Finds what a log says of its agent tree: its `agent` lines, forwards.
//!
//! Going back in a conversation does not undo what its agents did, so branches do not
//! matter here. Other lines are told by their heads and not looked into.

use std::io;

use troupe_protocol::JsonCodec;
use troupe_protocol::rollout::SessionMeta;
use troupe_protocol::tree::AgentLine;

use crate::forwards::ForwardReader;
use crate::limits::WARNINGS_MAX;
use crate::line::{LineHead, UnreadableLine};
use crate::live::{left_out, torn_warning};
use crate::source::ByteSource;
use crate::store::{AgentLines, LogPosition};

/// The `type` of these lines.
pub(crate) const KIND: &str = "agent";

#[derive(Debug, Default)]
pub(crate) struct FoundAgentLines {
    lines: Vec<(LogPosition, AgentLine)>,
    warnings: Vec<String>,
    /// Lines that were left out without a warning of their own.
    more: usize,
}

impl FoundAgentLines {
    pub(crate) fn into_lines(self, meta: SessionMeta, archived: bool) -> AgentLines {
        AgentLines {
            meta,
            lines: self.lines,
            archived,
            warnings: self.warnings,
        }
    }

    fn leave_out(&mut self, number: usize, start: u64, why: &UnreadableLine) {
        if self.warnings.len() < WARNINGS_MAX {
            self.warnings.push(left_out(number, start, why));
        } else {
            self.more += 1;
        }
    }
}

pub(crate) fn read<S: ByteSource + ?Sized>(source: &S) -> io::Result<FoundAgentLines> {
    let size = source.bytes()?;
    let mut forwards = ForwardReader::up_to(source, LogPosition(0), LogPosition(size));
    let mut found = FoundAgentLines::default();
    let mut number = 0;
    while let Some(line) = forwards.next_line()? {
        number += 1;
        let bytes = line.bytes.ok_or_else(UnreadableLine::too_long);
        match bytes.and_then(decode) {
            Ok(None) => {}
            Ok(Some(agent)) => found.lines.push((LogPosition(line.end), agent)),
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
fn decode(line: &[u8]) -> Result<Option<AgentLine>, UnreadableLine> {
    let head = LineHead::of(line)?;
    if head.kind != KIND {
        return Ok(None);
    }
    let line = AgentLine::from_json(head.payload).map_err(UnreadableLine::json)?;
    Ok(Some(line))
}
