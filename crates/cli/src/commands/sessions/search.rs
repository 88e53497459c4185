//! `troupe sessions search`: what was said, in any session.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp};
use serde_json::json;
use troupe_store::search::{SearchHit, SearchQuery, search};
use troupe_store::{ArchivedFilter, SessionStore, UnixMillis};

use super::show::local_time;
use super::worked_in;
use crate::commands::{print, tell};
use crate::failure::{CommandExit, CommandFailure, Outcome};
use crate::terminal;

#[derive(Debug, Args)]
#[command(
    after_help = "What users and agents said is searched, also on branches that were left; the case of ASCII
letters does not matter. Sessions that changed last come first.

Exit codes: 0 something was found; 1 nothing was."
)]
pub struct SearchArguments {
    /// The words to look for, as one phrase.
    text: String,
    /// Only sessions that last worked in this directory.
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
    /// Only what was said since: a date (2026-11-01), a time, or how long ago (7d, 12h).
    #[arg(long, value_name = "WHEN", value_parser = parse_since)]
    since: Option<UnixMillis>,
    /// Search archived sessions too.
    #[arg(long)]
    archived: bool,
    /// How many at once (at most 100).
    #[arg(short = 'n', long, value_name = "N")]
    limit: Option<NonZeroUsize>,
    /// Continue a search; the value is at the end of the page before.
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,
    /// One JSON object per place that was found.
    #[arg(long)]
    json: bool,
}

pub async fn run(store: &dyn SessionStore, arguments: SearchArguments) -> Outcome {
    let cwd = arguments.cwd.as_deref().map(worked_in).transpose()?;
    let query = SearchQuery {
        text: arguments.text,
        cwd,
        since: arguments.since,
        archived: if arguments.archived {
            ArchivedFilter::Any
        } else {
            ArchivedFilter::Live
        },
        cursor: arguments.cursor,
        limit: arguments.limit.map(NonZeroUsize::get),
    };
    let page = search(store, &query)
        .await
        .map_err(CommandFailure::failed)?;
    for warning in &page.warnings {
        tell(&format!("warning: {warning}"));
    }
    let row = if arguments.json { json_row } else { row };
    print(&page.hits.iter().map(row).collect::<String>())?;
    if let Some(cursor) = &page.next {
        tell(&format!("more: add --cursor {cursor}"));
    }
    if page.hits.is_empty() {
        tell("nothing was found");
        return Ok(CommandExit::Failed);
    }
    Ok(CommandExit::Success)
}

fn row(hit: &SearchHit) -> String {
    format!(
        "{}  {}  {:<5}  {}\n",
        hit.session.id.short(),
        local_time(hit.at),
        hit.speaker.as_str(),
        terminal::harmless(&hit.snippet)
    )
}

fn json_row(hit: &SearchHit) -> String {
    let object = json!({
        "session": hit.session.id,
        "name": hit.session.name,
        "path": hit.session.path,
        "cwd": hit.session.cwd,
        "archived": hit.session.archived,
        "at": hit.at.to_string(),
        "speaker": hit.speaker.as_str(),
        "snippet": hit.snippet,
    });
    format!("{object}\n")
}

fn parse_since(text: &str) -> Result<UnixMillis, String> {
    let here = TimeZone::system();
    let date = |date: Date| date.to_zoned(here.clone()).ok().map(|at| at.timestamp());
    let ago = |span: Span| {
        let now = Timestamp::now().to_zoned(here.clone());
        now.checked_sub(span).ok().map(|at| at.timestamp())
    };
    let found = text
        .parse()
        .ok()
        .or_else(|| text.parse().ok().and_then(date))
        .or_else(|| text.parse().ok().and_then(ago));
    match found {
        Some(at) => Ok(UnixMillis(at.as_millisecond())),
        None => {
            Err("give a date (2026-11-01), a time (2026-11-01T12:00Z) or a span (7d)".to_owned())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_can_be_given_in_three_ways() {
        let at = |text: &str| parse_since(text).unwrap().0;
        assert_eq!(at("2026-11-01T12:00:00Z"), 1_793_534_400_000);
        assert!((at("2026-11-01") - 1_793_491_200_000).abs() <= 14 * 3_600_000);
        let day = at("7d") - at("8d");
        // A day may have an hour more or less.
        assert!((day - 24 * 3_600_000).abs() <= 3_600_000 + 1_000, "{day}");
        assert!(at("12h") > at("1d"));
        assert!(parse_since("yesterday").is_err());
    }
}
