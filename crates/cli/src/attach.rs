//! Sessions that another terminal can reach.
//!
//! ```text
//! troupe, troupe resume ─► screen ──starts──► engine (a process of its own) ─┐
//! troupe attach ─────────► screen ──unix──►  run/<session>.attach  ◄─────────┤
//!                                                                exec, app-server
//! ```
//!
//! Every root session that a process of this home runs listens at a socket that is named after
//! it, and speaks the protocol of `docs/wire.md` there. The screen is a client like any other:
//! a session that it began itself and one that it comes to later are driven in one way.
//!
//! Only processes of the same user that are in no sandbox get in (`server::proto`).

mod engine;
mod offer;
mod place;

pub use engine::{EngineOrder, serve_engine, start_engine};
pub use offer::{AttachPoint, offer_later};
pub use place::{AttachPlace, attachable};
