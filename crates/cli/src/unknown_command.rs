//! A first word that is no command: most likely a prompt.

use clap::error::{ContextKind, ContextValue, ErrorKind};

use clap::{CommandFactory as _, Parser as _};

use crate::arguments::{Cli, ConfigOverrides, ScreenCli};
use crate::commands::exec::open_new;
use crate::commands::tell;
use crate::failure::Outcome;
use crate::screen::is_at_terminal;

/// Takes a command line that names no command for one of the screen, where there is a terminal:
/// options of a session, and perhaps a prompt. Else says what is wrong with it.
pub fn screen_or_explain(error: clap::Error) -> Outcome {
    let may_be_screen = is_task(&error) || error.kind() == ErrorKind::UnknownArgument;
    if is_at_terminal()
        && may_be_screen
        && let Ok(cli) = ScreenCli::try_parse()
        && !cli.prompt.as_deref().is_some_and(is_command)
    {
        let layers = cli.layers.clone();
        return open_new(cli, ConfigOverrides::default(), layers);
    }
    explain(error)
}

/// Of `troupe sessions -m x`, the first word is a command, and the second no option of it.
fn is_command(word: &str) -> bool {
    Cli::command().find_subcommand(word).is_some()
}

/// Says what is wrong with a command line, and ends the program. Who writes a task where a command
/// belongs is told how to give it; a misspelt command keeps clap's own words.
pub fn explain(mut error: clap::Error) -> ! {
    if is_task(&error) {
        let words: Vec<String> = std::env::args().skip(1).collect();
        let task = words.join(" ");
        tell(&format!(
            "troupe: {task:?} is no command. To have it done: troupe exec {task:?}"
        ));
        std::process::exit(USAGE);
    }
    if let Some(ContextValue::Strings(mut similar)) = error.remove(ContextKind::SuggestedSubcommand)
    {
        similar.retain(|name| !is_abbreviation(name));
        error.insert(
            ContextKind::SuggestedSubcommand,
            ContextValue::Strings(similar),
        );
    }
    error.exit()
}

/// The one letter that stands for `exec` is like any word that has it.
fn is_abbreviation(name: &str) -> bool {
    name.len() == 1
}

/// As for any other argument that cannot be used.
const USAGE: i32 = 2;

fn is_task(error: &clap::Error) -> bool {
    if error.kind() != ErrorKind::InvalidSubcommand {
        return false;
    }
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else {
        return false;
    };
    // A misspelt subcommand of a command is told with that command's usage.
    let is_first = std::env::args().nth(1).as_ref() == Some(word);
    is_first && (word.contains(char::is_whitespace) || !is_misspelt(error))
}

/// Tells whether a word looks like the name of a command.
fn is_misspelt(error: &clap::Error) -> bool {
    match error.get(ContextKind::SuggestedSubcommand) {
        Some(ContextValue::Strings(similar)) => !similar.iter().all(|name| is_abbreviation(name)),
        Some(_) => true,
        None => false,
    }
}
