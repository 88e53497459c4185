//! A client of a session that another process runs: `troupe proto --listen …`.
//!
//! ```text
//! Client ── next() ◄── events, notices ──┐            ┌─ unix, tcp: lines
//!   │                                    ├── Driver ──┼─ ws: messages
//!   └─ submitter() ─── submissions ──────┘   (task)   ├─ http: POST and server-sent events
//!                                                     └─ grpc: a stream
//! ```
//!
//! A connection that breaks is made again, after the last event that was seen: the caller
//! misses nothing and sees nothing twice, but that the text of an open item may come again as a
//! snapshot. What was submitted and not accepted by then is submitted again, and done once.
//!
//! Deliberately absent: what events mean, and any state beside the connection's.
//!
//! ```no_run
//! # async fn example() -> Result<(), troupe_client::ClientError> {
//! use troupe_client::{Client, ClientOptions, ClientUpdate};
//!
//! let address = "unix:/run/user/1000/troupe.sock".parse().expect("an address");
//! let mut client = Client::connect(address, ClientOptions::default()).await?;
//! while let Some(update) = client.next().await? {
//!     if let ClientUpdate::Event(event) = update {
//!         println!("{} {:?}", event.seq, event.msg);
//!     }
//! }
//! # Ok(())
//! # }
//! ```

pub mod limits;

mod connect;
mod driver;
mod error;
mod grpc;
mod h2;
mod http;
mod lines;
mod link;
mod tls;
mod ws;

use std::path::PathBuf;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio_util::task::AbortOnDropHandle;
use troupe_protocol::link::{
    ClientRequest, ClientRole, HistoryStart, LinkQuery, Secret, ServerNotice, Welcome,
};
use troupe_protocol::{AgentId, ClientId, Event, JsonCodec as _, Op, Submission, SubmissionId};
use troupe_transport::limits::LINE_BYTES_MAX;
use troupe_transport::{SessionAddress, ToServer};

use crate::connect::ClientConnector;
use crate::driver::{ConnectionDriver, DriverCommand};
use crate::limits::{COMMANDS_QUEUED_MAX, GIVING_UP_MS, TOLD_QUEUED_MAX};

pub use error::ClientError;

/// How to connect, and as what.
#[derive(Debug, Clone)]
pub struct ClientOptions {
    pub role: ClientRole,
    /// The last event that was seen before; 0 for none.
    pub after: u64,
    /// Where to begin if none was seen.
    pub history: HistoryStart,
    /// Comes back as this client.
    pub client: Option<ClientId>,
    /// What that client's welcome gave it.
    pub secret: Option<Secret>,
    /// Needed wherever the server cannot ask the operating system who connects.
    pub token: Option<Secret>,
    /// Connects with TLS, and trusts these certificates.
    pub tls: Option<TlsOptions>,
    /// How long a lost connection is tried to be made again before giving up.
    pub patience: Duration,
}

impl Default for ClientOptions {
    fn default() -> Self {
        Self {
            role: ClientRole::Drive,
            after: 0,
            history: HistoryStart::Run,
            client: None,
            secret: None,
            token: None,
            tls: None,
            patience: Duration::from_millis(GIVING_UP_MS),
        }
    }
}

#[derive(Debug, Clone)]
pub struct TlsOptions {
    /// A file of certificates in PEM form: those of authorities, or the server's own.
    pub trusted: PathBuf,
}

/// What a client is told.
#[derive(Debug, Clone, PartialEq)]
pub enum ClientUpdate {
    Event(Box<Event>),
    /// Of this connection, not of the session. A `welcome` among them says that a lost
    /// connection was made again.
    Notice(Box<ServerNotice>),
    /// The connection is lost, and is being made again; this is why.
    Lost(String),
}

/// One client of a session. Dropping it closes the connection.
#[derive(Debug)]
pub struct Client {
    welcome: Welcome,
    told: mpsc::Receiver<Result<ClientUpdate, ClientError>>,
    submitter: ClientSubmitter,
    _driver: AbortOnDropHandle<()>,
}

impl Client {
    /// Connects and says hello. Fails at once if that is not possible.
    pub async fn connect(
        address: SessionAddress,
        options: ClientOptions,
    ) -> Result<Self, ClientError> {
        let connector = ClientConnector::new(address, &options)?;
        let (commands, orders) = mpsc::channel(COMMANDS_QUEUED_MAX);
        let (tell, told) = mpsc::channel(TOLD_QUEUED_MAX);
        let (driver, welcome) = ConnectionDriver::start(connector, options, orders, tell).await?;
        Ok(Self {
            welcome,
            told,
            submitter: ClientSubmitter { commands },
            _driver: AbortOnDropHandle::new(tokio::spawn(driver.run())),
        })
    }

    /// Returns how the server answered the first hello.
    pub fn welcome(&self) -> &Welcome {
        &self.welcome
    }

    /// Returns what happened next; `None` after the session has ended. Cancel-safe.
    pub async fn next(&mut self) -> Result<Option<ClientUpdate>, ClientError> {
        self.told.recv().await.transpose()
    }

    /// As [`Self::next`], for events alone.
    pub async fn next_event(&mut self) -> Result<Option<Event>, ClientError> {
        loop {
            match self.next().await? {
                Some(ClientUpdate::Event(event)) => return Ok(Some(*event)),
                Some(ClientUpdate::Notice(_) | ClientUpdate::Lost(_)) => {}
                None => return Ok(None),
            }
        }
    }

    /// Returns a handle that submits while this one waits for events.
    pub fn submitter(&self) -> ClientSubmitter {
        self.submitter.clone()
    }

    /// As [`ClientSubmitter::submit`].
    pub async fn submit(&self, id: impl Into<SubmissionId>, op: Op) -> Result<(), ClientError> {
        self.submitter.submit(id, op).await
    }
}

/// The submitting end of a client.
#[derive(Debug, Clone)]
pub struct ClientSubmitter {
    commands: mpsc::Sender<DriverCommand>,
}

impl ClientSubmitter {
    /// Submits, as soon as there is a connection. That the session has it is told by
    /// `accepted`; waits while too much is on the way. What no server would take is not sent.
    pub async fn submit(&self, id: impl Into<SubmissionId>, op: Op) -> Result<(), ClientError> {
        let id = id.into();
        let submission = Box::new(Submission { id, op });
        let bytes = submission.to_json()?.len();
        if bytes > LINE_BYTES_MAX {
            return Err(ClientError::TooLong { bytes });
        }
        self.send(ToServer::Submission(submission)).await
    }

    /// Asks to drive.
    pub async fn take_seat(&self) -> Result<(), ClientError> {
        self.send(ToServer::Request(ClientRequest::TakeSeat)).await
    }

    /// Lets the next one drive, or takes the wish to drive back.
    pub async fn release_seat(&self) -> Result<(), ClientError> {
        self.send(ToServer::Request(ClientRequest::ReleaseSeat))
            .await
    }

    /// Asks something. The answer is told as a notice of this id, unless the connection is lost
    /// before: then it has to be asked again.
    pub async fn ask(
        &self,
        id: impl Into<SubmissionId>,
        query: LinkQuery,
    ) -> Result<(), ClientError> {
        let id = id.into();
        self.send(ToServer::Request(ClientRequest::Query { id, query }))
            .await
    }

    /// Wants to be told what an agent of the tree says, from the beginning of its log. A
    /// connection that is made again goes on where the lost one was.
    pub async fn follow(&self, agent: AgentId) -> Result<(), ClientError> {
        let after = 0;
        let request = ClientRequest::FollowAgent { agent, after };
        self.send(ToServer::Request(request)).await
    }

    pub async fn unfollow(&self, agent: AgentId) -> Result<(), ClientError> {
        let request = ClientRequest::UnfollowAgent { agent };
        self.send(ToServer::Request(request)).await
    }

    async fn send(&self, message: ToServer) -> Result<(), ClientError> {
        let sent = self.commands.send(DriverCommand::Send(message)).await;
        sent.map_err(|_| ClientError::Ended)
    }

    /// Cuts the connection, as a bad network would; it is made again.
    pub async fn disconnect(&self) -> Result<(), ClientError> {
        let sent = self.commands.send(DriverCommand::Disconnect).await;
        sent.map_err(|_| ClientError::Ended)
    }
}
