//! Keeps one client connected: the task behind a [`Client`](crate::Client).

use std::collections::VecDeque;
use std::io;
use std::time::{Duration, Instant};

use rand::Rng as _;
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};
use troupe_protocol::SubmissionId;
use troupe_protocol::discard;
use troupe_protocol::link::{ClientRequest, ClientRole, Goodbye, Hello, ServerNotice, Welcome};
use troupe_transport::{FromServer, ToServer};

use crate::connect::ClientConnector;
use crate::error::ClientError;
use crate::limits::{CONNECT_MS_MAX, PAUSE_MS_MAX, PAUSE_MS_MIN, UNACCEPTED_MAX};
use crate::link::ClientLink;
use crate::{ClientOptions, ClientUpdate};

#[derive(Debug)]
pub(crate) enum DriverCommand {
    Send(ToServer),
    Disconnect,
}

#[derive(Debug)]
pub(crate) struct ConnectionDriver {
    connector: ClientConnector,
    /// What is said when the connection is made again.
    hello: Hello,
    patience: Duration,
    orders: mpsc::Receiver<DriverCommand>,
    tell: mpsc::Sender<Result<ClientUpdate, ClientError>>,
    link: Option<ClientLink>,
    /// Submitted, and perhaps lost with a connection.
    unaccepted: VecDeque<ToServer>,
}

/// What became of an attempt to connect.
enum ConnectFailure {
    /// Another one may succeed.
    Failed(io::Error),
    Refused {
        reason: Goodbye,
        message: String,
    },
}

/// Whether to go on.
enum DriverFlow {
    On,
    Over,
}

/// What comes next. Without a value, nobody is left who wants anything.
enum DriverInput {
    Command(Option<DriverCommand>),
    Read(Option<io::Result<Option<FromServer>>>),
}

impl ConnectionDriver {
    /// Connects for the first time.
    pub(crate) async fn start(
        connector: ClientConnector,
        options: ClientOptions,
        orders: mpsc::Receiver<DriverCommand>,
        tell: mpsc::Sender<Result<ClientUpdate, ClientError>>,
    ) -> Result<(Self, Welcome), ClientError> {
        let mut driver = Self {
            connector,
            hello: Hello {
                token: options.token,
                client: options.client,
                secret: options.secret,
                role: options.role,
                after: options.after,
            },
            patience: options.patience,
            orders,
            tell,
            link: None,
            unaccepted: VecDeque::new(),
        };
        match driver.attempt().await {
            Ok(welcome) => Ok((driver, welcome)),
            Err(ConnectFailure::Refused { reason, message }) => {
                Err(ClientError::Refused { reason, message })
            }
            Err(ConnectFailure::Failed(source)) => Err(ClientError::Connect {
                address: driver.connector.address().clone(),
                source,
            }),
        }
    }

    /// Runs until the session has ended, or the connection is lost for good.
    pub(crate) async fn run(mut self) {
        loop {
            let flow = match &mut self.link {
                Some(_) => self.step().await,
                None => self.reconnect().await,
            };
            match flow {
                Ok(DriverFlow::On) => {}
                Ok(DriverFlow::Over) => return,
                Err(error) => {
                    // A caller that is gone does not ask why.
                    discard!(
                        self.tell.send(Err(error)).await,
                        "news was dropped: nobody listens"
                    );
                    return;
                }
            }
        }
    }

    async fn step(&mut self) -> Result<DriverFlow, ClientError> {
        let Some(link) = &mut self.link else {
            return Ok(DriverFlow::On);
        };
        // Nothing is read that there is no room for.
        let read = async {
            self.tell.reserve().await.ok()?;
            Some(link.next().await)
        };
        let happened = tokio::select! {
            command = self.orders.recv(), if self.unaccepted.len() < UNACCEPTED_MAX => {
                DriverInput::Command(command)
            }
            read = read => DriverInput::Read(read),
        };
        match happened {
            DriverInput::Command(None) | DriverInput::Read(None) => Ok(DriverFlow::Over),
            DriverInput::Command(Some(DriverCommand::Disconnect))
            | DriverInput::Read(Some(Ok(None) | Err(_))) => {
                self.link = None;
                Ok(DriverFlow::On)
            }
            DriverInput::Command(Some(DriverCommand::Send(message))) => {
                self.send(message).await;
                Ok(DriverFlow::On)
            }
            DriverInput::Read(Some(Ok(Some(message)))) => {
                let (told, flow) = apply_message(&mut self.hello, &mut self.unaccepted, message)?;
                // There is room, and only this task fills it.
                match self.tell.send(Ok(told)).await {
                    Ok(()) => Ok(flow),
                    Err(_) => Ok(DriverFlow::Over),
                }
            }
        }
    }

    async fn send(&mut self, message: ToServer) {
        match &message {
            ToServer::Submission(_) => self.unaccepted.push_back(message.clone()),
            ToServer::Request(ClientRequest::TakeSeat) => self.hello.role = ClientRole::Drive,
            ToServer::Request(ClientRequest::ReleaseSeat) => self.hello.role = ClientRole::Follow,
            ToServer::Request(_) => {}
        }
        if let Some(link) = &mut self.link
            && link.send(&message).await.is_err()
        {
            self.link = None;
        }
    }

    /// Makes a lost connection again, and sends again what may have been lost with it.
    async fn reconnect(&mut self) -> Result<DriverFlow, ClientError> {
        let begun = Instant::now();
        let mut pause = Duration::from_millis(PAUSE_MS_MIN);
        let welcome = loop {
            match self.attempt().await {
                Ok(welcome) => break welcome,
                Err(ConnectFailure::Refused { reason, message }) if reason != Goodbye::Full => {
                    return Err(ClientError::Refused { reason, message });
                }
                Err(ConnectFailure::Failed(error)) if begun.elapsed() >= self.patience => {
                    return Err(ClientError::Lost(error.to_string()));
                }
                Err(ConnectFailure::Refused { message, .. })
                    if begun.elapsed() >= self.patience =>
                {
                    return Err(ClientError::Lost(message));
                }
                Err(_) => {}
            }
            let jitter = rand::rng().random_range(0.5..1.0);
            sleep(pause.mul_f64(jitter)).await;
            pause = (pause * 2).min(Duration::from_millis(PAUSE_MS_MAX));
        };
        let welcome = ClientUpdate::Notice(Box::new(ServerNotice::Welcome(welcome)));
        if self.tell.send(Ok(welcome)).await.is_err() {
            return Ok(DriverFlow::Over);
        }
        for message in &self.unaccepted {
            if let Some(link) = &mut self.link
                && link.send(message).await.is_err()
            {
                self.link = None;
            }
        }
        Ok(DriverFlow::On)
    }

    /// Connects, says hello and waits for the welcome.
    async fn attempt(&mut self) -> Result<Welcome, ConnectFailure> {
        let opened = async {
            let mut link = self.connector.connect(&self.hello).await?;
            let first = link.next().await?;
            Ok::<_, io::Error>((link, first))
        };
        let opened = timeout(Duration::from_millis(CONNECT_MS_MAX), opened).await;
        let (link, first) = opened
            .unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
            .map_err(ConnectFailure::Failed)?;
        let failed = |text: &str| Err(ConnectFailure::Failed(io::Error::other(text.to_owned())));
        let notice = match first {
            Some(FromServer::Notice(notice)) => *notice,
            Some(FromServer::Event(_)) => return failed("the server did not answer hello"),
            None => return failed("the server closed the connection"),
        };
        match notice {
            ServerNotice::Welcome(welcome) => {
                self.hello.client = Some(welcome.client.clone());
                self.hello.secret = Some(welcome.secret.clone());
                self.link = Some(link);
                Ok(welcome)
            }
            ServerNotice::Goodbye { reason, message } => {
                Err(ConnectFailure::Refused { reason, message })
            }
            _ => failed("the server did not answer hello"),
        }
    }
}

/// Takes a message in, and says whether others follow.
fn apply_message(
    hello: &mut Hello,
    unaccepted: &mut VecDeque<ToServer>,
    message: FromServer,
) -> Result<(ClientUpdate, DriverFlow), ClientError> {
    let notice = match message {
        FromServer::Event(event) => {
            hello.after = event.seq;
            return Ok((ClientUpdate::Event(event), DriverFlow::On));
        }
        FromServer::Notice(notice) => notice,
    };
    let mut settle = |id: &SubmissionId| {
        unaccepted.retain(|sent| match sent {
            ToServer::Submission(submission) => submission.id != *id,
            ToServer::Request(_) => false,
        });
    };
    let flow = match notice.as_ref() {
        ServerNotice::Accepted { id } | ServerNotice::Refused { id: Some(id), .. } => {
            settle(id);
            DriverFlow::On
        }
        ServerNotice::Goodbye { reason, message } => match reason {
            Goodbye::SessionEnded => DriverFlow::Over,
            reason => {
                return Err(ClientError::Refused {
                    reason: *reason,
                    message: message.clone(),
                });
            }
        },
        _ => DriverFlow::On,
    };
    Ok((ClientUpdate::Notice(notice), flow))
}
