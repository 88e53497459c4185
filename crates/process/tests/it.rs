//! Commands in the real kernel.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]
#![expect(
    clippy::print_stdout,
    reason = "a test that plays an engine talks to the one that started it"
)]

#[path = "it/support.rs"]
mod support;

#[path = "it/denial.rs"]
mod denial;
#[path = "it/escape.rs"]
mod escape;
#[path = "it/fallback.rs"]
mod fallback;
#[path = "it/git.rs"]
mod git;
#[path = "it/home.rs"]
mod home;
#[path = "it/nested.rs"]
mod nested;
#[path = "it/ownership.rs"]
mod ownership;
#[path = "it/peers.rs"]
mod peers;
#[path = "it/planting.rs"]
mod planting;
#[path = "it/process.rs"]
mod process;
#[path = "it/sandbox.rs"]
mod sandbox;
#[path = "it/terminal.rs"]
mod terminal;
#[path = "it/worker.rs"]
mod worker;
