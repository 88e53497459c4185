//! The family `subagents`: numbered children with inboxes, watchdogs and logs.
//!
//! An agent is meant by its number, which is unique in the tree and never used again, or by
//! any other address. Statuses have this family's names, see
//! [`Status::row`](crate::tree::status::Status::row).

mod birth;
mod cancel;
mod completion;
mod fork;
mod limits;
mod list;
mod logs;
mod metadata;
mod prune;
mod send_message;
mod spawn;
mod wait;
mod watchdog;

use std::sync::Arc;

use troupe_tools::Tool;

use crate::desk::{Desk, RolePlace};

use self::cancel::Cancel;
use self::fork::Fork;
use self::list::List;
use self::logs::ReadLogs;
use self::prune::Prune;
use self::send_message::SendMessage;
use self::spawn::Spawn;
use self::wait::Await;
use self::watchdog::Watchdog;

/// The family has no types of children: nothing of it depends on the place of roles.
pub(super) fn tools(desk: &Desk, _place: &RolePlace) -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(Spawn::new(desk.clone())),
        Arc::new(Fork::new(desk.clone())),
        Arc::new(SendMessage::new(desk.clone())),
        Arc::new(List::new(desk.clone())),
        Arc::new(Await::new(desk.clone())),
        Arc::new(Watchdog::new(desk.clone())),
        Arc::new(Prune::new(desk.clone())),
        Arc::new(ReadLogs::new(desk.clone())),
        Arc::new(Cancel::new(desk.clone())),
    ]
}
