//! Why a line was not accepted.

use troupe_protocol::SubmissionId;
use troupe_protocol::error::ErrorInfo;
use troupe_protocol::event::ErrorEvent;

use crate::limits::REFUSAL_MESSAGE_BYTES_MAX;

/// A line that could not be understood. Reading goes on with the next one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineRefusal {
    /// The id of the message, if it could be read before the trouble began.
    pub id: Option<SubmissionId>,
    /// What is wrong, where, and what was expected.
    pub message: String,
}

impl LineRefusal {
    pub(crate) fn new(id: Option<SubmissionId>, message: impl Into<String>) -> Self {
        Self {
            id,
            message: shortened(message.into(), REFUSAL_MESSAGE_BYTES_MAX),
        }
    }
}

/// A refusal as a client is told of it: an error that ends nothing.
impl From<LineRefusal> for ErrorEvent {
    fn from(refusal: LineRefusal) -> Self {
        Self {
            message: refusal.message,
            fatal: false,
            error_info: Some(ErrorInfo::InvalidSubmission),
        }
    }
}

/// Cuts `text` to at most `bytes_max` bytes, on a character's edge, and shows the cut.
pub(crate) fn shortened(mut text: String, bytes_max: usize) -> String {
    if text.len() > bytes_max {
        text.truncate(text.floor_char_boundary(bytes_max - '…'.len_utf8()));
        text.push('…');
    }
    text
}
