//! The commands that begin with `/`: one table.

/// What a command does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SlashAction {
    Agents,
    Compact,
    Copy,
    Diff,
    Drive,
    Editor,
    Follow,
    Help,
    Init,
    Mcp,
    Model,
    Note,
    Permissions,
    Personality,
    Plan,
    Questions,
    Quit,
    Raw,
    Redo,
    Redraw,
    Rename,
    Review,
    Rewind,
    Screen,
    Skills,
    Spawn,
    Status,
    Stop,
    Transcript,
    Undo,
    Usage,
}

#[derive(Debug, Clone, Copy)]
pub struct SlashCommand {
    pub name: &'static str,
    pub action: SlashAction,
    /// What may stand behind it; empty for nothing.
    pub argument: &'static str,
    pub help: &'static str,
}

const fn command(
    name: &'static str,
    action: SlashAction,
    argument: &'static str,
    help: &'static str,
) -> SlashCommand {
    SlashCommand {
        name,
        action,
        argument,
        help,
    }
}

use SlashAction as S;

/// Every command, in the order in which it is offered.
pub const COMMANDS: &[SlashCommand] = &[
    command("agents", S::Agents, "", "the agents"),
    command("compact", S::Compact, "", "summarise the conversation now"),
    command("copy", S::Copy, "", "copy the last answer"),
    command("diff", S::Diff, "", "what the running task has changed"),
    command("drive", S::Drive, "", "ask to drive this session"),
    command("editor", S::Editor, "", "write in your editor"),
    command("exit", S::Quit, "", "leave"),
    command("follow", S::Follow, "", "let another client drive"),
    command("help", S::Help, "", "keys and commands"),
    command("init", S::Init, "", "have an AGENTS.md written"),
    command("mcp", S::Mcp, "", "the servers and their tools"),
    command(
        "model",
        S::Model,
        "NAME [EFFORT]",
        "the model, or the list of models",
    ),
    command(
        "note",
        S::Note,
        "TEXT",
        "a note on this conversation; empty clears it",
    ),
    command(
        "permissions",
        S::Permissions,
        "POLICY",
        "when to ask: untrusted, on-failure, on-request, never",
    ),
    command(
        "personality",
        S::Personality,
        "NAME",
        "friendly, pragmatic or none",
    ),
    command("plan", S::Plan, "", "plan mode, and back"),
    command(
        "questions",
        S::Questions,
        "",
        "everything that waits for your word",
    ),
    command("quit", S::Quit, "", "leave"),
    command("raw", S::Raw, "", "raw text: nothing is wrapped or marked"),
    command("redo", S::Redo, "", "take back the last undo of files"),
    command(
        "redraw",
        S::Redraw,
        "",
        "draw again, with a fresh copy of the newest rows",
    ),
    command("rename", S::Rename, "NAME", "name this conversation"),
    command(
        "review",
        S::Review,
        "[INSTRUCTIONS]",
        "review what was not committed, or as you say",
    ),
    command(
        "rewind",
        S::Rewind,
        "[N]",
        "go back before the last N of your messages",
    ),
    command(
        "screen",
        S::Screen,
        "[inline|full]",
        "where the conversation is drawn",
    ),
    command("skills", S::Skills, "", "the skills"),
    command("spawn", S::Spawn, "TASK", "a new agent with this task"),
    command("status", S::Status, "", "model, rights, context, tree"),
    command(
        "stop",
        S::Stop,
        "",
        "stop the agent that is shown, with what that touches",
    ),
    command("transcript", S::Transcript, "", "the whole transcript"),
    command(
        "undo",
        S::Undo,
        "[N]",
        "bring files back to before the last N tasks",
    ),
    command("usage", S::Usage, "", "tokens and limits"),
];

/// Reads a line that begins with `/`: the command and its argument.
pub fn slash_command(line: &str) -> Result<(SlashAction, &str), String> {
    let line = line.strip_prefix('/').unwrap_or(line);
    let (name, argument) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let argument = argument.trim();
    match COMMANDS.iter().find(|command| command.name == name) {
        Some(command) if command.argument.is_empty() && !argument.is_empty() => {
            Err(format!("/{name} takes no argument"))
        }
        Some(command) => Ok((command.action, argument)),
        None => Err(match nearest(name) {
            Some(near) => format!("there is no /{name}; /{near} is near"),
            None => format!("there is no /{name}; /help lists the commands"),
        }),
    }
}

fn nearest(name: &str) -> Option<&'static str> {
    let distances = COMMANDS
        .iter()
        .map(|command| (distance(name, command.name), command.name));
    let (distance, near) = distances.min()?;
    (distance <= 2).then_some(near)
}

/// Returns how many letters have to be changed, added or left out.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, letter) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, other) in b.iter().enumerate() {
            let changed = diagonal + usize::from(letter != *other);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_read_and_unknown_ones_say_which_is_near() {
        assert_eq!(
            slash_command("/note slow on CI"),
            Ok((S::Note, "slow on CI"))
        );
        assert_eq!(slash_command("/quit"), Ok((S::Quit, "")));
        let wrong = |line: &str| slash_command(line).unwrap_err();
        assert_eq!(wrong("/copmact"), "there is no /copmact; /compact is near");
        assert_eq!(
            wrong("/frobnicate"),
            "there is no /frobnicate; /help lists the commands"
        );
        assert_eq!(wrong("/quit now"), "/quit takes no argument");
    }
}
