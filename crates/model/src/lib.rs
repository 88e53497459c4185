//! The model behind one trait, and everything that is particular to a provider.
//!
//! A caller makes a [`ModelRequest`] and reads [`ModelEvent`]s in batches, one batch per
//! network read:
//!
//! ```text
//! ModelRequest ─ wire ─► pieces of bytes ─ http ─► server
//! ModelEvent   ◄─ wire ─ sse events      ◄─ sse ── server
//!                  └─ any failure ─ retry ─► Retrying, and again │ Failed
//! ```
//!
//! A history item is encoded once per wire and shared ([`HistoryItem`]), so a request
//! costs the bytes that it sends. Failures are events, typed and final, never a lost `Err`.
//! [`catalogue`] knows models by name.
//!
//! Deliberately absent: models without a provider (scripts and tapes are `mock-model`), what a conversation means, which tools exist, the content of
//! prompts, the process environment (keys are handed in), logging. Provider JSON does not
//! leave this crate.

#![cfg_attr(
    test,
    expect(
        clippy::needless_raw_string_hashes,
        reason = "expect-test writes its literals with hashes"
    )
)]

mod answer;
pub mod catalogue;
mod error;
mod event;
mod http;
pub mod limits;
mod listing;
mod model;
mod provider;
mod quota;
mod rate_limits;
mod repetition;
mod request;
mod retry;
mod sse;
mod wire;

pub use self::http::CONVERSATION_HEADER;
pub use error::{ContextOverflow, ModelError, ModelErrorKind};
pub use event::{ItemKind, ModelEvent};
pub use model::{LanguageModel, ModelStream};
pub use provider::{BadSetting, ConnectError, ProviderConfig, is_web_address};
pub use request::{
    EncodedInstructions, HistoryItem, ModelRequest, ModelToolChoice, PreviousResponse, ToolSet,
};
pub use retry::RetryJitter;
pub use wire::WireApi;
