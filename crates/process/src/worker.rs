//! Work of this program that is held to a policy like a command, without another program.
//!
//! A holder is this program, so what shall be done is in its memory already: its fork goes on
//! there instead of executing something. That saves most of what a command costs.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Reads stdin, writes stdout, returns the exit code. It runs alone in a new process; a panic ends
/// that process by SIGABRT.
pub type Work = fn() -> i32;

/// One piece of work for [`Launcher::spawn_worker`](crate::Launcher::spawn_worker).
#[derive(Debug, Clone)]
pub struct WorkerSpec {
    /// As it was registered.
    pub name: &'static str,
    /// Only consulted for what a policy makes of it: the work finds an empty environment.
    pub env: BTreeMap<String, String>,
    pub confinement: crate::Confinement,
}

type Table = BTreeMap<&'static str, Work>;

static TABLE: Mutex<Table> = Mutex::new(BTreeMap::new());

/// Makes work known by a name. A holder never reaches `main`, so this has to be called before:
/// by a function in the section `.init_array.00101`, which the loader calls ahead of those
/// without a number.
pub fn register_worker(name: &'static str, work: Work) {
    table().insert(name, work);
}

pub(crate) fn find(name: &str) -> Option<Work> {
    table().get(name).copied()
}

fn table() -> MutexGuard<'static, Table> {
    // Each change is a single step, so a panic elsewhere leaves the table whole.
    TABLE.lock().unwrap_or_else(PoisonError::into_inner)
}
