//! The bounds of a session, and what happens when they are met.

/// Submissions and signals that wait for the actor. A full mailbox makes the sender wait.
/// The tree's orders do not count and never wait. They are bounded by what they come from: a
/// start or a stop by the one task that an agent has, mail by the agent's inbox, a record by
/// an append or a call that somebody waits for.
pub const MAILBOX_MAX: usize = 512;

/// Events kept in memory for readers. A reader that falls behind gets what it missed from
/// the rollout, and open texts as snapshots.
pub const EVENT_RING_MAX: usize = 8_192;

/// Logs that one queue pair wrote to, one after the other, and that readers who fell behind are
/// told from. What was said before them can then no longer be read through the queue pair.
pub const FOLLOWED_LOGS_MAX: usize = 64;

/// Events that the actor keeps room for between two steps.
pub const OUTBOX_KEPT: usize = 8;

/// Instructions that stay encoded: one per kind of agent that works at the moment.
pub const INSTRUCTIONS_KEPT: usize = 16;

/// Sequence numbers that one `seq_reserved` line covers.
pub const SEQ_BLOCK: u64 = 4_096;

/// Numbers of a block that are kept back for what is told while nothing can be written. A
/// new block is asked for when fewer are left.
pub const SEQ_SPARE: u64 = 1_024;

/// Submissions put off while a task is being stopped. Over it they are answered with an
/// error.
pub const DEFERRED_MAX: usize = 64;

/// Messages that may wait for the next model request. Over it `steer` is refused.
pub const STEERED_MAX: usize = 64;

/// Items that a client adds to the history at a time. More are refused.
pub const INJECTED_ITEMS_MAX: usize = 1_000;

/// Bytes of the items that a client adds to the history at a time. More are refused.
pub const INJECTED_BYTES_MAX: usize = 8 * 1024 * 1024;

/// Commands of the user's own that run at the same time. Over it another is refused.
pub const USER_SHELLS_MAX: usize = 16;

/// Tools that are named to whoever asks what a session does; there may be more that run.
pub const RUNNING_TOOLS_SHOWN_MAX: usize = 16;

/// How long a stopped task's tools may take to clean up before they are dropped.
pub const STOP_GRACE_MS: u64 = 5_000;

/// Lists of what servers offer that are being made. Over it `list_mcp_tools` is refused.
pub const LISTINGS_MAX: usize = 8;

/// What is kept for the model of a message that was broken off; people have all of it. What
/// goes on for ever would fill the window of every request that follows.
pub const BROKEN_OFF_TEXT_BYTES_MAX: usize = 256 * 1024;

/// Text of one submission, in characters.
pub const INPUT_CHARS_MAX: usize = 1_048_576;

/// Pictures of one message. Providers take a few hundred; a message with more is refused.
pub const INPUT_IMAGES_MAX: usize = 100;

/// The name of a mention; a longer one is refused.
pub const MENTION_NAME_CHARS_MAX: usize = 256;

/// What a mention leads to; a longer one is refused.
pub const MENTION_PATH_BYTES_MAX: usize = 4_096;

/// User messages that survive a compaction, newest first, in tokens.
pub const COMPACTION_KEPT_TOKENS_MAX: u64 = 20_000;

/// The part of a window, or of a history that was too large for one, that they may take.
pub const COMPACTION_KEPT_PERCENT: u64 = 25;

/// How often the oldest half of the history is left out when even the compaction request
/// does not fit.
pub const COMPACTION_ATTEMPTS_MAX: u32 = 5;

/// Compactions that make room for one task. Over it the task fails: a window in which so little
/// work fits between two of them is too small for it.
pub const COMPACTIONS_MAX: u32 = 256;

/// The context window of a model that nobody knows. The user is told that it is assumed, and
/// nothing is refused or summarised because of it: the provider decides.
pub const CONTEXT_WINDOW_ASSUMED_TOKENS: u64 = 128_000;

/// How long a provider may take to tell the context window of a model that nobody knows. A task
/// waits for it, once.
pub const WINDOW_ASKED_MS_MAX: u64 = 2_000;

/// Requests for the provider's list of models that may be open. Over it `list_models` is
/// refused.
pub const MODEL_REFRESHES_MAX: usize = 4;

/// The part of the context window that may be used before the history is compacted.
pub const AUTO_COMPACT_PERCENT: u64 = 90;

/// Model cycles of one task. A model that never stops calling tools is stopped here.
pub const CYCLES_MAX: u32 = 10_000;

/// How often hooks may have one task go on that the model regards as done.
pub const STOP_REFUSALS_MAX: u32 = 5;

/// How often in a row a model that pauses is asked to go on. Then the task fails.
pub const PAUSES_MAX: u32 = 8;

/// Project instructions, all files together.
pub const PROJECT_DOC_BYTES_MAX: usize = 32 * 1024;

/// Commands, and files, that are told of one task; the rest is counted.
pub const EVIDENCE_ENTRIES_MAX: usize = 200;

/// One command among them; a longer one is cut.
pub const EVIDENCE_COMMAND_BYTES_MAX: usize = 4_096;

/// What is told of an answer that does not fit its schema.
pub const OUTPUT_PROBLEMS_MAX: usize = 20;

/// One of them, which may quote the answer; a longer one is cut.
pub const OUTPUT_PROBLEM_BYTES_MAX: usize = 1_000;

/// Where the headline of a reasoning is looked for, from its beginning.
pub const HEADLINE_BYTES_MAX: usize = 512;

/// How deep skills are looked for below a place.
pub const SKILL_DEPTH_MAX: usize = 6;

/// Directories that are looked through in one place. Over it the rest is told to be left out.
pub const SKILL_DIRECTORIES_MAX: usize = 2_000;

/// Files and directories that are looked at in one place. Over it the rest is told to be left
/// out.
pub const SKILL_ENTRIES_MAX: usize = 20_000;

/// The beginning of a `SKILL.md`, in which its front matter must end.
pub const SKILL_HEAD_BYTES_MAX: u64 = 32 * 1024;

/// A whole `SKILL.md`; a larger one is refused when it is chosen.
pub const SKILL_FILE_BYTES_MAX: u64 = 1024 * 1024;

pub const SKILL_NAME_CHARS_MAX: usize = 64;
pub const SKILL_DESCRIPTION_CHARS_MAX: usize = 1_024;

/// What is told of a front matter that is no YAML.
pub const SKILL_PROBLEM_BYTES_MAX: usize = 200;

/// The depth and the parts of a front matter.
pub const YAML_DEPTH_MAX: usize = 16;
pub const YAML_NODES_MAX: usize = 1_000;

/// What the list of skills may take of the context window.
pub const SKILL_LIST_PERCENT: u64 = 2;
pub const SKILL_LIST_TOKENS_MAX: u64 = 10_000;
/// The same where nobody knows the window.
pub const SKILL_LIST_CHARS_MAX: usize = 8_000;

/// Broken skills that are warned of; the rest is counted.
pub const SKILL_WARNINGS_MAX: usize = 4;
pub const SKILL_WARNING_BYTES_MAX: usize = 256;

/// A chosen skill as the model is told it; a longer one is cut.
pub const SKILL_TEXT_BYTES_MAX: usize = 8_000;

/// Skills that one message can choose; one that chooses more is refused.
pub const SKILLS_CHOSEN_MAX: usize = 16;

/// Catalogues that are kept, one per set of places. Over it all are read again.
pub const CATALOGUES_MAX: usize = 64;

/// Directories that `list_skills` can be asked for at once.
pub const SKILL_CWDS_MAX: usize = 64;

/// Lists that `list_skills` has made at the same time. Over it another is refused.
pub const SKILL_LISTINGS_MAX: usize = 8;

/// How coarse the clock of a file system may be.
pub const FILE_CLOCK_MS: u64 = 50;

/// Files of an undo that the model is told by name, of each kind.
pub(crate) const UNDONE_FILES_SHOWN_MAX: usize = 100;

/// Ids of submissions that a session knows again.
pub const SUBMISSIONS_KNOWN_MAX: usize = 256;

/// What the answer of a client to a call of its tool may cost the model; a longer one is cut.
pub(crate) const DYNAMIC_TOOL_REPLY_TOKENS_MAX: usize = 10_000;

/// Pictures of such an answer. Others are left out, and said to be.
pub(crate) const DYNAMIC_TOOL_IMAGES_MAX: usize = 8;
/// The longest line that may be a tag, in bytes. Beyond it a line is text whatever it says,
/// so that no more than this is ever held back.
pub(crate) const TAG_LINE_BYTES_MAX: usize = 256;

/// Agents that an undo names because they changed files too. The others are counted.
pub const UNDO_AGENTS_NAMED_MAX: usize = 8;
