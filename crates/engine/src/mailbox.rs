//! The one mailbox of a session, with two ways in.
//!
//! Clients and tools wait for credit while too much lies in it. The tree's [`OrderSender`] never
//! wait: a supervisor that waited for one session would keep every other one waiting, and
//! two that waited for each other would do so for ever.

use std::sync::Arc;

use tokio::sync::{Semaphore, mpsc};

use crate::host::SessionOrder;
use crate::limits::MAILBOX_MAX;
use crate::session::{SessionClosed, SessionInput};

pub(crate) fn mailbox() -> (Mailbox, InputReceiver) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let credit = Arc::new(Semaphore::new(MAILBOX_MAX));
    let mailbox = Mailbox {
        inputs: sender,
        credit: Arc::clone(&credit),
    };
    let inputs = InputReceiver {
        inputs: receiver,
        credit,
    };
    (mailbox, inputs)
}

/// The sending end.
#[derive(Debug, Clone)]
pub(crate) struct Mailbox {
    inputs: mpsc::UnboundedSender<SessionInput>,
    credit: Arc<Semaphore>,
}

impl Mailbox {
    /// Posts an input; waits while the mailbox is full.
    pub(crate) async fn post(&self, input: SessionInput) -> Result<(), SessionClosed> {
        let credit = self.credit.acquire().await.map_err(|_| SessionClosed)?;
        self.inputs.send(input).map_err(|_| SessionClosed)?;
        // Given back by who takes the input out.
        credit.forget();
        Ok(())
    }

    pub(crate) fn orders(&self) -> OrderSender {
        OrderSender {
            inputs: self.inputs.clone(),
        }
    }
}

/// The tree's way into a session. It does not keep the session alive.
#[derive(Debug, Clone)]
pub struct OrderSender {
    inputs: mpsc::UnboundedSender<SessionInput>,
}

impl OrderSender {
    /// Gives an order, at once. Returns `false` if the session is gone, and the order with it.
    pub fn give(&self, order: SessionOrder) -> bool {
        self.inputs
            .send(SessionInput::Order(Box::new(order)))
            .is_ok()
    }

    /// Returns when the session has ended and its log is free.
    pub async fn ended(&self) {
        self.inputs.closed().await;
    }
}

/// The receiving end. Its end closes the mailbox, for those too that wait for credit.
#[derive(Debug)]
pub(crate) struct InputReceiver {
    inputs: mpsc::UnboundedReceiver<SessionInput>,
    credit: Arc<Semaphore>,
}

impl InputReceiver {
    /// Returns what was posted first. Cancel-safe.
    pub(crate) async fn next(&mut self) -> Option<SessionInput> {
        let input = self.inputs.recv().await?;
        if !matches!(input, SessionInput::Order(_)) {
            self.credit.add_permits(1);
        }
        Some(input)
    }
}

impl Drop for InputReceiver {
    fn drop(&mut self) {
        self.credit.close();
    }
}
