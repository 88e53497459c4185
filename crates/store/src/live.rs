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

use crate::backwards::{BackwardReader, PrecedingLine, line_start_before};
use crate::forwards;
use crate::limits::WARNINGS_MAX;
use crate::line::{self, StampedRecord, UnreadableLine};
use crate::source::ByteSource;
use crate::store::{LiveHistory, LogPosition};

#[derive(Debug)]
pub(crate) struct LiveLines {
    pub(crate) records: Vec<(LogPosition, StampedRecord<RolloutRecord>)>,
    pub(crate) start: LogPosition,
    pub(crate) warnings: Vec<String>,
}

impl LiveLines {
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
pub(crate) fn read<S: ByteSource + ?Sized>(source: &S, end: LogPosition) -> io::Result<LiveLines> {
    let mut walk = LiveWalk {
        source,
        lines: BackwardReader::new(source, end.0),
        records: Vec::new(),
        start: end,
        skipped: SkippedLines::default(),
    };
    walk.run()?;
    walk.records.reverse();
    Ok(LiveLines {
        records: walk.records,
        start: walk.start,
        warnings: walk.skipped.into_warnings(source)?,
    })
}

struct LiveWalk<'a, S: ?Sized> {
    source: &'a S,
    lines: BackwardReader<'a, S>,
    /// Newest first.
    records: Vec<(LogPosition, StampedRecord<RolloutRecord>)>,
    start: LogPosition,
    skipped: SkippedLines,
}

impl<S: ByteSource + ?Sized> LiveWalk<'_, S> {
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
                    self.skipped.push(start, UnreadableLine::new(why));
                    continue;
                }
                self.lines.jump(to);
            }
            let is_base = matches!(stamped.record, RolloutRecord::Compacted(_));
            self.records.push((LogPosition(end), stamped));
            self.start = LogPosition(to.unwrap_or(start));
            if is_base {
                break;
            }
        }
        Ok(())
    }
}

fn read_line(line: &PrecedingLine<'_>) -> Result<StampedRecord<RolloutRecord>, UnreadableLine> {
    line::decode(line.bytes.ok_or_else(UnreadableLine::too_long)?)
}

/// Reads the first line. The outer error is the disk's, the inner one the line's.
pub(crate) fn read_meta<S: ByteSource + ?Sized>(
    source: &S,
) -> io::Result<Result<SessionMeta, UnreadableLine>> {
    let mut lines = forwards::ForwardReader::new(source, LogPosition(0))?;
    let Some(first) = lines.next_line()? else {
        return Ok(Err(UnreadableLine::new("there is no whole line")));
    };
    let Some(bytes) = first.bytes else {
        return Ok(Err(UnreadableLine::too_long()));
    };
    Ok(
        line::decode(bytes).and_then(|stamped| match stamped.record {
            RolloutRecord::SessionMeta(meta) => Ok(*meta),
            other => Err(UnreadableLine::new(format_args!(
                "it is a {} line",
                other.kind()
            ))),
        }),
    )
}

/// Returns where the last whole line ends.
pub(crate) fn whole_end<S: ByteSource + ?Sized>(source: &S) -> io::Result<LogPosition> {
    line_start_before(source, source.bytes()?).map(LogPosition)
}

pub(crate) fn left_out(number: usize, start: u64, why: &UnreadableLine) -> String {
    format!("line {number} (byte {start}) is left out, it cannot be read: {why}")
}

pub(crate) fn torn_warning(end: LogPosition, torn: u64) -> String {
    format!("the last line (byte {end}, {torn} bytes) was never finished and is left out")
}

/// Lines that were left out, newest first.
#[derive(Debug, Default)]
struct SkippedLines {
    lines: Vec<(u64, UnreadableLine)>,
    more: usize,
}

impl SkippedLines {
    fn push(&mut self, start: u64, why: UnreadableLine) {
        if self.lines.len() < WARNINGS_MAX {
            self.lines.push((start, why));
        } else {
            self.more += 1;
        }
    }

    /// Line numbers cost a pass over the file, which only a damaged one has to pay.
    fn into_warnings<S: ByteSource + ?Sized>(mut self, source: &S) -> io::Result<Vec<String>> {
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
