//! `account/usage/read`: the tokens of all conversations that are kept.

use std::collections::BTreeMap;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use troupe_store::{ArchivedFilter, ListQuery, SessionStore, SourceKind};
use troupe_transport::rpc::RpcError;

use super::call::{Handling, MethodCall};
use super::connection::AppConnection;
use super::threads::storage;
use super::wire::Empty;
use super::wire::account::{AccountUsageResponse, DailyUsage, UsageSummary};
use crate::limits::USAGE_PAGE_ROWS;

pub(super) fn read(call: MethodCall) -> Handling {
    call.answer(|client: AppConnection, _: Empty| async move {
        let store = client
            .app()
            .session_pool()
            .store()
            .map_err(RpcError::internal)?;
        let days = days(&*store).await?;
        let today = Timestamp::now().to_zoned(TimeZone::UTC).date();
        Ok(usage(&days, today))
    })
}

/// Returns the tokens of each day. A conversation counts for the day of its last line: its log
/// knows the sum, and the index keeps no more.
async fn days(store: &dyn SessionStore) -> Result<BTreeMap<Date, u64>, RpcError> {
    let mut query = ListQuery {
        archived: ArchivedFilter::Any,
        sources: SourceKind::ALL.to_vec(),
        limit: Some(USAGE_PAGE_ROWS),
        ..ListQuery::default()
    };
    let mut days = BTreeMap::new();
    loop {
        let page = store.list(&query).await.map_err(|error| storage(&error))?;
        for session in page.sessions.iter().filter(|session| session.tokens > 0) {
            let Ok(time) = Timestamp::from_millisecond(session.updated.0) else {
                continue;
            };
            let day = time.to_zoned(TimeZone::UTC).date();
            *days.entry(day).or_default() += session.tokens;
        }
        if page.next.is_none() {
            return Ok(days);
        }
        query.cursor = page.next;
    }
}

fn usage(days: &BTreeMap<Date, u64>, today: Date) -> AccountUsageResponse {
    let mut longest = 0;
    let mut streak = 0;
    let mut before = None;
    for day in days.keys() {
        let follows = before.is_some_and(|before: Date| before.tomorrow().ok() == Some(*day));
        streak = if follows { streak + 1 } else { 1 };
        longest = longest.max(streak);
        before = Some(*day);
    }
    // A day that has just begun does not end a streak.
    let goes_on = before.is_some_and(|last| last == today || last.tomorrow().ok() == Some(today));
    let bucket = |(day, tokens): (&Date, &u64)| DailyUsage {
        start_date: day.to_string(),
        tokens: *tokens,
    };
    AccountUsageResponse {
        summary: UsageSummary {
            lifetime_tokens: days.values().sum(),
            peak_daily_tokens: days.values().copied().max().unwrap_or_default(),
            current_streak_days: if goes_on { streak } else { 0 },
            longest_streak_days: longest,
        },
        daily_usage_buckets: days.iter().map(bucket).collect(),
    }
}

#[cfg(test)]
mod tests;
