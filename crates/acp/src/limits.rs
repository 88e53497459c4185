//! Every bound of this crate, and what happens when it is met.

/// What a client asks of one session that waits to be looked at. Over it the connection reads
/// no further until there is room.
pub const COMMANDS_QUEUED_MAX: usize = 32;

/// Sessions that are being opened, and lists that are being made, at the same time. Over it
/// requests are answered as overload.
pub const JOBS_MAX: usize = 64;

/// What is shown of a command's output while it runs and afterwards: the end of it.
pub const OUTPUT_SHOWN_BYTES_MAX: usize = 16 * 1024;

/// How much more output there is before it is shown again: every update repeats it all.
pub const OUTPUT_STEP_BYTES: usize = 1024;

/// What is shown of a child's work: the end of it.
pub const CHILD_SHOWN_BYTES_MAX: usize = 8 * 1024;

/// How much longer a child's message is before it is shown again.
pub const CHILD_STEP_BYTES: usize = 256;

/// News of children that wait to be sent. Over it the children's readers fall behind, and are
/// told the same in fewer words.
pub const CHILD_NEWS_QUEUED_MAX: usize = 64;

/// The diffs that are shown of one patch. The files of the rest are still named.
pub const DIFFS_MAX: usize = 256;

/// What a loaded session tells of its past, at most: the newest.
pub const REPLAY_UPDATES_MAX: usize = 10_000;

/// The compactions that a loaded session looks behind.
pub const REPLAY_SEGMENTS_MAX: usize = 64;

/// The title of anything that is shown in one line.
pub const TITLE_CHARS_MAX: usize = 120;

/// How long another agent may take to start and to greet, unless the configuration says
/// otherwise. Then it is ended, and the task fails.
pub const BACKEND_START_SEC_DEFAULT: u64 = 60;

/// How long another agent may go on with a prompt that was cancelled. Then it is ended, with
/// everything that it had started.
pub const BACKEND_CANCEL_MS_MAX: u64 = 5_000;

/// Messages of another agent that wait to be listened to. Over it it is not read any further.
pub const BACKEND_SAID_QUEUED_MAX: usize = 256;

/// One message of another agent. One that sends a longer one is ended.
pub const BACKEND_MESSAGE_BYTES_MAX: usize = 32 * 1024 * 1024;

/// The end of what another agent wrote to stderr, told when it ends.
pub const BACKEND_COMPLAINT_BYTES_MAX: usize = 2 * 1024;

/// How long is waited for the news of an end that was met already.
pub const BACKEND_OBITUARY_MS_MAX: u64 = 5_000;

/// Output of one call of another agent that goes into the history; more is cut.
pub const BACKEND_OUTPUT_BYTES_MAX: usize = 16 * 1024;

/// The earlier conversation that another agent is told when it has to be started again: the end
/// of it.
pub const BACKEND_TRANSCRIPT_BYTES_MAX: usize = 64 * 1024;

/// What is told of the data of a program's error; the rest is cut.
pub const ERROR_DATA_CHARS_MAX: usize = 400;
