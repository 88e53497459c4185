//! Where `troupe proto` listens, and for whom.

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;
use troupe_engine::{EventStream, SessionHandle};
use troupe_server::tls::Tls;
use troupe_server::token::Token;
use troupe_server::{End, Options, Reach, Server, Stop};
use troupe_transport::Address;

use crate::commands::tell;
use crate::exec::signals::{StopRequest, StopRequests};
use crate::failure::{Exit, Failure, Outcome};
use crate::home::Home;

const DIRECTORY_MODE: u32 = 0o700;

#[derive(Debug, Args)]
pub struct ListenArguments {
    /// Where clients reach the session (repeatable): stdio, unix:PATH, tcp:HOST:PORT,
    /// ws:HOST:PORT, http:HOST:PORT (HTTP/2 or 1.1) or grpc:HOST:PORT. Port 0 takes any free
    /// one; the addresses are told on stderr. Without it: stdio
    #[arg(long, value_name = "ADDRESS")]
    listen: Vec<Address>,

    /// The file with the token that network clients must show; yours alone (mode 600).
    /// Without it: run/proto.token in the home, made if it is not there
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,

    /// Listen also on addresses that other machines can reach
    #[arg(long)]
    allow_remote: bool,

    /// A name of this machine that requests over HTTP may be addressed to (repeatable);
    /// localhost and the addresses listened on are always allowed
    #[arg(long, value_name = "NAME")]
    allow_host: Vec<String>,

    /// An origin whose pages may connect from a browser (repeatable), such as
    /// https://example.org
    #[arg(long, value_name = "ORIGIN")]
    allow_origin: Vec<String>,

    /// The certificates for TLS on network addresses, in PEM form
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,

    /// The key of the first certificate, in PEM form
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
}

impl ListenArguments {
    pub fn addresses(&self) -> &[Address] {
        &self.listen
    }

    /// Refuses what can be seen to be wrong without trying.
    pub fn check(&self) -> Result<(), Failure> {
        let twice = |address: &Address| {
            let port_0 = matches!(address, Address::Net(_, place) if place.port == 0);
            let count = self.listen.iter().filter(|other| *other == address).count();
            count > 1 && !port_0
        };
        if let Some(address) = self.listen.iter().find(|address| twice(address)) {
            return Err(Failure::usage(format!("--listen {address} is given twice")));
        }
        Ok(())
    }

    /// Binds every address. Signals count from before anybody is told where to connect.
    pub async fn bind(&self, home: &Home) -> Result<Listening, Failure> {
        let requests = StopRequests::listen().map_err(Failure::not_started)?;
        let in_network = self
            .listen
            .iter()
            .any(|address| matches!(address, Address::Net(..)));
        let (token, path) = if in_network {
            let (token, path) = self.token(home)?;
            (Some(token), Some(path))
        } else {
            (None, None)
        };
        let tls = match (&self.tls_cert, &self.tls_key) {
            (Some(certificates), Some(key)) => {
                Some(Tls::read(certificates, key).map_err(Failure::not_started)?)
            }
            _ => None,
        };
        let server = Server::bind(Options {
            listen: self.listen.clone(),
            token,
            reach: if self.allow_remote {
                Reach::Network
            } else {
                Reach::ThisMachine
            },
            hosts: self.allow_host.clone(),
            origins: self.allow_origin.clone(),
            tls,
        })
        .await
        .map_err(Failure::not_started)?;
        for address in server.addresses() {
            tell(&format!("listening on {address}"));
        }
        if let Some(path) = path {
            tell(&format!(
                "network clients show the token in {}",
                path.display()
            ));
        }
        let signals = Signals {
            requests,
            asked: None,
        };
        Ok(Listening { server, signals })
    }

    fn token(&self, home: &Home) -> Result<(Token, PathBuf), Failure> {
        let named = |path: &Path| format!("cannot use the token file {}", path.display());
        if let Some(path) = &self.token_file {
            let token = Token::read(path).with_context(|| named(path));
            return Ok((token.map_err(Failure::not_started)?, path.clone()));
        }
        let path = home.path().join("run/proto.token");
        let made = private_directory(home.path())
            .map_err(anyhow::Error::from)
            .and_then(|()| Ok(Token::read_or_make(&path)?))
            .with_context(|| named(&path));
        Ok((made.map_err(Failure::not_started)?, path))
    }
}

/// Makes the place for what a running process leaves for others to find.
fn private_directory(home: &Path) -> io::Result<()> {
    let directory = home.join("run");
    DirBuilder::new()
        .recursive(true)
        .mode(DIRECTORY_MODE)
        .create(&directory)?;
    // It may have been made by other hands; nobody else has any business in it.
    fs::set_permissions(&directory, Permissions::from_mode(DIRECTORY_MODE))
}

/// The signals of this process, and which one came.
struct Signals {
    requests: StopRequests,
    asked: Option<StopRequest>,
}

impl Stop for &mut Signals {
    async fn wanted(&mut self) {
        self.asked = Some(self.requests.next().await);
    }
}

/// Addresses that are bound, and the signals that end it.
pub struct Listening {
    server: Server,
    signals: Signals,
}

impl Listening {
    /// Serves the session until it ends. The first signal ends it in order, a second one at
    /// once.
    pub async fn serve(mut self, handle: SessionHandle, events: EventStream) -> Outcome {
        let end = self.server.run(handle, events, &mut self.signals).await;
        Ok(match (end, self.signals.asked) {
            (End::Hurried, _) => Exit::Killed,
            (End::Orderly, Some(StopRequest::Terminate)) => Exit::Terminated,
            (End::Orderly, Some(StopRequest::Interrupt) | None) => Exit::Success,
        })
    }
}
