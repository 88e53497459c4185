//! Every bound of this crate, and what happens when it is met.

/// Connections of one server at the same time that have shown who they are. Who comes later is
/// told that there is no place.
pub const CONNECTIONS_MAX: usize = 512;

/// Connections of one server at the same time that have not. Over it the oldest of the peer
/// that has most of them is cut off.
pub const STRANGERS_MAX: usize = 256;

/// Those of one peer among them. Over it the oldest of them is cut off.
pub const STRANGERS_PER_PEER_MAX: usize = 64;

/// How long a client may take to set TLS up and to show its token, on every listener of the
/// network. Then it is cut off.
pub const HELLO_MS_MAX: u64 = 5_000;

/// How long a process of the same user may say nothing at a Unix socket. Then it is cut off. A
/// person may be typing.
pub const USER_SILENT_MS_MAX: u64 = 60_000;

/// The pause after a connection that could not be accepted.
pub const ACCEPT_PAUSE_MS: u64 = 20;

/// Answers that wait to be written to one client. One that sends so much and reads nothing is
/// cut off.
pub const ANSWERS_QUEUED_MAX: usize = 1_024;

/// How long a client may leave what it is sent untouched. Then it is cut off, and can come back
/// to where it was.
pub const STALLED_MS_MAX: u64 = 60_000;

/// The part of the time, in percent, that all followers together may take of the thread which
/// the session runs on. What they cannot be told in it, they are told later, in fewer words.
pub const FOLLOWERS_SHARE_PERCENT: u32 = 4;

/// How long followers are held back after a task: its driver has the end of it to read, and what
/// they are behind costs more than that.
pub const DRIVER_FIRST_MS: u64 = 200;

/// How often a follower that waits for its turn looks whether the task is over.
pub const IDLE_LOOK_MS: u64 = 20;

/// How often a network client is asked for a sign of life, unless the caller says otherwise.
pub const KEEPALIVE_MS: u64 = 30_000;

/// Signs of life that may be missed. Then the client is cut off, and can come back to where it
/// was.
pub const SIGNS_MISSED_MAX: u32 = 3;

/// How long is waited for a client to read its last message.
pub const LINGER_MS_MAX: u64 = 1_000;

/// How long connections may take to end after the session has.
pub const ENDING_MS_MAX: u64 = 3_000;

/// The longest name that a client may give itself.
pub const CLIENT_ID_BYTES_MAX: usize = 64;

/// Clients whose submissions are remembered, so that none is done twice. The one that was
/// silent for longest is forgotten first.
pub const RECEIPTS_CLIENTS_MAX: usize = 64;

/// Clients whose secrets are remembered. Of those that are gone, the one that came first is
/// forgotten first: its name is free again.
pub const IDENTITIES_MAX: usize = 1_024;

/// Submissions that are remembered of one client. The oldest is forgotten first.
pub const RECEIPTS_MAX: usize = 256;

/// A file that holds a token.
pub const TOKEN_BYTES_MAX: u64 = 4_096;

/// The shortest token. Ours have 64 characters.
pub const TOKEN_CHARS_MIN: usize = 16;

/// The longest path of a socket that the kernel takes, without its terminating zero.
pub const SOCKET_PATH_BYTES_MAX: usize = 107;

/// Messages to one gRPC client, and pieces of one stream of events, that wait to be sent.
pub const OUTGOING_QUEUED_MAX: usize = 64;

/// Requests that wait for the session pool, whose answers take no time. Over it the next one waits.
pub const HOUSE_REQUESTS_QUEUED_MAX: usize = 128;

/// Threads in memory at the same time. Over it no more are opened.
pub const THREADS_MAX: usize = 4_096;

/// Threads in memory that nobody uses and that have nothing to do. Over it those leave memory
/// that were not used for longest; they come back when they are asked for.
pub const THREADS_UNUSED_MAX: usize = 64;

/// How long one of them may stay.
pub const THREADS_UNUSED_MS_MAX: u64 = 30 * 60 * 1_000;

/// How often it is looked which threads are used.
pub const THREADS_LOOK_INTERVAL_MS: u64 = 30_000;

/// How long a tree may take to say that nothing runs in it. Then it stays.
pub const THREAD_QUIET_MS_MAX: u64 = 1_000;

/// How often the log of a session that another process works with is looked at by who waits.
pub const MCP_LOOK_INTERVAL_MS: u64 = 500;

/// How long `troupe_sessions_prompt` and `troupe_sessions_wait` wait if nobody says.
pub const MCP_WAIT_MS_DEFAULT: u64 = 5 * 60 * 1_000;

/// The longest that they wait. What is asked for beyond it is cut to it.
pub const MCP_WAIT_MS_MAX: u64 = 24 * 60 * 60 * 1_000;

/// Sessions that one call can wait for. More are refused.
pub const MCP_WAIT_SESSIONS_MAX: usize = 256;

/// Characters of one message or output in a progress notification.
pub const MCP_PROGRESS_CHARS_MAX: usize = 200;

/// Tasks in one list, if nobody says, and at most.
pub const MCP_TASKS_DEFAULT: usize = 25;
pub const MCP_TASKS_MAX: usize = 100;

/// Characters of a tool's output in a transcript; the rest is counted.
pub const MCP_OUTPUT_CHARS_MAX: usize = 4_000;

/// Bytes of one page of a transcript. The page ends after the item that goes over it.
pub const MCP_PAGE_BYTES_MAX: usize = 64_000;

/// How far into a line of a log the kind of its event is looked for. Ids stand before it.
pub const MCP_LINE_HEAD_BYTES: usize = 512;

/// Messages that are sent at once at most.
pub(crate) const GRPC_BATCH_MESSAGES_MAX: usize = OUTGOING_QUEUED_MAX;

/// Answers and events of agents that wait for one client. Over it whoever tells them waits.
pub const TREE_NOTICES_QUEUED_MAX: usize = 256;

/// Queries of one client that are being answered. More are refused.
pub const QUERIES_OPEN_MAX: usize = 32;

/// Agents that one client follows. More are refused.
pub const AGENTS_FOLLOWED_MAX: usize = 64;

/// Sessions in the answer to a query that asks for no number, and at most.
pub const SESSION_CARDS_DEFAULT: u32 = 50;
pub const SESSION_CARDS_MAX: u32 = 200;

/// What people typed that is kept for later sessions. Over it the older half is dropped.
pub const PROMPTS_BYTES_MAX: u64 = 1024 * 1024;

/// Marks of results that were read. Over it the older half is dropped: what they were on is unread
/// again.
pub const READ_MARKS_BYTES_MAX: u64 = 256 * 1024;

/// One prompt that is kept; a longer one is not.
pub const PROMPT_BYTES_MAX: usize = 64 * 1024;

/// Prompts in the answer to a query that asks for no number, and at most.
pub const PROMPTS_TOLD_MAX: u32 = 1_000;
