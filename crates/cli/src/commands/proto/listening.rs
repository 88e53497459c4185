//! Listeners of `troupe proto`.

use clap::Args;
use troupe_engine::{EventStream, SessionHandle};
use troupe_server::{End, Server};
use troupe_transport::Address;

use crate::commands::door::{DoorArguments, Signals};
use crate::commands::tell;
use crate::exec::signals::StopRequest;
use crate::failure::{Exit, Failure, Outcome};
use crate::home::Home;

#[derive(Debug, Args)]
pub struct ListenArguments {
    /// Where clients reach the session (repeatable): stdio, unix:PATH, tcp:HOST:PORT,
    /// ws:HOST:PORT, http:HOST:PORT (HTTP/2 or 1.1) or grpc:HOST:PORT. Port 0 takes any free
    /// one; the addresses are told on stderr. Without it: stdio
    #[arg(long, value_name = "ADDRESS")]
    listen: Vec<Address>,

    #[command(flatten)]
    door: DoorArguments,
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
        let signals = Signals::listen()?;
        let (options, path) = self.door.options(&self.listen, home, "proto.token")?;
        let server = Server::bind(options).await.map_err(Failure::not_started)?;
        for address in server.addresses() {
            tell(&format!("listening on {address}"));
        }
        if let Some(path) = path {
            tell(&format!(
                "network clients show the token in {}",
                path.display()
            ));
        }
        Ok(Listening { server, signals })
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
