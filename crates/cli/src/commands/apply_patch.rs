//! `troupe apply-patch`: the engine's patch format on the command line.

use std::ffi::OsString;
use std::io::{self, IsTerminal, Write as _};

use clap::Args;
use troupe_patch::run_standalone;

use crate::commands::print;
use crate::failure::{CommandExit, Outcome};
use crate::home::here;
use crate::terminal::harmless;

#[derive(Debug, Args)]
#[command(after_help = "Either every file of the patch is changed or none.

Exit codes: 0 applied, 1 the patch does not apply, 2 usage.

Example:
  troupe apply-patch <<'END'
  *** Begin Patch
  *** Update File: greet.sh
  @@
  -echo hello
  +echo hello, world
  *** End Patch
  END")]
pub struct ApplyPatchArguments {
    /// The patch; read from standard input if absent.
    pub patch: Vec<OsString>,
}

pub fn run(arguments: ApplyPatchArguments) -> Outcome {
    let cwd = here()?;
    let finished = run_standalone(&arguments.patch, io::stdin().lock(), &cwd);
    let complaint = if io::stderr().is_terminal() {
        // It quotes the patch, and names of files.
        harmless(&finished.stderr)
    } else {
        finished.stderr
    };
    io::stderr().write_all(complaint.as_bytes())?;
    print(&finished.stdout)?;
    Ok(match finished.code {
        0 => CommandExit::Success,
        2 => CommandExit::Usage,
        _ => CommandExit::Failed,
    })
}
