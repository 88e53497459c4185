//! What all processes of one home have used and hold: a screen and its engine are two, and other
//! programs have three.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::time::Duration;

use crate::measure::used_by;

/// The processes that were started with a home.
#[derive(Debug)]
pub struct Household {
    /// `NAME=PATH`, as it stands in their environment.
    variable: OsString,
}

/// What they have used so far, and hold now.
#[derive(Debug, Clone, Copy, Default)]
pub struct HouseholdUse {
    pub processes: usize,
    pub cpu: Duration,
    /// How often any of their threads gave the processor back by itself.
    pub wakeups: u64,
    /// Memory in bytes, what they share counted for each.
    pub rss: u64,
    /// Memory in bytes, what they share counted once.
    pub pss: u64,
}

impl Household {
    pub fn new(variable: &str, home: &Path) -> Self {
        let mut text = OsString::from(format!("{variable}="));
        text.push(home);
        Self { variable: text }
    }

    pub fn look(&self) -> io::Result<HouseholdUse> {
        let mut sum = HouseholdUse::default();
        for pid in self.pids()? {
            // One that ends meanwhile is left out.
            let Ok(cpu) = used_by(pid) else { continue };
            sum.processes += 1;
            sum.cpu += cpu;
            sum.wakeups += wakeups(pid);
            sum.rss += kilobytes(&format!("/proc/{pid}/status"), "VmRSS:") * 1024;
            sum.pss += kilobytes(&format!("/proc/{pid}/smaps_rollup"), "Pss:") * 1024;
        }
        Ok(sum)
    }

    /// Ends them all, and returns when they are gone.
    pub fn end(&self) -> io::Result<()> {
        for pid in self.pids()? {
            let pid = libc::pid_t::try_from(pid).map_err(io::Error::other)?;
            // SAFETY: this call takes numbers and touches no memory.
            unsafe { libc::kill(pid, libc::SIGKILL) };
        }
        Ok(())
    }

    fn pids(&self) -> io::Result<Vec<u32>> {
        let mut pids = Vec::new();
        for entry in fs::read_dir("/proc")? {
            let name = entry?.file_name();
            let Some(pid) = name.to_str().and_then(|name| name.parse().ok()) else {
                continue;
            };
            let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            let mut variables = environment.split(|byte| *byte == 0);
            if variables.any(|it| it == self.variable.as_bytes()) {
                pids.push(pid);
            }
        }
        Ok(pids)
    }
}

impl HouseholdUse {
    /// Returns what was used since an earlier look; what is held is that of now.
    pub fn since(self, before: Self) -> Self {
        Self {
            cpu: self.cpu.saturating_sub(before.cpu),
            wakeups: self.wakeups.saturating_sub(before.wakeups),
            ..self
        }
    }
}

fn wakeups(pid: u32) -> u64 {
    let tasks = fs::read_dir(format!("/proc/{pid}/task"));
    let tasks = tasks.into_iter().flatten().flatten();
    tasks
        .map(|task| {
            let status = task.path().join("status");
            number(&status.display().to_string(), "voluntary_ctxt_switches:")
        })
        .sum()
}

fn kilobytes(path: &str, key: &str) -> u64 {
    number(path, key)
}

fn number(path: &str, key: &str) -> u64 {
    let text = fs::read_to_string(path).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(key));
    let word = line.and_then(|line| line.split_whitespace().next());
    word.and_then(|word| word.parse().ok()).unwrap_or_default()
}
