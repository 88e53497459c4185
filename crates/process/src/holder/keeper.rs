//! The process that stays with one command at a time: starts it, reaps, passes signals on, ends the
//! tree. When nothing of a command is left it waits for the next one.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Instant;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::prctl;
use nix::sys::signal::{Signal, killpg};
use nix::sys::signalfd::SignalFd;
use nix::unistd::Pid;

use super::denial_monitor::DenialMonitor;
use super::execute::{ExecFailure, StartedCommand, execute};
use super::namespaces::HeldNames;
use super::server::{self, HolderIsolation};
use super::shared_memory_fork::ChildStack;
use super::tree;
use super::wire::{
    ExitRecord, KeeperOrder, KeeperReport, ReceivedRequest, receive_order, receive_request,
    send_report,
};

/// Runs commands, each to its end and the end of everything that it started, until the engine
/// closes its end of the socket.
pub(super) fn run_keeper(control: OwnedFd, surroundings: &mut HolderIsolation) -> ! {
    let code = serve(&control, surroundings).map_or(1, |()| 0);
    // SAFETY: a fork of the holder must not run what the holder registered for its own exit.
    unsafe { libc::_exit(code) }
}

fn serve(control: &OwnedFd, surroundings: &mut HolderIsolation) -> io::Result<()> {
    let ready = surroundings
        .move_in()
        .and_then(|()| Ok((adopt_orphans()?, ChildStack::new()?)));
    let (children, stack) = match ready {
        Ok(ready) => ready,
        Err(error) => return fail(control, ExecFailure::sandbox(error)),
    };
    while let Some(received) = receive_request(control.as_fd())? {
        let mut keeper = match Keeper::start(control, &children, &stack, surroundings, received) {
            Ok(keeper) => keeper,
            Err(failure) => return fail(control, failure),
        };
        match keeper.run()? {
            LeftoverState::Alone => {}
            // The engine waits for the end of this process, as a sign that all of it is over.
            LeftoverState::LeftBehind => return Ok(()),
        }
    }
    Ok(())
}

fn fail(control: &OwnedFd, ExecFailure { stage, errno }: ExecFailure) -> io::Result<()> {
    send_report(control.as_fd(), &KeeperReport::Failed { stage, errno })
}

struct Keeper<'a> {
    control: &'a OwnedFd,
    children: &'a SignalFd,
    leader: LeaderState,
    orders: OrderIntake,
    witness: Option<DenialMonitor>,
    names: HeldNames,
}

enum LeaderState {
    Running { pid: Pid, since: Instant },
    Reported(LeftoverState),
}

/// Whether anything of a command was there when it had ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LeftoverState {
    Alone,
    LeftBehind,
}

/// After [`KeeperOrder::Kill`] there is nothing left to be told.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OrderIntake {
    Listening,
    Killing,
}

/// What can be dealt with now.
struct ReadySources {
    ended: bool,
    attempted: bool,
    planted: bool,
    ordered: bool,
}

/// What reaping found.
enum ReapedTree {
    Empty,
    Alive,
}

impl<'a> Keeper<'a> {
    fn start(
        control: &'a OwnedFd,
        children: &'a SignalFd,
        stack: &ChildStack,
        surroundings: &mut HolderIsolation,
        received: ReceivedRequest,
    ) -> Result<Self, ExecFailure> {
        let since = Instant::now();
        surroundings
            .prepare_for_command()
            .map_err(ExecFailure::sandbox)?;
        let names = surroundings.hold_names(received.request.cage.as_ref());
        let StartedCommand { pid, witness } = execute(received, control, stack)?;
        // An engine that has gone meanwhile shows again as the end of the socket.
        let _ = send_report(control.as_fd(), &KeeperReport::Started);
        Ok(Self {
            control,
            children,
            leader: LeaderState::Running { pid, since },
            orders: OrderIntake::Listening,
            witness,
            names,
        })
    }

    /// Returns when the tree is empty.
    fn run(&mut self) -> io::Result<LeftoverState> {
        loop {
            let ready = self.wait()?;
            if ready.attempted
                && let Some(witness) = &mut self.witness
            {
                witness.handle_call();
            }
            if ready.planted
                && let Some(witness) = &mut self.witness
            {
                witness.put_back();
            }
            if ready.ended {
                while self.children.read_signal()?.is_some() {}
                if let (ReapedTree::Empty, LeaderState::Reported(rest)) =
                    (self.reap()?, &self.leader)
                {
                    return Ok(*rest);
                }
            }
            if ready.ordered {
                self.obey(receive_order(self.control));
            }
            if self.orders == OrderIntake::Killing {
                // Again after each death: it may have made grandchildren ours.
                tree::signal_all(Signal::SIGKILL);
            }
        }
    }

    /// Waits for an order, the end of a child, or a call that the kernel reports.
    fn wait(&self) -> io::Result<ReadySources> {
        let watch = |fd| PollFd::new(fd, PollFlags::POLLIN);
        let listener = self.witness.as_ref().and_then(DenialMonitor::listener);
        let mut ready = vec![watch(self.children.as_fd())];
        ready.extend(listener.map(watch));
        let alarm = self
            .witness
            .as_ref()
            .and_then(DenialMonitor::created_path_fd);
        ready.extend(alarm.map(watch));
        if self.orders == OrderIntake::Listening {
            ready.push(watch(self.control.as_fd()));
        }
        match poll(&mut ready, PollTimeout::NONE) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
        let mut ready = ready.into_iter().map(|it| it.any().unwrap_or(false));
        Ok(ReadySources {
            ended: ready.next().unwrap_or(false),
            attempted: listener.is_some() && ready.next().unwrap_or(false),
            planted: alarm.is_some() && ready.next().unwrap_or(false),
            ordered: ready.next().unwrap_or(false),
        })
    }

    fn obey(&mut self, order: KeeperOrder) {
        match order {
            KeeperOrder::Interrupt => {
                if let LeaderState::Running { pid, .. } = self.leader {
                    // Fails only if the group has ended, of which we hear next.
                    let _ = killpg(pid, Signal::SIGINT);
                }
            }
            KeeperOrder::Terminate => {
                tree::signal_all(Signal::SIGTERM);
                // A stopped process would act on the signal only when continued.
                tree::signal_all(Signal::SIGCONT);
            }
            KeeperOrder::Kill => self.orders = OrderIntake::Killing,
        }
    }

    /// Reaps what has ended and reports the command itself.
    fn reap(&mut self) -> io::Result<ReapedTree> {
        let mut exit = None;
        let tree = loop {
            let Some(child) = wait_any()? else {
                break ReapedTree::Empty;
            };
            match (child, &self.leader) {
                (ReapedChild::StillRunning, _) => break ReapedTree::Alive,
                (
                    ReapedChild::Ended { pid, status, usage },
                    LeaderState::Running { pid: leader, since },
                ) if pid == *leader => {
                    exit = Some(exit_record(status, &usage, *since));
                }
                (ReapedChild::Ended { .. }, _) => {}
            }
        };
        if matches!(tree, ReapedTree::Empty) {
            // Before the engine hears of the end, so that it never finds one of them.
            self.names = HeldNames::default();
        }
        if let Some(mut exit) = exit {
            exit.left_behind = matches!(tree, ReapedTree::Alive);
            self.leader = LeaderState::Reported(match tree {
                ReapedTree::Empty => LeftoverState::Alone,
                ReapedTree::Alive => LeftoverState::LeftBehind,
            });
            if let Some(witness) = &mut self.witness {
                exit.has_written = witness.has_written();
                exit.moved_aside = witness.put_back();
                exit.denials = witness.take_denials();
            }
            // An engine that has gone needs no report.
            let _ = send_report(self.control.as_fd(), &KeeperReport::Exited(exit));
        }
        Ok(tree)
    }
}

/// Makes whoever loses its parent below this process its child, and lets go of the socket that
/// the holder is asked through, so that the engine sees when the holder itself ends.
fn adopt_orphans() -> io::Result<SignalFd> {
    // The place of stdin stays taken, so that nothing received later gets it by chance.
    nix::unistd::dup2_stdin(std::io::stdout())?;
    prctl::set_child_subreaper(true)?;
    server::watch_children()
}

enum ReapedChild {
    Ended {
        pid: Pid,
        status: libc::c_int,
        usage: libc::rusage,
    },
    StillRunning,
}

/// Reaps one child without waiting; `None` when there is no child at all.
fn wait_any() -> io::Result<Option<ReapedChild>> {
    let mut status = 0;
    // SAFETY: all zeroes is a valid rusage.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers are live; the call fills them.
    let pid = unsafe { libc::wait4(-1, &raw mut status, libc::WNOHANG, &raw mut usage) };
    match pid {
        0 => Ok(Some(ReapedChild::StillRunning)),
        1.. => Ok(Some(ReapedChild::Ended {
            pid: Pid::from_raw(pid),
            status,
            usage,
        })),
        _ if Errno::last() == Errno::ECHILD => Ok(None),
        _ => Err(io::Error::last_os_error()),
    }
}

fn exit_record(status: libc::c_int, usage: &libc::rusage, since: Instant) -> ExitRecord {
    let micros = |time: libc::timeval| {
        let micros = time.tv_sec * 1_000_000 + time.tv_usec;
        u64::try_from(micros).unwrap_or(0)
    };
    ExitRecord {
        code: libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status)),
        signal: libc::WIFSIGNALED(status).then(|| libc::WTERMSIG(status)),
        wall_us: u64::try_from(since.elapsed().as_micros()).unwrap_or(u64::MAX),
        cpu_us: micros(usage.ru_utime) + micros(usage.ru_stime),
        memory_peak_bytes: u64::try_from(usage.ru_maxrss).unwrap_or(0) * 1024,
        left_behind: false,
        denials: Vec::new(),
        moved_aside: false,
        has_written: false,
    }
}
