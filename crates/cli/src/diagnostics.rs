//! The diagnostic log: what the engine did, for people who look for a defect (`docs/diagnostics.md`).
//!
//! Off by default: then a `tracing` call costs one atomic load, and no file or directory is made.
//! `TROUPE_LOG` or `[log] filter` turns it on: `info`, or `info,troupe_engine=debug`. A level alone
//! means Troupe's own crates; libraries are logged only if the filter names them. Each process
//! writes to one file in `log/` of the home, which only its owner may read. A log that cannot be
//! written is told once on standard error and never fails a run.

mod rotation;
mod secrets;

use std::env;
use std::io::{self, Write as _};
use std::sync::OnceLock;

use tracing::Span;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::failure::CommandFailure;
use crate::home::TroupeHome;
use rotation::RotatedLog;

pub use rotation::newest_lines;
pub use secrets::{hide_configured, hide_environment, without_secrets};

/// The variable that turns the log on, before any configuration is read.
pub const LOG_VARIABLE: &str = "TROUPE_LOG";

/// What targets of Troupe's own crates begin with: the program `troupe`, and `troupe_CRATE`.
const OWN_TARGETS: &str = "troupe";

/// The log is begun once in a process, by whoever asks first.
static BEGUN: OnceLock<()> = OnceLock::new();

/// Begins the log if `TROUPE_LOG` asks for one.
pub fn begin_by_environment() -> Result<(), CommandFailure> {
    let Some(filter) = env::var_os(LOG_VARIABLE).filter(|it| !it.is_empty()) else {
        return Ok(());
    };
    let filter = filter.to_string_lossy();
    begin(&TroupeHome::find()?, LOG_VARIABLE, &filter)
}

/// Begins the log if the configuration asks for one; the variable counts before it.
pub fn begin_by_configuration(
    home: &TroupeHome,
    filter: Option<&str>,
) -> Result<(), CommandFailure> {
    match filter.filter(|it| !it.is_empty()) {
        Some(filter) if !is_on() => begin(home, "log.filter", filter),
        Some(_) | None => Ok(()),
    }
}

/// Tells whether this process was asked for a log.
pub fn is_on() -> bool {
    BEGUN.get().is_some()
}

fn begin(home: &TroupeHome, source: &str, filter: &str) -> Result<(), CommandFailure> {
    let targets = targets(source, filter)?;
    if BEGUN.set(()).is_err() {
        return Ok(());
    }
    hide_environment();
    let log = match RotatedLog::create(&home.log_directory()) {
        Ok(log) => log,
        Err(error) => {
            tell_unwritable(&error);
            return Ok(());
        }
    };
    let lines = tracing_subscriber::fmt::layer()
        .with_ansi(false)
        .with_line_number(true)
        // The writer tells of its errors, once.
        .log_internal_errors(false)
        .with_writer(log);
    tracing_subscriber::registry()
        .with(targets)
        .with(lines)
        .try_init()
        .map_err(|error| CommandFailure::not_started(anyhow::Error::new(error)))?;
    let version = env!("CARGO_PKG_VERSION");
    tracing::info!(version, pid = std::process::id(), "the program starts");
    Ok(())
}

/// Returns the span of the one client that speaks over standard input and output.
pub fn stdio_connection() -> Span {
    let span = tracing::info_span!("connection", entrance = "stdio");
    span.in_scope(|| tracing::info!("a client is served on standard input and output"));
    span
}

/// Reads a filter. A level without a target is that of Troupe's own crates.
fn targets(source: &str, filter: &str) -> Result<Targets, CommandFailure> {
    let parsed: Targets = filter.parse().map_err(|error| {
        CommandFailure::usage(format!(
            "{source} = {filter:?} is no filter ({error}); write a level (error, warn, info, debug, \
             trace), or levels of crates such as \"info,troupe_engine=debug\""
        ))
    })?;
    let named = Targets::new().with_targets(parsed.iter());
    Ok(match parsed.default_level() {
        None | Some(LevelFilter::OFF) => named,
        // A directive of the same target that is written out counts: it comes later.
        Some(level) => Targets::new()
            .with_target(OWN_TARGETS, level)
            .with_targets(parsed.iter()),
    })
}

/// Says on standard error that there is no log, or no more of it.
fn tell_unwritable(error: &io::Error) {
    // Without standard error there is nobody left to tell.
    let _ = writeln!(
        io::stderr().lock(),
        "warning: the diagnostic log cannot be written ({error}); the run goes on without it"
    );
}

#[cfg(test)]
mod tests {
    use tracing::Level;

    use super::*;

    #[test]
    fn a_level_alone_is_that_of_our_own_crates() {
        let targets = targets("TROUPE_LOG", "debug,troupe_store=warn,h2=info").expect("a filter");
        assert!(targets.would_enable("troupe", &Level::DEBUG));
        assert!(targets.would_enable("troupe_engine::session", &Level::DEBUG));
        assert!(!targets.would_enable("troupe_engine", &Level::TRACE));
        assert!(!targets.would_enable("troupe_store::log", &Level::INFO));
        assert!(!targets.would_enable("hyper", &Level::ERROR));
        assert!(targets.would_enable("h2::codec", &Level::INFO));
    }

    #[test]
    fn a_filter_that_is_none_is_refused_by_name() {
        let refusal = targets("log.filter", "troupe=loud").expect_err("no level");
        let text = refusal.to_string();
        assert!(
            text.contains("log.filter") && text.contains("troupe=loud"),
            "{text}"
        );
    }
}
