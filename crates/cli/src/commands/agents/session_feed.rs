//! What the commands of a session without children write while they run. No process opens a tree
//! for such a session; whoever runs it lets others attach, so this follows as they do.

use std::collections::VecDeque;
use std::path::Path;

use troupe_client::{Client, ClientOptions};
use troupe_protocol::link::ClientRole;
use troupe_protocol::{CallId, Event, EventMsg, SessionId, TurnItem};

use crate::attach::AttachPlace;
use crate::control::command_news;
use crate::control::request::CommandNews;
use crate::limits::LIVE_LINE_BYTES_MAX;

/// A follower of one session.
#[derive(Debug)]
pub struct SessionFeed {
    client: Client,
    /// The newest event when it began to follow. What came before it is history, of which only the
    /// commands count that still run.
    caught_up_at: u64,
    running: Vec<FollowedCommand>,
    ready: VecDeque<CommandNews>,
}

#[derive(Debug)]
struct FollowedCommand {
    call_id: CallId,
    command: String,
    /// The end of what it wrote.
    text: String,
}

impl SessionFeed {
    /// Follows the session; `None` if nobody lets others attach to it, or not yet.
    pub async fn open(home: &Path, session: SessionId) -> Option<Self> {
        let place = AttachPlace::of(home, session).ok()?;
        if !place.is_live() {
            return None;
        }
        let options = ClientOptions {
            role: ClientRole::Follow,
            ..ClientOptions::default()
        };
        let client = Client::connect(place.address(), options).await.ok()?;
        Some(Self {
            caught_up_at: client.welcome().seq,
            client,
            running: Vec::new(),
            ready: VecDeque::new(),
        })
    }

    /// Returns the next piece; `None` at the end. Safe to cancel.
    pub async fn next(&mut self) -> Option<CommandNews> {
        loop {
            if let Some(news) = self.ready.pop_front() {
                return Some(news);
            }
            let event = self.client.next_event().await.ok()??;
            self.take(&event);
        }
    }

    fn take(&mut self, event: &Event) {
        let news = command_news(&event.msg);
        if event.seq > self.caught_up_at {
            self.tell_running();
            self.ready.extend(news);
            return;
        }
        match news {
            Some(CommandNews::Began { call_id, command }) => self.running.push(FollowedCommand {
                call_id,
                command,
                text: String::new(),
            }),
            Some(CommandNews::Wrote { call_id, text }) => self.wrote(&call_id, &text),
            None => self.ended(&event.msg),
        }
        if event.seq == self.caught_up_at {
            self.tell_running();
        }
    }

    fn wrote(&mut self, call_id: &CallId, text: &str) {
        let mut running = self.running.iter_mut();
        if let Some(command) = running.find(|command| command.call_id == *call_id) {
            command.text.push_str(text);
            let end = command.text.len().saturating_sub(LIVE_LINE_BYTES_MAX);
            command.text.drain(..command.text.ceil_char_boundary(end));
        }
    }

    fn ended(&mut self, msg: &EventMsg) {
        if let EventMsg::ItemCompleted {
            item: TurnItem::CommandExecution(item),
            ..
        } = msg
        {
            self.running
                .retain(|command| command.call_id.0 != item.id.0);
        }
    }

    fn tell_running(&mut self) {
        for FollowedCommand {
            call_id,
            command,
            text,
        } in self.running.drain(..)
        {
            let wrote = CommandNews::Wrote {
                call_id: call_id.clone(),
                text,
            };
            self.ready
                .extend([CommandNews::Began { call_id, command }, wrote]);
        }
    }
}
