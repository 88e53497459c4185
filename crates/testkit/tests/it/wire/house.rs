//! A session with its doors open.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tempfile::TempDir;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use troupe_client::{Client, ClientError, ClientOptions, ClientUpdate};
use troupe_protocol::input::UserInput;
use troupe_protocol::link::{ClientRole, LinkAnswer, LinkQuery, Secret, ServerNotice};
use troupe_protocol::op::{ConfigureSession, Op};
use troupe_protocol::{ClientId, Event, EventMsg};
use troupe_server::limits::KEEPALIVE_MS;
use troupe_server::token::AccessToken;
use troupe_server::{
    ListenReach, PromptHistory, ProtoServer, ReadMarks, ServerEnd, SessionOffice, StopSignal,
    TreeSource,
};
use troupe_testkit::Stage;
use troupe_transport::SessionAddress;

/// Long, because it is only met when something is broken.
pub const PATIENCE: Duration = Duration::from_mins(1);

/// As in the program.
pub const KEEPALIVE: Duration = Duration::from_millis(KEEPALIVE_MS);

pub const TOKEN: &str = "a token for this test alone";

/// Every kind of listener.
pub const ALL: [&str; 5] = ["unix", "tcp", "ws", "http", "grpc"];

pub struct House {
    addresses: Vec<(String, SessionAddress)>,
    running: JoinHandle<ServerEnd>,
    stop: Arc<Notify>,
    _directory: TempDir,
}

impl House {
    /// Opens a session to clients, everywhere.
    pub async fn open(stage: &Stage) -> Self {
        Self::open_asking(stage, KEEPALIVE).await
    }

    /// As [`Self::open`], and asks clients for a sign of life so often.
    pub async fn open_asking(stage: &Stage, keepalive: Duration) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let place = |kind: &str| match kind {
            "unix" => format!("unix:{}", directory.path().join("t.sock").display()),
            kind => format!("{kind}:127.0.0.1:0"),
        };
        let server = ProtoServer::bind(troupe_server::ListenOptions {
            listen: ALL.map(|kind| place(kind).parse().unwrap()).to_vec(),
            token: Some(token_in(&directory)),
            reach: ListenReach::ThisMachine,
            hosts: Vec::new(),
            origins: vec!["https://ui.example".to_owned()],
            tls: None,
            keepalive,
        })
        .await
        .unwrap();
        let kinds = ALL.map(str::to_owned).into_iter();
        let addresses = kinds.zip(server.addresses()).collect();
        let (handle, events, tree) = stage.queue_pair_and_tree();
        let server = match tree {
            Some(tree) => {
                let prompts = PromptHistory::new(directory.path().join("prompts.jsonl"));
                let office = SessionOffice::new(TreeSource::Configurator(tree));
                let marks = ReadMarks::new(directory.path().join("read.jsonl"));
                server.with_office(office.with_prompts(prompts).with_read_marks(marks))
            }
            None => server,
        };
        let stop = Arc::new(Notify::new());
        let running = tokio::spawn(server.run(handle, events, Bell(Arc::clone(&stop))));
        Self {
            addresses,
            running,
            stop,
            _directory: directory,
        }
    }

    pub fn address(&self, kind: &str) -> SessionAddress {
        let found = self.addresses.iter().find(|(name, _)| name == kind);
        found.unwrap().1.clone()
    }

    /// Where a raw connection is made to.
    pub fn socket_of(&self, kind: &str) -> String {
        match self.address(kind) {
            SessionAddress::Net(_, place) => place.to_string(),
            SessionAddress::Unix(path) => path.display().to_string(),
            SessionAddress::Stdio => unreachable!("nobody listens there"),
        }
    }

    pub async fn join(&self, kind: &str, options: ClientOptions) -> Result<Guest, ClientError> {
        let token = Some(Secret(TOKEN.to_owned()));
        let options = ClientOptions { token, ..options };
        let client = Client::connect(self.address(kind), options).await?;
        Ok(Guest { client, next: 1 })
    }

    /// Connects somebody who drives, and configures the session.
    pub async fn drive(&self, kind: &str) -> Guest {
        let mut driver = self.join(kind, ClientOptions::default()).await.unwrap();
        driver
            .submit(Op::ConfigureSession(ConfigureSession::default()))
            .await;
        driver
    }

    pub async fn follow(&self, kind: &str) -> Guest {
        self.join(kind, following(0)).await.unwrap()
    }

    /// Asks for the end from outside, as a signal does.
    pub fn stop(&self) {
        self.stop.notify_one();
    }

    pub async fn ended(self) -> ServerEnd {
        tokio::time::timeout(PATIENCE, self.running)
            .await
            .expect("the server ends with its session")
            .unwrap()
    }
}

/// Rung by who wants the server to stop.
pub struct Bell(pub Arc<Notify>);

impl StopSignal for Bell {
    async fn wanted(&mut self) {
        self.0.notified().await;
    }
}

/// A token as people keep it.
pub fn token_in(directory: &TempDir) -> AccessToken {
    use std::os::unix::fs::PermissionsExt as _;
    let path: PathBuf = directory.path().join("token");
    std::fs::write(&path, TOKEN).unwrap();
    let mode = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(&path, mode).unwrap();
    AccessToken::read(&path).unwrap()
}

pub fn following(after: u64) -> ClientOptions {
    ClientOptions {
        role: ClientRole::Follow,
        after,
        ..ClientOptions::default()
    }
}

pub struct Guest {
    pub client: Client,
    next: u32,
}

impl Guest {
    pub fn id(&self) -> ClientId {
        self.client.welcome().client.clone()
    }

    pub async fn submit(&mut self, op: Op) {
        let id = format!("s{}", self.next);
        self.next += 1;
        self.client.submit(id, op).await.unwrap();
    }

    pub async fn say(&mut self, text: &str) {
        let items = vec![UserInput::text(text)];
        self.submit(Op::UserInput {
            items,
            final_output_json_schema: None,
            last_response_id: None,
        })
        .await;
    }

    pub async fn next(&mut self) -> Option<ClientUpdate> {
        tokio::time::timeout(PATIENCE, self.client.next())
            .await
            .expect("something happens")
            .unwrap()
    }

    /// Returns the events up to and including the first that matches.
    pub async fn until(&mut self, is_it: impl Fn(&EventMsg) -> bool) -> Vec<Event> {
        let mut passed = Vec::new();
        while let Some(told) = self.next().await {
            if let ClientUpdate::Event(event) = told {
                let found = is_it(&event.msg);
                passed.push(*event);
                if found {
                    return passed;
                }
            }
        }
        panic!("the session ended; these events came: {passed:#?}");
    }

    pub async fn until_task_ends(&mut self) -> Vec<Event> {
        self.until(|msg| matches!(msg, EventMsg::TurnComplete(_) | EventMsg::TurnAborted(_)))
            .await
    }

    /// Returns the next notice that matches; what comes before is passed over.
    pub async fn notice(&mut self, is_it: impl Fn(&ServerNotice) -> bool) -> ServerNotice {
        while let Some(told) = self.next().await {
            if let ClientUpdate::Notice(notice) = told
                && is_it(&notice)
            {
                return *notice;
            }
        }
        panic!("the session ended before the notice came");
    }

    /// Returns everything that is left to be told.
    pub async fn rest(&mut self) -> Vec<ClientUpdate> {
        let mut rest = Vec::new();
        while let Some(told) = self.next().await {
            rest.push(told);
        }
        rest
    }

    /// Asks, and returns what comes of it.
    pub async fn ask(&mut self, id: &str, query: LinkQuery) -> ServerNotice {
        self.client.submitter().ask(id, query).await.unwrap();
        let is_ours = |notice: &ServerNotice| match notice {
            ServerNotice::Answer { id: answered, .. } => answered.as_str() == id,
            ServerNotice::Refused { id: refused, .. } => refused
                .as_ref()
                .is_some_and(|refused| refused.as_str() == id),
            _ => false,
        };
        self.notice(is_ours).await
    }

    /// Asks what is answered.
    pub async fn answer(&mut self, id: &str, query: LinkQuery) -> LinkAnswer {
        match self.ask(id, query).await {
            ServerNotice::Answer { answer, .. } => answer,
            other => panic!("{other:?}"),
        }
    }

    pub async fn shut_down(&mut self) -> Vec<Event> {
        self.submit(Op::Shutdown).await;
        self.until(|msg| matches!(msg, EventMsg::ShutdownComplete))
            .await
    }
}
