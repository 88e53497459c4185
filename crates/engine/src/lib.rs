//! One agent: submissions → task → turns → tools → events.
//!
//! ```text
//! SessionHandle ─submission─► ┌─────────┐ ─request─► model
//!                             │ session │ ◄─events── (streamed)
//! EventStream  ◄───events──── │  actor  │ ──calls──► tools ─► processes, files
//!                             └────┬────┘ ◄─signals─
//!                          append, then publish
//!                                  ▼
//!                               rollout
//! ```
//!
//! Reading order: [`session`] (the loop, and everything that can happen) → `mailbox` (how
//! it gets there) → `conversation` (what a submission does) → `task` (the states of a task)
//! → `response`, [`tags`] and `calls` (one model cycle) → `inquiry` (what people say to questions) → `history`, `context`, `sharing` (what is sent
//! to the model) → `user_input`, [`skills`] (what a user's message brings) → `evidence`, `output` (what a task came to) → `emit`, [`events`] (what is
//! said) → `resume` (the same lines, folded) → [`host`] (the tree that a session may be a
//! member of) → [`dynamic`] (tools that clients run).
//!
//! Deliberately absent: other agents, SQL, HTTP, the terminal, `Command::new`, the
//! environment, the working directory of the process, configuration files. What a session
//! needs of the world comes in through [`SessionDeps`].

// Whether the actor's future can be sent is asked through every future below it, down to tokio's
// sockets; depending on the order in which the compiler looks, that is more than 128 types deep.
#![recursion_limit = "256"]

mod calls;
mod context;
mod conversation;
mod crash_result;
pub mod deps;
pub mod dynamic;
mod emit;
pub mod events;
mod evidence;
mod history;
pub mod host;
mod inquiry;
pub mod limits;
mod mailbox;
mod no_host;
mod output;
mod response;
mod resume;
pub mod session;
mod sharing;
pub mod skills;
pub mod tags;
mod task;
mod user_input;

pub use conversation::preview_undo;
pub use crash_result::result_after_crash;
pub use deps::{
    AnswerCheck, ConfigureError, IdSource, InstructionSettings, ProjectDocSettings, SessionClock,
    SessionConfigurator, SessionDeps, SessionOrigin, SessionSetup, SetupNotice, TaskTerms,
    WindowSettings,
};
pub use events::{EventDelivery, EventSource, EventStream, EventTap, expand};
pub use host::{
    ActivityHandle, ActivityKind, Completion, ForkRights, MemberRights, OpenedSession,
    PendingWrite, PendingWriteRef, SessionActivity, SessionHost, SessionOrder, StaleRequest,
    StopAuthor, StopRequester, WriteAck, WriteBatch, WriteOutcome,
};
pub use inquiry::{AnswerRefusal, InquiryAnswer};
pub use mailbox::OrderSender;
pub use no_host::NoHost;
pub use response::plans::{ProposedPlan, TAGS as PLAN_TAGS};
pub use session::{ClientSeat, SessionClosed, SessionHandle, spawn};
pub use sharing::SharedEncodings;
