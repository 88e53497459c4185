//! `troupe completion`: a script that lets a shell complete our arguments.

use clap::Args;
use clap_complete::Shell;

use crate::commands::print;
use crate::completing;
use crate::failure::{CommandExit, Outcome};

#[derive(Debug, Args)]
#[command(
    after_help = "Completes commands, options, and sessions, agents, roles and models by what there is.

Examples:
  troupe completion bash > ~/.local/share/bash-completion/completions/troupe
  troupe completion zsh > ~/.zfunc/_troupe          where fpath has ~/.zfunc
  troupe completion fish > ~/.config/fish/completions/troupe.fish"
)]
pub struct CompletionArguments {
    /// The shell to write for.
    pub shell: Shell,
}

pub fn run(arguments: &CompletionArguments) -> Outcome {
    let script = completing::script(arguments.shell)?;
    print(&String::from_utf8_lossy(&script))?;
    Ok(CommandExit::Success)
}
