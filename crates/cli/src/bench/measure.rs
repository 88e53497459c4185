//! The cost of one process with everything it started and waited for.

use std::io;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

#[derive(Debug, Clone, Copy, Default)]
pub struct Cost {
    pub cpu: Duration,
    pub wall: Duration,
    /// Peak of the largest process, in bytes.
    pub rss: u64,
}

/// Runs a command to its end. It must succeed: a failed run would look cheap.
pub fn measure(command: &mut Command, stdin: &str) -> io::Result<Cost> {
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
    let complaint = read_all(&mut child)?;
    let (status, usage) = wait_with_usage(&child)?;
    let wall = started.elapsed();
    if status != 0 {
        return Err(io::Error::other(format!(
            "{} ended with status {status}: {complaint}",
            command.get_program().display()
        )));
    }
    Ok(Cost {
        cpu: duration(usage.ru_utime) + duration(usage.ru_stime),
        wall,
        rss: u64::try_from(usage.ru_maxrss).unwrap_or_default() * 1024,
    })
}

fn read_all(child: &mut Child) -> io::Result<String> {
    use io::Read as _;
    let mut text = Vec::new();
    if let Some(mut stderr) = child.stderr.take() {
        stderr.read_to_end(&mut text)?;
    }
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// `Child::wait` does not tell what the child used; the kernel does, once, here.
fn wait_with_usage(child: &Child) -> io::Result<(i32, libc::rusage)> {
    let pid = libc::pid_t::try_from(child.id()).map_err(io::Error::other)?;
    let mut status = 0;
    // SAFETY: rusage is plain numbers, for which all zeroes are a valid value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    loop {
        // SAFETY: both pointers lead to live variables of the right types; the pid is a
        // child of ours that nobody else waits for.
        let waited = unsafe { libc::wait4(pid, &raw mut status, 0, &raw mut usage) };
        if waited == pid {
            return Ok((status, usage));
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

fn duration(time: libc::timeval) -> Duration {
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    let micros = u64::try_from(time.tv_usec).unwrap_or_default();
    Duration::from_secs(seconds) + Duration::from_micros(micros)
}

/// Returns the median of each figure by itself.
pub fn median(costs: Vec<Cost>) -> Cost {
    fn middle<T: Ord + Copy + Default>(mut values: Vec<T>) -> T {
        values.sort_unstable();
        values.get(values.len() / 2).copied().unwrap_or_default()
    }
    Cost {
        cpu: middle(costs.iter().map(|cost| cost.cpu).collect()),
        wall: middle(costs.iter().map(|cost| cost.wall).collect()),
        rss: middle(costs.iter().map(|cost| cost.rss).collect()),
    }
}
