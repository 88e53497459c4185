//! Notes on a patch that applies: lines matched with tolerance, ambiguous places, files replaced.

use std::fmt;

use crate::locate::MatchTolerance;

/// Something that was decided on the way; `Display` says it to the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PatchNote {
    /// The lines were found only after forgiving differences.
    Forgiven {
        path: String,
        /// Counted from one, in the file as it was.
        line: usize,
        forgiven: MatchTolerance,
    },
    /// The lines occur more than once after the previous chunk.
    Ambiguous {
        path: String,
        line: usize,
        other: usize,
    },
    /// The chunk asks for the end of the file, but its lines stand elsewhere.
    NotAtEnd { path: String, line: usize },
    /// An added or moved file took the place of another.
    Overwrote { path: String },
    /// The file had this content already.
    Unchanged { path: String },
    /// The new file could not be given to the owner of the old one.
    OwnerLost { path: String },
    /// A staged file could not be removed.
    Leftover { path: String, why: String },
}

impl fmt::Display for PatchNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Forgiven {
                path,
                line,
                forgiven,
            } => write!(f, "{path}: line {line} was matched {forgiven}"),
            Self::Ambiguous { path, line, other } => write!(
                f,
                "{path}: the lines at {line} occur again at {other}; the first place was changed (an `@@` line would choose)"
            ),
            Self::NotAtEnd { path, line } => write!(
                f,
                "{path}: the lines marked as the end of the file stand at {line}"
            ),
            Self::Overwrote { path } => write!(f, "{path}: a file that was there was replaced"),
            Self::Unchanged { path } => write!(f, "{path}: had this content already"),
            Self::OwnerLost { path } => {
                write!(f, "{path}: the owner of the file could not be kept")
            }
            Self::Leftover { path, why } => {
                write!(f, "{path}: this temporary file could not be removed: {why}")
            }
        }
    }
}
