//! Live output of running commands, for `troupe agents logs --follow`.

use troupe_protocol::SessionId;

use super::CommandSite;
use super::session_feed::SessionFeed;
use crate::control::client::{self, OutputFeed};
use crate::control::request::CommandNews;
use crate::limits::LIVE_LINE_BYTES_MAX;
use crate::style::TextStyle;

/// The process that runs the agent, as far as it is there and can tell.
#[derive(Debug, Default)]
pub struct LiveOutput {
    feed: Option<CommandFeed>,
    /// The line that a command is writing.
    unfinished: String,
}

/// Who tells of it.
#[derive(Debug)]
enum CommandFeed {
    /// The process that runs the agent's tree.
    Tree(OutputFeed),
    /// The process that runs the session, which has no tree.
    Session(Box<SessionFeed>),
}

impl CommandFeed {
    /// Returns the next piece; `None` at the end. Safe to cancel.
    async fn next(&mut self) -> Option<CommandNews> {
        match self {
            Self::Tree(feed) => feed.next().await,
            Self::Session(feed) => feed.next().await,
        }
    }
}

impl LiveOutput {
    /// Connects, unless it is connected. Without a connection the log is all there is.
    pub async fn connect(
        &mut self,
        site: &CommandSite,
        root: Option<SessionId>,
        session: SessionId,
    ) {
        if self.feed.is_some() {
            return;
        }
        let home = site.home.path();
        self.feed = match root {
            Some(root) => client::feed(home, root, session)
                .await
                .map(CommandFeed::Tree),
            None => SessionFeed::open(home, session)
                .await
                .map(|feed| CommandFeed::Session(Box::new(feed))),
        };
    }

    /// Returns what is to be printed next; waits for ever without a connection. Safe to cancel.
    pub async fn next(&mut self, style: TextStyle) -> String {
        loop {
            let Some(feed) = &mut self.feed else {
                return std::future::pending().await;
            };
            match feed.next().await {
                Some(CommandNews::Began { command, .. }) => {
                    let begun = format!("{} {command} …\n", style.cyan("$"));
                    return self.flush(style) + &begun;
                }
                Some(CommandNews::Wrote { text, .. }) => {
                    self.unfinished.push_str(&text);
                    let whole = self.take_lines(style);
                    if !whole.is_empty() {
                        return whole;
                    }
                }
                // An older process, or one that has ended.
                None => self.feed = None,
            }
        }
    }

    /// Returns the line that is not whole yet: something else follows.
    pub fn flush(&mut self, style: TextStyle) -> String {
        let line = std::mem::take(&mut self.unfinished);
        if line.is_empty() {
            String::new()
        } else {
            shown(&line, style)
        }
    }

    fn take_lines(&mut self, style: TextStyle) -> String {
        let end = match self.unfinished.rfind('\n') {
            Some(end) => end + 1,
            None if self.unfinished.len() > LIVE_LINE_BYTES_MAX => self.unfinished.len(),
            None => return String::new(),
        };
        let rest = self.unfinished.split_off(end);
        let whole = std::mem::replace(&mut self.unfinished, rest);
        whole.lines().map(|line| shown(line, style)).collect()
    }
}

fn shown(line: &str, style: TextStyle) -> String {
    // A line that draws over itself says last what counts.
    let line = line.trim_end_matches('\r');
    let line = line.rsplit('\r').next().unwrap_or(line);
    format!("{}\n", style.dim(&format!("  │ {line}")))
}
