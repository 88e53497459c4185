//! Search for text across all conversations.
//!
//! The logs themselves are read, newest session first, until a page is full. Only lines that
//! are messages are parsed; the others, which are nearly all the bytes, are told by their
//! heads, at the speed of the disk. An index of all words would answer sooner the second time,
//! and would cost every home that is never searched.
//!
//! Branches do not matter: what was said and taken back was said.

use std::path::PathBuf;

use memchr::{memchr2, memmem};
use troupe_protocol::SessionId;
use troupe_protocol::event::EventMsg;
use troupe_protocol::input::UserInput;
use troupe_protocol::item::TurnItem;
use troupe_protocol::rollout::RolloutRecord;

use crate::clock::UnixMillis;
use crate::error::StoreError;
use crate::limits::{LIST_ROWS_DEFAULT, LIST_ROWS_MAX, SNIPPET_CHARS_AFTER, SNIPPET_CHARS_BEFORE};
use crate::list::{ArchivedFilter, ListQuery, SessionSummary, SourceKind};
use crate::log_reader::LogReader;
use crate::store::{LogLine, LogPosition, SessionStore};

/// What is looked for, and where. The default looks for nothing, everywhere.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SearchQuery {
    /// Found whatever the case of ASCII letters.
    pub text: String,
    /// Only sessions that worked in exactly this directory last.
    pub cwd: Option<PathBuf>,
    /// Only what was said at this time or later.
    pub since: Option<UnixMillis>,
    pub archived: ArchivedFilter,
    /// [`SearchPage::next`] of the page before.
    pub cursor: Option<String>,
    /// Hits on one page; bounded like the rows of a list.
    pub limit: Option<usize>,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct SearchPage {
    /// By session, the one that changed last first; of one session, the oldest first.
    pub hits: Vec<SearchHit>,
    /// Asks for the next page; `None` on the last one.
    pub next: Option<String>,
    pub warnings: Vec<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct SearchHit {
    pub session: SessionSummary,
    pub at: UnixMillis,
    pub speaker: HitSpeaker,
    /// The place and what is around it, on one line.
    pub snippet: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HitSpeaker {
    User,
    Agent,
    /// The engine, for a child that ended.
    Engine,
}

impl HitSpeaker {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Agent => "agent",
            Self::Engine => "engine",
        }
    }
}

/// Where a page ends: the session, when it changed, and the line after the last hit.
struct SearchCursor {
    updated: i64,
    session: SessionId,
    position: u64,
}

/// Comes before every other.
const FIRST_ID: &str = "00000000-0000-0000-0000-000000000000";

/// Looks for a text in what users and agents said.
pub async fn search(
    store: &dyn SessionStore,
    query: &SearchQuery,
) -> Result<SearchPage, StoreError> {
    let limit = query.limit.unwrap_or(LIST_ROWS_DEFAULT);
    let limit = limit.clamp(1, LIST_ROWS_MAX);
    let mut page = SearchPage::default();
    let from = query
        .cursor
        .as_deref()
        .map(SearchCursor::parse)
        .transpose()?;
    let mut list = ListQuery {
        cwds: query.cwd.iter().cloned().collect(),
        archived: query.archived,
        sources: SourceKind::ALL.to_vec(),
        // Sessions that changed in the same millisecond come again, and are passed over.
        cursor: from
            .as_ref()
            .map(|from| format!("{}_{FIRST_ID}", from.updated + 1)),
        limit: Some(LIST_ROWS_MAX),
        ..ListQuery::default()
    };
    let mut behind = from.as_ref();
    loop {
        let rows = store.list(&list).await?;
        page.warnings.extend(rows.warnings);
        for session in rows.sessions {
            // Later rows changed even earlier.
            if query.since.is_some_and(|since| session.updated < since) {
                return Ok(page);
            }
            let mut position = LogPosition(0);
            if let Some(cursor) = behind {
                if session.updated.0 == cursor.updated && session.id != cursor.session {
                    continue;
                }
                if session.id == cursor.session {
                    position = LogPosition(cursor.position);
                }
                behind = None;
            }
            if let Some(next) =
                of_session(store, query, session, position, limit, &mut page).await?
            {
                page.next = Some(next.to_string());
                return Ok(page);
            }
        }
        match rows.next {
            Some(next) => list.cursor = Some(next),
            None => return Ok(page),
        }
    }
}

/// Reads one session. Returns where to go on when the page is full.
async fn of_session(
    store: &dyn SessionStore,
    query: &SearchQuery,
    session: SessionSummary,
    position: LogPosition,
    limit: usize,
    page: &mut SearchPage,
) -> Result<Option<SearchCursor>, StoreError> {
    let mut log = LogReader::after(session.id, position);
    loop {
        let lines = match log.next(store).await {
            Ok(Some(lines)) => lines,
            Ok(None) => return Ok(None),
            Err(error) => {
                // It was deleted or moved meanwhile; the others can still be searched.
                page.warnings.push(error.to_string());
                return Ok(None);
            }
        };
        for line in &lines {
            let Some(hit) = hit(line, query, &session) else {
                continue;
            };
            if page.hits.len() == limit {
                return Ok(Some(SearchCursor {
                    updated: session.updated.0,
                    session: session.id,
                    position: line.start.0,
                }));
            }
            page.hits.push(hit);
        }
    }
}

fn hit(line: &LogLine, query: &SearchQuery, session: &SessionSummary) -> Option<SearchHit> {
    if !line.is("event_msg") || !may_be_message(&line.bytes) {
        return None;
    }
    let stamped = line.record().ok()?;
    if query.since.is_some_and(|since| stamped.timestamp < since) {
        return None;
    }
    let RolloutRecord::EventMsg(event) = stamped.record else {
        return None;
    };
    let EventMsg::ItemCompleted { item, .. } = event.msg else {
        return None;
    };
    let (speaker, text) = match item {
        TurnItem::UserMessage(message) => {
            let speaker = match message.metadata {
                Some(_) => HitSpeaker::Engine,
                None => HitSpeaker::User,
            };
            (speaker, words(&message.content))
        }
        TurnItem::AgentMessage(message) => (HitSpeaker::Agent, message.text),
        _ => return None,
    };
    let at = find(&text, &query.text)?;
    Some(SearchHit {
        session: session.clone(),
        at: stamped.timestamp,
        speaker,
        snippet: snippet(&text, at, query.text.len()),
    })
}

/// Our own lines name the item's type in these words; parsing tells for sure.
fn may_be_message(line: &[u8]) -> bool {
    memmem::find(line, br#""type":"UserMessage""#).is_some()
        || memmem::find(line, br#""type":"AgentMessage""#).is_some()
}

fn words(content: &[UserInput]) -> String {
    let texts = content.iter().filter_map(|input| match input {
        UserInput::Text { text, .. } => Some(text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// Returns where the words begin, whatever the case of ASCII letters.
fn find(text: &str, words: &str) -> Option<usize> {
    let (text, words) = (text.as_bytes(), words.as_bytes());
    let Some(&first) = words.first() else {
        return Some(0);
    };
    let (lower, upper) = (first.to_ascii_lowercase(), first.to_ascii_uppercase());
    let mut from = 0;
    while let Some(found) = memchr2(lower, upper, &text[from..]) {
        let at = from + found;
        let candidate = text.get(at..at + words.len())?;
        if candidate.eq_ignore_ascii_case(words) {
            return Some(at);
        }
        from = at + 1;
    }
    None
}

/// Cuts out the words with a little around them.
fn snippet(text: &str, at: usize, length: usize) -> String {
    let (before, rest) = text.split_at(at);
    let (words, after) = rest.split_at(length);
    let skipped = before.chars().count().saturating_sub(SNIPPET_CHARS_BEFORE);
    let shown: String = before.chars().skip(skipped).collect();
    let mut following = after.chars();
    let follows: String = following.by_ref().take(SNIPPET_CHARS_AFTER).collect();
    let start = if skipped > 0 { "…" } else { "" };
    let end = if following.next().is_some() {
        "…"
    } else {
        ""
    };
    let line = format!("{start}{shown}{words}{follows}{end}");
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

impl SearchCursor {
    fn parse(text: &str) -> Result<Self, StoreError> {
        let parse = || {
            let mut parts = text.split('_');
            let cursor = Self {
                updated: parts.next()?.parse().ok()?,
                session: parts.next()?.parse().ok()?,
                position: parts.next()?.parse().ok()?,
            };
            parts.next().is_none().then_some(cursor)
        };
        parse().ok_or_else(|| StoreError::Cursor {
            cursor: text.to_owned(),
        })
    }
}

impl std::fmt::Display for SearchCursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            updated,
            session,
            position,
        } = self;
        write!(f, "{updated}_{session}_{position}")
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(text: &str, words: &str, expected: Expect) {
        let found = find(text, words);
        let shown = found.map(|at| snippet(text, at, words.len()));
        expected.assert_eq(shown.as_deref().unwrap_or("nothing"));
    }

    #[test]
    fn words_are_shown_with_what_is_around_them() {
        check(
            "The Parser is slow",
            "parser",
            expect!["The Parser is slow"],
        );
        check("one\n\n  two", "ONE", expect!["one two"]);
        check("naïve Ünïcode", "ünï", expect!["nothing"]);
        check("naïve ünïcode", "Ve ünï", expect!["naïve ünïcode"]);
        check("pars", "parser", expect!["nothing"]);
        let long = format!("{} needle {}", "a".repeat(500), "b".repeat(500));
        check(
            &long,
            "needle",
            expect![
                "…aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa needle bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb…"
            ],
        );
    }
}
