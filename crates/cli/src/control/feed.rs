//! What the commands of an agent write while they run. Logs do not have it: they have the output
//! of a command when it has ended.

use std::io;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite};
use troupe_agents::TreeHandle;
use troupe_engine::EventTap;
use troupe_protocol::{CallId, EventMsg, SessionId, TurnItem};

use super::line;
use super::request::CommandNews;
use crate::exec::command_line;

/// Where it is heard.
#[derive(Debug, Clone)]
pub struct OutputFeeder {
    agents: TreeHandle,
    root: SessionId,
    root_events: Option<EventTap>,
}

impl OutputFeeder {
    pub fn new(agents: TreeHandle, root: SessionId, root_events: Option<EventTap>) -> Self {
        Self {
            agents,
            root,
            root_events,
        }
    }

    pub fn agents(&self) -> &TreeHandle {
        &self.agents
    }

    /// Tells it to a client until the client leaves or the tree ends. A child that is not in
    /// memory is waited for.
    pub async fn feed(
        &self,
        session: SessionId,
        client: impl AsyncRead + Unpin,
        mut sink: impl AsyncWrite + Unpin,
    ) -> io::Result<()> {
        tokio::select! {
            told = self.tell(session, &mut sink) => told,
            () = left(client) => Ok(()),
        }
    }

    async fn tell(
        &self,
        session: SessionId,
        sink: &mut (impl AsyncWrite + Unpin),
    ) -> io::Result<()> {
        if session == self.root {
            return match &self.root_events {
                Some(events) => tell_of(events, sink).await,
                None => Ok(()),
            };
        }
        let Some(mut arrivals) = self.agents.arrivals().await else {
            return Ok(());
        };
        while let Some(arrival) = arrivals.next().await {
            if arrival.view.session == session {
                tell_of(&arrival.events, sink).await?;
            }
        }
        Ok(())
    }
}

/// Tells what happens from now on, until the session ends or leaves memory.
async fn tell_of(events: &EventTap, sink: &mut (impl AsyncWrite + Unpin)) -> io::Result<()> {
    let mut events = events.after(events.last_seq());
    while let Some(event) = events.next().await {
        if let Some(news) = command_news(&event.msg) {
            line::write(&mut *sink, &news).await?;
        }
    }
    Ok(())
}

/// Returns what an event tells of a running command.
pub fn command_news(msg: &EventMsg) -> Option<CommandNews> {
    match msg {
        EventMsg::ItemStarted {
            item: TurnItem::CommandExecution(item),
            ..
        } => Some(CommandNews::Began {
            call_id: CallId(item.id.0.clone()),
            command: command_line::shown(&item.command),
        }),
        EventMsg::ExecCommandOutputDelta(delta) => {
            let bytes = BASE64_STANDARD.decode(&delta.chunk).ok()?;
            Some(CommandNews::Wrote {
                call_id: delta.call_id.clone(),
                text: String::from_utf8_lossy(&bytes).into_owned(),
            })
        }
        _ => None,
    }
}

/// Returns when a client, which has nothing more to say, has closed its end.
async fn left(mut client: impl AsyncRead + Unpin) {
    let mut byte = [0];
    while let Ok(1..) = client.read(&mut byte).await {}
}
