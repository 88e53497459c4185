//! Finds what is live in a log: back from the end to the newest compaction of the branch
//! that ends there.
//!
//! A `rewind` line says that the lines between its `to` and itself are on another branch, so
//! the walk jumps to `to` and never looks at their payloads. `to` is always before the
//! rewind, hence the walk ends whatever a file contains.

use std::io;

use troupe_protocol::SessionId;
use troupe_protocol::rollout::{RolloutRecord, SessionMeta};
use troupe_protocol::session::SessionSource;

use crate::backwards::{Backwards, LineBefore, line_start_before};
use crate::forwards;
use crate::limits::WARNINGS_MAX;
use crate::line::{self, Stamped, Unreadable};
use crate::source::Source;
use crate::store::{LiveHistory, Position};

#[derive(Debug)]
pub(crate) struct Live {
    pub(crate) records: Vec<(Position, Stamped<RolloutRecord>)>,
    pub(crate) start: Position,
    pub(crate) warnings: Vec<String>,
}

impl Live {
    /// Makes up the first line of a log that lost it, from the oldest settings that it still
    /// knows. A file without any is not taken for a log.
    pub(crate) fn stand_in_meta(&self, id: SessionId) -> Option<SessionMeta> {
        let mut records = self.records.iter();
        let (at, context) = records.find_map(|(_, line)| match &line.record {
            RolloutRecord::TurnContext(context) => Some((&line.timestamp, context)),
            RolloutRecord::Compacted(compacted) => {
                Some((&line.timestamp, &compacted.carried.turn_context))
            }
            RolloutRecord::Rewind(rewind) => Some((&line.timestamp, &rewind.carried.turn_context)),
            _ => None,
        })?;
        Some(SessionMeta {
            id,
            timestamp: at.to_string(),
            cwd: context.cwd.clone(),
            originator: String::new(),
            cli_version: String::new(),
            source: SessionSource::default(),
            model_provider: String::new(),
            forked_from_id: None,
            base_instructions: None,
            developer_instructions: None,
            personality: context.personality,
            git: None,
            imported_from: None,
            dynamic_tools: Vec::new(),
        })
    }

    pub(crate) fn into_history(self, meta: SessionMeta, archived: bool) -> LiveHistory {
        LiveHistory {
            meta,
            records: self.records,
            start: self.start,
            warnings: self.warnings,
            archived,
        }
    }
}

/// Reads the live part of a log that ends, for this purpose, at `end`.
pub(crate) fn read<S: Source + ?Sized>(source: &S, end: Position) -> io::Result<Live> {
    let mut walk = Walk {
        source,
        lines: Backwards::new(source, end.0),
        records: Vec::new(),
        start: end,
        skipped: Skipped::default(),
    };
    walk.run()?;
    walk.records.reverse();
    Ok(Live {
        records: walk.records,
        start: walk.start,
        warnings: walk.skipped.into_warnings(source)?,
    })
}

struct Walk<'a, S: ?Sized> {
    source: &'a S,
    lines: Backwards<'a, S>,
    /// Newest first.
    records: Vec<(Position, Stamped<RolloutRecord>)>,
    start: Position,
    skipped: Skipped,
}

impl<S: Source + ?Sized> Walk<'_, S> {
    fn run(&mut self) -> io::Result<()> {
        while let Some(line) = self.lines.line_before()? {
            let (start, end) = (line.start, line.end);
            if start == 0 {
                break;
            }
            let stamped = match read_line(&line) {
                Ok(stamped) => stamped,
                Err(why) => {
                    self.skipped.push(start, why);
                    continue;
                }
            };
            let to = match &stamped.record {
                RolloutRecord::Rewind(rewind) => Some(rewind.to),
                _ => None,
            };
            if let Some(to) = to {
                if to == 0 || to > start || !self.source.is_line_boundary(to)? {
                    let why = format_args!("it rewinds to byte {to}, which is no line's end");
                    self.skipped.push(start, Unreadable::new(why));
                    continue;
                }
                self.lines.jump(to);
            }
            let is_base = matches!(stamped.record, RolloutRecord::Compacted(_));
            self.records.push((Position(end), stamped));
            self.start = Position(to.unwrap_or(start));
            if is_base {
                break;
            }
        }
        Ok(())
    }
}

fn read_line(line: &LineBefore<'_>) -> Result<Stamped<RolloutRecord>, Unreadable> {
    line::decode(line.bytes.ok_or_else(Unreadable::too_long)?)
}

/// Reads the first line. The outer error is the disk's, the inner one the line's.
pub(crate) fn read_meta<S: Source + ?Sized>(
    source: &S,
) -> io::Result<Result<SessionMeta, Unreadable>> {
    let mut lines = forwards::Forwards::new(source, Position(0))?;
    let Some(first) = lines.next_line()? else {
        return Ok(Err(Unreadable::new("there is no whole line")));
    };
    let Some(bytes) = first.bytes else {
        return Ok(Err(Unreadable::too_long()));
    };
    Ok(
        line::decode(bytes).and_then(|stamped| match stamped.record {
            RolloutRecord::SessionMeta(meta) => Ok(*meta),
            other => Err(Unreadable::new(format_args!(
                "it is a {} line",
                other.kind()
            ))),
        }),
    )
}

/// Returns where the last whole line ends.
pub(crate) fn whole_end<S: Source + ?Sized>(source: &S) -> io::Result<Position> {
    line_start_before(source, source.bytes()?).map(Position)
}

pub(crate) fn left_out(number: usize, start: u64, why: &Unreadable) -> String {
    format!("line {number} (byte {start}) is left out, it cannot be read: {why}")
}

pub(crate) fn torn_warning(end: Position, torn: u64) -> String {
    format!("the last line (byte {end}, {torn} bytes) was never finished and is left out")
}

/// Lines that were left out, newest first.
#[derive(Debug, Default)]
struct Skipped {
    lines: Vec<(u64, Unreadable)>,
    more: usize,
}

impl Skipped {
    fn push(&mut self, start: u64, why: Unreadable) {
        if self.lines.len() < WARNINGS_MAX {
            self.lines.push((start, why));
        } else {
            self.more += 1;
        }
    }

    /// Line numbers cost a pass over the file, which only a damaged one has to pay.
    fn into_warnings<S: Source + ?Sized>(mut self, source: &S) -> io::Result<Vec<String>> {
        self.lines.reverse();
        let starts: Vec<u64> = self.lines.iter().map(|(start, _)| *start).collect();
        let numbers = forwards::line_numbers(source, &starts)?;
        let mut warnings: Vec<String> = self
            .lines
            .iter()
            .zip(numbers)
            .map(|((start, why), number)| left_out(number, *start, why))
            .collect();
        if self.more > 0 {
            warnings.push(format!("{} older lines are left out too", self.more));
        }
        Ok(warnings)
    }
}
