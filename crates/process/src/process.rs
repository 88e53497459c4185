//! A running command, seen from the engine.
//!
//! Output is read only when the caller asks for it, so a command that prints without end waits
//! in its pipe and costs no memory here.

mod control;
mod second_look;
mod stream;
mod watch;

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::time::{Instant, sleep_until, timeout};
use troupe_protocol::command::OutputStream;

pub use self::control::CommandKiller;
use self::control::KeeperControl;
use self::second_look::SecondLook;
use self::stream::{ProcessInput, ProcessStreams};
use self::watch::ProcessWatch;
use crate::holder::{CommandRequest, Holder, KeeperOrder, KeeperReport, StartStage};
use crate::limits::{
    OUTPUT_ASIDE_BYTES_MAX, START_WAIT_MS, STDIN_STALL_MS, SWEEP_WAIT_MS, TERMINATE_GRACE_MS,
};
use crate::nested::NestedPaths;
use crate::spec::{StdinMode, TerminalSize};
use crate::sweep::EngineRecord;

/// What happens to a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProcessEvent {
    Output {
        stream: OutputStream,
        bytes: Bytes,
    },
    /// Always the last: the command has ended, and what it left behind has been ended.
    Exited(ProcessExit),
}

/// How a command ended. Exactly one of `code` and `signal` is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessExit {
    pub code: Option<i32>,
    pub signal: Option<i32>,
    /// What the kernel is known to have refused because of the policy; none is no proof that
    /// nothing was.
    pub denial: Option<SandboxDenial>,
    pub left_behind: LeftBehind,
    pub wall: Duration,
    /// User and system time of the command and of its children that it waited for.
    pub cpu: Duration,
    pub memory_peak_bytes: u64,
}

impl ProcessExit {
    /// Says how it ended, of something that was named before.
    pub fn in_words(&self) -> String {
        match (self.code, self.signal) {
            (Some(code), _) => format!("it exited with code {code}"),
            (None, Some(signal)) => format!("it was ended by signal {signal}"),
            (None, None) => "it ended".to_owned(),
        }
    }
}

impl ProcessExit {
    pub fn is_success(&self) -> bool {
        self.code == Some(0)
    }
}

/// An action that the sandbox refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxDenial {
    /// What was tried, for people: `write to /etc/passwd`, `socket(AF_INET)`.
    pub what: String,
    /// Something that the command had made was moved aside: also one that went well has not
    /// done what it seems to have done.
    pub moved_aside: bool,
}

/// Processes that a command had started and not waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeftBehind {
    Nothing,
    /// There were some; they have been ended.
    Ended,
    /// Whether all have ended could not be seen in time.
    Unverified,
}

/// How [`Process::kill`] went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KillOutcome {
    AlreadyEnded,
    /// Everything ended by itself after SIGTERM.
    Terminated,
    /// SIGKILL was needed.
    Killed,
    /// The kernel has not let go of all processes yet.
    Unverified,
}

/// A started command. Dropping it kills the whole tree at once; the keeper reaps it.
#[derive(Debug)]
pub struct Process {
    pid: u32,
    control: Arc<KeeperControl>,
    watch: ProcessWatch,
    input: ProcessInput,
    aside: PendingEvents,
    _owners: ProcessOwners,
}

/// What must stay as long as a command runs.
#[derive(Debug, Clone)]
pub(crate) struct ProcessOwners {
    pub holder: Arc<Holder>,
    /// What was where when the policy was set up; none for what is trusted.
    pub searched: Option<Arc<NestedPaths>>,
    pub _record: Option<Arc<EngineRecord>>,
}

/// Events that were met while the caller was writing or killing.
#[derive(Debug, Default)]
struct PendingEvents {
    events: VecDeque<ProcessEvent>,
    bytes: usize,
}

/// Why a request led to no process.
#[derive(Debug)]
pub(crate) enum StartFailure {
    Stage(StartStage, io::Error),
    /// The holder could not be reached, or this program is out of descriptors.
    Holder(io::Error),
}

impl Process {
    pub(crate) async fn start(
        owners: ProcessOwners,
        request: &CommandRequest,
        terminal: Option<TerminalSize>,
        stdin: StdinMode,
    ) -> Result<Self, StartFailure> {
        let ProcessStreams {
            input,
            outputs,
            theirs,
        } = ProcessStreams::open(terminal, stdin).map_err(StartFailure::Holder)?;
        let second_look = match owners.searched.clone() {
            Some(searched) => SecondLook::prepare(searched).await,
            None => None,
        };
        let starting = async {
            let control = KeeperControl::new(owners.holder.request(request, &theirs).await?)?;
            let started = started(&control).await;
            io::Result::Ok((control, started))
        };
        let (control, started) = timeout(Duration::from_millis(START_WAIT_MS), starting)
            .await
            .map_err(|_| StartFailure::Holder(io::ErrorKind::TimedOut.into()))?
            .map_err(StartFailure::Holder)?;
        let pid = started?;
        tracing::debug!(pid, "a command starts");
        let control = Arc::new(control);
        Ok(Self {
            pid,
            watch: ProcessWatch::new(Arc::clone(&control), outputs, second_look),
            control,
            input,
            aside: PendingEvents::default(),
            _owners: owners,
        })
    }

    /// The command's process id, which is also its group and its session.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Waits for the next event; `None` after [`ProcessEvent::Exited`]. Loses nothing when
    /// dropped while it waits.
    pub async fn next(&mut self) -> Option<ProcessEvent> {
        match self.aside.take() {
            Some(event) => Some(event),
            None => self.watch.advance().await,
        }
    }

    /// Writes all bytes, reading the command's output aside meanwhile so that neither waits for
    /// the other. Fails if the command takes nothing for a long time or has closed its stdin.
    pub async fn write_stdin(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let may_read = self.aside.has_room() && !self.watch.is_finished();
            let stalled = Instant::now() + Duration::from_millis(STDIN_STALL_MS);
            tokio::select! {
                written = self.input.write(bytes) => bytes = &bytes[written?..],
                event = self.watch.advance(), if may_read => self.aside.put(event),
                () = sleep_until(stalled) => return Err(io::ErrorKind::TimedOut.into()),
            }
        }
        Ok(())
    }

    /// Ends the command's input.
    pub fn close_stdin(&mut self) {
        self.input.close();
    }

    /// Changes the size of the command's terminal.
    pub fn resize(&self, size: TerminalSize) -> io::Result<()> {
        self.input.resize(size)
    }

    pub fn killer(&self) -> CommandKiller {
        CommandKiller(Arc::downgrade(&self.control))
    }

    /// Ends the whole tree: SIGTERM, a grace time, SIGKILL, until the kernel says that nothing is
    /// left. Output met on the way and the exit can still be read with [`Process::next`].
    pub async fn kill(&mut self) -> KillOutcome {
        if self.watch.is_finished() {
            return KillOutcome::AlreadyEnded;
        }
        self.control.order(KeeperOrder::Terminate);
        if self.finish_within(TERMINATE_GRACE_MS).await {
            return self.verified(KillOutcome::Terminated);
        }
        self.control.order(KeeperOrder::Kill);
        // Its own deadlines end the watch after this time at the latest.
        if self.finish_within(2 * SWEEP_WAIT_MS).await {
            return self.verified(KillOutcome::Killed);
        }
        KillOutcome::Unverified
    }

    async fn finish_within(&mut self, milliseconds: u64) -> bool {
        let finishing = async {
            while let Some(event) = self.watch.advance().await {
                self.aside.put(Some(event));
            }
        };
        timeout(Duration::from_millis(milliseconds), finishing)
            .await
            .is_ok()
    }

    fn verified(&self, outcome: KillOutcome) -> KillOutcome {
        match self.aside.events.back() {
            Some(ProcessEvent::Exited(exit)) if exit.left_behind == LeftBehind::Unverified => {
                KillOutcome::Unverified
            }
            _ => outcome,
        }
    }
}

/// Waits until the command runs; returns its process id.
async fn started(control: &KeeperControl) -> Result<u32, StartFailure> {
    let mut pid = 0;
    loop {
        match control.report_from().await {
            Some((KeeperReport::Born, sender)) => pid = sender,
            Some((KeeperReport::Started, _)) => return Ok(pid),
            Some((KeeperReport::Failed { stage, errno }, _)) => {
                let error = io::Error::from_raw_os_error(errno);
                return Err(StartFailure::Stage(stage, error));
            }
            Some((KeeperReport::Exited(_), _)) | None => {
                return Err(StartFailure::Holder(io::ErrorKind::BrokenPipe.into()));
            }
        }
    }
}

impl PendingEvents {
    fn has_room(&self) -> bool {
        self.bytes < OUTPUT_ASIDE_BYTES_MAX
    }

    /// Keeps an event; output only as long as there is room.
    fn put(&mut self, event: Option<ProcessEvent>) {
        match &event {
            Some(ProcessEvent::Output { .. }) if !self.has_room() => return,
            Some(ProcessEvent::Output { bytes, .. }) => self.bytes += bytes.len(),
            Some(ProcessEvent::Exited(_)) | None => {}
        }
        self.events.extend(event);
    }

    fn take(&mut self) -> Option<ProcessEvent> {
        let event = self.events.pop_front()?;
        if let ProcessEvent::Output { bytes, .. } = &event {
            self.bytes -= bytes.len();
        }
        Some(event)
    }
}
