//! `troupe agents logs`: what an agent did and said, from its own log.

use std::collections::VecDeque;
use std::io;
use std::num::NonZeroUsize;
use std::time::Duration;

use tokio::time::{Interval, interval};
use troupe_protocol::SessionId;
use troupe_protocol::rollout::RolloutRecord;
use troupe_store::{LogLine, LogPosition, SessionStore, StoreError};

use super::follow::TreeFollower;
use super::live_output::LiveOutput;
use super::logged_tree::LoggedTree;
use super::{CommandSite, OutputAudience, address, event_line};
use crate::commands::print;
use crate::failure::{CommandExit, CommandFailure, Outcome};
use crate::limits::FOLLOW_INTERVAL_MS;
use crate::style::{ColorChoice, TextStyle};

#[derive(Debug, Clone, Copy)]
pub struct LogQuery {
    pub limit: Option<NonZeroUsize>,
    pub follow: bool,
    pub shown: OutputAudience,
}

pub async fn run(site: &CommandSite, address: Option<&str>, query: LogQuery) -> Outcome {
    let (session, tree) = if let Some(session) = address::lone_session(site, address).await? {
        (session, None)
    } else {
        let target = address::find(site, address).await?;
        (target.tree.agent(target.agent)?.session, Some(target.tree))
    };
    let mut log = FollowedLog {
        session,
        next: LogPosition::default(),
        form: match query.shown {
            OutputAudience::Programs => LogFormat::Json,
            OutputAudience::People => {
                LogFormat::People(TextStyle::choose(ColorChoice::Auto, &io::stdout()))
            }
        },
    };
    log.print_first(&site.store, query.limit).await?;
    if query.follow {
        let mut follower = LogFollower::of(tree);
        log.follow(site, &mut follower).await?;
    }
    Ok(CommandExit::Success)
}

/// Says whether more can come.
enum LogFollower {
    /// As long as a process runs the tree.
    Tree(TreeFollower, Box<LoggedTree>),
    /// As long as a process has the session open.
    Alone(Interval),
}

impl LogFollower {
    fn of(tree: Option<LoggedTree>) -> Self {
        let time = Duration::from_millis(FOLLOW_INTERVAL_MS);
        match tree {
            Some(tree) => Self::Tree(TreeFollower::every(time), Box::new(tree)),
            None => Self::Alone(interval(time)),
        }
    }

    fn root(&self) -> Option<SessionId> {
        match self {
            Self::Tree(_, tree) => Some(tree.root),
            Self::Alone(_) => None,
        }
    }

    /// Waits for the next look. Safe to cancel.
    async fn tick(&mut self) {
        match self {
            Self::Tree(follower, _) => follower.tick().await,
            Self::Alone(interval) => {
                interval.tick().await;
            }
        }
    }

    /// Tells whether more can come, to be asked before the last of it is read.
    async fn look(
        &mut self,
        site: &CommandSite,
        session: SessionId,
    ) -> Result<bool, CommandFailure> {
        match self {
            Self::Tree(follower, tree) => follower.look(site, tree).await,
            Self::Alone(_) => {
                let is_held = site.store.is_held(session).await;
                is_held.map_err(CommandFailure::failed)
            }
        }
    }
}

struct FollowedLog {
    session: SessionId,
    next: LogPosition,
    form: LogFormat,
}

#[derive(Debug, Clone, Copy)]
enum LogFormat {
    Json,
    People(TextStyle),
}

impl FollowedLog {
    /// Prints what comes, with what commands write while they run, until no more can come.
    async fn follow(
        &mut self,
        site: &CommandSite,
        follower: &mut LogFollower,
    ) -> Result<(), CommandFailure> {
        let mut live = LiveOutput::default();
        let style = match self.form {
            LogFormat::Json => None,
            LogFormat::People(style) => Some(style),
        };
        loop {
            if style.is_some() {
                live.connect(site, follower.root(), self.session).await;
            }
            tokio::select! {
                // What a command wrote comes before its end, which is in the log.
                biased;
                text = live.next(style.unwrap_or(TextStyle::Plain)) => {
                    self.print_new(&site.store).await?;
                    print(&text)?;
                }
                () = follower.tick() => {
                    let goes_on = follower.look(site, self.session).await?;
                    if let Some(style) = style {
                        print(&live.flush(style))?;
                    }
                    self.print_new(&site.store).await?;
                    if !goes_on {
                        return Ok(());
                    }
                }
            }
        }
    }

    /// Prints what is there, all of it or the end.
    async fn print_first(
        &mut self,
        store: &dyn SessionStore,
        limit: Option<NonZeroUsize>,
    ) -> Result<(), CommandFailure> {
        let Some(limit) = limit else {
            return self.print_new(store).await;
        };
        let mut kept = VecDeque::new();
        while let Some(entries) = self.read(store).await? {
            for entry in entries {
                kept.push_back(entry);
                if kept.len() > limit.get() {
                    kept.pop_front();
                }
            }
        }
        print(&Vec::from(kept).concat())?;
        Ok(())
    }

    async fn print_new(&mut self, store: &dyn SessionStore) -> Result<(), CommandFailure> {
        while let Some(entries) = self.read(store).await? {
            print(&entries.concat())?;
        }
        Ok(())
    }

    /// Reads the next entries; `None` at the end.
    async fn read(
        &mut self,
        store: &dyn SessionStore,
    ) -> Result<Option<Vec<String>>, CommandFailure> {
        let batch = match store.read_all(self.session, self.next).await {
            Ok(batch) => batch,
            // It has not been opened yet.
            Err(StoreError::NotFound { .. }) => return Ok(None),
            Err(error) => return Err(CommandFailure::failed(error)),
        };
        if batch.next == self.next {
            return Ok(None);
        }
        self.next = batch.next;
        let entries = batch.lines.iter().filter_map(|line| self.form.entry(line));
        Ok(Some(entries.collect()))
    }
}

impl LogFormat {
    fn entry(self, line: &LogLine) -> Option<String> {
        match self {
            Self::Json => Some(format!("{}\n", String::from_utf8_lossy(&line.bytes))),
            Self::People(style) => {
                // What cannot be read is reported by whoever resumes the session.
                let stamped = line.record().ok()?;
                let RolloutRecord::EventMsg(event) = stamped.record else {
                    return None;
                };
                let text = event_line::of(&event.msg, style)?;
                let time = jiff::Timestamp::from_millisecond(stamped.timestamp.0)
                    .unwrap_or_default()
                    .to_zoned(jiff::tz::TimeZone::system())
                    .strftime("%H:%M:%S");
                Some(format!("{} {text}\n", style.dim(&time.to_string())))
            }
        }
    }
}
