//! A first word that is no command: most likely a prompt.

use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::commands::tell;

/// Says what is wrong with a command line, and ends the program. Who writes a task where a command
/// belongs is told how to give it; a misspelt command keeps clap's own words.
pub fn explain(error: &clap::Error) -> ! {
    if is_task(error) {
        let words: Vec<String> = std::env::args().skip(1).collect();
        let task = words.join(" ");
        tell(&format!(
            "troupe: {task:?} is no command. To have it done: troupe exec {task:?}"
        ));
        std::process::exit(USAGE);
    }
    error.exit()
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
    let is_misspelt = match error.get(ContextKind::SuggestedSubcommand) {
        // The one letter that stands for `exec` is like any word that has it.
        Some(ContextValue::Strings(similar)) => similar.iter().any(|name| name.len() > 1),
        Some(_) => true,
        None => false,
    };
    is_first && (word.contains(char::is_whitespace) || !is_misspelt)
}
