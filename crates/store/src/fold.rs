//! What a list shows of a session, folded from its lines. The row is the whole state of the
//! fold: going on from a stored row gives the same as reading the log from its start.
//!
//! Lines are told apart by their heads; payloads are parsed only where the row needs them.
//! Branches do not matter here: a name or a bookmark counts wherever it was written.

mod approvals;
mod questions;
mod tree;

pub(crate) use approvals::{ApprovalChange, LoggedApproval};
pub(crate) use tree::AgentLineDigest;

use std::io;

use serde::Deserialize;
use troupe_protocol::event::EventMsg;
use troupe_protocol::input::UserInput;
use troupe_protocol::item::TurnItem;
use troupe_protocol::rollout::{EventRecord, SessionMeta};
use troupe_protocol::{JsonCodec, ResponseId, SessionId};

use crate::agent_lines;
use crate::clock::UnixMillis;
use crate::forwards::ForwardReader;
use crate::limits::{PREVIEW_BYTES_MAX, WARNINGS_MAX};
use crate::line::{self, LineHead, UnreadableLine};
use crate::list::SourceKind;
use crate::source::ByteSource;
use crate::store::LogPosition;

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SummaryRow {
    pub(crate) id: SessionId,
    /// Set by a readable first line. Only such sessions are listed.
    pub(crate) described: Option<SessionDescription>,
    pub(crate) updated: UnixMillis,
    pub(crate) model: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) note: Option<String>,
    pub(crate) preview: Option<String>,
    pub(crate) tokens: u64,
    /// Everything before is in the row.
    pub(crate) offset: u64,
    pub(crate) lines: u64,
}

/// What the meta line says; the directory may change with the turns.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SessionDescription {
    pub(crate) created: UnixMillis,
    pub(crate) cwd: String,
    /// As JSON.
    pub(crate) source: String,
    pub(crate) source_kind: &'static str,
    pub(crate) model_provider: String,
    pub(crate) forked_from: Option<SessionId>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct BookmarkRow {
    pub(crate) response_id: ResponseId,
    pub(crate) position: LogPosition,
    pub(crate) written: UnixMillis,
}

#[derive(Debug)]
pub(crate) struct SessionFold {
    pub(crate) row: SummaryRow,
    /// What this fold met, in the order of the log.
    pub(crate) bookmarks: Vec<BookmarkRow>,
    pub(crate) said: Vec<AgentLineDigest>,
    pub(crate) approvals: Vec<ApprovalChange>,
    pub(crate) warnings: Vec<String>,
}

impl SessionFold {
    pub(crate) fn begin(id: SessionId) -> Self {
        Self::resume(SummaryRow {
            id,
            described: None,
            updated: UnixMillis(0),
            model: None,
            name: None,
            note: None,
            preview: None,
            tokens: 0,
            offset: 0,
            lines: 0,
        })
    }

    pub(crate) fn resume(row: SummaryRow) -> Self {
        Self {
            row,
            bookmarks: Vec::new(),
            said: Vec::new(),
            approvals: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// Applies the whole lines between the row's offset and `end`.
    pub(crate) fn apply<S: ByteSource + ?Sized>(
        &mut self,
        source: &S,
        end: LogPosition,
    ) -> io::Result<()> {
        let mut lines = ForwardReader::up_to(source, LogPosition(self.row.offset), end);
        while let Some(line) = lines.next_line()? {
            self.row.offset = line.end;
            self.row.lines += 1;
            let applied = line
                .bytes
                .ok_or_else(UnreadableLine::too_long)
                .and_then(|bytes| self.apply_line(bytes, line.start, line.end));
            if let Err(why) = applied {
                self.warn(&why);
            }
        }
        Ok(())
    }

    fn apply_line(&mut self, bytes: &[u8], start: u64, end: u64) -> Result<(), UnreadableLine> {
        let head = LineHead::of(bytes)?;
        let written = head.timestamp()?;
        self.row.updated = written;
        match &*head.kind {
            "session_meta" if self.row.lines == 1 => {
                self.row.described = Some(SessionDescription::of(&read(head.payload)?)?);
            }
            "turn_context" => {
                let context: LooseContext = parse(head.payload)?;
                if let Some(described) = &mut self.row.described {
                    described.cwd = context.cwd;
                }
                self.row.model = Some(context.model);
            }
            "event_msg" => {
                let kind = line::event_kind(head.payload)?;
                self.apply_event(&kind, head.payload, LogPosition(end), written)?;
                let start = LogPosition(start);
                let change = approvals::change(&kind, head.payload, start, written)?;
                self.approvals.extend(change);
                let change = questions::change(&kind, head.payload, start, written)?;
                self.approvals.extend(change);
            }
            agent_lines::KIND => {
                let line = read(head.payload)?;
                self.said
                    .push(AgentLineDigest::of(line, LogPosition(start)));
            }
            _ => {}
        }
        Ok(())
    }

    fn apply_event(
        &mut self,
        kind: &str,
        payload: &[u8],
        end: LogPosition,
        written: UnixMillis,
    ) -> Result<(), UnreadableLine> {
        let is_wanted = match kind {
            "response_completed"
            | "token_count"
            | "thread_name_updated"
            | "thread_note_updated" => true,
            "item_completed" | "user_message" => self.row.preview.is_none(),
            _ => false,
        };
        if !is_wanted {
            return Ok(());
        }
        match read::<EventRecord>(payload)?.msg {
            EventMsg::ResponseCompleted { response_id, .. } => self.bookmarks.push(BookmarkRow {
                response_id,
                position: end,
                written,
            }),
            EventMsg::TokenCount {
                info: Some(info), ..
            } => self.row.tokens = info.total_token_usage.total_tokens,
            EventMsg::ThreadNameUpdated { thread_name } => self.row.name = thread_name,
            EventMsg::ThreadNoteUpdated { thread_note } => self.row.note = thread_note,
            // A list shows what somebody said, and not what the engine tells of a child.
            EventMsg::ItemCompleted {
                item: TurnItem::UserMessage(message),
                ..
            } if message.metadata.is_none() => {
                self.row.preview = message.content.iter().find_map(preview);
            }
            EventMsg::UserMessage { message, .. } => self.row.preview = beginning(&message),
            // Other items, and a token count that has no count.
            _ => {}
        }
        Ok(())
    }

    fn warn(&mut self, why: &UnreadableLine) {
        if self.warnings.len() < WARNINGS_MAX {
            let number = self.row.lines;
            self.warnings.push(format!("line {number}: {why}"));
        }
    }
}

impl SessionDescription {
    fn of(meta: &SessionMeta) -> Result<Self, UnreadableLine> {
        Ok(Self {
            created: meta.timestamp.parse().map_err(UnreadableLine::new)?,
            cwd: meta.cwd.to_string_lossy().into_owned(),
            source: serde_json::to_string(&meta.source).map_err(UnreadableLine::json)?,
            source_kind: SourceKind::from(&meta.source).as_str(),
            model_provider: meta.model_provider.clone(),
            forked_from: meta.forked_from_id,
        })
    }
}

/// What a row needs of a `turn_context`.
#[derive(Deserialize)]
struct LooseContext {
    cwd: String,
    model: String,
}

fn read<T: JsonCodec>(payload: &[u8]) -> Result<T, UnreadableLine> {
    T::from_json(payload).map_err(UnreadableLine::json)
}

fn parse<'de, T: Deserialize<'de>>(payload: &'de [u8]) -> Result<T, UnreadableLine> {
    serde_json::from_slice(payload).map_err(UnreadableLine::json)
}

fn preview(input: &UserInput) -> Option<String> {
    match input {
        UserInput::Text { text, .. } => beginning(text),
        _ => None,
    }
}

fn beginning(text: &str) -> Option<String> {
    let text = text.trim();
    let end = text.floor_char_boundary(PREVIEW_BYTES_MAX);
    (!text.is_empty()).then(|| text[..end].to_owned())
}
