//! The bounds of this crate, unit last.

/// What one image counts in [`crate::HistoryItem::approx_tokens`].
pub const IMAGE_APPROX_TOKENS: u64 = 1_200;
