//! From a keeper to a running command: the steps around the new process and exec.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use nix::errno::Errno;
use nix::sys::prctl;
use nix::sys::signal::{SigSet, Signal};
use nix::sys::wait::waitpid;
use nix::unistd::{
    ForkResult, Pid, chdir, dup2_stderr, dup2_stdin, dup2_stdout, fork, getppid, setsid,
};

use super::birth::{Stack, borrow_memory};
use super::program::Program;
use super::wire::{
    self, Descriptors, Image, Received, Report, Stage, TerminalUse, Word, send_report,
};
use super::witness::{LoosePaths, Witness};
use crate::cage::{Inmate, Lock};
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

    pub fn sandbox(error: impl Into<io::Error>) -> Self {
        Self::new(Stage::Sandbox, &error.into())
    }
}

/// A command that runs.
pub(super) struct Started {
    pub pid: Pid,
    /// Only a confined command has one.
    pub witness: Option<Witness>,
}

pub(super) fn execute(
    received: Received,
    control: &OwnedFd,
    stack: &Stack,
) -> Result<Started, Failure> {
    let Received {
        request,
        descriptors,
    } = received;
    let execution = |error| Failure::new(Stage::Execute, &error);
    let inmate = match request.image {
        Image::Program => Inmate::Command,
        Image::Worker => Inmate::Worker,
    };
    let lock = request
        .cage
        .as_ref()
        .map(|cage| cage.lock(inmate))
        .transpose();
    // Before the command can make any of them.
    let loose = request.cage.as_ref().map(LoosePaths::find);
    let (words, to_keeper) = wire::socket_pair().map_err(Failure::sandbox)?;
    let cwd = request.cwd.into_os_string().into_encoded_bytes();
    let steps = Steps {
        keeper: Pid::this(),
        descriptors,
        cwd: CString::new(cwd).map_err(|error| execution(error.into()))?,
        terminal: request.terminal,
        lock: lock.map_err(Failure::sandbox)?,
        control,
        to_keeper,
    };
    let pid = match request.image {
        Image::Program => {
            let mut program = Program::new(request.argv, request.env).map_err(execution)?;
            // SAFETY: a keeper has a single thread; the child changes nothing but the program,
            // which is not used again.
            unsafe { borrow_memory(stack, &mut || steps.become_program(&mut program)) }
        }
        Image::Worker => {
            let work = request.argv.first().and_then(|name| worker::find(name));
            let work = work.ok_or_else(|| execution(Errno::ENOENT.into()))?;
            // SAFETY: a keeper has a single thread, so the child may do anything.
            match unsafe { fork() } {
                Ok(ForkResult::Child) => steps.perform(work),
                Ok(ForkResult::Parent { child }) => Ok(child),
                Err(error) => Err(error.into()),
            }
        }
    };
    let pid = pid.map_err(Failure::sandbox)?;
    // The child's end closes with the last copy of it.
    drop(steps);
    let listener = heard_of(pid, &words)?;
    let witness = request.cage.zip(loose);
    let witness = witness.map(|(cage, loose)| Witness::new(cage, inmate, loose, listener));
    Ok(Started { pid, witness })
}

/// Waits until the child has become the command; returns where the kernel reports its calls.
fn heard_of(child: Pid, words: &OwnedFd) -> Result<Option<OwnedFd>, Failure> {
    let mut listener = None;
    loop {
        match wire::receive_word(words.as_fd()).map_err(Failure::sandbox)? {
            None => return Ok(listener),
            Some(Word::Listener(descriptor)) => listener = Some(descriptor),
            Some(Word::Failed { stage, errno }) => {
                // It is ending; that it may have been killed meanwhile is the same.
                let _ = waitpid(child, None);
                return Err(Failure { stage, errno });
            }
        }
    }
}

/// What the child does to itself before it becomes the command.
struct Steps<'a> {
    keeper: Pid,
    descriptors: Descriptors,
    cwd: CString,
    terminal: TerminalUse,
    lock: Option<Lock>,
    control: &'a OwnedFd,
    /// Takes the child's words to the keeper. It closes when there are no more.
    to_keeper: OwnedFd,
}

impl Steps<'_> {
    /// Returns only if it could not, after saying why.
    fn become_program(&self, program: &mut Program) {
        let failure = match self.take() {
            Ok(()) => Failure {
                stage: Stage::Execute,
                errno: program.execute() as i32,
            },
            Err(failure) => failure,
        };
        self.tell(&failure);
    }

    /// Does the work in this very process, which is as confined as a program would be, and ends
    /// it. A panic must not unwind into what the keeper was doing.
    fn perform(&self, work: Work) -> ! {
        let code = match self.take() {
            Ok(()) => {
                // SAFETY: whatever owned these descriptors is not used any more. One of them
                // tells the keeper, by closing, that the work begins.
                unsafe { libc::close_range(3, libc::c_uint::MAX, 0) };
                std::panic::catch_unwind(work).unwrap_or_else(|_| std::process::abort())
            }
            Err(failure) => {
                self.tell(&failure);
                1
            }
        };
        // SAFETY: a fork must not run what was registered for the exit of the original.
        unsafe { libc::_exit(code) }
    }

    fn tell(&self, &Failure { stage, errno }: &Failure) {
        // A keeper that has gone takes this process with it.
        let _ = send_report(self.to_keeper.as_fd(), &Report::Failed { stage, errno });
    }

    fn take(&self) -> Result<(), Failure> {
        chdir(self.cwd.as_c_str())
            .map_err(|error| Failure::new(Stage::WorkingDirectory, &error.into()))?;
        self.take_place().map_err(Failure::sandbox)?;
        self.lock().map_err(Failure::sandbox)
    }

    /// Gives the process its own streams, session and lifeline.
    fn take_place(&self) -> io::Result<()> {
        let Descriptors {
            stdin,
            stdout,
            stderr,
        } = &self.descriptors;
        dup2_stdin(stdin)?;
        dup2_stdout(stdout)?;
        dup2_stderr(stderr)?;
        SigSet::empty().thread_set_mask()?;
        setsid()?;
        if self.terminal == TerminalUse::Controlling {
            // SAFETY: stdin is the terminal; the argument means "do not steal it".
            if unsafe { libc::ioctl(stdin.as_raw_fd(), libc::TIOCSCTTY, 0) } != 0 {
                return Err(io::Error::last_os_error());
            }
        }
        prctl::set_pdeathsig(Signal::SIGKILL)?;
        if getppid() != self.keeper {
            return Err(io::Error::from_raw_os_error(libc::ESRCH));
        }
        send_report(self.control.as_fd(), &Report::Born)?;
        close_on_exec_from(3)
    }

    fn lock(&self) -> io::Result<()> {
        let listener = match &self.lock {
            Some(lock) => lock.apply()?,
            None => None,
        };
        match listener {
            Some(listener) => wire::send_listener(self.to_keeper.as_fd(), listener.as_fd()),
            None => Ok(()),
        }
    }
}

fn close_on_exec_from(first: libc::c_uint) -> io::Result<()> {
    let flags = libc::CLOSE_RANGE_CLOEXEC.cast_signed();
    // SAFETY: only marks descriptors; none is closed before exec.
    if unsafe { libc::close_range(first, libc::c_uint::MAX, flags) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}
