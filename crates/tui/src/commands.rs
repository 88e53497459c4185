//! The commands that begin with `/`: one table.

/// What a command does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SlashAction {
    Agents,
    Archive,
    Cd,
    Compact,
    Copy,
    Delete,
    Diff,
    Drive,
    Editor,
    Export,
    Follow,
    Fork,
    Help,
    Init,
    Mcp,
    Mention,
    Model,
    New,
    Note,
    Permissions,
    Personality,
    Plan,
    Ps,
    Pwd,
    Questions,
    Queue,
    Quit,
    Raw,
    Redo,
    Redraw,
    Rename,
    Resume,
    Review,
    Rewind,
    Screen,
    Side,
    Skills,
    Spawn,
    Status,
    Statusline,
    Stop,
    Theme,
    Title,
    Transcript,
    Undo,
    Usage,
    Vim,
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

/// Every command, in the order in which it is offered. A row is a line, so that the table can be
/// read as one.
#[rustfmt::skip]
pub const COMMANDS: &[SlashCommand] = &[
    command("agents", S::Agents, "", "the agents"),
    command("archive", S::Archive, "", "leave, and put this session away"),
    command("btw", S::Side, "QUESTION", "ask on the side: an agent that knows this conversation and changes nothing"),
    command("cd", S::Cd, "DIRECTORY", "work in another directory from the next task on"),
    command("clear", S::New, "", "leave, and begin a new session"),
    command("compact", S::Compact, "", "summarise the conversation now"),
    command("copy", S::Copy, "", "copy the last answer"),
    command("delete", S::Delete, "", "leave, and delete this session for good"),
    command("diff", S::Diff, "", "what was changed here by patches"),
    command("drive", S::Drive, "", "ask to drive this session"),
    command("editor", S::Editor, "", "write in your editor"),
    command("exit", S::Quit, "", "leave"),
    command("export", S::Export, "[FILE]", "write the conversation to a new file, as Markdown"),
    command("follow", S::Follow, "", "let another client drive"),
    command("fork", S::Fork, "", "leave, and begin a new session with this history"),
    command("help", S::Help, "", "keys and commands"),
    command("init", S::Init, "", "have an AGENTS.md written"),
    command("keymap", S::Help, "", "keys; [tui.keymap] changes them"),
    command("mcp", S::Mcp, "", "the servers and their tools"),
    command("mention", S::Mention, "", "name a file: the same as @"),
    command("model", S::Model, "[NAME [EFFORT]]", "the model, or the list of models"),
    command("new", S::New, "", "leave, and begin a new session"),
    command("note", S::Note, "[TEXT]", "a note on this conversation; empty clears it"),
    command("permissions", S::Permissions, "[POLICY|SANDBOX]", "when to ask, and what commands may do"),
    command("personality", S::Personality, "[NAME]", "friendly, pragmatic or none"),
    command("plan", S::Plan, "", "plan mode, and back"),
    command("ps", S::Ps, "", "the commands that run now"),
    command("pwd", S::Pwd, "", "where this session works"),
    command("questions", S::Questions, "", "everything that waits for your word"),
    command("queue", S::Queue, "", "the messages that wait, to take one back"),
    command("quit", S::Quit, "", "leave"),
    command("raw", S::Raw, "", "raw text: nothing is wrapped or marked"),
    command("redo", S::Redo, "", "take back the last undo of files"),
    command("redraw", S::Redraw, "", "draw again, with a fresh copy of the newest rows"),
    command("rename", S::Rename, "NAME", "name this conversation"),
    command("resume", S::Resume, "", "leave, and choose a session to go on with"),
    command("review", S::Review, "[INSTRUCTIONS]", "review what was not committed, or as you say"),
    command("rewind", S::Rewind, "[N]", "go back before the last N of your messages"),
    command("screen", S::Screen, "[inline|full]", "where the conversation is drawn"),
    command("side", S::Side, "QUESTION", "ask on the side: an agent that knows this conversation and changes nothing"),
    command("skills", S::Skills, "", "the skills"),
    command("spawn", S::Spawn, "[TASK]", "a new agent with this task, or the form for one"),
    command("status", S::Status, "", "model, rights, context, tree"),
    command("statusline", S::Statusline, "[ITEMS]", "the items of the last line, for this screen"),
    command("stop", S::Stop, "", "stop the agent that is shown, with what that touches"),
    command("subagents", S::Agents, "", "the agents"),
    command("theme", S::Theme, "[auto|dark|light]", "the background that shaded blocks are made for"),
    command("title", S::Title, "[ITEMS]", "the items of the title of the window, for this screen"),
    command("transcript", S::Transcript, "", "the whole transcript"),
    command("undo", S::Undo, "[N]", "bring files back to before the last N tasks"),
    command("usage", S::Usage, "", "tokens and limits"),
    command("vim", S::Vim, "", "write as in vi, and back"),
];

/// What people know as commands of a screen and find elsewhere here.
const ELSEWHERE: &[(&str, &str)] = &[
    (
        "apps",
        "there is none here; servers of the Model Context Protocol bring tools: /mcp",
    ),
    (
        "approvals",
        "/permissions says when to ask; `troupe rules list` what needs no question",
    ),
    (
        "budget",
        "`troupe config agents` prints the limits of a tree; /usage what was spent",
    ),
    (
        "config",
        "`troupe config` prints each setting with its origin",
    ),
    (
        "debug-config",
        "`troupe config` prints each setting with its origin",
    ),
    (
        "experimental",
        "nothing here is switched on that way; `troupe config` prints every setting",
    ),
    ("feedback", "there is none here: nothing is sent to anybody"),
    (
        "goal",
        "there is none here: say it in a message, or in AGENTS.md for every session",
    ),
    (
        "hooks",
        "hooks stand in config.toml; `troupe config hooks` prints them",
    ),
    ("import", "`troupe import` takes a conversation over"),
    ("login", "`troupe login` stores a key"),
    ("logout", "`troupe logout` deletes one"),
    (
        "memories",
        "`troupe config` says what is read; AGENTS.md is what agents are told",
    ),
    (
        "merge",
        "agents work in the same files here; /diff shows what was changed, /undo takes it back",
    ),
    ("roles", "`troupe roles list`; /spawn offers them"),
    ("rules", "`troupe rules list`"),
    ("trust", "`troupe trust`"),
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
        None if let Some((_, place)) = ELSEWHERE.iter().find(|(other, _)| *other == name) => {
            Err(format!("/{name}: {place}"))
        }
        None => Err(match nearest(name) {
            Some(near) => format!("there is no /{name}; /{near} is near"),
            None => format!("there is no /{name}; /help lists the commands"),
        }),
    }
}

/// Tells whether a line names a command of the table, however it is used.
pub fn is_own_command(line: &str) -> bool {
    let name = line.trim_start_matches('/').split_whitespace().next();
    COMMANDS.iter().any(|command| Some(command.name) == name)
}

fn nearest(name: &str) -> Option<&'static str> {
    let distances = COMMANDS
        .iter()
        .map(|command| (strsim::levenshtein(name, command.name), command.name));
    let (distance, near) = distances.min()?;
    (distance <= 2).then_some(near)
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
        assert_eq!(wrong("/login"), "/login: `troupe login` stores a key");
        assert_eq!(wrong("/quit now"), "/quit takes no argument");
    }
}
