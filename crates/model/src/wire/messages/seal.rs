//! What vouches for a piece of reasoning. The history keeps it where every provider's sealed
//! reasoning is kept, so it says itself which wire can open it: a provider refuses a whole
//! request for a seal that is not its own.

use std::fmt;

const SIGNATURE: &str = "anthropic-signature:";
const REDACTED: &str = "anthropic-redacted:";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReasoningSeal<'a> {
    /// Stands below a text that can be read.
    Signature(&'a str),
    /// Is all that there is.
    Redacted(&'a str),
}

impl<'a> ReasoningSeal<'a> {
    /// Reads what [`fmt::Display`] writes; `None` for the seals of other wires.
    pub(crate) fn parse(text: &'a str) -> Option<Self> {
        let signature = text.strip_prefix(SIGNATURE).map(Self::Signature);
        signature.or_else(|| text.strip_prefix(REDACTED).map(Self::Redacted))
    }
}

impl fmt::Display for ReasoningSeal<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Signature(signature) => write!(f, "{SIGNATURE}{signature}"),
            Self::Redacted(data) => write!(f, "{REDACTED}{data}"),
        }
    }
}
