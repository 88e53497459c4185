//! Who may come in where a command listens.

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use clap::Args;
use troupe_server::limits::KEEPALIVE_MS;
use troupe_server::tls::TlsIdentity;
use troupe_server::token::AccessToken;
use troupe_server::{ListenOptions, ListenReach, StopSignal};
use troupe_transport::SessionAddress;

use crate::exec::signals::{ExitSignal, ExitSignals};
use crate::failure::CommandFailure;
use crate::home::TroupeHome;

const DIRECTORY_MODE: u32 = 0o700;

#[derive(Debug, Args)]
pub struct AccessArguments {
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

impl AccessArguments {
    /// Returns what to listen with, and the file of the token if one is needed. `usual` is the
    /// name of that file where nobody names one.
    pub fn options(
        &self,
        listen: &[SessionAddress],
        home: &TroupeHome,
        usual: &str,
    ) -> Result<(ListenOptions, Option<PathBuf>), CommandFailure> {
        let in_network = listen
            .iter()
            .any(|address| matches!(address, SessionAddress::Net(..)));
        let (token, path) = if in_network {
            let (token, path) = self.token(home, usual)?;
            (Some(token), Some(path))
        } else {
            (None, None)
        };
        let tls = match (&self.tls_cert, &self.tls_key) {
            (Some(certificates), Some(key)) => {
                Some(TlsIdentity::read(certificates, key).map_err(CommandFailure::not_started)?)
            }
            _ => None,
        };
        let options = ListenOptions {
            listen: listen.to_vec(),
            token,
            reach: if self.allow_remote {
                ListenReach::Network
            } else {
                ListenReach::ThisMachine
            },
            hosts: self.allow_host.clone(),
            origins: self.allow_origin.clone(),
            tls,
            keepalive: Duration::from_millis(KEEPALIVE_MS),
        };
        Ok((options, path))
    }

    fn token(
        &self,
        home: &TroupeHome,
        usual: &str,
    ) -> Result<(AccessToken, PathBuf), CommandFailure> {
        let named = |path: &Path| format!("cannot use the token file {}", path.display());
        if let Some(path) = &self.token_file {
            let token = AccessToken::read(path).with_context(|| named(path));
            return Ok((token.map_err(CommandFailure::not_started)?, path.clone()));
        }
        let path = home.path().join("run").join(usual);
        let made = private_directory(home.path())
            .map_err(anyhow::Error::from)
            .and_then(|()| Ok(AccessToken::read_or_make(&path)?))
            .with_context(|| named(&path));
        Ok((made.map_err(CommandFailure::not_started)?, path))
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
pub struct StopSignals {
    requests: ExitSignals,
    pub asked: Option<ExitSignal>,
}

impl StopSignals {
    pub fn listen() -> Result<Self, CommandFailure> {
        let requests = ExitSignals::listen().map_err(CommandFailure::not_started)?;
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

impl StopSignal for &mut StopSignals {
    async fn wanted(&mut self) {
        self.next().await;
    }
}
