//! The worker's own side: one request on stdin, one answer on stdout.

use std::io::{self, Read as _, Write as _};

use super::FileWorkRequest;
use crate::limits::WORK_REQUEST_BYTES_MAX;

/// By which a worker is started.
pub(super) const NAME: &str = "troupe-files";

// SAFETY: the section holds pointers to functions, which the loader calls once, on the only thread
// there is. It may pass them arguments, which this one does not look at.
#[used]
#[unsafe(link_section = ".init_array.00101")]
static REGISTER: extern "C" fn() = register;

extern "C" fn register() {
    troupe_process::register_worker(NAME, work);
}

fn work() -> i32 {
    match answer() {
        Ok(()) => 0,
        Err(error) => {
            // If nobody reads this either, the exit code has to say it alone.
            let _ = writeln!(io::stderr(), "{error}");
            1
        }
    }
}

fn answer() -> io::Result<()> {
    let mut request = Vec::new();
    let limit = u64::try_from(WORK_REQUEST_BYTES_MAX).unwrap_or(u64::MAX);
    io::stdin().lock().take(limit).read_to_end(&mut request)?;
    let request: FileWorkRequest = serde_json::from_slice(&request)?;
    let mut stdout = io::stdout().lock();
    stdout.write_all(&request.answer()?)?;
    stdout.flush()
}
