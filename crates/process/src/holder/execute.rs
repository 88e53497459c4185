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

use super::denial_monitor::{DenialMonitor, UnmountedPaths};
use super::program::ExecProgram;
use super::shared_memory_fork::{ChildStack, run_sharing_memory};
use super::wire::{
    self, ChildReport, CommandImage, KeeperReport, ReceivedRequest, StartStage, StdioDescriptors,
    TerminalUse, send_report,
};
use crate::cage::{CageLock, CageOccupant};
use crate::worker::{self, Work};

/// Why a command could not be started.
pub(super) struct ExecFailure {
    pub stage: StartStage,
    pub errno: i32,
}

impl ExecFailure {
    fn new(stage: StartStage, error: &io::Error) -> Self {
        let errno = error.raw_os_error().unwrap_or(libc::EIO);
        Self { stage, errno }
    }

    pub fn sandbox(error: impl Into<io::Error>) -> Self {
        Self::new(StartStage::Sandbox, &error.into())
    }
}

/// A command that runs.
pub(super) struct StartedCommand {
    pub pid: Pid,
    /// Only a confined command has one.
    pub witness: Option<DenialMonitor>,
}

pub(super) fn execute(
    received: ReceivedRequest,
    control: &OwnedFd,
    stack: &ChildStack,
) -> Result<StartedCommand, ExecFailure> {
    let ReceivedRequest {
        request,
        descriptors,
    } = received;
    let execution = |error| ExecFailure::new(StartStage::Execute, &error);
    let inmate = match request.image {
        CommandImage::Program => CageOccupant::Command,
        CommandImage::Worker => CageOccupant::Worker,
    };
    let lock = request
        .cage
        .as_ref()
        .map(|cage| cage.lock(inmate))
        .transpose();
    // Before the command can make any of them.
    let loose = request.cage.as_ref().map(UnmountedPaths::find);
    let (words, to_keeper) = wire::socket_pair().map_err(ExecFailure::sandbox)?;
    let cwd = request.cwd.into_os_string().into_encoded_bytes();
    let steps = ChildSetup {
        keeper: Pid::this(),
        descriptors,
        cwd: CString::new(cwd).map_err(|error| execution(error.into()))?,
        terminal: request.terminal,
        lock: lock.map_err(ExecFailure::sandbox)?,
        control,
        to_keeper,
    };
    let pid = match request.image {
        CommandImage::Program => {
            let mut program = ExecProgram::new(request.argv, request.env).map_err(execution)?;
            // SAFETY: a keeper has a single thread; the child changes nothing but the program,
            // which is not used again.
            unsafe { run_sharing_memory(stack, &mut || steps.become_program(&mut program)) }
        }
        CommandImage::Worker => {
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
    let pid = pid.map_err(ExecFailure::sandbox)?;
    // The child's end closes with the last copy of it.
    drop(steps);
    let listener = wait_for_exec(pid, &words)?;
    let witness = request.cage.zip(loose);
    let witness = witness.map(|(cage, loose)| DenialMonitor::new(cage, inmate, loose, listener));
    Ok(StartedCommand { pid, witness })
}

/// Waits until the child has become the command; returns where the kernel reports its calls.
fn wait_for_exec(child: Pid, words: &OwnedFd) -> Result<Option<OwnedFd>, ExecFailure> {
    let mut listener = None;
    loop {
        match wire::receive_word(words.as_fd()).map_err(ExecFailure::sandbox)? {
            None => return Ok(listener),
            Some(ChildReport::Listener(descriptor)) => listener = Some(descriptor),
            Some(ChildReport::Failed { stage, errno }) => {
                // It is ending; that it may have been killed meanwhile is the same.
                let _ = waitpid(child, None);
                return Err(ExecFailure { stage, errno });
            }
        }
    }
}

/// What the child does to itself before it becomes the command.
struct ChildSetup<'a> {
    keeper: Pid,
    descriptors: StdioDescriptors,
    cwd: CString,
    terminal: TerminalUse,
    lock: Option<CageLock>,
    control: &'a OwnedFd,
    /// Takes the child's words to the keeper. It closes when there are no more.
    to_keeper: OwnedFd,
}

impl ChildSetup<'_> {
    /// Returns only if it could not, after saying why.
    fn become_program(&self, program: &mut ExecProgram) {
        let failure = match self.take() {
            Ok(()) => ExecFailure {
                stage: StartStage::Execute,
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

    fn tell(&self, &ExecFailure { stage, errno }: &ExecFailure) {
        // A keeper that has gone takes this process with it.
        let _ = send_report(
            self.to_keeper.as_fd(),
            &KeeperReport::Failed { stage, errno },
        );
    }

    fn take(&self) -> Result<(), ExecFailure> {
        chdir(self.cwd.as_c_str())
            .map_err(|error| ExecFailure::new(StartStage::WorkingDirectory, &error.into()))?;
        self.take_place().map_err(ExecFailure::sandbox)?;
        self.lock().map_err(ExecFailure::sandbox)
    }

    /// Gives the process its own streams, session and lifeline.
    fn take_place(&self) -> io::Result<()> {
        let StdioDescriptors {
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
        send_report(self.control.as_fd(), &KeeperReport::Born)?;
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
