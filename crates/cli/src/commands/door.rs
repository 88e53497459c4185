//! Arguments of commands that listen: token, TLS, allowed hosts and origins.

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use clap::Args;
use troupe_server::limits::KEEPALIVE_MS;
use troupe_server::tls::Tls;
use troupe_server::token::Token;
use troupe_server::{Options, Reach, Stop};
use troupe_transport::Address;

use crate::exec::signals::{StopRequest, StopRequests};
use crate::failure::Failure;
use crate::home::Home;

const DIRECTORY_MODE: u32 = 0o700;

#[derive(Debug, Args)]
pub struct DoorArguments {
    /// The file with the token that network clients must show; yours alone (mode 600).
    /// Without it: one in the directory run of the home, made if it is not there
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

impl DoorArguments {
    /// Returns what to listen with, and the file of the token if one is needed. `usual` is the
    /// name of that file where nobody names one.
    pub fn options(
        &self,
        listen: &[Address],
        home: &Home,
        usual: &str,
    ) -> Result<(Options, Option<PathBuf>), Failure> {
        let in_network = listen
            .iter()
            .any(|address| matches!(address, Address::Net(..)));
        let (token, path) = if in_network {
            let (token, path) = self.token(home, usual)?;
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
        let options = Options {
            listen: listen.to_vec(),
            token,
            reach: if self.allow_remote {
                Reach::Network
            } else {
                Reach::ThisMachine
            },
            hosts: self.allow_host.clone(),
            origins: self.allow_origin.clone(),
            tls,
            keepalive: Duration::from_millis(KEEPALIVE_MS),
        };
        Ok((options, path))
    }

    fn token(&self, home: &Home, usual: &str) -> Result<(Token, PathBuf), Failure> {
        let named = |path: &Path| format!("cannot use the token file {}", path.display());
        if let Some(path) = &self.token_file {
            let token = Token::read(path).with_context(|| named(path));
            return Ok((token.map_err(Failure::not_started)?, path.clone()));
        }
        let path = home.path().join("run").join(usual);
        let made = private_directory(home.path())
            .map_err(anyhow::Error::from)
            .and_then(|()| Ok(Token::read_or_make(&path)?))
            .with_context(|| named(&path));
        Ok((made.map_err(Failure::not_started)?, path))
    }
}

/// Makes the place for what a running process leaves for others to find.
pub fn private_directory(home: &Path) -> io::Result<()> {
    let directory = home.join("run");
    DirBuilder::new()
        .recursive(true)
        .mode(DIRECTORY_MODE)
        .create(&directory)?;
    // It may have been made by other hands; nobody else has any business in it.
    fs::set_permissions(&directory, Permissions::from_mode(DIRECTORY_MODE))
}

/// The signals of this process, and which one came.
#[derive(Debug)]
pub struct Signals {
    requests: StopRequests,
    pub asked: Option<StopRequest>,
}

impl Signals {
    pub fn listen() -> Result<Self, Failure> {
        let requests = StopRequests::listen().map_err(Failure::not_started)?;
        Ok(Self {
            requests,
            asked: None,
        })
    }

    /// Returns when one comes. Safe to cancel.
    pub async fn next(&mut self) {
        self.asked = Some(self.requests.next().await);
    }
}

impl Stop for &mut Signals {
    async fn wanted(&mut self) {
        self.next().await;
    }
}
