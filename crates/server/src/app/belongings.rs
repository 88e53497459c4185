//! What a client has at the server beside the threads that it follows. All of it ends with the
//! client.

use super::commands::Roll;

#[derive(Debug, Default)]
pub(super) struct Belongings {
    pub commands: Roll,
}
