//! A program of the user's own that has the terminal while it runs: an editor.

use std::io;
use std::path::Path;
use std::process::Command;

/// Runs a command of the user's shell with a file as its argument, on the terminal of this
/// process. Returns whether it succeeded.
pub fn run_on_terminal(command: &str, file: &Path) -> io::Result<bool> {
    let mut shell = Command::new("/bin/sh");
    // The command may have arguments of its own, and the file is never read as one.
    shell.args(["-c", &format!("{command} \"$1\""), "sh"]);
    shell.arg(file);
    Ok(shell.status()?.success())
}
