use std::mem::{size_of, size_of_val};
use std::sync::Arc;

use async_trait::async_trait;

use super::*;
use crate::deps::{ConfigureError, SessionConfigurator};

#[derive(Debug)]
struct Nothing;

#[async_trait]
impl SessionConfigurator for Nothing {
    async fn configure(&self, _: &ConfigureSession) -> Result<SessionSetup, ConfigureError> {
        Err(ConfigureError::refused("there is nothing"))
    }
}

/// A thousand idle agents cost a thousand times this, beside their histories.
#[test]
fn a_waiting_session_is_small() {
    let (mailbox, inputs) = mailbox();
    let (publisher, _events) = EventPublisher::new();
    let actor = SessionActor {
        deps: SessionDeps::new(Arc::new(Nothing)),
        mailbox,
        inputs,
        owner: CancellationToken::new(),
        emitter: Emitter::new(publisher),
        open: None,
        deferred: VecDeque::new(),
        decoding: None,
        known: KnownIds::default(),
        audience: ClientPresence::Present,
        below: SubtreeState::Running,
    };
    let waiting = size_of_val(&actor.run());
    assert!(waiting <= 8 * 1024, "{waiting}");
    // The mailbox has room for some of them also while it is empty.
    assert!(
        size_of::<SessionInput>() <= 64,
        "{}",
        size_of::<SessionInput>()
    );
}
