//! The events of one session, as they come: server-sent events, whose ids are the numbers of the
//! session's log. A client that was away says how far it had come, and misses nothing.

use std::convert::Infallible;
use std::time::Duration;

use axum::response::sse::{Event as SseEvent, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use troupe_engine::EventStream;
use troupe_server::RootSession;

use crate::daemon::{Daemon, WatcherPlace};
use crate::limits::STREAM_KEEPALIVE_MS;
use crate::members::FoundSession;
use crate::problem::Problem;
use crate::route::{NoMembers, RouteCall};
use crate::wire::message::EventQuery;

/// One client's look at a session.
struct SessionWatch {
    events: EventStream,
    /// As long as somebody watches, the session stays in memory and the daemon stays.
    _thread: RootSession,
    _watcher: WatcherPlace,
}

pub(crate) async fn watch(call: RouteCall<EventQuery, NoMembers>) -> Result<Response, Problem> {
    let found = call.daemon.find(call.path.get("session")).await?;
    let after = match (&call.last_event_id, call.query.after) {
        (Some(text), _) => Some(text.parse().map_err(|_| {
            let detail = "Last-Event-ID is the number of an event of this stream";
            Problem::bad_request("bad_header", detail).field("Last-Event-ID")
        })?),
        (None, after) => after,
    };
    let thread = call.daemon.open(found).await?;
    let events = call.daemon.events_of(found, &thread, after).await?;
    let watch = SessionWatch {
        events,
        _thread: thread,
        _watcher: call.daemon.watcher(),
    };
    let told = stream::unfold(watch, async |mut watch| {
        let event = watch.events.next().await?;
        let told = SseEvent::default().id(event.seq.to_string());
        // An event is made of what the protocol has, all of which is JSON.
        let told = told.json_data(&*event).unwrap_or_default();
        Some((Ok::<_, Infallible>(told), watch))
    });
    let pause = Duration::from_millis(STREAM_KEEPALIVE_MS);
    let keepalive = KeepAlive::new().interval(pause);
    Ok(Sse::new(told).keep_alive(keepalive).into_response())
}

impl Daemon {
    /// Returns the events after a number; without one those that come from now on.
    async fn events_of(
        &self,
        found: FoundSession,
        thread: &RootSession,
        after: Option<u64>,
    ) -> Result<EventStream, Problem> {
        let ahead = |after: u64, last: u64| {
            let detail = format!("the session has had no event {after} yet; the newest is {last}");
            Problem::conflict("no_such_event", detail).field("after")
        };
        if found.is_root() {
            let last = thread.last_seq();
            return match after {
                Some(after) if after > last => Err(ahead(after, last)),
                after => Ok(thread.events_after(after.unwrap_or(last))),
            };
        }
        let absent = || {
            let detail = "the child is not in memory, because it has nothing to do; its messages \
                          are at …/messages, and a prompt brings it back";
            Problem::conflict("not_in_memory", detail)
        };
        let is_there = crate::members::user(thread).view(&found.address()).await?;
        if is_there.pulse.is_none() {
            return Err(absent());
        }
        let mut arrivals = thread.agents().arrivals().await.ok_or_else(absent)?;
        // Those that are in memory come first, and this one is.
        while let Some(arrival) = arrivals.next().await {
            if arrival.view.session == found.session {
                let last = arrival.events.last_seq();
                return match after {
                    Some(after) if after > last => Err(ahead(after, last)),
                    after => Ok(arrival.events.after(after.unwrap_or(last))),
                };
            }
        }
        Err(absent())
    }
}
