//! From a keeper to a running command: the steps around fork and exec.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

use nix::sys::prctl;
use nix::sys::signal::Signal;
use nix::unistd::{Pid, getppid, setsid};

use super::wire::{self, Descriptors, Image, Report, Request, Stage, TerminalUse, send_report};
use super::witness::Witness;
use crate::cage::{Cage, Lock};
use crate::worker::{self, Work};

/// Why a command could not be started.
pub(super) struct Failure {
    pub stage: Stage,
    pub errno: i32,
}

impl Failure {
    fn new(stage: Stage, error: &io::Error) -> Self {
        let errno = error.raw_os_error().unwrap_or(libc::EIO);
        Self { stage, errno }
    }

    pub fn sandbox(error: io::Error) -> Self {
        Self::new(Stage::Sandbox, &error)
    }
}

/// A command that runs.
pub(super) struct Started {
    pub pid: Pid,
    /// Only a confined command has one.
    pub witness: Option<Witness>,
}

/// The standard library carries one number from a child that could not exec to its parent. This
/// is added to those of our own steps, to tell them from exec's.
const STEP_ERRNO_OFFSET: i32 = 1 << 16;

pub(super) fn execute(
    request: Request,
    descriptors: Descriptors,
    control: &OwnedFd,
) -> Result<Started, Failure> {
    std::env::set_current_dir(&request.cwd)
        .map_err(|error| Failure::new(Stage::WorkingDirectory, &error))?;
    let lock = request.cage.as_ref().map(Cage::lock).transpose();
    let (listeners, witness) = wire::socket_pair().map_err(Failure::sandbox)?;
    let steps = Steps {
        keeper: Pid::this(),
        terminal: request.terminal,
        lock: lock.map_err(Failure::sandbox)?,
        control: control.try_clone().map_err(Failure::sandbox)?,
        witness,
    };
    let Descriptors {
        stdin,
        stdout,
        stderr,
    } = descriptors;
    let (program, arguments) = request
        .argv
        .split_first()
        .expect("the launcher refuses a command without a program");
    let work = match request.image {
        Image::Program => None,
        Image::Worker => Some(worker::find(program).ok_or(Failure {
            stage: Stage::Execute,
            errno: libc::ENOENT,
        })?),
    };
    let mut command = Command::new(program);
    command
        .args(arguments)
        .env_clear()
        .envs(request.env)
        .stdin(stdin)
        .stdout(stdout)
        .stderr(stderr);
    // SAFETY: the keeper has a single thread, so its child may do what it likes.
    unsafe {
        command.pre_exec(move || {
            let ready = steps.take().and_then(|()| work.map_or(Ok(()), perform));
            ready.map_err(|error| offset(&error))
        });
    }
    match command.spawn() {
        // The handle neither waits nor kills when dropped; the keeper reaps by itself.
        Ok(child) => Ok(Started {
            pid: Pid::from_raw(child.id().cast_signed()),
            witness: request.cage.map(|cage| Witness::new(cage, &listeners)),
        }),
        Err(error) => Err(failure_of(&error)),
    }
}

fn offset(error: &io::Error) -> io::Error {
    let errno = error.raw_os_error().unwrap_or(libc::EIO);
    io::Error::from_raw_os_error(errno + STEP_ERRNO_OFFSET)
}

fn failure_of(error: &io::Error) -> Failure {
    match error.raw_os_error() {
        Some(errno) if errno >= STEP_ERRNO_OFFSET => Failure {
            stage: Stage::Sandbox,
            errno: errno - STEP_ERRNO_OFFSET,
        },
        _ => Failure::new(Stage::Execute, error),
    }
}

/// What the child does to itself before it becomes the command.
struct Steps {
    keeper: Pid,
    terminal: TerminalUse,
    lock: Option<Lock>,
    control: OwnedFd,
    /// Takes the kernel's reports on this process to the keeper.
    witness: OwnedFd,
}

impl Steps {
    fn take(&self) -> io::Result<()> {
        setsid()?;
        if self.terminal == TerminalUse::Controlling {
            // SAFETY: stdin is the terminal; the argument means "do not steal it".
            if unsafe { libc::ioctl(0, libc::TIOCSCTTY, 0) } != 0 {
                return Err(io::Error::last_os_error());
            }
        }
        prctl::set_pdeathsig(Signal::SIGKILL)?;
        if getppid() != self.keeper {
            return Err(io::Error::from_raw_os_error(libc::ESRCH));
        }
        send_report(self.control.as_fd(), &Report::Born)?;
        close_on_exec_from(3)?;
        let listener = match &self.lock {
            Some(lock) => lock.apply()?,
            None => None,
        };
        match listener {
            Some(listener) => wire::send_listener(self.witness.as_fd(), listener.as_fd()),
            None => Ok(()),
        }
    }
}

/// Does the work in this very process, which is as confined as a program would be, and ends it.
/// Returns only if it could not begin.
fn perform(work: Work) -> io::Result<()> {
    // SAFETY: whatever owned these descriptors is not used any more. One of them is where the
    // standard library waits for exec to close it, which does not come.
    if unsafe { libc::close_range(3, libc::c_uint::MAX, 0) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let code = work();
    // SAFETY: a fork must not run what was registered for the exit of the original.
    unsafe { libc::_exit(code) }
}

fn close_on_exec_from(first: libc::c_uint) -> io::Result<()> {
    let flags = libc::CLOSE_RANGE_CLOEXEC.cast_signed();
    // SAFETY: only marks descriptors; none is closed before exec.
    if unsafe { libc::close_range(first, libc::c_uint::MAX, flags) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}
