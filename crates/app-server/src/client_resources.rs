//! What a client has at the server beside the threads that it follows. All of it ends with the
//! client.

use super::commands::RunningCommands;
use super::files::FileWatches;
use super::search::ClientSearches;

#[derive(Debug, Default)]
pub(super) struct ClientResources {
    pub commands: RunningCommands,
    pub searches: ClientSearches,
    pub watches: FileWatches,
}

impl ClientResources {
    /// Ends what goes on by itself. A command goes on in its request, and ends with that.
    pub(super) fn end(&self) {
        self.searches.end();
        self.watches.end();
    }
}
