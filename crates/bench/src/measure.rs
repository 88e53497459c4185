//! The cost of one process with everything it started.
//!
//! The kernel adds what a process used to its parent when that waits for it. Processes that
//! outlive their parent (helpers that end when they notice) would be missed, so this program
//! adopts them and waits for them too.

use crate::limits::BENCH_PEAK_INTERVAL;
use std::io;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

#[derive(Debug, Clone, Copy, Default)]
pub struct ProcessCost {
    pub cpu: Duration,
    pub wall: Duration,
    /// Peak of the process itself, in bytes.
    pub rss: u64,
    /// Bytes that the model was sent, where that was counted.
    pub sent: u64,
}

/// Runs a command to its end. It must succeed: a failed run would look cheap.
pub fn measure(command: &mut Command, stdin: &str) -> io::Result<ProcessCost> {
    use io::Write as _;
    command.stdout(Stdio::null());
    run(command, |child| match child.stdin.take() {
        Some(mut pipe) => pipe.write_all(stdin.as_bytes()),
        None => Ok(()),
    })
}

/// Runs a command that is talked to until it ends. The time is the one that the talk returns.
pub fn measure_talk(
    command: &mut Command,
    talk: impl FnOnce(ChildStdin, ChildStdout) -> io::Result<Duration>,
) -> io::Result<ProcessCost> {
    command.stdout(Stdio::piped());
    let mut wall = Duration::ZERO;
    let cost = run(command, |child| {
        let pipes = child.stdin.take().zip(child.stdout.take());
        let (to, from) = pipes.ok_or_else(|| io::Error::other("no pipes"))?;
        wall = talk(to, from)?;
        Ok(())
    })?;
    Ok(ProcessCost { wall, ..cost })
}

fn run(
    command: &mut Command,
    attend: impl FnOnce(&mut Child) -> io::Result<()>,
) -> io::Result<ProcessCost> {
    let started = Instant::now();
    let mut child = command
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let peak = watch_peak(child.id());
    let attended = attend(&mut child);
    if let Err(error) = attended {
        // Its streams are closed, but it may not have noticed.
        child.kill()?;
        child.wait()?;
        let complaint = read_all(&mut child)?;
        return Err(io::Error::other(format!("{error}: {complaint}")));
    }
    let complaint = read_all(&mut child)?;
    let pid = libc::pid_t::try_from(child.id()).map_err(io::Error::other)?;
    let (status, mut cost) = wait_with_usage(pid)?.ok_or_else(|| io::Error::other("no child"))?;
    cost.wall = started.elapsed();
    // A watch that panicked has seen nothing.
    cost.rss = peak.join().unwrap_or_default();
    while let Some((_, orphan)) = wait_with_usage(ANY_CHILD)? {
        cost.cpu += orphan.cpu;
    }
    if status != 0 {
        return Err(io::Error::other(format!(
            "{} ended with status {status}: {complaint}",
            command.get_program().display()
        )));
    }
    Ok(cost)
}

/// Runs a command until it has come so far, then kills it. It must not end before.
pub fn measure_until(
    command: &mut Command,
    stdin: &str,
    is_reached: impl Fn() -> bool,
) -> io::Result<ProcessCost> {
    use io::Write as _;
    let started = Instant::now();
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()?;
    if let Some(mut pipe) = child.stdin.take() {
        pipe.write_all(stdin.as_bytes())?;
    }
    while !is_reached() {
        if let Some(status) = child.try_wait()? {
            let complaint = read_all(&mut child)?;
            let program = command.get_program().display();
            return Err(io::Error::other(format!(
                "{program} ended too early with {status}: {complaint}"
            )));
        }
        thread::sleep(BENCH_PEAK_INTERVAL);
    }
    let cost = ProcessCost {
        cpu: used_by(child.id())?,
        wall: started.elapsed(),
        rss: peak_of(child.id()).unwrap_or_default(),
        sent: 0,
    };
    child.kill()?;
    child.wait()?;
    while wait_with_usage(ANY_CHILD)?.is_some() {}
    Ok(cost)
}

/// Returns what a running process has used so far, to the nanosecond.
pub fn used_by(pid: u32) -> io::Result<Duration> {
    let pid = libc::pid_t::try_from(pid).map_err(io::Error::other)?;
    let mut clock = 0;
    // SAFETY: the pointer leads to a live variable of the right type.
    match unsafe { libc::clock_getcpuclockid(pid, &raw mut clock) } {
        0 => {}
        error => return Err(io::Error::from_raw_os_error(error)),
    }
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the pointer leads to a live variable of the right type.
    if unsafe { libc::clock_gettime(clock, &raw mut time) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    let nanoseconds = u64::try_from(time.tv_nsec).unwrap_or_default();
    Ok(Duration::from_secs(seconds) + Duration::from_nanos(nanoseconds))
}

/// Makes this program the parent of processes that lose theirs.
pub fn adopt_orphans() -> io::Result<()> {
    // SAFETY: this option takes one number and touches no memory.
    match unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Follows the peak of a process until its end. What the kernel tells at that end is no use:
/// it holds the peak of whoever started the process, which is this program with its scripted
/// model.
fn watch_peak(pid: u32) -> JoinHandle<u64> {
    thread::spawn(move || {
        let mut peak = 0;
        while let Some(seen) = peak_of(pid) {
            peak = seen;
            thread::sleep(BENCH_PEAK_INTERVAL);
        }
        peak
    })
}

/// Returns `None` once the process has given its memory back.
fn peak_of(pid: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kilobytes * 1024)
}

fn read_all(child: &mut Child) -> io::Result<String> {
    use io::Read as _;
    let mut text = Vec::new();
    if let Some(mut stderr) = child.stderr.take() {
        stderr.read_to_end(&mut text)?;
    }
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// Stands for every child in [`wait_with_usage`].
const ANY_CHILD: libc::pid_t = -1;

/// Waits for a child and tells its status and what it used; `None` if there is none.
/// (`Child::wait` does not tell what was used; the kernel does, once, here.)
fn wait_with_usage(pid: libc::pid_t) -> io::Result<Option<(i32, ProcessCost)>> {
    let mut status = 0;
    // SAFETY: rusage is plain numbers, for which all zeroes are a valid value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    loop {
        // SAFETY: both pointers lead to live variables of the right types; nobody else in
        // this program waits for children.
        let waited = unsafe { libc::wait4(pid, &raw mut status, 0, &raw mut usage) };
        if waited > 0 {
            let cost = ProcessCost {
                cpu: duration(usage.ru_utime) + duration(usage.ru_stime),
                ..ProcessCost::default()
            };
            return Ok(Some((status, cost)));
        }
        let error = io::Error::last_os_error();
        match error.raw_os_error() {
            Some(libc::ECHILD) => return Ok(None),
            Some(libc::EINTR) => (),
            _ => return Err(error),
        }
    }
}

fn duration(time: libc::timeval) -> Duration {
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    let micros = u64::try_from(time.tv_usec).unwrap_or_default();
    Duration::from_secs(seconds) + Duration::from_micros(micros)
}

/// Returns the median of each figure by itself.
pub fn median(costs: Vec<ProcessCost>) -> ProcessCost {
    fn middle<T: Ord + Copy + Default>(mut values: Vec<T>) -> T {
        values.sort_unstable();
        values.get(values.len() / 2).copied().unwrap_or_default()
    }
    ProcessCost {
        cpu: middle(costs.iter().map(|cost| cost.cpu).collect()),
        wall: middle(costs.iter().map(|cost| cost.wall).collect()),
        rss: middle(costs.iter().map(|cost| cost.rss).collect()),
        sent: middle(costs.iter().map(|cost| cost.sent).collect()),
    }
}
