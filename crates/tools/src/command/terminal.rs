//! One running command and the task that attends it.
//!
//! The task owns the process: it reads what the command writes into [`Pending`], writes what
//! the model types, and ends the command when told to. Calls come and go; they look at the
//! pending output for as long as they have patience. One that writes without end is ended.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::sync::{Notify, mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;
use troupe_process::{Exit, KillOutcome, Killer, LeftBehind, Process, ProcessEvent};
use troupe_protocol::command::OutputStream;
use troupe_protocol::discard;
use troupe_protocol::policy::SandboxPolicy;

use super::capture::{Capture, Piece};
use super::pending::Pending;
use crate::call::Call;
use crate::limits::{COMMAND_OUTPUT_BYTES_MAX, INPUT_QUEUE_MAX};
use crate::policy::Sandbox;

/// A running command. Dropping it kills the command and everything that it started.
#[derive(Debug)]
pub(crate) struct Terminal {
    pub argv: Vec<String>,
    pub cwd: PathBuf,
    pub kind: TerminalKind,
    /// What the session's commands might do when it was begun.
    pub begun_under: SandboxPolicy,
    pub sandbox: Sandbox,
    shared: Arc<Shared>,
    input: mpsc::Sender<Typed>,
    killer: Killer,
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
pub(crate) enum Ending {
    Exited(Exit),
    /// The time was up first.
    Running,
    /// The call was cancelled first.
    Cancelled,
}

#[derive(Debug)]
struct Shared {
    pending: Mutex<Pending>,
    /// Touched at every change of `pending`.
    news: watch::Sender<()>,
    /// Wakes the attendant when it may read again.
    room: Notify,
}

#[derive(Debug)]
struct Typed {
    bytes: Vec<u8>,
    written: oneshot::Sender<std::io::Result<()>>,
}

impl Terminal {
    pub(crate) fn new(
        process: Process,
        argv: Vec<String>,
        cwd: PathBuf,
        kind: TerminalKind,
        begun_under: SandboxPolicy,
        sandbox: Sandbox,
    ) -> Self {
        let shared = Arc::new(Shared {
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
    pub(crate) async fn watch(&self, call: &Call, until: Instant, capture: &mut Capture) -> Ending {
        let _watching = Watching::new(&self.shared);
        let mut news = self.shared.news.subscribe();
        let deadline = tokio::time::sleep_until(until.into());
        tokio::pin!(deadline);
        loop {
            let is_late = Instant::now() >= until;
            if let Some(exit) = self.drain(call, capture).await {
                return Ending::Exited(exit);
            }
            if is_late {
                return Ending::Running;
            }
            tokio::select! {
                // A command that never stops writing is news for ever: time and the person
                // come first.
                biased;
                () = call.cancel.cancelled() => return Ending::Cancelled,
                () = &mut deadline => {}
                // The sender lives in `self`, so this is always news.
                _ = news.changed() => {}
            }
        }
    }

    /// Tells whether the command left the sandbox that its session had.
    pub(crate) fn is_outside(&self) -> bool {
        self.sandbox == Sandbox::Unconfined && self.begun_under != SandboxPolicy::DangerFullAccess
    }

    /// Ends the command and everything it started, and takes the rest of its output.
    pub(crate) async fn kill(&self, call: &Call, capture: &mut Capture) {
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
        let typed = Typed { bytes, written };
        self.input.send(typed).await.map_err(|_| ended())?;
        done.await.map_err(|_| ended())?
    }

    /// Does what ctrl-C does in a terminal.
    pub(crate) fn interrupt(&self) {
        self.killer.interrupt();
    }

    async fn drain(&self, call: &Call, capture: &mut Capture) -> Option<Exit> {
        let (pieces, exit) = self.shared.take();
        for piece in pieces {
            capture.take(piece, call.channel.as_ref()).await;
        }
        exit
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Pending> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut Pending)) {
        change(&mut self.lock());
        self.news.send_replace(());
    }

    fn take(&self) -> (Vec<Piece>, Option<Exit>) {
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
struct Watching<'a>(&'a Shared);

impl<'a> Watching<'a> {
    fn new(shared: &'a Shared) -> Self {
        shared.lock().watchers += 1;
        Self(shared)
    }
}

impl Drop for Watching<'_> {
    fn drop(&mut self) {
        self.0.lock().watchers -= 1;
        self.0.room.notify_one();
    }
}

/// However the attendant ends, nobody is left waiting for the end of its command.
#[derive(Debug)]
struct Attendance {
    shared: Arc<Shared>,
    began: Instant,
}

impl Drop for Attendance {
    fn drop(&mut self) {
        self.shared.change(|pending| {
            pending.exit.get_or_insert_with(|| lost(self.began));
        });
    }
}

async fn attend(
    mut process: Process,
    mut typed: mpsc::Receiver<Typed>,
    stop: CancellationToken,
    shared: Arc<Shared>,
) {
    let _attendance = Attendance {
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
                    shared.change(|pending| pending.push(Piece { stream, bytes }));
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
            Some(Typed { bytes, written }) = typed.recv() => {
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
fn flood_note() -> Piece {
    let mib = COMMAND_OUTPUT_BYTES_MAX >> 20;
    let note = format!(
        "\n… the command was ended: it had written more than {mib} MiB; send its output to a \
         file, or show less of it …\n"
    );
    Piece {
        stream: OutputStream::Stderr,
        bytes: Bytes::from(note),
    }
}

/// The end of a process of which the kernel did not tell in time.
fn lost(began: Instant) -> Exit {
    Exit {
        code: None,
        signal: Some(libc::SIGKILL),
        denial: None,
        left_behind: LeftBehind::Unverified,
        wall: began.elapsed(),
        cpu: Duration::ZERO,
        memory_peak_bytes: 0,
    }
}
