//! Every bound of this crate.

/// The longest line that is read. A longer one is refused and skipped without being kept.
///
/// Decoding a line may take several times its size for a moment; this bound is what keeps
/// that finite.
pub const LINE_BYTES_MAX: usize = 16 * 1024 * 1024;

/// How much is asked of the source at once, and what a reader keeps between long lines.
pub const READ_BYTES: usize = 64 * 1024;

/// Encoded messages are handed to the sink when this much has gathered.
pub const BATCH_BYTES_MAX: usize = 64 * 1024;

/// The longest id of a submission. Every event of its task repeats the id.
pub const SUBMISSION_ID_BYTES_MAX: usize = 256;

/// The longest text that tells a peer what is wrong; its own input is quoted there.
pub const REFUSAL_MESSAGE_BYTES_MAX: usize = 1024;

/// A bad submission longer than this is refused without looking for the field to blame.
pub const BLAME_LINE_BYTES_MAX: usize = 64 * 1024;

/// How often a bad submission is decoded again to find the field to blame.
pub const BLAME_PROBES_MAX: usize = 128;
/// Bytes of an unknown type that a refusal quotes; the rest is cut.
pub(crate) const SHOWN_TYPE_BYTES_MAX: usize = 64;

/// Messages to one peer that wait to be written. Over it whoever has more waits: the peer then
/// falls behind the session, and is told the same in fewer words.
pub const OUTBOX_QUEUED_MAX: usize = 128;

/// One JSON-RPC message of a peer. A longer one is answered with an error.
pub const RPC_MESSAGE_BYTES_MAX: usize = 32 * 1024 * 1024;
