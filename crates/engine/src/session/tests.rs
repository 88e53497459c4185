use std::mem::{size_of, size_of_val};
use std::sync::Arc;

use async_trait::async_trait;

use super::*;
use crate::deps::{Configurator, ConfigureError};

#[derive(Debug)]
struct Nothing;

#[async_trait]
impl Configurator for Nothing {
    async fn configure(&self, _: &ConfigureSession) -> Result<Setup, ConfigureError> {
        Err(ConfigureError::refused("there is nothing"))
    }
}

/// A thousand idle agents cost a thousand times this, beside their histories.
#[test]
fn a_waiting_session_is_small() {
    let (mailbox, inputs) = mailbox();
    let (publisher, _events) = Publisher::new();
    let actor = Actor {
        deps: Deps::new(Arc::new(Nothing)),
        mailbox,
        inputs,
        owner: CancellationToken::new(),
        emitter: Emitter::new(publisher),
        conversation: None,
        deferred: VecDeque::new(),
        decoding: None,
        known: KnownIds::default(),
        audience: Audience::Present,
        below: Below::Running,
    };
    let waiting = size_of_val(&actor.run());
    assert!(waiting <= 8 * 1024, "{waiting}");
    // The mailbox has room for some of them also while it is empty.
    assert!(size_of::<Input>() <= 64, "{}", size_of::<Input>());
}
