//! Every bound of this crate, unit last.

use std::time::Duration;

// Starting
pub(crate) const STARTUP_TIME_DEFAULT: Duration = Duration::from_secs(30);
pub(crate) const TOOL_TIME_DEFAULT: Duration = Duration::from_mins(5);
/// Before a server that crashed is started again; doubled each time.
pub(crate) const BACKOFF_FIRST_MS: u64 = 250;
pub(crate) const BACKOFF_MAX_MS: u64 = 30_000;
/// A server that ran this long has not crashed in a row.
pub(crate) const STABLE_TIME: Duration = Duration::from_mins(1);
/// A server that did not start is not tried again for so long, unless somebody asks for it.
pub(crate) const DOWN_TIME: Duration = Duration::from_mins(5);
/// Requests that wait for a server's actor; the next one waits to be taken.
pub(crate) const REQUESTS_MAX: usize = 64;

// The wire
/// One message of a server. A longer one ends the connection.
pub(crate) const MESSAGE_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Messages that wait in either direction; the other end waits then.
pub(crate) const MESSAGES_MAX: usize = 64;
/// What is kept of a server's stderr, to tell why it ended.
pub(crate) const COMPLAINT_BYTES_MAX: usize = 2_000;
/// How long the news of a server's end may take after the end itself.
pub(crate) const OBITUARY_TIME: Duration = Duration::from_secs(3);
/// Progress that a call has not looked at yet. The oldest is dropped.
pub(crate) const PROGRESS_QUEUE_MAX: usize = 64;
/// Progress that is told of one call; later steps are not.
pub(crate) const PROGRESS_EVENTS_MAX: usize = 1_000;

// Logins
/// How long a person may take in the browser; then the login is given up.
pub(crate) const LOGIN_TIME_MAX: Duration = Duration::from_mins(10);
/// How long a browser may take to send its request; then the next one is taken.
pub(crate) const CALLBACK_READ_TIME: Duration = Duration::from_secs(5);
/// The head of a browser's request. A longer one is sent away.
pub(crate) const CALLBACK_BYTES_MAX: usize = 16 * 1024;
/// What a person reads of an error that a server wrote.
pub(crate) const OAUTH_ERROR_CHARS_MAX: usize = 300;

// What servers offer
/// Pages of one list. What comes after is left out, and said to be.
pub(crate) const PAGES_MAX: usize = 100;
/// Tools of one server. What comes after is left out, and said to be.
pub(crate) const TOOLS_MAX: usize = 512;
/// A description that the model reads with every request.
pub(crate) const DESCRIPTION_BYTES_MAX: usize = 8 * 1024;
/// What providers take as the name of a function.
pub(crate) const NAME_BYTES_MAX: usize = 64;

/// Prompts of one server. Those that come after are not known.
pub(crate) const PROMPTS_MAX: usize = 256;
/// What a server makes of a prompt. A longer one is refused.
pub(crate) const PROMPT_BYTES_MAX: usize = 256 * 1024;

// Answers
/// What one answer may cost the model.
pub(crate) const ANSWER_TOKENS_MAX: usize = 10_000;
/// A picture, as base64.
pub(crate) const IMAGE_BASE64_BYTES_MAX: usize = 8 * 1024 * 1024;
pub(crate) const IMAGES_MAX: usize = 8;
/// A result that is kept as the server wrote it; of a larger one the text is kept.
pub(crate) const RESULT_BYTES_MAX: usize = 64 * 1024;

// Clients of ours
/// Clients that have a session over HTTP at the same time. One more is refused.
pub(crate) const HTTP_CLIENTS_MAX: usize = 256;
/// How long one may say nothing, and be told nothing, before its session is forgotten. A call
/// that waits for an agent is silent for long.
pub(crate) const HTTP_CLIENT_IDLE_TIME: Duration = Duration::from_hours(24);
