//! Every bound of this crate, unit last.

use std::time::Duration;

/// What one answer may cost the model, unless the call asks for less.
pub(crate) const ANSWER_TOKENS_MAX: usize = 10_000;
/// The usual estimate; providers count differently, and only the order matters here.
pub(crate) const BYTES_PER_TOKEN: usize = 4;

// Commands
/// What is kept of one command's output: half from its head, half from its tail.
pub(crate) const CAPTURE_BYTES_MAX: usize = 1024 * 1024;
/// What one command may write in all, in the background too; one that writes more is ended, and
/// its output says so. No build or test comes near it.
pub(crate) const COMMAND_OUTPUT_BYTES_MAX: u64 = 256 << 20;
/// Output that a call which watches a command has not passed on yet; the command waits then.
pub(crate) const BACKLOG_BYTES_MAX: usize = 256 * 1024;
/// One piece of streamed output.
pub(crate) const OUTPUT_EVENT_BYTES_MAX: usize = 8 * 1024;
/// Streamed pieces of one call; later output is still captured, and the last piece says so.
pub(crate) const OUTPUT_EVENTS_MAX: usize = 10_000;
pub(crate) const COMMAND_TIMEOUT_DEFAULT_MS: u64 = 120_000;
pub(crate) const COMMAND_TIMEOUT_MAX_MS: u64 = 3_600_000;
pub(crate) const COMMAND_BYTES_MAX: usize = 128 * 1024;

// Rules
pub(crate) const RULES_FILE_BYTES_MAX: u64 = 256 * 1024;
/// Rules that one "always" adds; a longer script is asked for again.
pub(crate) const PROPOSED_RULES_MAX: usize = 4;
/// All words of one such rule: a longer one would never be met again.
pub(crate) const PROPOSED_WORDS_BYTES_MAX: usize = 512;

// Commands that go on in the background
pub(crate) const TERMINALS_MAX: usize = 64;
/// The most recently used ones are never ended to make room.
pub(crate) const TERMINALS_PROTECTED: usize = 8;
pub(crate) const YIELD_MIN_MS: u64 = 250;
pub(crate) const YIELD_MAX_MS: u64 = 30_000;
pub(crate) const START_YIELD_DEFAULT_MS: u64 = 10_000;
pub(crate) const WRITE_YIELD_DEFAULT_MS: u64 = 250;
/// A call that only waits may wait long, but not shorter than this: a model that polls in a
/// tight loop pays a request for each look.
pub(crate) const POLL_MIN_MS: u64 = 5_000;
pub(crate) const POLL_MAX_MS: u64 = 300_000;
/// Calls that type into one command at the same time; the next one waits.
pub(crate) const INPUT_QUEUE_MAX: usize = 16;
pub(crate) const INPUT_BYTES_MAX: usize = 1024 * 1024;

// Files
pub(crate) const READ_LINES_DEFAULT: usize = 2_000;
pub(crate) const READ_LINE_BYTES_MAX: usize = 2_000;
pub(crate) const READ_ANSWER_BYTES_MAX: usize = ANSWER_TOKENS_MAX * BYTES_PER_TOKEN;
pub(crate) const READ_BUFFER_BYTES: usize = 64 * 1024;
/// As many as the kernel follows.
pub(crate) const LINKS_MAX: usize = 40;
/// How much of a file is looked at to tell text from binary.
pub(crate) const SNIFF_BYTES: usize = 8 * 1024;
pub(crate) const LIST_ENTRIES_DEFAULT: usize = 500;
pub(crate) const LIST_ENTRIES_MAX: usize = 2_000;
pub(crate) const LIST_DEPTH_DEFAULT: usize = 1;
pub(crate) const LIST_DEPTH_MAX: usize = 16;
/// Bounds every look at the file system.
pub(crate) const SEARCH_TIME_MAX: Duration = Duration::from_secs(20);
pub(crate) const SEARCH_FILE_BYTES_MAX: u64 = 16 * 1024 * 1024;
pub(crate) const SEARCH_REGEX_BYTES_MAX: usize = 4 * 1024 * 1024;
pub(crate) const GREP_MATCHES_DEFAULT: usize = 200;
pub(crate) const GREP_MATCHES_MAX: usize = 2_000;
pub(crate) const GREP_LINE_BYTES_MAX: usize = 500;
pub(crate) const GREP_CONTEXT_MAX: usize = 20;
pub(crate) const FIND_FILES_DEFAULT: usize = 200;
pub(crate) const FIND_FILES_MAX: usize = 2_000;

// Workers
/// What one is asked: a patch at its largest, with every line end escaped.
pub(crate) const WORK_REQUEST_BYTES_MAX: usize = 64 * 1024 * 1024;
/// What one answers: the largest image as text, or what the largest patch changes.
pub(crate) const WORK_ANSWER_BYTES_MAX: usize = 64 * 1024 * 1024;
/// What is told of one that failed.
pub(crate) const WORK_COMPLAINT_BYTES_MAX: usize = 2_000;

// Images
pub(crate) const IMAGE_FILE_BYTES_MAX: u64 = 20 * 1024 * 1024;
pub(crate) const IMAGE_SIDE_MAX_PX: u32 = 2_048;
/// Decoding takes seconds beyond that; the header of a picture tells its size.
pub(crate) const IMAGE_PIXELS_MAX: u64 = 50_000_000;
/// Pictures that are decoded at the same time, in all sessions together; others wait. Each may
/// take as much memory as a picture is allowed to.
pub(crate) const IMAGES_AT_ONCE_MAX: usize = 2;
/// What decoding may allocate; a small file can claim a huge picture.
pub(crate) const IMAGE_DECODE_BYTES_MAX: u64 = 512 * 1024 * 1024;

// Plans
pub(crate) const PLAN_STEPS_MAX: usize = 100;

// Questions
pub(crate) const QUESTIONS_MAX: usize = 3;
pub(crate) const QUESTION_ID_CHARS_MAX: usize = 64;
pub(crate) const QUESTION_HEADER_CHARS_MAX: usize = 12;
/// Of a question, and of an option's label and description.
pub(crate) const QUESTION_CHARS_MAX: usize = 500;
pub(crate) const QUESTION_OPTIONS_MIN: usize = 2;
pub(crate) const QUESTION_OPTIONS_MAX: usize = 3;
/// Of one answer in the user's own words.
pub(crate) const ANSWER_BYTES_MAX: usize = 16 * 1024;

// Hooks
pub(crate) const HOOK_TIMEOUT_SEC_DEFAULT: f64 = 60.0;
pub(crate) const HOOK_TIMEOUT_SEC_MAX: f64 = 600.0;
/// Of each of its two outputs; the rest is read and forgotten.
pub(crate) const HOOK_OUTPUT_BYTES_MAX: usize = 64 * 1024;
/// Of what it says, as it is passed on.
pub(crate) const HOOK_REASON_BYTES_MAX: usize = 4 * 1024;
/// Of a tool's answer, as a hook is told it.
pub(crate) const HOOK_TOOL_OUTPUT_BYTES_MAX: usize = 256 * 1024;

// Evidence
/// A larger file is not read for its digest.
pub(crate) const DIGEST_BYTES_MAX: u64 = 256 * 1024 * 1024;
/// How much of it is in memory at a time.
pub(crate) const DIGEST_PIECE_BYTES: usize = 64 * 1024;

// The diff of a turn
/// Files that it shows; those over it are counted.
pub(crate) const TURN_DIFF_FILES_MAX: usize = 500;
/// What is remembered of files as they were; one that does not fit is only named.
pub(crate) const TURN_DIFF_KEPT_BYTES_MAX: usize = 4 * 1024 * 1024;
/// The diff itself. Files that do not fit are counted.
pub(crate) const TURN_DIFF_BYTES_MAX: usize = 1024 * 1024;
/// How long comparing goes on. The files that are left are counted.
pub(crate) const TURN_DIFF_TIME_MAX: Duration = Duration::from_secs(1);

// Undo
/// A larger file is not kept: undo names it and leaves it as it is.
pub(crate) const UNDO_FILE_BYTES_MAX: u64 = 32 * 1024 * 1024;
/// Files that one turn is known to have changed, and all their contents from before; what is
/// over is counted, and stays as it is.
pub(crate) const UNDO_TURN_FILES_MAX: usize = 5_000;
pub(crate) const UNDO_TURN_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Files that are written together or not at all; each holds a directory open.
pub(crate) const UNDO_STEPS_MAX: usize = 256;
/// All contents of a home, and all lists of what work trees held. Over it, the oldest go.
pub(crate) const UNDO_BLOBS_BYTES_MAX: u64 = 768 * 1024 * 1024;
pub(crate) const UNDO_TREES_BYTES_MAX: u64 = 256 * 1024 * 1024;
/// What a look at a work tree may take. If it takes longer, the session's commands are not
/// watched any more, and the user is told.
pub(crate) const UNDO_TREE_TIME_MAX: Duration = Duration::from_secs(20);
/// A look that takes longer is told, because a command waits for it.
pub(crate) const UNDO_LOOK_TIME_QUIET: Duration = Duration::from_secs(2);
/// What one look reads and keeps: files that are new to us and in no commit. The rest has its
/// turn with the next look.
pub(crate) const UNDO_LOOK_FILES_MAX: usize = 10_000;
pub(crate) const UNDO_LOOK_BYTES_MAX: u64 = 128 * 1024 * 1024;
/// What one look compares with git, of files that were written since git looked at them (a copy
/// of a repository, `touch`). What is over it counts as in no commit.
pub(crate) const UNDO_LOOK_COMPARED_FILES_MAX: usize = 250_000;
pub(crate) const UNDO_LOOK_COMPARED_BYTES_MAX: u64 = 1024 * 1024 * 1024;
pub(crate) const UNDO_COMPARE_TIME_MAX: Duration = Duration::from_secs(8);
/// Names that git is asked about one by one; for more it lists everything.
pub(crate) const UNDO_NEW_NAMES_MAX: usize = 500;
/// How deep directories without a file of git may lie in each other, for a list to be used again.
pub(crate) const UNDO_UNNAMED_ROUNDS_MAX: usize = 8;
/// Objects of which git is asked whether they are what is on disk, where nothing speaks against
/// it.
pub(crate) const UNDO_SAMPLE_OBJECTS: usize = 256;
/// Threads that ask for the state of files.
pub(crate) const UNDO_LOOK_THREADS_MAX: usize = 4;
/// A user's index that is larger is not read.
pub(crate) const UNDO_INDEX_BYTES_MAX: u64 = 512 * 1024 * 1024;
/// How coarse the times of a file system are at most, and how long a file must have been left
/// alone before its times are believed; servers of files have their own clocks.
pub(crate) const UNDO_TICK_NS: i64 = 20_000_000;
pub(crate) const UNDO_SETTLED_NS: i64 = 2_000_000_000;
/// What git may print about one work tree.
pub(crate) const UNDO_LISTING_BYTES_MAX: usize = 64 * 1024 * 1024;
/// What is told of a git that failed.
pub(crate) const UNDO_COMPLAINT_BYTES_MAX: usize = 500;

/// Words of a command that a lasting yes is bound to; one with more is asked for each time.
pub(crate) const COMMAND_WORDS_BOUND_MAX: usize = 256;
/// A shorter value is no secret: it is a word that begins like a token.
pub(crate) const SECRET_LENGTH_MIN: usize = 16;
/// Files that one thread compares, at least.
pub(crate) const THREAD_COMPARED_MIN: usize = 500;
/// Bytes of questions to git that are asked before answers are taken.
pub(crate) const GIT_QUESTIONS_BYTES_MAX: usize = 64 * 1024;
/// Directories that one thread asks for, at least.
pub(crate) const THREAD_DIRECTORIES_MIN: usize = 200;
/// Files that one thread asks for, at least.
pub(crate) const THREAD_FILES_MIN: usize = 4_000;
/// How old a content is before it is marked as used again.
pub(crate) const BLOB_USED_INTERVAL: Duration = Duration::from_hours(1);
