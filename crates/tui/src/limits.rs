//! Every bound of this crate, and what happens when it is met.

/// Columns from one tab stop to the next.
pub const TAB_COLUMNS: usize = 4;

/// Frames while only text arrives: one each so many milliseconds. A key is painted at once.
pub const FRAME_MS_MIN: u64 = 33;

/// A lone ESC waits so long for the rest of a sequence. Then it is the key.
pub const ESCAPE_MS: u64 = 25;

/// Letters that are read at once before an Enter, and bytes at once that others follow: such an
/// Enter was pasted and is a new line.
pub const BURST_LETTERS_MIN: usize = 4;

pub const BURST_BYTES_MIN: usize = 1_024;

/// Messages of the session that are taken in before keys are looked at again.
pub const BATCH_MESSAGES_MAX: usize = 512;

/// Bytes of the keyboard that are read at once.
pub const INPUT_BYTES_MAX: usize = 16 * 1024;

/// The part of the screen that the live viewport takes at most, as a divisor; never less than
/// the rows below.
pub const VIEWPORT_DIVISOR: usize = 3;

pub const VIEWPORT_ROWS_MIN: usize = 8;

/// Bytes of an open paragraph that are laid out again with each frame. A longer one is printed
/// up to its last space.
pub const OPEN_BYTES_MAX: usize = 4 * 1024;

/// Lines of output that a folded command shows, from its end.
pub const FOLDED_LINES: usize = 5;

/// Lines of a running command's output that are shown, and bytes that are kept of it.
pub const TAIL_LINES: usize = 5;

pub const TAIL_BYTES_MAX: usize = 8 * 1024;

/// Lines of a patch that are shown before the rest is folded.
pub const PATCH_LINES_FOLDED: usize = 40;

/// Rows of the text that is written; above it the rows scroll.
pub const COMPOSER_ROWS_MAX: usize = 10;

/// A paste that is longer becomes a chip, `[paste 1: 240 lines]`.
pub const CHIP_LETTERS_MIN: usize = 1_000;

pub const CHIP_LINES_MIN: usize = 8;

/// Steps that can be undone while writing. The oldest is forgotten.
pub const UNDO_STEPS_MAX: usize = 200;

/// How often a command of the normal mode of vi is repeated at most.
pub const VIM_COUNT_MAX: usize = 999;

/// Prompts that are remembered. The oldest is forgotten.
pub const HISTORY_ENTRIES_MAX: usize = 1_000;

/// Requests to the catalogue of sessions that wait for it, and answers that wait for the picker.
/// The next one waits.
pub const CATALOGUE_REQUESTS_MAX: usize = 64;

/// Messages that wait for the end of a task. The next one is refused, in words.
pub const QUEUE_MESSAGES_MAX: usize = 32;

/// Bytes that are read of the file in which git keeps its branch. A longer one is none.
pub const GIT_HEAD_BYTES_MAX: u64 = 4 * 1024;

/// Files that `@` looks through, and rows that it shows.
pub const FILES_MAX: usize = 50_000;

pub const COMPLETION_ROWS: usize = 8;

/// A question takes letters only if nothing was typed for so long, and it has stood for so long.
pub const QUESTION_DEAF_MS: u64 = 1_000;

pub const QUESTION_STANDING_MS: u64 = 500;

/// Ctrl-C twice within this leaves; so does Esc twice go back.
pub const TWICE_MS: u64 = 2_000;

/// What children tell within this is one notice.
pub const NOTICE_BURST_MS: u64 = 1_000;

/// Rows of history that are printed with one frame. The rest goes with the next ones.
pub const HISTORY_ROWS_PER_FRAME: usize = 2_000;

/// Rows of a transcript that are printed again by Ctrl+L, unless the settings say otherwise.
pub const REPRINT_ROWS_MAX: usize = 1_000;

/// How long a short notice stays on the screen.
pub const TOAST_MS: i64 = 4_000;

/// A change in the tree is followed by a look at all of it, so much later, one for many.
pub const TREE_LOOK_MS: i64 = 500;

/// Bytes that are handed to the clipboard; terminals take no more.
pub const CLIPBOARD_BYTES_MAX: usize = 74_994;

/// The part of the screen that the list takes above an agent that is peeked at, and that the list
/// of questions takes above the whole of one.
pub const PEEK_LIST_DIVISOR: usize = 3;

pub const QUESTION_LIST_DIVISOR: usize = 3;

/// Columns from which the chosen agent is told of beside the list.
pub const BESIDE_COLUMNS_MIN: usize = 78;

/// Rows of a question in the band. One that needs more is opened before it can be agreed to.
pub const BAND_ROWS_MAX: usize = 8;
