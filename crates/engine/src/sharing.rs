//! Sessions of one kind share what is sent of them, encoded once.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use troupe_model::{EncodedInstructions, ToolSet};
use troupe_tools::Registry;

use crate::limits::INSTRUCTIONS_KEPT;

/// What sessions that were set up with the same one share.
#[derive(Debug, Default)]
pub struct SharedEncodings {
    /// The sets in use. There are as many as there are kinds of agents, not as agents.
    tools: Mutex<Vec<Weak<ToolSet>>>,
    /// The newest last. They are kept between requests, when nobody uses them.
    instructions: Mutex<Vec<Arc<EncodedInstructions>>>,
}

impl SharedEncodings {
    /// Returns the set of a registry's tools: of an agent like this one, or a new one.
    pub(crate) fn tools(&self, tools: &Registry) -> Arc<ToolSet> {
        let mut in_use = self.tools.lock().unwrap_or_else(PoisonError::into_inner);
        in_use.retain(|set| set.strong_count() > 0);
        let is_equal = |set: &Arc<ToolSet>| set.specs().iter().eq(tools.specs());
        let equal = in_use.iter().filter_map(Weak::upgrade).find(is_equal);
        equal.unwrap_or_else(|| {
            let set = Arc::new(ToolSet::new(tools.specs().cloned().collect()));
            in_use.push(Arc::downgrade(&set));
            set
        })
    }

    /// Returns instructions with this text: those that were used before, or new ones.
    pub(crate) fn instructions(&self, text: String) -> Arc<EncodedInstructions> {
        let mut kept = self
            .instructions
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let known = kept.iter().position(|one| one.text() == text);
        let instructions = match known {
            Some(place) => kept.remove(place),
            None => Arc::new(EncodedInstructions::new(text)),
        };
        if kept.len() == INSTRUCTIONS_KEPT {
            kept.remove(0);
        }
        kept.push(Arc::clone(&instructions));
        instructions
    }
}
