//! The family `subagents`: numbered children with inboxes, watchdogs and logs.
//!
//! An agent is meant by its number, which is unique in the tree and never used again, or by
//! any other address. Statuses have this family's names, see
//! [`CurrentStatus::row`](troupe_tree::CurrentStatus::row).

mod cancel;
mod completion;
mod fork;
mod limits;
mod list;
mod logs;
mod metadata;
mod prune;
mod sandbox_mode;
mod send_message;
mod spawn;
mod wait;
mod watchdog;

use std::sync::Arc;

use troupe_tools::Tool;

use crate::tree_access::{RolePlace, TreeAccess};

use self::cancel::SubagentCancel;
use self::fork::SubagentFork;
use self::list::SubagentList;
use self::logs::ReadLogs;
use self::prune::SubagentPrune;
use self::send_message::SendMessage;
use self::spawn::SubagentSpawn;
use self::wait::SubagentAwait;
use self::watchdog::SubagentWatchdog;

/// The family has no types of children: nothing of it depends on the place of roles.
pub(super) fn tools(desk: &TreeAccess, _place: &RolePlace) -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(SubagentSpawn::new(desk.clone())),
        Arc::new(SubagentFork::new(desk.clone())),
        Arc::new(SendMessage::new(desk.clone())),
        Arc::new(SubagentList::new(desk.clone())),
        Arc::new(SubagentAwait::new(desk.clone())),
        Arc::new(SubagentWatchdog::new(desk.clone())),
        Arc::new(SubagentPrune::new(desk.clone())),
        Arc::new(ReadLogs::new(desk.clone())),
        Arc::new(SubagentCancel::new(desk.clone())),
    ]
}
