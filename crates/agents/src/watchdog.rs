//! Watchdogs: timers that ask an agent how it gets on.
//!
//! A caller has at most one for each agent. A ping is a regular message, so it disturbs
//! nothing that runs and wakes an agent that is idle, unless somebody stopped it.
//!
//! The timers are a fold of the tree's facts: what set them up, what took them back, and what
//! ended the agent that watches or is watched.
//!
//! Deliberately absent: the clock, the sending, and what is kept on disk. The supervisor
//! brings the moment, sends what is due, and writes the facts down.

use thiserror::Error;
use troupe_protocol::AgentId;
use troupe_protocol::tree::{AgentMetadata, Caller, TaskEnding, TreeFact};

/// Each ping costs the watched agent a request to its model.
pub(crate) const INTERVAL_MIN_S: u64 = 30;

pub(crate) const INTERVAL_DEFAULT_S: u64 = 300;

/// One day.
pub(crate) const INTERVAL_MAX_S: u64 = 86_400;

/// Watchdogs of one tree. The next one is refused.
pub(crate) const WATCHDOGS_MAX: usize = 16;

pub(crate) const MESSAGE_CHARS_MAX: usize = 2_000;

pub(crate) const MESSAGE_DEFAULT: &str = "\
    This is a scheduled check by the agent you work for. Say in a few lines what is done, what \
    you do next, and whether something blocks you; then go on with your task.";

/// All watchdogs of a tree.
#[derive(Debug, Default)]
pub(crate) struct WatchdogTimers {
    /// In the order of their first start; few enough to be searched.
    timers: Vec<WatchdogTimer>,
}

#[derive(Debug)]
struct WatchdogTimer {
    by: Caller,
    target: AgentId,
    interval_s: u64,
    message: String,
    due_ms: i64,
}

/// Whether a timer is the caller's first for an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WatchdogSlot {
    Free,
    /// It takes the place of an earlier one.
    Taken,
}

/// A message that is to be sent now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WatchdogPing {
    pub by: Caller,
    pub target: AgentId,
    pub message: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum WatchdogError {
    #[error("interval_s must be between {INTERVAL_MIN_S} and {INTERVAL_MAX_S} seconds; got {0}")]
    Interval(u64),
    #[error("the message has {0} characters; a watchdog's has at most {MESSAGE_CHARS_MAX}")]
    Message(usize),
    #[error(
        "the tree has {WATCHDOGS_MAX} watchdogs already; cancel one with cancel: true, or wait \
         for the agent instead"
    )]
    TooMany,
}

impl WatchdogTimers {
    /// Tells whether a caller may set up a timer for an agent.
    pub(crate) fn check(
        &self,
        by: Caller,
        target: AgentId,
        interval_s: u64,
        message: &str,
    ) -> Result<WatchdogSlot, WatchdogError> {
        fits(interval_s, message)?;
        match self.position(by, target) {
            Some(_) => Ok(WatchdogSlot::Taken),
            None if self.timers.len() >= WATCHDOGS_MAX => Err(WatchdogError::TooMany),
            None => Ok(WatchdogSlot::Free),
        }
    }

    pub(crate) fn is_set(&self, by: Caller, target: AgentId) -> bool {
        self.position(by, target).is_some()
    }

    /// Follows a fact of the tree. Timers change by nothing else, so a restart that reads the
    /// same facts has the same timers.
    pub(crate) fn fold(&mut self, fact: &TreeFact, now_ms: i64) {
        match fact {
            TreeFact::Kept(AgentMetadata::Watchdog {
                by,
                target,
                interval_s,
                message,
            }) => self.set(*by, *target, *interval_s, message, now_ms),
            TreeFact::Kept(AgentMetadata::WatchdogOff { by, target }) => {
                if let Some(at) = self.position(*by, *target) {
                    self.timers.remove(at);
                }
            }
            // Whoever was stopped is asked nothing, and asks nobody, until it is told to.
            TreeFact::Ended {
                agent,
                end: TaskEnding::Cancelled { .. },
                ..
            }
            | TreeFact::Halted {
                agent,
                end: TaskEnding::Cancelled { .. },
            }
            | TreeFact::Shut { agent }
            | TreeFact::Pruned { agent } => self.forget(*agent),
            TreeFact::Rooted { .. }
            | TreeFact::Born(_)
            | TreeFact::Sent { .. }
            | TreeFact::Started { .. }
            | TreeFact::Took { .. }
            | TreeFact::Ended { .. }
            | TreeFact::Halted { .. }
            | TreeFact::Withdrawn { .. }
            | TreeFact::Consumed { .. }
            | TreeFact::StopAsked { .. }
            | TreeFact::Reopened { .. }
            | TreeFact::Released { .. }
            | TreeFact::Rebound { .. }
            | TreeFact::Kept(
                AgentMetadata::Note { .. }
                | AgentMetadata::Name { .. }
                | AgentMetadata::Callback(_)
                | AgentMetadata::Enabled { .. },
            ) => {}
        }
    }

    /// Logs may be older than today's bounds, so a timer is made to fit. None is left out:
    /// each was let in when it was set up.
    fn set(&mut self, by: Caller, target: AgentId, interval_s: u64, message: &str, now_ms: i64) {
        let interval_s = interval_s.clamp(INTERVAL_MIN_S, INTERVAL_MAX_S);
        let message = message.chars().take(MESSAGE_CHARS_MAX).collect();
        let timer = WatchdogTimer::new(by, target, interval_s, message, now_ms);
        match self.position(by, target) {
            Some(at) => self.timers[at] = timer,
            None => self.timers.push(timer),
        }
    }

    /// Drops the timers of an agent, and those that watch it.
    fn forget(&mut self, agent: AgentId) {
        self.timers
            .retain(|timer| timer.target != agent && timer.by != Caller::Agent(agent));
    }

    /// Returns what is to be sent, and winds those timers up again. However late it is, each
    /// sends one message: pings that a sleeping machine missed are of no use.
    pub(crate) fn due(&mut self, now_ms: i64) -> Vec<WatchdogPing> {
        self.timers
            .iter_mut()
            .filter(|timer| timer.due_ms <= now_ms)
            .map(|timer| {
                timer.wind_up(now_ms);
                WatchdogPing {
                    by: timer.by,
                    target: timer.target,
                    message: timer.message.clone(),
                }
            })
            .collect()
    }

    /// Returns the moment of the next ping.
    pub(crate) fn next_due(&self) -> Option<i64> {
        self.timers.iter().map(|timer| timer.due_ms).min()
    }

    fn position(&self, by: Caller, target: AgentId) -> Option<usize> {
        self.timers
            .iter()
            .position(|timer| timer.by == by && timer.target == target)
    }
}

impl WatchdogTimer {
    fn new(by: Caller, target: AgentId, interval_s: u64, message: String, now_ms: i64) -> Self {
        let mut timer = Self {
            by,
            target,
            interval_s,
            message,
            due_ms: now_ms,
        };
        timer.wind_up(now_ms);
        timer
    }

    fn wind_up(&mut self, now_ms: i64) {
        let interval_ms = i64::try_from(self.interval_s.saturating_mul(1000)).unwrap_or(i64::MAX);
        self.due_ms = now_ms.saturating_add(interval_ms);
    }
}

fn fits(interval_s: u64, message: &str) -> Result<(), WatchdogError> {
    if !(INTERVAL_MIN_S..=INTERVAL_MAX_S).contains(&interval_s) {
        return Err(WatchdogError::Interval(interval_s));
    }
    let chars = message.chars().count();
    if chars > MESSAGE_CHARS_MAX {
        return Err(WatchdogError::Message(chars));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
