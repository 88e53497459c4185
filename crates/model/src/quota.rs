//! What the responses that are being received may hold in memory: one by itself, and all of
//! the process together. A server that never ends its answer is met early, while what it said
//! can still be kept.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::error::{ModelError, ModelErrorKind};
use crate::limits::{RESPONSE_HELD_BYTES_FREE, RESPONSE_HELD_BYTES_MAX, RESPONSES_HELD_BYTES_MAX};

/// The process has one memory, so there is one budget, whoever asks which provider.
static RESPONSES_IN_FLIGHT: ByteBudget = ByteBudget::new(RESPONSES_HELD_BYTES_MAX);

/// Bytes that several holders share.
#[derive(Debug)]
pub(crate) struct ByteBudget {
    bytes_max: usize,
    used: AtomicUsize,
}

impl ByteBudget {
    pub(crate) const fn new(bytes_max: usize) -> Self {
        Self {
            bytes_max,
            used: AtomicUsize::new(0),
        }
    }

    fn take(&self, bytes: usize) -> bool {
        let taken = self
            .used
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
                used.checked_add(bytes)
                    .filter(|used| *used <= self.bytes_max)
            });
        taken.is_ok()
    }

    fn give_back(&self, bytes: usize) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// What one response holds. Dropping it gives its share back.
#[derive(Debug)]
pub(crate) struct ResponseQuota {
    budget: &'static ByteBudget,
    /// Taken from the budget.
    shared: usize,
}

impl ResponseQuota {
    pub(crate) fn new() -> Self {
        Self::of(&RESPONSES_IN_FLIGHT)
    }

    pub(crate) fn of(budget: &'static ByteBudget) -> Self {
        Self { budget, shared: 0 }
    }

    /// Notes how much the response holds now. A share that was taken is kept until the end.
    pub(crate) fn hold(&mut self, bytes: usize) -> Result<(), ModelError> {
        if bytes > RESPONSE_HELD_BYTES_MAX {
            return Err(cut(&format!(
                "the response holds more than {RESPONSE_HELD_BYTES_MAX} bytes"
            )));
        }
        let shared = bytes.saturating_sub(RESPONSE_HELD_BYTES_FREE);
        let more = shared.saturating_sub(self.shared);
        if !self.budget.take(more) {
            return Err(cut(&format!(
                "the responses that are being received hold more than {} bytes together",
                self.budget.bytes_max
            )));
        }
        self.shared += more;
        Ok(())
    }
}

impl Drop for ResponseQuota {
    fn drop(&mut self) {
        self.budget.give_back(self.shared);
    }
}

fn cut(why: &str) -> ModelError {
    let message = format!("{why}; it was cut, and what came before is kept");
    ModelError::new(ModelErrorKind::Incomplete, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn responses_share_a_budget_and_give_it_back() {
        static BUDGET: ByteBudget = ByteBudget::new(1_000);
        let over = RESPONSE_HELD_BYTES_FREE;
        let mut greedy = ResponseQuota::of(&BUDGET);
        assert_eq!(greedy.hold(over + 900), Ok(()));
        let mut other = ResponseQuota::of(&BUDGET);
        // What every response may hold is nobody else's.
        assert_eq!(other.hold(over), Ok(()));
        let error = other.hold(over + 200).unwrap_err();
        assert_eq!(error.kind, ModelErrorKind::Incomplete);
        assert!(error.message.contains("1000 bytes together"), "{error}");
        drop(greedy);
        assert_eq!(other.hold(over + 1_000), Ok(()));
        drop(other);
        assert_eq!(BUDGET.used.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn one_response_has_a_bound_of_its_own() {
        let mut quota = ResponseQuota::new();
        let error = quota.hold(RESPONSE_HELD_BYTES_MAX + 1).unwrap_err();
        assert_eq!(error.kind, ModelErrorKind::Incomplete);
        assert!(error.message.contains("what came before is kept"));
    }
}
