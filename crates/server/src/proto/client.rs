//! One client, from its hello to its end, whatever it is connected by.

use std::pin::pin;
use std::time::Duration;

use futures_util::FutureExt;
use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior, interval_at, timeout};
use troupe_engine::EventDelivery;
use troupe_protocol::ClientId;
use troupe_protocol::discard;
use troupe_protocol::link::{ClientRequest, ClientRole, Goodbye, Hello, ServerNotice};
use troupe_transport::FromClient;

use super::hub::{ClientHub, HubMember, MessageSender, session_ended};
use super::pace::WriteSlot;
use crate::limits::{
    ANSWERS_QUEUED_MAX, DRIVER_FIRST_MS, HELLO_MS_MAX, LINGER_MS_MAX, STALLED_MS_MAX,
};
use crate::lobby::{ConnectionEntry, PlacesTaken};
use crate::token::AccessToken;

/// What comes from a client.
pub(super) trait ClientInlet: Send {
    /// Returns the next message, `None` when the client is gone. Safe to cancel.
    fn next(&mut self) -> impl Future<Output = Option<FromClient>> + Send;
}

/// What goes to a client.
pub(super) trait ClientOutlet: Send {
    /// Adds a message to those that are sent next.
    fn add(&mut self, message: OutgoingMessage<'_>);

    /// Adds what shows that somebody is there, or asks for it, to those. Where lower layers see
    /// to that it is nothing.
    fn add_sign(&mut self) {}

    /// Tells whether so much has gathered that it should be sent.
    fn is_full(&self) -> bool;

    /// Sends what was added. Safe to cancel, but for the client that it is cut off.
    fn flush(&mut self) -> impl Future<Output = Result<(), ClientGone>> + Send;

    /// Says that nothing more comes.
    fn close(&mut self) -> impl Future<Output = ()> + Send;
}

#[derive(Debug, Clone, Copy)]
pub(super) enum OutgoingMessage<'a> {
    Notice(&'a ServerNotice),
    Event(&'a troupe_protocol::Event),
}

/// Nobody reads any more.
#[derive(Debug)]
pub(super) struct ClientGone;

/// What a client must show to come in.
#[derive(Debug, Clone, Default)]
pub(super) struct EntryRequirement {
    /// Without one the client is known to be the user, or has shown the token; it may leave the
    /// hello out.
    pub token: Option<AccessToken>,
    /// Its place among the connections; standard input takes none.
    pub entry: Option<ConnectionEntry>,
}

impl EntryRequirement {
    /// Returns the door of a connection that has shown the token.
    pub(super) fn opened(self) -> Self {
        Self {
            token: None,
            ..self
        }
    }

    pub(super) fn admit(&self) -> Result<(), PlacesTaken> {
        self.entry.as_ref().map_or(Ok(()), ConnectionEntry::admit)
    }

    /// Returns when who stands there has to go.
    async fn must_leave(&self) {
        match &self.entry {
            Some(entry) => entry.over().await,
            None => std::future::pending().await,
        }
    }
}

/// Serves a client until it goes or the session ends.
pub(super) async fn serve_client(
    hub: &ClientHub,
    door: &EntryRequirement,
    mut inlet: impl ClientInlet,
    mut outlet: impl ClientOutlet,
) {
    let greeting = tokio::select! {
        greeting = greet(door, &mut inlet) => greeting,
        () = door.must_leave() => return,
    };
    let farewell = match greeting {
        ClientGreeting::Gone => return,
        ClientGreeting::Refused(goodbye) => goodbye,
        ClientGreeting::Welcome { .. } if door.admit().is_err() => ServerNotice::Goodbye {
            reason: Goodbye::Full,
            message: PlacesTaken.to_string(),
        },
        ClientGreeting::Welcome { hello, first } => match hub.join(hello).await {
            Err(goodbye) => goodbye,
            Ok(member) => match attend(hub, member, first, &mut inlet, &mut outlet).await {
                Some(goodbye) => goodbye,
                None => return,
            },
        },
    };
    outlet.add(OutgoingMessage::Notice(&farewell));
    let farewell = async {
        if outlet.flush().await.is_ok() {
            outlet.close().await;
            // A connection that is closed with something unread loses what was written last.
            while inlet.next().await.is_some() {}
        }
    };
    // Who does not read its last message in time does not get it.
    discard!(
        timeout(Duration::from_millis(LINGER_MS_MAX), farewell).await,
        "a client did not read its last messages in time"
    );
}

enum ClientGreeting {
    Welcome {
        hello: Hello,
        /// What was said in place of a hello.
        first: Option<FromClient>,
    },
    Refused(ServerNotice),
    Gone,
}

async fn greet(door: &EntryRequirement, inlet: &mut impl ClientInlet) -> ClientGreeting {
    let token = door.token.as_ref();
    let first = match token {
        None => inlet.next().await,
        // Nobody holds a place for long without having shown the token.
        Some(_) => match timeout(Duration::from_millis(HELLO_MS_MAX), inlet.next()).await {
            Ok(first) => first,
            Err(_) => return unauthorized("hello did not come in time"),
        },
    };
    let hello = match first {
        None => return ClientGreeting::Gone,
        Some(FromClient::Request(ClientRequest::Hello(hello))) => hello,
        Some(_) if token.is_some() => return unauthorized("say hello first, with the token"),
        first => {
            let hello = Hello::default();
            return ClientGreeting::Welcome { hello, first };
        }
    };
    match (token, &hello.token) {
        (None, _) => {}
        (Some(token), Some(shown)) if token.is(&shown.0) => {}
        (Some(_), Some(_)) => return unauthorized("the token is wrong"),
        (Some(_), None) => return unauthorized("hello needs the token"),
    }
    ClientGreeting::Welcome { hello, first: None }
}

fn unauthorized(message: &str) -> ClientGreeting {
    ClientGreeting::Refused(ServerNotice::Goodbye {
        reason: Goodbye::Unauthorized,
        message: message.to_owned(),
    })
}

/// Serves one who was taken in. Returns what to say last, if anybody is left to hear it.
async fn attend(
    hub: &ClientHub,
    member: HubMember,
    first: Option<FromClient>,
    inlet: &mut impl ClientInlet,
    outlet: &mut impl ClientOutlet,
) -> Option<ServerNotice> {
    let client = member.client().clone();
    let (answers, answered) = mpsc::channel(ANSWERS_QUEUED_MAX);
    let replaced = member.replaced.clone();
    tokio::select! {
        () = listen(hub, &client, first, inlet, answers) => None,
        farewell = speak(hub, member, answered, outlet) => farewell,
        () = replaced.cancelled() => Some(ServerNotice::Goodbye {
            reason: Goodbye::Replaced,
            message: format!("client {client} came back by another connection"),
        }),
    }
}

/// Passes on what the client says, until it is gone or does not listen to the answers.
async fn listen(
    hub: &ClientHub,
    client: &ClientId,
    first: Option<FromClient>,
    inlet: &mut impl ClientInlet,
    answers: mpsc::Sender<ServerNotice>,
) {
    let mut next = first;
    loop {
        let message = match next.take() {
            Some(message) => message,
            None => match inlet.next().await {
                Some(message) => message,
                None => return,
            },
        };
        let answer = hub
            .say(MessageSender::Connected(client.clone()), message)
            .await;
        if let Some(answer) = answer
            && answers.try_send(answer).is_err()
        {
            return;
        }
    }
}

/// Tells the client what happens. Returns what to say last.
async fn speak(
    hub: &ClientHub,
    mut member: HubMember,
    mut answers: mpsc::Receiver<ServerNotice>,
    outlet: &mut impl ClientOutlet,
) -> Option<ServerNotice> {
    let welcome = ServerNotice::Welcome(member.welcome.clone());
    outlet.add(OutgoingMessage::Notice(&welcome));
    deliver(outlet, None).await.ok()?;
    let mut signs = interval_at(Instant::now() + hub.keepalive, hub.keepalive);
    signs.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let told = tokio::select! {
            biased;
            Some(answer) = answers.recv() => {
                outlet.add(OutgoingMessage::Notice(&answer));
                None
            }
            Ok(()) = member.seats.changed() => {
                let client = &member.welcome.client;
                let seat = member.seats.borrow_and_update().seen_by(client);
                outlet.add(OutgoingMessage::Notice(&ServerNotice::Seat(seat)));
                None
            }
            _ = signs.tick() => {
                outlet.add_sign();
                None
            }
            told = member.events.next_or_lag() => match told {
                Some(told) => Some(told),
                None => return Some(session_ended()),
            },
        };
        let mut turn = None;
        if let Some(told) = told {
            let role = member.seats.borrow().seen_by(member.client()).role;
            if role == ClientRole::Follow {
                let rest = Duration::from_millis(DRIVER_FIRST_MS);
                turn = Some(hub.pace.turn(|| member.events.is_idle_for(rest)).await);
            }
            add(outlet, &told);
            gather(&mut member, outlet);
        }
        deliver(outlet, turn).await.ok()?;
    }
}

/// Adds what else there is to tell now, so that it goes in one piece.
fn gather(member: &mut HubMember, outlet: &mut impl ClientOutlet) {
    while !outlet.is_full() {
        match member.events.next_or_lag().now_or_never() {
            Some(Some(told)) => add(outlet, &told),
            // The end is met again by who asks next.
            Some(None) | None => return,
        }
    }
}

fn add(outlet: &mut impl ClientOutlet, told: &EventDelivery) {
    match told {
        EventDelivery::Event(event) => outlet.add(OutgoingMessage::Event(event)),
        EventDelivery::Lagged { after, upto } => {
            let (after, upto) = (*after, *upto);
            outlet.add(OutgoingMessage::Notice(&ServerNotice::Lagged {
                after,
                upto,
            }));
        }
    }
}

/// Sends what was added. The turn ends with our part of it: the time that the client takes is
/// nobody else's.
async fn deliver(
    outlet: &mut impl ClientOutlet,
    turn: Option<WriteSlot>,
) -> Result<(), ClientGone> {
    let mut flush = pin!(outlet.flush());
    let flushed = flush.as_mut().now_or_never();
    drop(turn);
    if let Some(flushed) = flushed {
        return flushed;
    }
    let time = Duration::from_millis(STALLED_MS_MAX);
    timeout(time, flush).await.unwrap_or(Err(ClientGone))
}
