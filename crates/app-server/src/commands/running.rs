//! Commands started by one client that are running, by processId.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use troupe_process::TerminalSize;
use troupe_protocol::discard;
use troupe_transport::rpc::RpcError;

use crate::limits::COMMAND_ORDERS_QUEUED_MAX;

/// What a client wants of a command that runs.
#[derive(Debug)]
pub(super) enum CommandOrder {
    Write {
        bytes: Vec<u8>,
        close: bool,
        reply: oneshot::Sender<io::Result<()>>,
    },
    Resize {
        size: TerminalSize,
        reply: oneshot::Sender<io::Result<()>>,
    },
}

/// The commands of one client, by the names that it gave them.
#[derive(Debug, Clone, Default)]
pub(crate) struct RunningCommands(Arc<Mutex<HashMap<String, RunningCommandEntry>>>);

#[derive(Debug)]
struct RunningCommandEntry {
    orders: mpsc::Sender<CommandOrder>,
    stop: CancellationToken,
}

/// The command's end of its entry, which goes when this does.
#[derive(Debug)]
pub(crate) struct CommandRegistration {
    pub(super) orders: mpsc::Receiver<CommandOrder>,
    /// Somebody wants it to end.
    pub(super) stop: CancellationToken,
    roll: RunningCommands,
    id: String,
}

impl Drop for CommandRegistration {
    fn drop(&mut self) {
        self.roll.entries().remove(&self.id);
    }
}

impl RunningCommands {
    /// Enters a command under a name that no other has.
    pub(super) fn enter(&self, id: &str) -> Result<CommandRegistration, RpcError> {
        let mut entries = self.entries();
        if entries.contains_key(id) {
            let message = format!("a command with the processId {id:?} is running");
            return Err(RpcError::invalid_request(message));
        }
        let (orders, received) = mpsc::channel(COMMAND_ORDERS_QUEUED_MAX);
        let stop = CancellationToken::new();
        let entry = RunningCommandEntry {
            orders,
            stop: stop.clone(),
        };
        entries.insert(id.to_owned(), entry);
        Ok(CommandRegistration {
            orders: received,
            stop,
            roll: self.clone(),
            id: id.to_owned(),
        })
    }

    pub(super) fn terminate(&self, id: &str) -> Result<(), RpcError> {
        let entries = self.entries();
        let entry = entries.get(id).ok_or_else(|| not_running(id))?;
        entry.stop.cancel();
        Ok(())
    }

    /// Has a command do something, and waits until it is done.
    pub(super) async fn order(
        &self,
        id: &str,
        order: impl FnOnce(oneshot::Sender<io::Result<()>>) -> CommandOrder,
    ) -> Result<(), RpcError> {
        let orders = {
            let entries = self.entries();
            let entry = entries.get(id).ok_or_else(|| not_running(id))?;
            entry.orders.clone()
        };
        let (reply, done) = oneshot::channel();
        // A command that ends meanwhile drops the order, and so the reply.
        discard!(orders.send(order(reply)).await, "the actor has ended");
        match done.await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => {
                let message = format!("the command with the processId {id:?}: {error}");
                Err(RpcError::invalid_request(message))
            }
            Err(_) => Err(not_running(id)),
        }
    }

    fn entries(&self) -> MutexGuard<'_, HashMap<String, RunningCommandEntry>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn not_running(id: &str) -> RpcError {
    RpcError::invalid_request(format!("no command with the processId {id:?} is running"))
}
