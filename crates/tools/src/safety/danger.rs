//! The tolerant reading: destructive commands anywhere in a script.

mod rules;

use super::search::{ScriptFinding, in_command as search_command, in_script as search_script};

/// Why a command as it will be executed is dangerous.
pub fn in_command(argv: &[String]) -> Option<String> {
    search_command(argv, &mut judge)
}

/// Why a script is dangerous.
pub fn in_script(source: &str) -> Option<String> {
    search_script(source, &mut judge)
}

fn judge(finding: ScriptFinding<'_>) -> Option<String> {
    match finding {
        ScriptFinding::Command(words) => rules::command(words),
        ScriptFinding::Write(target) => rules::write_to(target),
        ScriptFinding::Download => Some("it runs what it downloads".to_owned()),
        ScriptFinding::Bomb(name) => {
            Some(format!("the function `{name}` starts itself without end"))
        }
    }
}
