//! One running command and the task that attends it.
//!
//! The task owns the process: it reads what the command writes into [`PendingOutput`], writes what
//! the model types, and ends the command when told to. Calls come and go; they look at the
//! pending output for as long as they have patience. One that writes without end is ended.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::sync::{Notify, mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;
use troupe_process::{CommandKiller, KillOutcome, LeftBehind, Process, ProcessEvent, ProcessExit};
use troupe_protocol::command::OutputStream;
use troupe_protocol::discard;
use troupe_protocol::policy::SandboxPolicy;

use super::capture::{OutputCapture, OutputPiece};
use super::pending::PendingOutput;
use crate::call::ToolInvocation;
use crate::limits::{COMMAND_OUTPUT_BYTES_MAX, INPUT_QUEUE_MAX};
use crate::policy::SandboxChoice;

/// A running command. Dropping it kills the command and everything that it started.
#[derive(Debug)]
pub(crate) struct CommandTerminal {
    pub argv: Vec<String>,
    pub cwd: PathBuf,
    pub kind: TerminalKind,
    /// What the session's commands might do when it was begun.
    pub begun_under: SandboxPolicy,
    pub sandbox: SandboxChoice,
    shared: Arc<TerminalState>,
    input: mpsc::Sender<TypedInput>,
    killer: CommandKiller,
    stop: CancellationToken,
    /// Owned: when the terminal goes, so does the task, and with it the process.
    _attendant: AbortOnDropHandle<()>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TerminalKind {
    /// A real terminal: the command can be typed to.
    Tty,
    /// Two pipes, and nothing to read from.
    Pipes,
}

/// Why looking at a command ended.
#[derive(Debug)]
pub(crate) enum WatchOutcome {
    Exited(ProcessExit),
    /// The time was up first.
    Running,
    /// The call was cancelled first.
    Cancelled,
}

#[derive(Debug)]
struct TerminalState {
    pending: Mutex<PendingOutput>,
    /// Touched at every change of `pending`.
    news: watch::Sender<()>,
    /// Wakes the attendant when it may read again.
    room: Notify,
}

#[derive(Debug)]
struct TypedInput {
    bytes: Vec<u8>,
    written: oneshot::Sender<std::io::Result<()>>,
}

impl CommandTerminal {
    pub(crate) fn new(
        process: Process,
        argv: Vec<String>,
        cwd: PathBuf,
        kind: TerminalKind,
        begun_under: SandboxPolicy,
        sandbox: SandboxChoice,
    ) -> Self {
        let shared = Arc::new(TerminalState {
            pending: Mutex::default(),
            news: watch::Sender::new(()),
            room: Notify::new(),
        });
        let stop = CancellationToken::new();
        let (input, typed) = mpsc::channel(INPUT_QUEUE_MAX);
        let killer = process.killer();
        let attendant = attend(process, typed, stop.clone(), Arc::clone(&shared));
        Self {
            argv,
            cwd,
            kind,
            begun_under,
            sandbox,
            shared,
            input,
            killer,
            stop,
            _attendant: AbortOnDropHandle::new(tokio::spawn(attendant)),
        }
    }

    /// Passes on and keeps what the command writes until it ends, `until`, or the call is
    /// cancelled.
    pub(crate) async fn watch(
        &self,
        call: &ToolInvocation,
        until: Instant,
        capture: &mut OutputCapture,
    ) -> WatchOutcome {
        let _watching = WatcherGuard::new(&self.shared);
        let mut news = self.shared.news.subscribe();
        let deadline = tokio::time::sleep_until(until.into());
        tokio::pin!(deadline);
        loop {
            let is_late = Instant::now() >= until;
            if let Some(exit) = self.drain(call, capture).await {
                return WatchOutcome::Exited(exit);
            }
            if is_late {
                return WatchOutcome::Running;
            }
            tokio::select! {
                // A command that never stops writing is news for ever: time and the person
                // come first.
                biased;
                () = call.cancel.cancelled() => return WatchOutcome::Cancelled,
                () = &mut deadline => {}
                // The sender lives in `self`, so this is always news.
                _ = news.changed() => {}
            }
        }
    }

    /// Tells whether the command left the sandbox that its session had.
    pub(crate) fn is_outside(&self) -> bool {
        self.sandbox == SandboxChoice::Unconfined
            && self.begun_under != SandboxPolicy::DangerFullAccess
    }

    /// Ends the command and everything it started, and takes the rest of its output.
    pub(crate) async fn kill(&self, call: &ToolInvocation, capture: &mut OutputCapture) {
        self.end().await;
        self.drain(call, capture).await;
    }

    /// Ends the command and everything it started; returns when it is gone.
    pub(crate) async fn end(&self) {
        let mut news = self.shared.news.subscribe();
        self.stop.cancel();
        while !self.has_exited() {
            // The sender lives in `self`, so this is always news.
            let _ = news.changed().await;
        }
    }

    pub(crate) fn has_exited(&self) -> bool {
        self.shared.lock().exit.is_some()
    }

    /// Types into the command. Waits until it has taken the bytes, or will not.
    pub(crate) async fn type_in(&self, bytes: Vec<u8>) -> std::io::Result<()> {
        let ended = || std::io::Error::from(std::io::ErrorKind::BrokenPipe);
        let (written, done) = oneshot::channel();
        let typed = TypedInput { bytes, written };
        self.input.send(typed).await.map_err(|_| ended())?;
        done.await.map_err(|_| ended())?
    }

    /// Does what ctrl-C does in a terminal.
    pub(crate) fn interrupt(&self) {
        self.killer.interrupt();
    }

    async fn drain(
        &self,
        call: &ToolInvocation,
        capture: &mut OutputCapture,
    ) -> Option<ProcessExit> {
        let (pieces, exit) = self.shared.take();
        for piece in pieces {
            capture.take(piece, call.channel.as_ref()).await;
        }
        exit
    }
}

impl TerminalState {
    fn lock(&self) -> MutexGuard<'_, PendingOutput> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut PendingOutput)) {
        change(&mut self.lock());
        self.news.send_replace(());
    }

    fn take(&self) -> (Vec<OutputPiece>, Option<ProcessExit>) {
        let mut pending = self.lock();
        let taken = (pending.take(), pending.exit.clone());
        drop(pending);
        self.room.notify_one();
        taken
    }
}

/// A call that watches. While there is one, a command that writes faster than the call passes
/// on has to wait; without one its output is cut instead, so that it never waits for a look.
#[derive(Debug)]
struct WatcherGuard<'a>(&'a TerminalState);

impl<'a> WatcherGuard<'a> {
    fn new(shared: &'a TerminalState) -> Self {
        shared.lock().watchers += 1;
        Self(shared)
    }
}

impl Drop for WatcherGuard<'_> {
    fn drop(&mut self) {
        self.0.lock().watchers -= 1;
        self.0.room.notify_one();
    }
}

/// However the attendant ends, nobody is left waiting for the end of its command.
#[derive(Debug)]
struct AttendantGuard {
    shared: Arc<TerminalState>,
    began: Instant,
}

impl Drop for AttendantGuard {
    fn drop(&mut self) {
        self.shared.change(|pending| {
            pending
                .exit
                .get_or_insert_with(|| unreported_exit(self.began));
        });
    }
}

async fn attend(
    mut process: Process,
    mut typed: mpsc::Receiver<TypedInput>,
    stop: CancellationToken,
    shared: Arc<TerminalState>,
) {
    let _attendance = AttendantGuard {
        shared: Arc::clone(&shared),
        began: Instant::now(),
    };
    let mut stopping = false;
    let mut written_bytes = 0_u64;
    loop {
        let has_room = shared.lock().has_room();
        tokio::select! {
            event = process.next(), if has_room => match event {
                Some(ProcessEvent::Output { stream, bytes }) => {
                    written_bytes += bytes.len() as u64;
                    shared.change(|pending| pending.push(OutputPiece { stream, bytes }));
                    if is_flood(written_bytes) {
                        stop.cancel();
                    }
                }
                Some(ProcessEvent::Exited(exit)) => {
                    return shared.change(|pending| {
                        if is_flood(written_bytes) {
                            pending.push(flood_note());
                        }
                        pending.exit = Some(exit);
                    });
                }
                None => return,
            },
            () = shared.room.notified(), if !has_room => {}
            Some(TypedInput { bytes, written }) = typed.recv() => {
                let result = tokio::select! {
                    result = process.write_stdin(&bytes) => result,
                    () = stop.cancelled() => Err(std::io::ErrorKind::Interrupted.into()),
                };
                // Nobody listens any more when the call that typed was cancelled.
                discard!(written.send(result), "nobody waits for the answer");
            }
            () = stop.cancelled(), if !stopping => {
                stopping = true;
                if process.kill().await == KillOutcome::Unverified {
                    // Nobody may wait for the kernel for ever.
                    return;
                }
            }
        }
    }
}

/// Says whether a command has written so much that it is ended for it.
fn is_flood(written_bytes: u64) -> bool {
    written_bytes > COMMAND_OUTPUT_BYTES_MAX
}

/// The last words of its output, for the model and for people.
fn flood_note() -> OutputPiece {
    let mib = COMMAND_OUTPUT_BYTES_MAX >> 20;
    let note = format!(
        "\n… the command was ended: it had written more than {mib} MiB; send its output to a \
         file, or show less of it …\n"
    );
    OutputPiece {
        stream: OutputStream::Stderr,
        bytes: Bytes::from(note),
    }
}

/// The end of a process of which the kernel did not tell in time.
fn unreported_exit(began: Instant) -> ProcessExit {
    ProcessExit {
        code: None,
        signal: Some(libc::SIGKILL),
        denial: None,
        left_behind: LeftBehind::Unverified,
        wall: began.elapsed(),
        cpu: Duration::ZERO,
        memory_peak_bytes: 0,
    }
}
