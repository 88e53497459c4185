//! The tolerant reading: destructive commands anywhere in a script.

mod rules;

use super::search::{Finding, in_command as search_command, in_script as search_script};

/// Why a command as it will be executed is dangerous.
pub fn in_command(argv: &[String]) -> Option<String> {
    search_command(argv, &mut judge)
}

/// Why a script is dangerous.
pub fn in_script(source: &str) -> Option<String> {
    search_script(source, &mut judge)
}

fn judge(finding: Finding<'_>) -> Option<String> {
    match finding {
        Finding::Command(words) => rules::command(words),
        Finding::Write(target) => rules::write_to(target),
        Finding::Download => Some("it runs what it downloads".to_owned()),
        Finding::Bomb(name) => Some(format!("the function `{name}` starts itself without end")),
    }
}
