//! Upper bounds of this crate.

/// The most that is read of a prompt from standard input.
pub const PROMPT_BYTES_MAX: u64 = 8 * 1024 * 1024;

/// A saved prompt that is larger is refused.
pub const SAVED_PROMPT_BYTES_MAX: u64 = 64 * 1024;

/// Saved prompts of one directory that are offered by name. Others can be called all the same.
pub const SAVED_PROMPTS_MAX: usize = 1_000;

/// Directories below each other in which saved prompts are listed.
pub const SAVED_PROMPT_DEPTH_MAX: usize = 3;

/// What a list shows of a saved prompt that says nothing of itself.
pub const PROMPT_SUMMARY_CHARS_MAX: usize = 80;

/// Files that a prompt points at with `@`. Further ones are only words.
pub const MENTIONS_MAX: usize = 32;

/// A JSON Schema file larger than this is refused.
pub const OUTPUT_SCHEMA_BYTES_MAX: u64 = 1024 * 1024;

/// Lines of a command's output that people are shown; the model sees more.
pub const SHOWN_OUTPUT_LINES_MAX: usize = 12;

/// Lines of a patch that people are shown.
pub const SHOWN_DIFF_LINES_MAX: usize = 40;

/// Characters of one shown line.
pub const SHOWN_LINE_CHARS_MAX: usize = 200;

/// Between two lines that tell a program how a growing text stands.
pub const PARTIAL_TEXT_MS_MIN: u64 = 100;

/// A line of a running command's output that is longer is shown in pieces.
pub const LIVE_LINE_BYTES_MAX: usize = 4096;

/// How long `doctor` waits for a server.
pub const DOCTOR_CONNECT_MS_MAX: u64 = 3000;

/// What is written to a stream that says it has room. A pipe has room for so much when it says so.
pub const WRITE_AT_ONCE_BYTES_MAX: usize = libc::PIPE_BUF;

/// Directories whose configuration is kept in memory. Beyond that they are read again.
pub const DIRECTORIES_KNOWN_MAX: usize = 256;

/// One request over the control socket; a message to an agent is the longest.
pub const CONTROL_REQUEST_BYTES_MAX: u64 = 1024 * 1024;

/// One answer. A row of a tree takes some hundred bytes, and trees have up to some thousand.
pub const CONTROL_ANSWER_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// How long a client may take to say what it wants.
pub const CONTROL_REQUEST_MS_MAX: u64 = 5_000;

/// How long a tree may take to do it. Most of it is the disk's.
pub const CONTROL_ANSWER_MS_MAX: u64 = 30_000;

/// Clients that are answered at the same time. The others wait in the kernel's queue.
pub const CONTROL_CONNECTIONS_MAX: usize = 16;

/// The longest path of a socket that the kernel takes, without its terminating zero.
pub const SOCKET_PATH_BYTES_MAX: usize = 107;

/// Sessions of a directory among which its newest tree is looked for.
pub const SESSIONS_SEARCHED_MAX: usize = 100;

/// How often a log that another process writes is looked at.
pub const FOLLOW_INTERVAL_MS: u64 = 200;

/// Characters of a message that stand for the whole of it in lists.
pub const SHOWN_PREVIEW_CHARS_MAX: usize = 72;

/// Looks in a row that find neither a process nor a new line, after which there is none.
pub const ABSENT_LOOKS_MAX: u32 = 3;

/// How long a provider that gave no list of its models is not asked for it again.
pub const MODELS_ASKED_AGAIN_SEC: u64 = 60;

/// Lines of growing text above the status line of a terminal.
pub const LIVE_ROWS_MAX: usize = 5;

/// What is kept of growing text to take those lines from.
pub const LIVE_TAIL_BYTES_MAX: usize = 4096;

/// How often the lines are drawn again at most while text comes in.
pub const LIVE_REDRAW_MS_MIN: u64 = 80;

/// Text that is kept back while a person types an answer. Beyond that it is shown all the same.
pub const HELD_BACK_BYTES_MAX: usize = 256 * 1024;

/// The width of a terminal that does not say its own.
pub const TERMINAL_COLUMNS_ASSUMED: usize = 80;

/// The longest line that is taken from a terminal; what is behind it is dropped.
pub const TYPED_LINE_BYTES_MAX: usize = 64 * 1024;

/// Models that are named when somebody has to choose one; the rest is counted.
pub const MODELS_NAMED_MAX: usize = 20;

/// How long a spawn waits for a provider's list of its models.
pub const MODELS_WAITED_FOR_SEC_MAX: u64 = 30;

/// How long a run has to last before it can be attached to: a short one pays nothing for it.
pub const ATTACHABLE_AFTER_MS: u64 = 1_000;

/// How long an engine that nobody is attached to, and that has nothing to do, waits for somebody
/// before it ends: long enough for a screen that is opened again at once. Resuming is cheap.
pub const ENGINE_ALONE_MS_MAX: u64 = 1_000;

/// How often an engine that nobody is attached to looks whether it has something to do.
pub const ENGINE_LOOK_MS: u64 = 200;

/// How long a screen waits for an engine that is gone to come back.
pub const ENGINE_LOST_MS_MAX: u64 = 10 * 60 * 1_000;

/// How long a screen that is left waits for its engine to end.
pub const ENGINE_ENDING_MS_MAX: u64 = 10_000;

/// Sessions that are shown to whoever has to choose one to resume.
pub const RESUME_CHOICES_MAX: usize = 20;

/// Sessions of one page of the picker. More come when its end is near.
pub const RESUME_PAGE_SESSIONS: u32 = 50;

/// Records of a session's log that a preview shows, from the end.
pub const PREVIEW_RECORDS_MAX: usize = 400;

/// A file of the diagnostic log that would grow larger is put aside; the one put aside before it goes.
pub const LOG_FILE_BYTES_MAX: u64 = 8 * 1024 * 1024;

/// Files of the diagnostic log. The oldest go when a process begins another.
pub const LOG_FILES_MAX: usize = 20;

/// The end of the diagnostic log that a report holds.
pub const REPORTED_LOG_BYTES_MAX: u64 = 256 * 1024;

/// A secret that is shorter is not looked for in the diagnostic log: it may be a word of any line.
pub const HIDDEN_SECRET_BYTES_MIN: usize = 8;

/// A key that is longer is refused.
pub const KEY_BYTES_MAX: u64 = 16 * 1024;

/// Columns of a directory or a model; a longer one is cut.
pub const NAME_COLUMNS_MAX: usize = 28;

/// Characters of a title; a longer one is cut.
pub const TITLE_CHARS_MAX: usize = 72;

/// Characters of a tool's answer that are printed; the rest is cut.
pub const ANSWER_CHARS_MAX: usize = 2000;

/// How many sessions are offered: those that changed last.
pub const SESSIONS_OFFERED_MAX: usize = 30;

/// The most of a session's first words that is shown beside its id.
pub const WORDS_SHOWN_MAX: usize = 60;

/// Columns of a running command, so that a long one leaves room for how long it runs.
pub const COMMAND_COLUMNS_MAX: usize = 40;
