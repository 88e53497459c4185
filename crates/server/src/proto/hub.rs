//! The one place where the clients of a session meet: who is there, who drives, whose
//! submissions count.
//!
//! Events do not pass through here: each client reads them from the session at its own pace.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;
use troupe_engine::{ClientSeat, EventStream, SessionClosed, SessionHandle};
use troupe_protocol::discard;
use troupe_protocol::error::ErrorInfo;
use troupe_protocol::event::ErrorEvent;
use troupe_protocol::link::{
    ClientRequest, ClientRole, Goodbye, Hello, HistoryStart, LINK_VERSION, LinkQuery, Secret,
    ServerNotice, Welcome,
};
use troupe_protocol::{ClientId, Op, Submission, SubmissionId};
use troupe_transport::FromClient;
use uuid::Uuid;

use super::errands::Errands;
use super::identities::{ClientIdentities, NameTaken};
use super::office::SessionOffice;
use super::pace::FollowerPace;
use super::receipts::SubmissionReceipts;
use super::seats::DriverSeats;
use super::source::SessionEvents;
use crate::limits::{CLIENT_ID_BYTES_MAX, TREE_NOTICES_QUEUED_MAX};

/// Handle of the hub.
#[derive(Debug, Clone)]
pub(super) struct ClientHub {
    /// Not bounded by itself: every connection has one question open at most, and connections
    /// are bounded.
    asks: mpsc::UnboundedSender<HubRequest>,
    pub pace: FollowerPace,
    /// How often a client is asked for a sign of life.
    pub keepalive: Duration,
}

/// One client's place. Dropping it gives the place up.
#[derive(Debug)]
pub(super) struct HubMember {
    pub welcome: Welcome,
    pub events: EventStream,
    pub seats: watch::Receiver<DriverSeats>,
    /// Answers to its queries, and what agents say that it follows.
    pub notices: mpsc::Receiver<ServerNotice>,
    /// Cancelled when the client came back by another connection.
    pub replaced: CancellationToken,
    connection: u64,
    hub: ClientHub,
}

impl HubMember {
    pub(super) fn client(&self) -> &ClientId {
        &self.welcome.client
    }
}

impl Drop for HubMember {
    fn drop(&mut self) {
        // A hub that is gone has forgotten everybody.
        discard!(
            self.hub.asks.send(HubRequest::Leave {
                client: self.welcome.client.clone(),
                connection: self.connection,
            }),
            "the actor has ended"
        );
    }
}

#[derive(Debug)]
enum HubRequest {
    Join {
        hello: Hello,
        reply: oneshot::Sender<Result<HubMember, JoinRefusal>>,
    },
    Leave {
        client: ClientId,
        connection: u64,
    },
    Say {
        from: MessageSender,
        message: FromClient,
        reply: oneshot::Sender<Option<ServerNotice>>,
    },
    Shutdown,
}

/// Who says something.
#[derive(Debug)]
pub(super) enum MessageSender {
    /// The client of a connection.
    Connected(ClientId),
    /// One who says whose connection the message belongs to.
    Named {
        client: ClientId,
        secret: Option<Secret>,
    },
    /// The message belongs to no connection.
    Nobody,
}

/// Why a client is not taken in.
#[derive(Debug)]
struct JoinRefusal {
    reason: Goodbye,
    message: String,
}

impl JoinRefusal {
    fn misunderstood(message: String) -> Self {
        Self {
            reason: Goodbye::Misunderstood,
            message,
        }
    }
}

impl ClientHub {
    /// Returns the hub of a session, and what has to run for it to work.
    pub(super) fn new(
        handle: SessionHandle,
        source: Arc<SessionEvents>,
        office: Option<SessionOffice>,
        present: watch::Sender<usize>,
        keepalive: Duration,
    ) -> (Self, impl Future<Output = ()> + Send) {
        let (sender, asks) = mpsc::unbounded_channel();
        let hub = Self {
            asks: sender,
            pace: FollowerPace::new(),
            keepalive,
        };
        let (seats, _) = watch::channel(DriverSeats::default());
        let actor = HubActor {
            handle,
            source,
            office,
            present,
            seats,
            members: BTreeMap::new(),
            identities: ClientIdentities::default(),
            receipts: SubmissionReceipts::default(),
            connections: 0,
            hub: hub.clone(),
        };
        (hub, actor.run(asks))
    }

    /// Takes a client in; refuses one whose name is of no use, or another's.
    pub(super) async fn join(&self, hello: Hello) -> Result<HubMember, ServerNotice> {
        let (reply, answer) = oneshot::channel();
        self.ask(HubRequest::Join { hello, reply });
        match answer.await {
            Ok(Ok(member)) => Ok(member),
            Ok(Err(JoinRefusal { reason, message })) => {
                Err(ServerNotice::Goodbye { reason, message })
            }
            Err(_) => Err(session_ended()),
        }
    }

    /// Does what a client asks; returns what to tell it.
    pub(super) async fn say(
        &self,
        from: MessageSender,
        message: FromClient,
    ) -> Option<ServerNotice> {
        let (reply, answer) = oneshot::channel();
        self.ask(HubRequest::Say {
            from,
            message,
            reply,
        });
        answer.await.unwrap_or_else(|_| Some(session_ended()))
    }

    /// Ends the session, as its driver could.
    pub(super) fn shut_down(&self) {
        self.ask(HubRequest::Shutdown);
    }

    /// What a hub that is gone was asked stays unanswered, which says it.
    fn ask(&self, ask: HubRequest) {
        discard!(self.asks.send(ask), "the actor has ended");
    }
}

pub(super) fn session_ended() -> ServerNotice {
    ServerNotice::Goodbye {
        reason: Goodbye::SessionEnded,
        message: "the session has ended".to_owned(),
    }
}

#[derive(Debug)]
struct HubActor {
    handle: SessionHandle,
    source: Arc<SessionEvents>,
    /// Who answers queries.
    office: Option<SessionOffice>,
    /// How many clients are connected.
    present: watch::Sender<usize>,
    seats: watch::Sender<DriverSeats>,
    members: BTreeMap<ClientId, MemberPresence>,
    identities: ClientIdentities,
    receipts: SubmissionReceipts,
    /// Counts them, so that an old connection's end is told from its successor's.
    connections: u64,
    hub: ClientHub,
}

#[derive(Debug)]
struct MemberPresence {
    connection: u64,
    replaced: CancellationToken,
    /// What is done for it beside the session. Ends with the presence.
    errands: Errands,
}

impl HubActor {
    async fn run(mut self, mut asks: mpsc::UnboundedReceiver<HubRequest>) {
        while let Some(ask) = asks.recv().await {
            match ask {
                HubRequest::Join { hello, reply } => {
                    // A client that went away meanwhile drops its place with the answer.
                    discard!(reply.send(self.join(hello)), "nobody waits for the answer");
                }
                HubRequest::Leave { client, connection } => self.leave(&client, connection),
                HubRequest::Say {
                    from,
                    message,
                    reply,
                } => {
                    let notice = self.say(from, message).await;
                    // A client that went away meanwhile needs no answer.
                    discard!(reply.send(notice), "nobody waits for the answer");
                }
                HubRequest::Shutdown => {
                    // One that has ended needs not be told.
                    discard!(
                        self.handle.operate(Op::Shutdown).await,
                        "the session has ended"
                    );
                }
            }
        }
    }

    fn join(&mut self, hello: Hello) -> Result<HubMember, JoinRefusal> {
        let client = match hello.client {
            None => ClientId(format!("c-{}", &Uuid::new_v4().simple().to_string()[..12])),
            Some(client) => checked(client, hello.secret.as_ref())?,
        };
        let members = &self.members;
        let is_present = |client: &ClientId| members.contains_key(client);
        let admitted = self.identities.admit(&client, hello.secret, is_present);
        let secret = admitted.map_err(|NameTaken| JoinRefusal {
            reason: Goodbye::Unauthorized,
            message: not_yours(&client),
        })?;
        self.connections += 1;
        let replaced = CancellationToken::new();
        let (tell, notices) = mpsc::channel(TREE_NOTICES_QUEUED_MAX);
        let presence = MemberPresence {
            connection: self.connections,
            replaced: replaced.clone(),
            errands: Errands::new(tell),
        };
        if let Some(before) = self.members.insert(client.clone(), presence) {
            before.replaced.cancel();
        }
        self.present.send_replace(self.members.len());
        self.change_seats(|seats| match hello.role {
            ClientRole::Drive => seats.ask(&client),
            ClientRole::Follow => seats.release(&client),
        });
        let seq = self.source.last_seq();
        let mut seats = self.seats.subscribe();
        let seat = seats.borrow_and_update().seen_by(&client);
        Ok(HubMember {
            welcome: Welcome {
                version: LINK_VERSION,
                client,
                secret,
                seat,
                seq,
            },
            events: match (hello.after, hello.history) {
                (0, HistoryStart::Session) => self.source.whole_session(),
                (after, HistoryStart::Session | HistoryStart::Run) => self.source.after(after),
            },
            seats,
            notices,
            replaced,
            connection: self.connections,
            hub: self.hub.clone(),
        })
    }

    fn leave(&mut self, client: &ClientId, connection: u64) {
        let current = self.members.get(client);
        if current.is_some_and(|presence| presence.connection == connection) {
            self.members.remove(client);
            self.present.send_replace(self.members.len());
            self.change_seats(|seats| seats.release(client));
        }
    }

    /// Changes who drives, and tells everybody if that made a difference.
    fn change_seats(&self, change: impl FnOnce(&mut DriverSeats)) {
        self.seats.send_if_modified(|seats| {
            let before = seats.clone();
            change(seats);
            *seats != before
        });
    }

    async fn say(&mut self, from: MessageSender, message: FromClient) -> Option<ServerNotice> {
        let from = match from {
            MessageSender::Connected(client) => Some(client),
            MessageSender::Named { client, secret } => {
                let is_proved = self.identities.is(&client, secret.as_ref());
                if !is_proved && self.members.contains_key(&client) {
                    return Some(refused(None, ErrorInfo::Unauthorized, not_yours(&client)));
                }
                Some(client)
            }
            MessageSender::Nobody => None,
        };
        if let Some(client) = &from
            && !self.members.contains_key(client)
        {
            let message = format!("client {client} is not connected; read events first");
            return Some(refused(None, ErrorInfo::NotFound, message));
        }
        match message {
            FromClient::Request(request) => self.request(from.as_ref(), request),
            FromClient::Submission(submission) => self.submission(from.as_ref(), *submission).await,
            FromClient::Refused(refusal) if self.may_drive(from.as_ref()) => {
                let id = refusal.id.clone().unwrap_or_default();
                // To the driver it is an event, as on standard input.
                self.handle
                    .refuse(id, refusal.into())
                    .await
                    .err()
                    .map(|SessionClosed| session_ended())
            }
            FromClient::Refused(refusal) => Some(ServerNotice::Refused {
                id: refusal.id.clone(),
                error: refusal.into(),
            }),
        }
    }

    fn request(&mut self, from: Option<&ClientId>, request: ClientRequest) -> Option<ServerNotice> {
        let complaint = |message: &str| {
            let message = message.to_owned();
            Some(refused(None, ErrorInfo::InvalidSubmission, message))
        };
        match (request, from) {
            (ClientRequest::TakeSeat, Some(client)) => {
                self.change_seats(|seats| seats.ask(client));
                None
            }
            (ClientRequest::ReleaseSeat, Some(client)) => {
                self.change_seats(|seats| seats.release(client));
                None
            }
            (ClientRequest::Query { id, query }, Some(client)) => self.query(client, id, query),
            (ClientRequest::FollowAgent { agent, after }, Some(client)) => {
                let Some(office) = &self.office else {
                    return complaint("this server shows no agents");
                };
                let presence = self.members.get_mut(client)?;
                presence.errands.follow(office, agent, after)
            }
            (ClientRequest::UnfollowAgent { agent }, Some(client)) => {
                self.members.get_mut(client)?.errands.unfollow(agent);
                None
            }
            (ClientRequest::Hello(_), Some(_)) => complaint("hello was said before"),
            (_, None) => complaint("the request belongs to no connection; name its client"),
            // A newer client's request that this server does not know.
            (_, Some(_)) => complaint("this server does not know the request; the client is newer"),
        }
    }

    /// Has a query answered, beside everything else that happens.
    fn query(
        &mut self,
        client: &ClientId,
        id: SubmissionId,
        query: LinkQuery,
    ) -> Option<ServerNotice> {
        if !query.only_looks() && !self.may_drive(Some(client)) {
            let message = self.not_driving();
            return Some(refused(Some(id), ErrorInfo::NotDriving, message));
        }
        let Some(office) = self.office.clone() else {
            let message = "this server answers no queries".to_owned();
            return Some(refused(Some(id), ErrorInfo::InvalidSubmission, message));
        };
        let handle = self.handle.clone();
        let source = Arc::clone(&self.source);
        let presence = self.members.get_mut(client)?;
        presence.errands.run(id.clone(), async move {
            match office.answer(&handle, &source, query).await {
                Ok(answer) => ServerNotice::Answer { id, answer },
                Err(message) => refused(Some(id), ErrorInfo::InvalidSubmission, message),
            }
        })
    }

    fn not_driving(&self) -> String {
        match self.seats.borrow().driver() {
            Some(driver) => {
                format!("client {driver} drives this session; ask for the seat with take_seat")
            }
            None => "nobody drives this session; ask for the seat with take_seat".to_owned(),
        }
    }

    async fn submission(
        &mut self,
        from: Option<&ClientId>,
        submission: Submission,
    ) -> Option<ServerNotice> {
        let id = submission.id.clone();
        if !self.may_drive(from) && !is_question(&submission.op) {
            let message = self.not_driving();
            return Some(refused(Some(id), ErrorInfo::NotDriving, message));
        }
        if let Some(client) = from
            && self.receipts.has(client, &id)
        {
            return Some(ServerNotice::Accepted { id });
        }
        if id.as_str().is_empty() {
            let message = "the submission has an empty id; give each one an id of its own";
            let info = ErrorInfo::InvalidSubmission;
            return Some(refused(Some(id), info, message.to_owned()));
        }
        let seat = from.and_then(|client| {
            Some(ClientSeat {
                secret_digest: self.identities.digest(client)?,
                client: client.clone(),
            })
        });
        let taken = match seat {
            Some(seat) => self.handle.submit_as(seat, submission).await,
            None => self.handle.submit(submission).await,
        };
        match taken {
            Ok(()) => {
                if let Some(client) = from {
                    self.receipts.add(client, id.clone());
                }
                Some(ServerNotice::Accepted { id })
            }
            Err(SessionClosed) => Some(session_ended()),
        }
    }

    /// Who belongs to no connection may submit while nobody drives.
    fn may_drive(&self, from: Option<&ClientId>) -> bool {
        let seats = self.seats.borrow();
        match from {
            Some(client) => seats.drives(client),
            None => seats.driver().is_none(),
        }
    }
}

/// Refuses a name, or a secret, that is of no use.
fn checked(client: ClientId, secret: Option<&Secret>) -> Result<ClientId, JoinRefusal> {
    if client.as_str().is_empty() {
        return Err(JoinRefusal::misunderstood("client is empty".to_owned()));
    }
    let secret_bytes = secret.map_or(0, |secret| secret.0.len());
    for (what, bytes) in [("client", client.as_str().len()), ("secret", secret_bytes)] {
        if bytes > CLIENT_ID_BYTES_MAX {
            let message = format!("{what} is longer than {CLIENT_ID_BYTES_MAX} bytes");
            return Err(JoinRefusal::misunderstood(message));
        }
    }
    Ok(client)
}

fn not_yours(client: &ClientId) -> String {
    format!("client {client} is another one: show the secret of its welcome, or leave its name out")
}

/// Tells whether an operation changes nothing. Followers may ask too.
fn is_question(op: &Op) -> bool {
    matches!(
        op,
        Op::ListSkills { .. } | Op::ListModels { .. } | Op::ListMcpTools
    )
}

pub(super) fn refused(id: Option<SubmissionId>, info: ErrorInfo, message: String) -> ServerNotice {
    ServerNotice::Refused {
        id,
        error: ErrorEvent {
            message,
            fatal: false,
            error_info: Some(info),
        },
    }
}
