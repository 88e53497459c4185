//! The engine's line to one command's keeper.

use std::io;
use std::sync::Weak;

use tokio::io::unix::AsyncFd;
use troupe_protocol::discard;

use crate::holder::{KeeperHandle, KeeperOrder, KeeperReport};
use crate::pollable::pollable;

/// Dropping it kills the command's whole tree.
#[derive(Debug)]
pub(super) struct KeeperControl(AsyncFd<KeeperHandle>);

impl KeeperControl {
    pub fn new(keeper: KeeperHandle) -> io::Result<Self> {
        Ok(Self(pollable(keeper)?))
    }

    /// Waits for what the keeper says; `None` when it has ended, and with it the tree.
    pub async fn report(&self) -> Option<KeeperReport> {
        Some(self.report_from().await?.0)
    }

    /// The same, with the process id of who says it.
    pub async fn report_from(&self) -> Option<(KeeperReport, u32)> {
        loop {
            let mut guard = self.0.readable().await.ok()?;
            match guard.try_io(|keeper| keeper.get_ref().report()) {
                Ok(Ok(report)) => return report,
                // What cannot be read is no keeper of ours; dropping the socket ends it.
                Ok(Err(_)) => return None,
                Err(_would_block) => {}
            }
        }
    }

    /// Fails only if the keeper has ended, of which the next report tells.
    pub fn order(&self, order: KeeperOrder) {
        discard!(
            self.0.get_ref().order(order),
            error,
            "a keeper that has ended was given an order"
        );
    }
}

/// Stops a command from elsewhere. It does not keep the command alive: once its
/// [`Process`](super::Process) is dropped, there is nothing left to stop.
#[derive(Debug, Clone)]
pub struct CommandKiller(pub(super) Weak<KeeperControl>);

impl CommandKiller {
    /// Sends SIGINT to the command's process group, as ctrl-C in a terminal does.
    pub fn interrupt(&self) {
        self.order(KeeperOrder::Interrupt);
    }

    /// Sends SIGTERM to every process of the tree.
    pub fn terminate(&self) {
        self.order(KeeperOrder::Terminate);
    }

    /// Sends SIGKILL to every process of the tree; its end is seen as [`ProcessEvent::Exited`].
    ///
    /// [`ProcessEvent::Exited`]: super::ProcessEvent::Exited
    pub fn kill(&self) {
        self.order(KeeperOrder::Kill);
    }

    fn order(&self, order: KeeperOrder) {
        if let Some(control) = self.0.upgrade() {
            control.order(order);
        }
    }
}
