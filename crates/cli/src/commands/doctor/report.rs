//! `troupe doctor --report`: one text file for a bug report.

use std::env;
use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use super::DoctorCheck;
use crate::commands::config::as_toml;
use crate::diagnostics;
use crate::failure::CommandFailure;
use crate::home::TroupeHome;
use crate::layers::{ConfigSource, LoadedConfig};
use crate::limits::REPORTED_LOG_BYTES_MAX;

/// What is said of a report that was written.
const ADVICE: &str = "Values that most likely are secrets are replaced by …; names of files, \
    directories, models and servers are in it. Read it before you send it.\n";

/// Writes a report to a file that is not there yet. Returns what is said about it.
pub fn write(
    file: Option<PathBuf>,
    source: &ConfigSource,
    home: &TroupeHome,
    cwd: &Path,
    checks: &[DoctorCheck],
) -> Result<String, CommandFailure> {
    let path = file.unwrap_or_else(|| {
        let now = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%SZ");
        PathBuf::from(format!("troupe-report-{now}.txt"))
    });
    diagnostics::hide_environment();
    let mut report = Report::default();
    report.add("version and platform", &platform());
    report.add("configuration without secrets", &configuration(source, cwd));
    report.add(
        "what doctor finds, the sandbox among it",
        &checks.iter().map(DoctorCheck::plain).collect::<String>(),
    );
    report.add("end of the newest diagnostic log", &newest_log(home));
    let text = diagnostics::without_secrets(&report.text);
    let written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&path)
        .and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| {
        CommandFailure::failed(anyhow::anyhow!(
            "the report {} cannot be written: {error}; name another file",
            path.display()
        ))
    })?;
    Ok(format!(
        "\nreport: {}\n{}{ADVICE}",
        path.display(),
        report.summary
    ))
}

#[derive(Default)]
struct Report {
    text: String,
    summary: String,
}

impl Report {
    fn add(&mut self, title: &str, text: &str) {
        let lines = text.lines().count();
        // A string takes everything.
        let _ = writeln!(self.summary, "  {title} ({lines} lines)");
        let _ = writeln!(self.text, "== {title} ==\n{}\n", text.trim_end());
    }
}

fn platform() -> String {
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let release = fs::read_to_string("/etc/os-release").unwrap_or_default();
    let system = release
        .lines()
        .find_map(|line| line.strip_prefix("PRETTY_NAME="))
        .unwrap_or("unknown");
    format!(
        "troupe {}\n{} {}\nkernel {}\nsystem {system}\n",
        env!("CARGO_PKG_VERSION"),
        env::consts::OS,
        env::consts::ARCH,
        kernel.trim(),
    )
}

fn configuration(source: &ConfigSource, cwd: &Path) -> String {
    match source.load(cwd) {
        Ok(LoadedConfig { config, .. }) => {
            diagnostics::hide_configured(&config);
            as_toml(&config.settings())
        }
        Err(failure) => format!("it cannot be read: {failure}\n"),
    }
}

fn newest_log(home: &TroupeHome) -> String {
    match diagnostics::newest_lines(&home.log_directory(), REPORTED_LOG_BYTES_MAX) {
        Ok(Some((path, lines))) => format!("{}\n{lines}", path.display()),
        Ok(None) => format!(
            "there is none; run again with {}=debug in the environment and make another report\n",
            diagnostics::LOG_VARIABLE
        ),
        Err(error) => format!("it cannot be read: {error}\n"),
    }
}
