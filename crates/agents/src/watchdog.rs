//! Watchdogs: timers that ask an agent how it gets on.
//!
//! A caller has at most one for each agent. A ping is a regular message, so it disturbs
//! nothing that runs and wakes an agent that is idle.
//!
//! Deliberately absent: the clock, the sending, and what is kept on disk. The supervisor
//! brings the moment, sends what is due, and writes down what was set up.

use thiserror::Error;
use troupe_protocol::AgentId;
use troupe_protocol::tree::Caller;

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
pub(crate) struct Watchdogs {
    /// In the order of their first start; few enough to be searched.
    timers: Vec<Timer>,
}

#[derive(Debug)]
struct Timer {
    by: Caller,
    target: AgentId,
    interval_s: u64,
    message: String,
    due_ms: i64,
}

/// A timer that runs now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Started {
    pub interval_s: u64,
    pub message: String,
    /// It took the place of an earlier one.
    pub replaced: bool,
}

/// A message that is to be sent now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ping {
    pub by: Caller,
    pub target: AgentId,
    pub message: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum Unfit {
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

impl Watchdogs {
    /// Sets up a timer, or puts another in the place of the caller's one for this agent.
    pub(crate) fn start(
        &mut self,
        by: Caller,
        target: AgentId,
        interval_s: u64,
        message: String,
        now_ms: i64,
    ) -> Result<Started, Unfit> {
        fits(interval_s, &message)?;
        let old = self.position(by, target);
        if old.is_none() && self.timers.len() >= WATCHDOGS_MAX {
            return Err(Unfit::TooMany);
        }
        let timer = Timer::new(by, target, interval_s, message.clone(), now_ms);
        match old {
            Some(at) => self.timers[at] = timer,
            None => self.timers.push(timer),
        }
        Ok(Started {
            interval_s,
            message,
            replaced: old.is_some(),
        })
    }

    /// Ends a timer. Returns whether there was one.
    pub(crate) fn cancel(&mut self, by: Caller, target: AgentId) -> bool {
        let found = self.position(by, target);
        if let Some(at) = found {
            self.timers.remove(at);
        }
        found.is_some()
    }

    /// Takes back a timer that a log speaks of. Logs may be older than today's bounds, so it
    /// is made to fit; one too many is left out.
    pub(crate) fn restore(
        &mut self,
        by: Caller,
        target: AgentId,
        interval_s: u64,
        message: &str,
        now_ms: i64,
    ) {
        let interval_s = interval_s.clamp(INTERVAL_MIN_S, INTERVAL_MAX_S);
        let message = message.chars().take(MESSAGE_CHARS_MAX).collect();
        let timer = Timer::new(by, target, interval_s, message, now_ms);
        match self.position(by, target) {
            Some(at) => self.timers[at] = timer,
            None if self.timers.len() < WATCHDOGS_MAX => self.timers.push(timer),
            None => {}
        }
    }

    /// Drops the timers of an agent that is gone, and those that watch it.
    pub(crate) fn forget(&mut self, agent: AgentId) {
        self.timers
            .retain(|timer| timer.target != agent && timer.by != Caller::Agent(agent));
    }

    /// Returns what is to be sent, and winds those timers up again. However late it is, each
    /// sends one message: pings that a sleeping machine missed are of no use.
    pub(crate) fn due(&mut self, now_ms: i64) -> Vec<Ping> {
        self.timers
            .iter_mut()
            .filter(|timer| timer.due_ms <= now_ms)
            .map(|timer| {
                timer.wind_up(now_ms);
                Ping {
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

impl Timer {
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

fn fits(interval_s: u64, message: &str) -> Result<(), Unfit> {
    if !(INTERVAL_MIN_S..=INTERVAL_MAX_S).contains(&interval_s) {
        return Err(Unfit::Interval(interval_s));
    }
    let chars = message.chars().count();
    if chars > MESSAGE_CHARS_MAX {
        return Err(Unfit::Message(chars));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
