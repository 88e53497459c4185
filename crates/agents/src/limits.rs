//! Bounds of this crate, and what happens when they are met; unit last.

use std::time::Duration;

/// The events of one millisecond that a page shows. One moment with more is cut, because a
/// page must end somewhere.
pub(crate) const MOMENT_EVENTS_MAX: usize = 1000;
/// Arrivals that one listener may leave untouched. Then it is dropped: it sees its end, and
/// asks again for those who are there.
pub(crate) const ARRIVALS_QUEUED_MAX: usize = 256;
/// Forks of forks that are followed back; older ones are not told of.
pub(crate) const FORKS_FOLLOWED_MAX: usize = 16;
/// Agents that are named to the fork's model; the rest is counted.
pub(crate) const FOREIGN_AGENTS_TOLD_MAX: usize = 40;
/// How often lines are given to be written before the tree gives up: to the session they
/// belong to, to the same one loaded anew, and to the root.
pub(crate) const WRITE_ATTEMPTS_MAX: u32 = 3;
/// Characters of a note; a longer one is cut.
pub(crate) const NOTE_CHARS_MAX: usize = 500;
/// Children that are told of, those at work first; the rest is counted.
pub(crate) const CHILDREN_TOLD_MAX: usize = 40;
/// Characters of a message that stand for the whole of it in lists.
pub(crate) const PREVIEW_CHARS_MAX: usize = 160;
/// How often work is looked for that a lost hint left undone.
pub(crate) const SWEEP_INTERVAL: Duration = Duration::from_mins(1);
/// How long a cancelled task may take to end before the answer says that it still does.
pub(crate) const CANCEL_WAIT: Duration = Duration::from_secs(10);
// Watchdogs
/// Seconds between two pings; less is refused, because each costs the watched agent a request to
/// its model.
pub(crate) const WATCHDOG_INTERVAL_S_MIN: u64 = 30;
/// If nobody says otherwise.
pub(crate) const WATCHDOG_INTERVAL_S_DEFAULT: u64 = 300;
/// One day; more is refused.
pub(crate) const WATCHDOG_INTERVAL_S_MAX: u64 = 86_400;
/// Watchdogs of one tree. The next one is refused.
pub(crate) const WATCHDOGS_MAX: usize = 16;
/// Characters of a watchdog's message; a longer one is refused.
pub(crate) const WATCHDOG_MESSAGE_CHARS_MAX: usize = 2_000;
