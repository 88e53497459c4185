//! The worker's own side: one request on stdin, one answer on stdout; and the table of what it can
//! be asked for.

use std::io::{self, Read as _, Write as _};

use serde_json::Value;

use crate::blocking::WorkDeadline;
use crate::builtin::find_files::FindFilesWork;
use crate::builtin::grep_files::GrepFilesWork;
use crate::builtin::list_dir::ListDirWork;
use crate::builtin::read_file::ReadFileWork;
use crate::builtin::view_image::ViewImageWork;
use crate::edit::{ApplyPatchWork, PlanPatchWork};
use crate::limits::{WORK_ANSWER_BYTES_MAX, WORK_REQUEST_BYTES_MAX};
use crate::worker::{FileWork, WORKER_NAME};

type Performer = fn(Value) -> serde_json::Result<Vec<u8>>;

const FILE_WORK: [(&str, Performer); 7] = [
    kind::<ReadFileWork>(),
    kind::<ListDirWork>(),
    kind::<FindFilesWork>(),
    kind::<GrepFilesWork>(),
    kind::<ViewImageWork>(),
    kind::<PlanPatchWork>(),
    kind::<ApplyPatchWork>(),
];

const fn kind<W: FileWork>() -> (&'static str, Performer) {
    (W::NAME, perform::<W>)
}

/// Does the work; returns the answer as it travels back.
fn perform<W: FileWork>(work: Value) -> serde_json::Result<Vec<u8>> {
    let work: W = serde_json::from_value(work)?;
    let answer = serde_json::to_vec(&work.run(&WorkDeadline::after(W::TIME_MAX)))?;
    if answer.len() <= WORK_ANSWER_BYTES_MAX {
        return Ok(answer);
    }
    let problem = format!(
        "the answer has {} bytes, and the limit is {WORK_ANSWER_BYTES_MAX}: do it in smaller parts",
        answer.len()
    );
    serde_json::to_vec(&Err::<W::Answer, _>(problem))
}

// SAFETY: the section holds pointers to functions, which the loader calls once, on the only thread
// there is. It may pass them arguments, which this one does not look at.
#[used]
#[unsafe(link_section = ".init_array.00101")]
static REGISTER: extern "C" fn() = register;

extern "C" fn register() {
    troupe_process::register_worker(WORKER_NAME, work);
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
    let (name, work): (String, Value) = serde_json::from_slice(&request)?;
    let Some((_, perform)) = FILE_WORK.iter().find(|(known, _)| *known == name) else {
        return Err(io::Error::other(format!("there is no file work {name}")));
    };
    let answer = perform(work)?;
    let mut stdout = io::stdout().lock();
    stdout.write_all(&answer)?;
    stdout.flush()
}
