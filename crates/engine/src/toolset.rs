//! Sessions that offer the same tools share what is sent of them.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use troupe_model::ToolSet;
use troupe_tools::Registry;

/// The sets in use. There are as many as there are kinds of agents, not as agents.
static IN_USE: Mutex<Vec<Weak<ToolSet>>> = Mutex::new(Vec::new());

/// Returns the set of a registry's tools: of an agent like this one, or a new one.
pub(crate) fn of(tools: &Registry) -> Arc<ToolSet> {
    let mut in_use = IN_USE.lock().unwrap_or_else(PoisonError::into_inner);
    in_use.retain(|set| set.strong_count() > 0);
    let is_equal = |set: &Arc<ToolSet>| set.specs().iter().eq(tools.specs());
    let equal = in_use.iter().filter_map(Weak::upgrade).find(is_equal);
    equal.unwrap_or_else(|| {
        let set = Arc::new(ToolSet::new(tools.specs().cloned().collect()));
        in_use.push(Arc::downgrade(&set));
        set
    })
}
