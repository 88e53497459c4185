//! A command on its way to its end.

use std::future::pending;
use std::io;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};
use troupe_process::{Process, ProcessEvent, ProcessExit};
use troupe_protocol::discard;

use super::outputs::CommandOutputs;
use super::running::{CommandOrder, CommandRegistration};
use crate::wire::command::CommandExecResponse;

/// What shells say of a command whose time was up.
const TIMED_OUT: i32 = 124;

/// What shells add to the number of the signal that ended a command.
const SIGNALLED: i32 = 128;

#[derive(Debug)]
pub(crate) struct ClientCommand {
    process: Process,
    outputs: CommandOutputs,
    deadline: Option<Instant>,
}

/// Why a command is to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CommandStop {
    Asked,
    TimeIsUp,
}

impl ClientCommand {
    pub(crate) fn new(
        process: Process,
        outputs: CommandOutputs,
        time_max: Option<Duration>,
    ) -> Self {
        Self {
            process,
            outputs,
            // A time that no clock reaches is none.
            deadline: time_max.and_then(|time| Instant::now().checked_add(time)),
        }
    }

    pub(crate) async fn finish(
        mut self,
        mut place: Option<CommandRegistration>,
    ) -> CommandExecResponse {
        let stop = place.as_ref().map(|place| place.stop.clone());
        let deadline = self.deadline;
        let stopped = async {
            tokio::select! {
                () = reached(deadline) => CommandStop::TimeIsUp,
                () = async {
                    match &stop {
                        Some(stop) => stop.cancelled().await,
                        None => pending().await,
                    }
                } => CommandStop::Asked,
            }
        };
        // Whatever it waits for, it is stopped at once: output and orders are left as they are.
        let (exit, stop) = tokio::select! {
            exit = self.follow(place.as_mut()) => (exit, None),
            stop = stopped => {
                self.process.kill().await;
                (self.drain().await, Some(stop))
            }
        };
        let exit_code = match (exit, stop) {
            (_, Some(CommandStop::TimeIsUp)) => TIMED_OUT,
            (Some(exit), _) => code(&exit),
            (None, _) => SIGNALLED,
        };
        let (stdout, stderr) = self.outputs.into_texts();
        CommandExecResponse {
            exit_code,
            stdout,
            stderr,
        }
    }

    /// Passes output and input on until the command ends.
    async fn follow(&mut self, mut place: Option<&mut CommandRegistration>) -> Option<ProcessExit> {
        loop {
            tokio::select! {
                event = self.process.next() => match event {
                    Some(ProcessEvent::Output { stream, bytes }) => {
                        self.outputs.take(stream, &bytes).await;
                    }
                    Some(ProcessEvent::Exited(exit)) => return Some(exit),
                    None => return None,
                },
                order = next_order(place.as_deref_mut()) => self.apply_order(order).await,
            }
        }
    }

    /// Takes what a command said before it was ended.
    async fn drain(&mut self) -> Option<ProcessExit> {
        while let Some(event) = self.process.next().await {
            match event {
                ProcessEvent::Output { stream, bytes } => self.outputs.take(stream, &bytes).await,
                ProcessEvent::Exited(exit) => return Some(exit),
            }
        }
        None
    }

    async fn apply_order(&mut self, order: CommandOrder) {
        match order {
            CommandOrder::Write {
                bytes,
                close,
                reply,
            } => {
                let written = self.process.write_stdin(&bytes).await.map_err(input_error);
                if close {
                    self.process.close_stdin();
                }
                // Who asked may be gone, and the command with it.
                discard!(reply.send(written), "nobody waits for the answer");
            }
            CommandOrder::Resize { size, reply } => {
                discard!(
                    reply.send(self.process.resize(size)),
                    "nobody waits for the answer"
                );
            }
        }
    }
}

async fn reached(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => pending().await,
    }
}

async fn next_order(place: Option<&mut CommandRegistration>) -> CommandOrder {
    let order = match place {
        Some(place) => place.orders.recv().await,
        None => None,
    };
    match order {
        Some(order) => order,
        None => pending().await,
    }
}

fn input_error(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::BrokenPipe => io::Error::other("its input is closed"),
        io::ErrorKind::TimedOut => io::Error::other("it takes no input"),
        _ => error,
    }
}

fn code(exit: &ProcessExit) -> i32 {
    let signal = exit.signal.map(|signal| SIGNALLED + signal);
    exit.code.or(signal).unwrap_or(SIGNALLED)
}
