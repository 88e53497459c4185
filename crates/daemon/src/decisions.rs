//! Who answered what, so that a second answer can be told whose the first was.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex as StdMutex, PoisonError};

use tokio::sync::{Mutex, MutexGuard};

use crate::limits::DECISIONS_REMEMBERED_MAX;
use crate::wire::approval::DecisionView;

/// Answers are given one after the other: of two at the same time, one is the second.
#[derive(Debug, Default)]
pub(crate) struct DecisionDesk {
    turn: Mutex<()>,
    given: StdMutex<GivenDecisions>,
}

#[derive(Debug, Default)]
struct GivenDecisions {
    by_id: HashMap<String, DecisionView>,
    /// The oldest first.
    order: VecDeque<String>,
}

impl DecisionDesk {
    /// Waits until nobody else is answering.
    pub(crate) async fn turn(&self) -> MutexGuard<'_, ()> {
        self.turn.lock().await
    }

    pub(crate) fn given(&self, id: &str) -> Option<DecisionView> {
        let given = self.given.lock().unwrap_or_else(PoisonError::into_inner);
        given.by_id.get(id).cloned()
    }

    pub(crate) fn note(&self, decision: DecisionView) {
        let mut given = self.given.lock().unwrap_or_else(PoisonError::into_inner);
        given.order.push_back(decision.id.clone());
        given.by_id.insert(decision.id.clone(), decision);
        if given.order.len() > DECISIONS_REMEMBERED_MAX
            && let Some(oldest) = given.order.pop_front()
        {
            given.by_id.remove(&oldest);
        }
    }
}
