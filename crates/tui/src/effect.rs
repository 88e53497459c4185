//! What the state asks of the world.

use troupe_protocol::Op;
use troupe_protocol::link::ClientRole;

use crate::run::SessionEnding;
use crate::session::TreeRequest;
use crate::settings::NoticeKind;

/// One thing to do. Effects are done in their order.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    Submit(Box<Op>),
    Ask(TreeRequest),
    TakeRole(ClientRole),
    /// Hand the draft to the user's editor; it comes back as `AppEvent::Edited`.
    OpenEditor(String),
    /// To the clipboard, by way of the terminal.
    Copy(String),
    /// Write a new file; what came of it is said.
    WriteFile {
        path: std::path::PathBuf,
        text: String,
    },
    /// Draw shaded blocks for another background from now on.
    Theme(crate::settings::ThemeChoice),
    /// Read which branch a directory is on: it comes back as `AppEvent::Branch`.
    ReadBranch(std::path::PathBuf),
    /// Look whether a line names a prompt that was written down: it comes back as
    /// `AppEvent::Filled`.
    FillPrompt(String),
    /// Find files below the working directory: they come back as `AppEvent::Files`.
    ListFiles(std::path::PathBuf),
    Notify {
        kind: NoticeKind,
        text: String,
    },
    /// Draw everything anew, and print this many rows of history again.
    Reprint,
    /// Stop this process until it is continued, with the terminal as it was.
    StopProcess,
    Leave(SessionEnding),
}
