//! `troupe init`: has an AGENTS.md written for this project.

use anyhow::anyhow;
use clap::Args;

use crate::arguments::{ConfigOverrides, LayerSelection};
use crate::commands::exec::{self, ExecArguments, ExecOptions, RepeatedOptions};
use crate::failure::{CommandExit, CommandFailure, Outcome};
use crate::home::{here, repository_root};

const FILE: &str = "AGENTS.md";

const PROMPT: &str = "\
Write the file AGENTS.md at the root of this repository: what a coding agent must know to work here, \
and nothing that it would find out by itself in a minute.

Look first: the README, the build files, the tests, the continuous integration, the last commits, and \
instructions for other agents if there are any (CLAUDE.md, .cursor/rules, .github/copilot-instructions.md). \
Try the commands that you name.

It says, in at most 60 lines of Markdown:
- how to build, to run, to test everything and to test one thing;
- how the code is divided, and where a change of which kind belongs;
- conventions that a linter does not enforce: names, errors, tests, commits;
- what must not be touched, and what is generated from what.

Do not invent rules: name only what the repository shows. If the repository is empty, ask for nothing \
and write a short file that says so.";

#[derive(Debug, Args)]
#[command(
    after_help = "A model looks at the repository and writes the file; look at it before you commit it. Every session
in this project then begins with it. An AGENTS.md that exists is left alone.

Example:
  troupe init"
)]
pub struct InitCommand {
    #[command(flatten)]
    repeated: RepeatedOptions,
    #[command(flatten)]
    options: ExecOptions,
}

pub fn run(command: InitCommand, overrides: ConfigOverrides, layers: LayerSelection) -> Outcome {
    let cwd = match command.options.directory() {
        Some(directory) => here()?.join(directory),
        None => here()?,
    };
    let file = repository_root(&cwd).unwrap_or(&cwd).join(FILE);
    if file.exists() {
        return Err(CommandFailure::usage(format!(
            "{} exists and is left alone; to change it: troupe exec \"bring {FILE} up to date\"",
            file.display()
        )));
    }
    let arguments = ExecArguments {
        prompt: Some(PROMPT.to_owned()),
        repeated: command.repeated,
        options: command.options,
        action: None,
    };
    let exit = exec::run(arguments, overrides, layers)?;
    if exit == CommandExit::Success && !file.exists() {
        let text = format!(
            "the model did not write {}. Ask again: troupe exec resume --last \"write {FILE}\"",
            file.display()
        );
        return Err(CommandFailure::failed(anyhow!(text)));
    }
    Ok(exit)
}
