//! A record as bytes: `{"timestamp":"…","type":"…","payload":…}` and a line feed.
//!
//! The order of the keys is our promise: whoever looks for one kind of record compares the
//! first bytes of a line and leaves the payload alone. Lines by other hands may have any
//! order; they are read too, more slowly.

use std::borrow::Cow;
use std::fmt::Write as _;

use memchr::{memchr, memchr2};
use serde::Deserialize;
use serde_json::value::RawValue;
use troupe_protocol::JsonCodec;
use troupe_protocol::rollout::RolloutRecord;

use crate::clock::UnixMillis;
use crate::error::StoreError;
use crate::limits::LINE_BYTES_MAX;

/// A record and when it was written.
#[derive(Debug, Clone, PartialEq)]
pub struct StampedRecord<T> {
    pub timestamp: UnixMillis,
    pub record: T,
}

/// Why a line is not a record.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct UnreadableLine {
    pub reason: String,
}

impl UnreadableLine {
    pub(crate) fn new(reason: impl ToString) -> Self {
        Self {
            reason: reason.to_string(),
        }
    }

    /// A log line is one line of JSON, so where in it the parser stopped is a column.
    pub(crate) fn json(error: serde_json::Error) -> Self {
        Self::new(
            error
                .to_string()
                .replace(" at line 1 column ", " at column "),
        )
    }

    pub(crate) fn too_long() -> Self {
        Self::new(format_args!("longer than {LINE_BYTES_MAX} bytes"))
    }
}

/// Appends one line per record to `buffer`.
pub(crate) fn encode(
    records: &[RolloutRecord],
    now: UnixMillis,
    buffer: &mut Vec<u8>,
) -> Result<(), StoreError> {
    if records.is_empty() {
        return Ok(());
    }
    let mut opening = String::with_capacity(OPENING.len() + 26);
    write!(opening, "{OPENING}{now}\"").expect("a String takes any text");

    for record in records {
        let start = buffer.len();
        buffer.extend_from_slice(opening.as_bytes());
        let brace = buffer.len();
        record
            .write_json(buffer)
            .map_err(|source| StoreError::Encode {
                kind: record.kind(),
                source,
            })?;
        // The record is `{"type":…,"payload":…}`; its brace becomes the comma that joins it
        // to the timestamp, which saves serializing into a second buffer.
        buffer[brace] = b',';
        buffer.push(b'\n');
        let bytes = buffer.len() - start;
        if bytes > LINE_BYTES_MAX {
            let max = LINE_BYTES_MAX;
            return Err(StoreError::LineTooLong { bytes, max });
        }
    }
    Ok(())
}

/// Reads a line, without its line feed.
pub(crate) fn decode(line: &[u8]) -> Result<StampedRecord<RolloutRecord>, UnreadableLine> {
    Ok(StampedRecord {
        record: RolloutRecord::from_json(line).map_err(UnreadableLine::json)?,
        timestamp: LineHead::of(line)?.timestamp()?,
    })
}

/// What a line says about itself before its payload is looked at.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct LineHead<'a> {
    timestamp: Cow<'a, str>,
    pub(crate) kind: Cow<'a, str>,
    /// Not checked to be JSON when the keys are in our order.
    pub(crate) payload: &'a [u8],
}

impl<'a> LineHead<'a> {
    pub(crate) fn of(line: &'a [u8]) -> Result<Self, UnreadableLine> {
        Self::in_our_order(line).map_or_else(|| Self::in_any_order(line), Ok)
    }

    pub(crate) fn timestamp(&self) -> Result<UnixMillis, UnreadableLine> {
        self.timestamp.parse().map_err(UnreadableLine::new)
    }

    fn in_our_order(line: &'a [u8]) -> Option<Self> {
        let (timestamp, rest) = plain_string(line.strip_prefix(OPENING.as_bytes())?)?;
        let (kind, rest) = plain_string(rest.strip_prefix(br#","type":""#)?)?;
        let payload = rest.strip_prefix(br#","payload":"#)?.strip_suffix(b"}")?;
        Some(Self {
            timestamp: timestamp.into(),
            kind: kind.into(),
            payload,
        })
    }

    fn in_any_order(line: &'a [u8]) -> Result<Self, UnreadableLine> {
        #[derive(Deserialize)]
        struct LooseLine<'a> {
            #[serde(borrow)]
            timestamp: Cow<'a, str>,
            #[serde(borrow, rename = "type")]
            kind: Cow<'a, str>,
            #[serde(borrow)]
            payload: &'a RawValue,
        }
        let loose: LooseLine<'a> = serde_json::from_slice(line).map_err(UnreadableLine::json)?;
        Ok(Self {
            timestamp: loose.timestamp,
            kind: loose.kind,
            payload: loose.payload.get().as_bytes(),
        })
    }
}

/// Returns the `type` of the event in the payload of an `event_msg` line.
pub(crate) fn event_kind(payload: &[u8]) -> Result<Cow<'_, str>, UnreadableLine> {
    #[derive(Deserialize)]
    struct LooseEvent<'a> {
        #[serde(borrow)]
        msg: LooseMsg<'a>,
    }
    #[derive(Deserialize)]
    struct LooseMsg<'a> {
        #[serde(borrow, rename = "type")]
        kind: Cow<'a, str>,
    }
    if let Some(kind) = event_kind_in_our_order(payload) {
        return Ok(kind.into());
    }
    let loose: LooseEvent<'_> = serde_json::from_slice(payload).map_err(UnreadableLine::json)?;
    Ok(loose.msg.kind)
}

fn event_kind_in_our_order(payload: &[u8]) -> Option<&str> {
    let (_, rest) = plain_string(payload.strip_prefix(br#"{"id":""#)?)?;
    let rest = rest.strip_prefix(br#","seq":"#)?;
    let rest = &rest[memchr(b',', rest)?..];
    let (kind, _) = plain_string(rest.strip_prefix(br#","msg":{"type":""#)?)?;
    Some(kind)
}

/// Splits `text"rest`; `None` if the text has escapes and so needs a real parser.
fn plain_string(bytes: &[u8]) -> Option<(&str, &[u8])> {
    let end = memchr2(b'"', b'\\', bytes)?;
    if bytes[end] == b'\\' {
        return None;
    }
    let text = std::str::from_utf8(&bytes[..end]).ok()?;
    Some((text, &bytes[end + 1..]))
}

const OPENING: &str = r#"{"timestamp":""#;

#[cfg(test)]
mod tests;
