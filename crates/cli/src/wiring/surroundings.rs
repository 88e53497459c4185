//! What this process was born with, and the machine that it runs on.

use std::collections::BTreeMap;
use std::env;
use std::path::Path;

use jiff::tz::TimeZone;
use troupe_process::{harden_engine, sweep};

/// Names the program that drives us, for SDKs that set it.
const ORIGINATOR_VARIABLE: &str = "CODEX_INTERNAL_ORIGINATOR_OVERRIDE";

/// What does not change while the program runs.
#[derive(Debug)]
pub struct ProcessSurroundings {
    /// The variables of this program that are text.
    pub variables: BTreeMap<String, String>,
    /// The shell that commands run with, which need not be the user's own.
    pub shell: String,
    pub time_zone: TimeZone,
    /// Who drives us.
    pub originator: String,
}

impl ProcessSurroundings {
    pub fn look() -> Self {
        let variables: BTreeMap<String, String> = env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect();
        let shell = troupe_tools::shell(&variables);
        let name = shell.file_name().unwrap_or(shell.as_os_str());
        let originator = variables.get(ORIGINATOR_VARIABLE);
        Self {
            shell: name.to_string_lossy().into_owned(),
            time_zone: time_zone(),
            originator: originator.cloned().unwrap_or_else(|| "troupe".to_owned()),
            variables,
        }
    }
}

/// Returns the machine's time zone. Asking the library for it would list the whole zone
/// database to find the name; the link tells it, and the file behind it is the zone.
fn time_zone() -> TimeZone {
    const LOCAL: &str = "/etc/localtime";
    if env::var_os("TZ").is_some() {
        return TimeZone::system();
    }
    let zone = || {
        let link = std::fs::read_link(LOCAL).ok()?;
        let (_, name) = link.to_str()?.rsplit_once("zoneinfo/")?;
        TimeZone::tzif(name, &std::fs::read(LOCAL).ok()?).ok()
    };
    zone().unwrap_or(TimeZone::UTC)
}

/// Closes the program to its neighbours, and ends what an earlier one that crashed left
/// behind. Returns what a person should know of it.
pub fn take_over(home: &Path) -> Vec<String> {
    let mut warnings = Vec::new();
    if let Err(error) = harden_engine() {
        warnings.push(format!("this process could not be hardened: {error}"));
    }
    match sweep(home) {
        Ok(0) => (),
        Ok(count) => warnings.push(format!(
            "ended {count} processes that a crashed run had left behind"
        )),
        Err(error) => warnings.push(format!(
            "what a crashed run may have left behind could not be looked for: {error}"
        )),
    }
    warnings
}
