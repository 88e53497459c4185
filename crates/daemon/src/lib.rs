//! The daemon: sessions, tasks and approvals of one home as resources over HTTP.
//!
//! ```text
//!  bytes ─► listening ─► guard, token ─► router ◄── route_table (one list of routes)
//!                                          │ reads the body (route/body)
//!                                          ▼
//!                                       handlers ─► SessionPool, TreeAccess, SessionStore
//!                                          │ forms of wire/
//!                                          ▼
//!                                       JSON, or problem+json (problem)
//! ```
//!
//! What a route is called, what it takes, what it answers and who may use it is one line of
//! [`route_table`]; routing, token checks, the OpenAPI file and a test that walks all routes are
//! made from it. To add one: its forms to a file in `wire/`, its handler to a file in `handlers/`,
//! one line to the table.
//!
//! Deliberately absent: decisions. What a request means is decided by the session, the tree or the
//! store; here it is only said in other words. Nothing is kept here that is not in the logs.

mod daemon;
mod decisions;
mod handlers;
mod kept_answers;
pub mod limits;
mod listening;
mod members;
mod openapi;
mod problem;
mod route;
mod route_table;
mod router;
mod served_roots;
mod session_log;
mod wire;

pub use daemon::{Daemon, DaemonInfo};
pub use listening::DaemonListener;
pub use openapi::openapi;
pub use problem::{Problem, ProblemDetails};
