//! What a client has at the server beside the threads that it follows. All of it ends with the
//! client.

use super::commands::Roll;
use super::files::Watches;
use super::search::Searches;

#[derive(Debug, Default)]
pub(super) struct Belongings {
    pub commands: Roll,
    pub searches: Searches,
    pub watches: Watches,
}

impl Belongings {
    /// Ends what goes on by itself. A command goes on in its request, and ends with that.
    pub(super) fn end(&self) {
        self.searches.end();
        self.watches.end();
    }
}
