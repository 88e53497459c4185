//! Where `troupe proto` listens.

use clap::Args;
use troupe_engine::{EventStream, SessionHandle};
use troupe_server::{ProtoServer, ServerEnd};
use troupe_transport::SessionAddress;

use crate::commands::listen_arguments::{AccessArguments, StopSignals};
use crate::commands::tell;
use crate::exec::signals::ExitSignal;
use crate::failure::{CommandExit, CommandFailure, Outcome};
use crate::home::TroupeHome;

#[derive(Debug, Args)]
pub struct ListenArguments {
    /// Where clients reach the session (repeatable): stdio, unix:PATH, tcp:HOST:PORT,
    /// ws:HOST:PORT, http:HOST:PORT (HTTP/2 or 1.1) or grpc:HOST:PORT. Port 0 takes any free
    /// one; the addresses are told on stderr. Without it: stdio
    #[arg(long, value_name = "ADDRESS")]
    listen: Vec<SessionAddress>,

    #[command(flatten)]
    door: AccessArguments,
}

impl ListenArguments {
    pub fn addresses(&self) -> &[SessionAddress] {
        &self.listen
    }

    /// Refuses what can be seen to be wrong without trying.
    pub fn check(&self) -> Result<(), CommandFailure> {
        let twice = |address: &SessionAddress| {
            let port_0 = matches!(address, SessionAddress::Net(_, place) if place.port == 0);
            let count = self.listen.iter().filter(|other| *other == address).count();
            count > 1 && !port_0
        };
        if let Some(address) = self.listen.iter().find(|address| twice(address)) {
            return Err(CommandFailure::usage(format!(
                "--listen {address} is given twice"
            )));
        }
        Ok(())
    }

    /// Binds every address. Signals count from before anybody is told where to connect.
    pub async fn bind(&self, home: &TroupeHome) -> Result<ProtoListener, CommandFailure> {
        let signals = StopSignals::listen()?;
        let (options, path) = self.door.options(&self.listen, home, "proto.token")?;
        let server = ProtoServer::bind(options)
            .await
            .map_err(CommandFailure::not_started)?;
        for address in server.addresses() {
            tell(&format!("listening on {address}"));
        }
        if let Some(path) = path {
            tell(&format!(
                "network clients show the token in {}",
                path.display()
            ));
        }
        Ok(ProtoListener { server, signals })
    }
}

/// Addresses that are bound, and the signals that end it.
pub struct ProtoListener {
    server: ProtoServer,
    signals: StopSignals,
}

impl ProtoListener {
    /// Serves the session until it ends. The first signal ends it in order, a second one at
    /// once.
    pub async fn serve(mut self, handle: SessionHandle, events: EventStream) -> Outcome {
        let end = self.server.run(handle, events, &mut self.signals).await;
        Ok(match (end, self.signals.asked) {
            (ServerEnd::Hurried, _) => CommandExit::Killed,
            (ServerEnd::Orderly, Some(ExitSignal::Terminate)) => CommandExit::Terminated,
            (ServerEnd::Orderly, Some(ExitSignal::Interrupt) | None) => CommandExit::Success,
        })
    }
}
