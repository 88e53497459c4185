//! Every bound of this crate, and what happens when it is met. Those of connections are in
//! `troupe_server::limits`, those of messages in `troupe_transport::limits`.

/// Requests of one client that are worked on. Over it they are answered as overload.
pub(crate) const REQUESTS_MAX: usize = 128;

/// How long the requests of a client that has closed its end may still take. Then they are
/// dropped.
pub(crate) const FINISH_MS_MAX: u64 = 5_000;

/// What concerns all clients and waits for one of them to read. Over it that client is told how
/// much it missed.
pub(crate) const NEWS_QUEUED_MAX: usize = 1_024;

/// Requests about a running thread that wait for their place among its events. Over it the
/// next one waits.
pub(crate) const SUBSCRIPTION_REQUESTS_QUEUED_MAX: usize = 32;

/// How long a wait for agents takes that does not say it.
pub(crate) const AGENT_WAIT_MS_DEFAULT: u64 = 10 * 60 * 1_000;

/// A file that a client reads. In base64 it fits into one message.
pub(crate) const FILE_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// Entries of a directory that a client reads. Over it there is an error.
pub(crate) const DIRECTORY_ENTRIES_MAX: usize = 50_000;

/// Rows of a list that asks for no number.
pub(crate) const LIST_ROWS_DEFAULT: usize = 25;

/// Directories that a list of threads is filtered by. More are refused.
pub(crate) const CWD_FILTERS_MAX: usize = 256;

/// How long a command of a client runs if nobody says. Then it is ended.
pub(crate) const COMMAND_TIME_MS_DEFAULT: u64 = 10_000;

/// Output of each stream of a client's command that counts if nobody says.
pub(crate) const COMMAND_OUTPUT_BYTES_DEFAULT: u64 = 1024 * 1024;

/// Output of each stream that is kept until the command's end, however much was asked for.
pub(crate) const COMMAND_OUTPUT_COLLECTED_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// Requests about a client's command that wait for it. Over it the next one waits.
pub(crate) const COMMAND_ORDERS_QUEUED_MAX: usize = 32;

/// Directories that one search looks below. More are refused.
pub(crate) const SEARCH_ROOTS_MAX: usize = 64;

/// Files and directories that a search looks at; what a session keeps of them is some tens of
/// megabytes. What comes behind is not found.
pub(crate) const SEARCH_PATHS_MAX: usize = 400_000;

/// Files that a search returns.
pub(crate) const SEARCH_RESULTS_MAX: usize = 50;

/// Characters of a query that count.
pub(crate) const SEARCH_QUERY_CHARS_MAX: usize = 256;

/// Search sessions of one client. More are refused.
pub(crate) const SEARCH_SESSIONS_MAX: usize = 4;

/// Files of one copy. Over it there is an error, and those before are copied.
pub(crate) const COPY_ENTRIES_MAX: usize = 100_000;

/// Paths that one client watches. More are refused.
pub(crate) const WATCHES_MAX: usize = 64;

/// How long changes are gathered before they are told in one piece.
pub(crate) const WATCH_GATHER_MS: u64 = 50;

/// Files that git does not know and that a difference to the remote shows. Over it there is an
/// error.
pub(crate) const DIFF_NEW_FILES_MAX: usize = 200;

/// Conversations that are read from the index at once to add up their tokens.
pub(crate) const USAGE_PAGE_ROWS: usize = 100;

/// Tools that a client brings for one thread. More are refused, as is each that is over one of
/// the bounds below.
pub(crate) const DYNAMIC_TOOLS_MAX: usize = 128;

/// What providers take as the name of a function.
pub(crate) const DYNAMIC_TOOL_NAME_BYTES_MAX: usize = 64;

/// The description of one of them, and its schema.
pub(crate) const DYNAMIC_TOOL_DESCRIPTION_BYTES_MAX: usize = 8 * 1024;
pub(crate) const DYNAMIC_TOOL_SCHEMA_BYTES_MAX: usize = 64 * 1024;

/// All of them together: they go with every request to the model.
pub(crate) const DYNAMIC_TOOLS_BYTES_MAX: usize = 256 * 1024;

/// How much longer than it may be a message is read, so that it is answered.
pub(crate) const MESSAGE_SLACK_BYTES: usize = 1024 * 1024;
