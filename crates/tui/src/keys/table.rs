//! The table of keys. A row is a context, an action, its default keys, and what is said of it.

/// Where a key is pressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum KeyContext {
    Main,
    Editor,
    Band,
    Agents,
    Pager,
    Stop,
    Leaving,
    Plan,
    Picker,
}

impl KeyContext {
    pub const ALL: [Self; 9] = [
        Self::Main,
        Self::Editor,
        Self::Band,
        Self::Agents,
        Self::Pager,
        Self::Stop,
        Self::Leaving,
        Self::Plan,
        Self::Picker,
    ];

    /// Returns its name in `[tui.keymap]`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Main => "main",
            Self::Editor => "editor",
            Self::Band => "band",
            Self::Agents => "agents",
            Self::Pager => "pager",
            Self::Stop => "stop",
            Self::Leaving => "leaving",
            Self::Plan => "plan",
            Self::Picker => "picker",
        }
    }

    /// Returns its heading in the help.
    pub fn heading(self) -> &'static str {
        match self {
            Self::Main => "In the conversation",
            Self::Editor => "While writing",
            Self::Band => "At a question, on an empty line",
            Self::Agents => "In the list of agents",
            Self::Pager => "In a transcript or a long text",
            Self::Stop => "Before a stop",
            Self::Leaving => "Leaving while agents work",
            Self::Plan => "At a proposed plan, on an empty line",
            Self::Picker => "In a list to choose from",
        }
    }
}

/// What a key does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum KeyAction {
    Submit,
    Queue,
    InterruptWith,
    EditQueued,
    Back,
    Cancel,
    Leave,
    StopProcess,
    Transcript,
    Agents,
    PreviousAgent,
    NextAgent,
    RootAgent,
    SlotAgent,
    NextNeeding,
    OpenEditor,
    CopyAnswer,
    SearchHistory,
    Reprint,
    ToggleRaw,
    ToggleMode,
    Help,
    ShowWhole,
    NewLine,
    Left,
    Right,
    WordLeft,
    WordRight,
    LineStart,
    LineEnd,
    Up,
    Down,
    DeleteBack,
    DeleteOn,
    DeleteWordBack,
    DeleteWordOn,
    KillToStart,
    KillToEnd,
    Yank,
    UndoEdit,
    RedoEdit,
    Approve,
    ApproveSession,
    ApprovePrefix,
    Deny,
    DenySaying,
    Abort,
    ApproveAll,
    OpenAsker,
    Open,
    Peek,
    Message,
    Stop,
    ResumeAgent,
    Diff,
    FullText,
    Spawn,
    Grouping,
    Filter,
    Close,
    PageUp,
    PageDown,
    Top,
    Bottom,
    Unfold,
    NextMatch,
    Confirm,
    KeepRunning,
    Suspend,
    PlanYes,
    PlanFresh,
    PlanStay,
}

/// One row of the table.
#[derive(Debug, Clone, Copy)]
pub struct KeyBinding {
    pub context: KeyContext,
    pub action: KeyAction,
    /// The action's name in `[tui.keymap]`.
    pub name: &'static str,
    pub keys: &'static [&'static str],
    /// What the footer calls it; empty if it is not there.
    pub short: &'static str,
    pub help: &'static str,
    /// The command that does the same; empty for none.
    pub slash: &'static str,
}

const fn key(
    context: KeyContext,
    action: KeyAction,
    name: &'static str,
    keys: &'static [&'static str],
    short: &'static str,
    help: &'static str,
) -> KeyBinding {
    KeyBinding {
        context,
        action,
        name,
        keys,
        short,
        help,
        slash: "",
    }
}

impl KeyBinding {
    const fn slash(mut self, slash: &'static str) -> Self {
        self.slash = slash;
        self
    }
}

use KeyAction as A;
use KeyContext as C;

/// Every key. A row is a line, so that the table can be read as one.
#[rustfmt::skip]
pub const KEY_TABLE: &[KeyBinding] = &[
    key(C::Main, A::Submit, "submit", &["enter"], "send", "send; while a task runs, steer it"),
    key(C::Main, A::Queue, "queue", &["tab"], "", "queue the message until the task has ended"),
    key(C::Main, A::InterruptWith, "interrupt_with", &["ctrl-enter"], "", "end the running task, then send"),
    key(C::Main, A::EditQueued, "edit_queued", &["alt-up"], "", "take the last queued message back into the line"),
    key(C::Main, A::Back, "back", &["esc"], "", "close what is open; interrupt this task; twice on an empty line: go back to an earlier message"),
    key(C::Main, A::Cancel, "cancel", &["ctrl-c"], "", "clear the line; interrupt this task; twice: leave"),
    key(C::Main, A::Leave, "leave", &["ctrl-d"], "", "leave, on an empty line").slash("/quit"),
    key(C::Main, A::StopProcess, "stop_process", &["ctrl-z"], "", "put Troupe into the background of the shell"),
    key(C::Main, A::Transcript, "transcript", &["ctrl-t"], "transcript", "the whole transcript, then the agents, then back").slash("/transcript"),
    key(C::Main, A::Agents, "agents", &["alt-a"], "", "the agents; also ← on an empty line").slash("/agents"),
    key(C::Main, A::PreviousAgent, "previous_agent", &["alt-left"], "", "the agent before, on an empty line"),
    key(C::Main, A::NextAgent, "next_agent", &["alt-right"], "", "the next agent, on an empty line"),
    key(C::Main, A::RootAgent, "root_agent", &["alt-0"], "", "back to the root"),
    key(C::Main, A::SlotAgent, "slot_agent", &["alt-1", "alt-2", "alt-3", "alt-4", "alt-5", "alt-6", "alt-7", "alt-8", "alt-9"], "", "the agent with this place in the order of birth"),
    key(C::Main, A::PageUp, "page_up", &["pageup"], "", "a page up, in full screen and at an agent"),
    key(C::Main, A::PageDown, "page_down", &["pagedown"], "", "a page down"),
    key(C::Main, A::NextNeeding, "next_needing", &["alt-n"], "", "the next that needs you"),
    key(C::Main, A::OpenEditor, "editor", &["ctrl-g"], "", "write in your editor").slash("/editor"),
    key(C::Main, A::CopyAnswer, "copy", &["ctrl-o"], "", "copy the last answer").slash("/copy"),
    key(C::Main, A::SearchHistory, "search_history", &["ctrl-r"], "", "search what you wrote before"),
    key(C::Main, A::Reprint, "redraw", &["ctrl-l"], "", "draw again, with a fresh copy of the newest rows").slash("/redraw"),
    key(C::Main, A::ToggleRaw, "raw", &["alt-r"], "", "raw text: nothing is wrapped or marked").slash("/raw"),
    key(C::Main, A::ToggleMode, "mode", &["shift-tab"], "", "plan mode, and back").slash("/plan"),
    key(C::Main, A::Help, "help", &["f1"], "keys", "these keys; also ? on an empty line").slash("/help"),
    key(C::Main, A::ShowWhole, "whole", &["ctrl-a"], "", "the question in full; in the line: to its beginning"),
    key(C::Editor, A::NewLine, "new_line", &["shift-enter", "alt-enter", "ctrl-j"], "", "a new line"),
    key(C::Editor, A::Left, "left", &["left", "ctrl-b"], "", "a letter back"),
    key(C::Editor, A::Right, "right", &["right", "ctrl-f"], "", "a letter on"),
    key(C::Editor, A::WordLeft, "word_left", &["ctrl-left", "alt-b"], "", "a word back"),
    key(C::Editor, A::WordRight, "word_right", &["ctrl-right", "alt-f"], "", "a word on"),
    key(C::Editor, A::LineStart, "line_start", &["home"], "", "to the beginning of the line"),
    key(C::Editor, A::LineEnd, "line_end", &["end", "ctrl-e"], "", "to its end"),
    key(C::Editor, A::Up, "up", &["up", "ctrl-p"], "", "a row up; in the first row: what you wrote before"),
    key(C::Editor, A::Down, "down", &["down", "ctrl-n"], "", "a row down; in the last row: what you wrote later"),
    key(C::Editor, A::DeleteBack, "delete_back", &["backspace", "ctrl-h"], "", "delete the letter before"),
    key(C::Editor, A::DeleteOn, "delete_on", &["delete"], "", "delete the letter behind"),
    key(C::Editor, A::DeleteWordBack, "delete_word_back", &["ctrl-w", "alt-backspace"], "", "cut the word before"),
    key(C::Editor, A::DeleteWordOn, "delete_word_on", &["alt-d"], "", "cut the word behind"),
    key(C::Editor, A::KillToStart, "kill_to_start", &["ctrl-u"], "", "cut to the beginning of the line"),
    key(C::Editor, A::KillToEnd, "kill_to_end", &["ctrl-k"], "", "cut to its end"),
    key(C::Editor, A::Yank, "yank", &["ctrl-y"], "", "insert what was cut last"),
    key(C::Editor, A::UndoEdit, "undo", &["ctrl-_", "ctrl-7"], "", "undo; again: further back"),
    key(C::Editor, A::RedoEdit, "redo", &["alt-_"], "", "redo"),
    key(C::Band, A::Approve, "yes", &["y"], "once", "yes, this once"),
    key(C::Band, A::ApproveSession, "session", &["a"], "session", "yes, and the same not again in this session"),
    key(C::Band, A::ApprovePrefix, "prefix", &["p"], "prefix", "yes, and a rule for commands that begin so"),
    key(C::Band, A::Deny, "no", &["n", "d"], "no", "no; the agent goes on without"),
    key(C::Band, A::DenySaying, "no_saying", &["t"], "no, and say why", "no, and tell the agent why"),
    key(C::Band, A::Abort, "abort", &["c"], "", "no, and end the agent's task"),
    key(C::Band, A::ApproveAll, "all", &["A"], "", "yes to all that ask the same"),
    key(C::Band, A::OpenAsker, "open", &["o"], "", "look at the agent that asks"),
    key(C::Agents, A::Up, "up", &["up", "k"], "", "up"),
    key(C::Agents, A::Down, "down", &["down", "j"], "", "down"),
    key(C::Agents, A::Open, "open", &["enter"], "open", "open the agent"),
    key(C::Agents, A::Peek, "peek", &["space"], "peek", "what it said is read; reply to it"),
    key(C::Agents, A::Approve, "yes", &["y"], "answer", "yes to what it asks"),
    key(C::Agents, A::Deny, "no", &["n"], "", "no to what it asks"),
    key(C::Agents, A::Message, "message", &["m"], "message", "write to the agent"),
    key(C::Agents, A::Stop, "stop", &["x", "ctrl-x"], "stop…", "stop, with what it touches"),
    key(C::Agents, A::ResumeAgent, "resume", &["u"], "resume", "have a stopped agent go on"),
    key(C::Agents, A::Diff, "diff", &["d"], "diff", "what it changed"),
    key(C::Agents, A::FullText, "full", &["i"], "", "its task and its result in full"),
    key(C::Agents, A::Spawn, "spawn", &["ctrl-n"], "new", "a new agent"),
    key(C::Agents, A::Grouping, "grouping", &["ctrl-s"], "", "by state, or by place in the tree"),
    key(C::Agents, A::Filter, "filter", &["ctrl-f", "/"], "", "search"),
    key(C::Agents, A::Help, "help", &["?"], "keys", "these keys"),
    key(C::Agents, A::Close, "close", &["esc", "ctrl-t", "q", "right"], "", "back"),
    key(C::Pager, A::Up, "up", &["up", "k"], "", "a row up"),
    key(C::Pager, A::Down, "down", &["down", "j"], "", "a row down"),
    key(C::Pager, A::PageUp, "page_up", &["pageup", "ctrl-b", "b"], "", "a page up"),
    key(C::Pager, A::PageDown, "page_down", &["pagedown", "ctrl-f", "space"], "page", "a page down"),
    key(C::Pager, A::Top, "top", &["home", "g"], "", "to the beginning"),
    key(C::Pager, A::Bottom, "bottom", &["end", "G"], "end", "to the end"),
    key(C::Pager, A::Unfold, "unfold", &["enter", "e"], "fold", "unfold the cell at the top, or fold it"),
    key(C::Pager, A::Filter, "filter", &["/"], "search", "search"),
    key(C::Pager, A::NextMatch, "next_match", &["n"], "", "the next place that was searched for"),
    key(C::Pager, A::Agents, "agents", &["ctrl-t"], "agents", "on to the agents"),
    key(C::Pager, A::Close, "close", &["esc", "q", "ctrl-a"], "back", "back"),
    key(C::Stop, A::Up, "up", &["up", "k"], "", "up"),
    key(C::Stop, A::Down, "down", &["down", "j"], "", "down"),
    key(C::Stop, A::Confirm, "confirm", &["enter"], "do it", "do it"),
    key(C::Stop, A::Close, "close", &["esc", "q"], "stay", "back, and stop nothing"),
    key(C::Leaving, A::KeepRunning, "keep_running", &["k"], "keep them running", "leave; the work goes on, and `troupe attach` finds it"),
    key(C::Leaving, A::Suspend, "suspend", &["s"], "suspend", "leave; what runs is stopped and can be resumed"),
    key(C::Leaving, A::Close, "stay", &["esc", "n"], "stay", "stay"),
    key(C::Plan, A::PlanYes, "yes", &["1"], "yes", "implement the plan"),
    key(C::Plan, A::PlanFresh, "fresh", &["2"], "yes, fresh context", "implement it in a conversation of its own"),
    key(C::Plan, A::PlanStay, "stay", &["3"], "no, stay in plan", "stay in plan mode"),
    key(C::Picker, A::Up, "up", &["up", "ctrl-p"], "", "up"),
    key(C::Picker, A::Down, "down", &["down", "ctrl-n"], "", "down"),
    key(C::Picker, A::Open, "choose", &["enter"], "choose", "choose"),
    key(C::Picker, A::Close, "close", &["esc", "ctrl-c"], "back", "back"),
];
