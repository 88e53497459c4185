//! The holder's loop: fork a keeper when one is asked for, reap keepers that ended.

use std::collections::BTreeSet;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::prctl;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::signal::{SigHandler, SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{ForkResult, Pid, fork, setsid};

use super::execute::ExecFailure;
use super::namespaces::{self, HeldNames, HolderNamespaces, SetupError};
use super::wire::{self, HolderSetup, KeeperReport, SetupReply};
use super::{denial_monitor, keeper, tree};
use crate::cage::Cage;

/// Serves until the engine closes its end and every keeper has finished.
pub(super) fn serve(socket: &OwnedFd) -> io::Result<()> {
    denial_monitor::begin();
    let children = isolate()?;
    let Some(setup) = wire::receive_setup(socket.as_fd())? else {
        return Ok(());
    };
    let mut keepers = match HolderIsolation::set_up(setup) {
        Ok(surroundings) => RunningKeepers::new(surroundings),
        Err(SetupError { step, source }) => {
            let errno = source.raw_os_error().unwrap_or(libc::EIO);
            let step = step.to_owned();
            return wire::send_reply(socket.as_fd(), &SetupReply::Failed { step, errno });
        }
    };
    wire::send_reply(socket.as_fd(), &SetupReply::Ready)?;
    loop {
        let mut ready = [
            PollFd::new(socket.as_fd(), PollFlags::POLLIN),
            PollFd::new(children.as_fd(), PollFlags::POLLIN),
        ];
        match poll(&mut ready, PollTimeout::NONE) {
            Ok(_) => {}
            Err(Errno::EINTR) => continue,
            Err(error) => return Err(error.into()),
        }
        let [asked, ended] = ready.map(|it| it.any().unwrap_or(false));
        if ended {
            children.read_signal()?;
            keepers.reap(WaitPidFlag::WNOHANG);
        }
        if asked {
            match wire::receive_control(socket.as_fd())? {
                Some(control) => keepers.start(control)?,
                None => break,
            }
        }
    }
    // The keepers' own sockets are closed with the engine's; they are ending their commands.
    keepers.reap(WaitPidFlag::empty());
    Ok(())
}

/// Leaves the engine's session and descriptors behind; returns where the ends of children show.
fn isolate() -> io::Result<SignalFd> {
    prctl::set_name(c"troupe-holder")?;
    // Fails only for the leader of a process group, whom no terminal's ctrl-C reaches either way.
    let _ = setsid();
    // SAFETY: nothing here owns a descriptor above the socket, which is stdin.
    if unsafe { libc::close_range(3, libc::c_uint::MAX, 0) } != 0 {
        return Err(io::Error::last_os_error());
    }
    for signal in Signal::iterator() {
        // Whatever the engine ignores, commands must not inherit. SIGKILL and SIGSTOP refuse.
        // SAFETY: the default action runs no code of ours.
        let _ = unsafe { nix::sys::signal::signal(signal, SigHandler::SigDfl) };
    }
    let (_, hard) = getrlimit(Resource::RLIMIT_CORE)?;
    setrlimit(Resource::RLIMIT_CORE, 0, hard)?;
    prctl::set_child_subreaper(true)?;
    watch_children()
}

/// Turns SIGCHLD into something that can be polled.
pub(super) fn watch_children() -> io::Result<SignalFd> {
    let mut mask = SigSet::empty();
    mask.add(Signal::SIGCHLD);
    mask.thread_block()?;
    let flags = SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK;
    Ok(SignalFd::with_flags(&mask, flags)?)
}

/// Where this holder's commands live.
pub(super) enum HolderIsolation {
    Bare,
    Namespaces(HolderNamespaces),
}

impl HolderIsolation {
    fn set_up(setup: HolderSetup) -> Result<Self, SetupError> {
        match setup {
            HolderSetup::Bare => Ok(Self::Bare),
            HolderSetup::Namespaces(cage) => Ok(Self::Namespaces(HolderNamespaces::enter(&cage)?)),
        }
    }

    fn fork(&self) -> io::Result<ForkResult> {
        match self {
            // SAFETY: this process has a single thread, so the child may do anything.
            Self::Bare => Ok(unsafe { fork() }?),
            Self::Namespaces(_) => namespaces::fork_first(),
        }
    }

    /// What a keeper does first, in the new process.
    pub fn move_in(&self) -> io::Result<()> {
        match self {
            Self::Bare => Ok(()),
            Self::Namespaces(_) => namespaces::mount_proc(),
        }
    }

    /// What a keeper does before each command.
    pub fn prepare_for_command(&mut self) -> io::Result<()> {
        match self {
            Self::Bare => Ok(()),
            Self::Namespaces(namespaces) => namespaces.cover_sockets(),
        }
    }

    /// Keeps one command from taking the names of repositories that are not there.
    pub fn hold_names(&self, cage: Option<&Cage>) -> HeldNames {
        match (self, cage) {
            (Self::Namespaces(_), Some(cage)) => HeldNames::hold(cage),
            (Self::Bare, _) | (_, None) => HeldNames::default(),
        }
    }
}

struct RunningKeepers {
    surroundings: HolderIsolation,
    running: BTreeSet<Pid>,
}

impl RunningKeepers {
    fn new(surroundings: HolderIsolation) -> Self {
        Self {
            surroundings,
            running: BTreeSet::new(),
        }
    }

    fn start(&mut self, control: OwnedFd) -> io::Result<()> {
        match self.surroundings.fork() {
            Ok(ForkResult::Child) => keeper::run_keeper(control, &mut self.surroundings),
            Ok(ForkResult::Parent { child }) => {
                self.running.insert(child);
                Ok(())
            }
            Err(error) => {
                let ExecFailure { stage, errno } = ExecFailure::sandbox(error);
                wire::send_report(control.as_fd(), &KeeperReport::Failed { stage, errno })
            }
        }
    }

    fn reap(&mut self, flags: WaitPidFlag) {
        loop {
            match waitpid(None, Some(flags)) {
                Ok(WaitStatus::Exited(pid, _)) => {
                    self.running.remove(&pid);
                }
                Ok(WaitStatus::Signaled(pid, ..)) => {
                    // A keeper that was killed could not end its tree, which is now ours.
                    if self.running.remove(&pid) {
                        tree::signal_children_except(&self.running, Signal::SIGKILL);
                    }
                }
                Err(Errno::EINTR) => {}
                Ok(_) | Err(_) => return,
            }
        }
    }
}
