//! `troupe completion`: a script that lets a shell complete our arguments.

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::arguments::Cli;
use crate::commands::print;
use crate::failure::{Exit, Outcome};

#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  troupe completion bash > ~/.local/share/bash-completion/completions/troupe"
)]
pub struct CompletionArguments {
    /// The shell to write for.
    pub shell: Shell,
}

pub fn run(arguments: &CompletionArguments) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Cli::command(), "troupe", &mut script);
    print(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Success)
}
