//! The bounds of this crate, unit last.

/// What one image counts in [`crate::HistoryItem::approx_tokens`].
pub const IMAGE_APPROX_TOKENS: u64 = 1_200;

/// One server-sent event. An inline image or a long tool argument fits; a server that
/// never ends its line does not fill the memory.
pub const EVENT_BYTES_MAX: usize = 16 << 20;

/// The bytes of one whole response on the wire. They are counted, not kept: most of them are
/// the frames around single words.
pub const RESPONSE_BYTES_MAX: u64 = 256 << 20;
/// What one response may make this process hold: its pieces of text and its whole items, each
/// counted. Far above what a model writes, and in any escaping within one line of a log. Over
/// it the response is cut, and what came is kept.
pub const RESPONSE_HELD_BYTES_MAX: usize = 8 << 20;
/// What all responses of the process that are being received may hold together. Over it the
/// one that asks for more is cut.
pub const RESPONSES_HELD_BYTES_MAX: usize = 64 << 20;
/// What a response may hold without counting among those of the process, so that an ordinary
/// answer is not cut because others never end.
pub const RESPONSE_HELD_BYTES_FREE: usize = 256 << 10;
/// Items in one response.
pub const ITEMS_PER_RESPONSE_MAX: usize = 4_096;

/// Pieces of a request body smaller than this are copied together; larger ones are handed
/// to the socket as they are.
pub const BODY_PIECE_COPIED_BYTES_MAX: usize = 8 << 10;
/// The size up to which small pieces are gathered for one write.
pub const BODY_WRITE_BYTES: usize = 64 << 10;

/// Items of a history that are kept in one piece besides each by itself, once there are so
/// many: a request then costs their bytes and next to nothing per item.
pub const BODY_BLOCK_ITEMS: usize = 64;

/// What is read of the body of an error response.
pub const ERROR_BODY_BYTES_MAX: usize = 64 << 10;
/// What is shown of an error text.
pub const ERROR_TEXT_BYTES_MAX: usize = 1_000;

/// A header value of at least this length is taken out of error texts.
pub const SECRET_BYTES_MIN: usize = 6;

pub const REQUEST_RETRIES_DEFAULT: u32 = 4;
pub const STREAM_RETRIES_DEFAULT: u32 = 5;
/// A configured number of retries above this is lowered to it.
pub const RETRIES_MAX: u32 = 100;
pub const RETRY_DELAY_BASE_MS: u64 = 200;
/// The longest delay that we choose ourselves.
pub const RETRY_DELAY_MS_MAX: u64 = 60_000;
/// The longest delay that a server may ask for. Beyond it the request fails with the
/// delay in the error, because a person should decide about waiting that long.
pub const RETRY_AFTER_MS_MAX: u64 = 300_000;

/// How long a provider may take to say which models it has. Somebody waits for it.
pub const MODELS_TIMEOUT_MS: u64 = 10_000;
/// What is read of such an answer; more makes it unreadable.
pub const MODELS_BYTES_MAX: usize = 8 << 20;
/// Models of such an answer; the rest is left out.
pub const MODELS_LISTED_MAX: usize = 1_000;
/// Models of it that a warning names.
pub const MODELS_NAMED_MAX: usize = 8;

pub const CONNECT_TIMEOUT_MS: u64 = 15_000;
pub const STREAM_IDLE_TIMEOUT_MS_DEFAULT: u64 = 300_000;
/// How many idle time-outs long a stream may bring nothing but signs of life.
pub const KEEP_ALIVE_PATIENCE: u32 = 4;

/// Tool calls in one response of the chat wire, whose indexes are the server's to choose.
pub const CALLS_PER_RESPONSE_MAX: usize = 256;

/// What a model of the messages wire may write in one answer, if neither the catalogue nor
/// the configuration knows better. Every model that is served today takes it.
pub const MESSAGES_OUTPUT_TOKENS_DEFAULT: u64 = 32_000;

/// How long the end of a complete response is waited for, to use its connection again.
pub const DRAIN_TIMEOUT_MS: u64 = 100;

/// An answer whose last so many bytes are one passage over and over has got stuck.
pub const REPEATED_BYTES: usize = 8 * 1024;
/// The longest passage that counts.
pub const REPEATED_PASSAGE_BYTES_MAX: usize = 2 * 1024;
/// How many bytes come between two looks.
pub const REPEATED_STEP_BYTES: usize = 1024;
/// An answer that says so many words without a new one has got stuck.
pub const REPEATED_WORDS: usize = 2_048;
/// More different words than these are no repetition.
pub const REPEATED_VOCABULARY_MAX: usize = 64;
/// Words of one answer that are remembered; later ones are taken for new.
pub const WORDS_KNOWN_MAX: usize = 65_536;
/// The least budget that the provider takes, and what is left for the answer.
pub(crate) const THINKING_TOKENS_MIN: u64 = 1_024;
