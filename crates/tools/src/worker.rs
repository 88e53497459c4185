//! Work on files, held to the policy by the kernel.
//!
//! ```text
//! tool ─ FileWork ─► Workers ─ request ─► process of this program, confined ─ run ─┐
//!   ▲                   │                                                          │
//!   │                   └─ danger-full-access: run here ─┐                         │
//!   └──────────────────────── answer ◄───────────────────┴─────────────────────────┘
//! ```
//!
//! What only reads is confined to reading, whatever the turn may write: it needs no more. What
//! writes has the rights of a command of the turn, and those that a person has just added.
//!
//! One process per call: it begins with nothing, cannot be left in a bad state by a hostile file,
//! and ends with the call. It costs a fork and no exec; keeping one would save that, but it would
//! go on seeing directories that have been replaced since.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde::Serialize;
use serde::de::DeserializeOwned;
use troupe_process::{Confinement, Launcher, Process, ProcessEvent, ProcessExit, WorkerSpec};
use troupe_protocol::command::OutputStream;
use troupe_protocol::discard;
use troupe_protocol::policy::SandboxPolicy;

use crate::blocking::{self, WorkDeadline};
use crate::call::{CallContext, ToolInvocation};
use crate::environment::Variables;
use crate::limits::{WORK_ANSWER_BYTES_MAX, WORK_COMPLAINT_BYTES_MAX, WORK_REQUEST_BYTES_MAX};

/// By which a worker is started.
pub(crate) const WORKER_NAME: &str = "troupe-files";

/// Something to be done with files, completely described. Each kind stands in the table of
/// `file_work`, from which a worker takes what it is asked for.
pub(crate) trait FileWork: Serialize + DeserializeOwned + Send + 'static {
    type Answer: Serialize + DeserializeOwned + Send + 'static;

    /// What a request calls it.
    const NAME: &str;

    /// How long it may take.
    const TIME_MAX: Option<Duration>;

    /// Does it. Blocks on the file system; `Err` is for the model.
    fn run(self, stop: &WorkDeadline) -> Result<Self::Answer, String>;
}

/// What work that writes may write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum WriteRights {
    /// What a command of the turn may.
    Turn,
    /// And what lies in these directories, because a person has agreed.
    Granted(Vec<PathBuf>),
}

/// Does the session's work on files.
#[derive(Debug, Clone)]
pub(crate) struct FileWorkers {
    launcher: Launcher,
    /// The variables that decide where a command may write.
    variables: Variables,
}

impl FileWorkers {
    pub(crate) fn new(launcher: Launcher, inherited: &Variables) -> Self {
        let temporary = inherited.get_key_value("TMPDIR");
        Self {
            launcher,
            variables: temporary
                .map(|(name, value)| (name.clone(), value.clone()))
                .into_iter()
                .collect(),
        }
    }

    /// Does what only reads, until the call is cancelled.
    pub(crate) async fn read<W: FileWork>(
        &self,
        call: &ToolInvocation,
        work: W,
    ) -> Result<W::Answer, String> {
        if call.context.sandbox_policy == SandboxPolicy::DangerFullAccess {
            return blocking::run(call, W::TIME_MAX, move |stop| work.run(stop)).await;
        }
        let began = Instant::now();
        let confinement = Confinement::Policy {
            policy: SandboxPolicy::read_only(),
            cwd: call.context.cwd.clone(),
        };
        tokio::select! {
            answer = self.confined(confinement, work) => answer,
            () = call.cancel.cancelled() => Err(blocking::aborted_text(began.elapsed())),
        }
    }

    /// Does what writes. It is not cancelled: half of it is what nobody wants.
    pub(crate) async fn write<W: FileWork>(
        &self,
        context: &CallContext,
        rights: WriteRights,
        work: W,
    ) -> Result<W::Answer, String> {
        let Some(confinement) = confinement(context, rights) else {
            return blocking::finish(move || work.run(&WorkDeadline::after(W::TIME_MAX)))
                .await
                .and_then(|done| done);
        };
        let workers = self.clone();
        // A task of its own goes on when whoever waits for the answer goes away; it ends with the
        // worker, which nothing keeps from coming to its end.
        let task = tokio::spawn(async move { workers.confined(confinement, work).await });
        match task.await {
            Ok(answer) => answer,
            Err(join) if join.is_panic() => std::panic::resume_unwind(join.into_panic()),
            Err(_) => Err("the engine is shutting down".to_owned()),
        }
    }

    /// Dropped while it waits, this ends the worker.
    async fn confined<W: FileWork>(
        &self,
        confinement: Confinement,
        work: W,
    ) -> Result<W::Answer, String> {
        let request = serde_json::to_vec(&(W::NAME, work)).map_err(|error| error.to_string())?;
        if request.len() > WORK_REQUEST_BYTES_MAX {
            return Err(format!(
                "it takes {} bytes to ask for this, and the limit is {WORK_REQUEST_BYTES_MAX}: do it in smaller parts",
                request.len()
            ));
        }
        let worker = WorkerSpec {
            name: WORKER_NAME,
            env: self.variables.clone(),
            confinement,
        };
        let spawned = self.launcher.spawn_worker(worker).await;
        let mut process = spawned.map_err(|error| error.to_string())?;
        // One that takes no more has ended, and its exit says why.
        discard!(
            process.write_stdin(&request).await,
            "a process that reads no more was written to"
        );
        process.close_stdin();
        let answer = WorkerOutput::listen(&mut process).await?.into_answer()?;
        serde_json::from_slice::<Result<W::Answer, String>>(&answer)
            .unwrap_or_else(|error| Err(format!("the file worker answered nonsense: {error}")))
    }
}

/// What commands of the turn are held to, or that and more; `None` if to nothing.
fn confinement(context: &CallContext, rights: WriteRights) -> Option<Confinement> {
    let cwd = context.cwd.clone();
    let mut granted = match rights {
        WriteRights::Turn => Vec::new(),
        WriteRights::Granted(directories) => directories,
    };
    let (policy, cwd) = match &context.sandbox_policy {
        SandboxPolicy::DangerFullAccess => return None,
        policy if granted.is_empty() => (policy.clone(), cwd),
        SandboxPolicy::ReadOnly { network_access } => {
            // The first takes the place of a working directory, which would be writable.
            let first = granted.remove(0);
            let policy = SandboxPolicy::WorkspaceWrite {
                writable_roots: granted,
                network_access: *network_access,
                exclude_tmpdir_env_var: true,
                exclude_slash_tmp: true,
            };
            (policy, first)
        }
        SandboxPolicy::WorkspaceWrite {
            writable_roots,
            network_access,
            exclude_tmpdir_env_var,
            exclude_slash_tmp,
        } => {
            let mut roots = writable_roots.clone();
            roots.append(&mut granted);
            let policy = SandboxPolicy::WorkspaceWrite {
                writable_roots: roots,
                network_access: *network_access,
                exclude_tmpdir_env_var: *exclude_tmpdir_env_var,
                exclude_slash_tmp: *exclude_slash_tmp,
            };
            (policy, cwd)
        }
    };
    Some(Confinement::Policy { policy, cwd })
}

/// All that a worker wrote, and how it ended.
struct WorkerOutput {
    answer: Vec<u8>,
    complaint: Vec<u8>,
    exit: ProcessExit,
}

impl WorkerOutput {
    async fn listen(process: &mut Process) -> Result<Self, String> {
        let (mut answer, mut complaint) = (Vec::new(), Vec::new());
        while let Some(event) = process.next().await {
            match event {
                ProcessEvent::Output { stream, bytes } => match stream {
                    OutputStream::Stdout => answer.extend_from_slice(&bytes),
                    OutputStream::Stderr => {
                        let room = WORK_COMPLAINT_BYTES_MAX.saturating_sub(complaint.len());
                        complaint.extend_from_slice(&bytes[..bytes.len().min(room)]);
                    }
                },
                ProcessEvent::Exited(exit) => {
                    return Ok(Self {
                        answer,
                        complaint,
                        exit,
                    });
                }
            }
            if answer.len() > WORK_ANSWER_BYTES_MAX {
                return Err("the file worker did not stop to answer and was ended".to_owned());
            }
        }
        Err("the file worker was lost".to_owned())
    }

    fn into_answer(self) -> Result<Vec<u8>, String> {
        let how = match (self.exit.code, self.exit.signal) {
            (Some(0), _) => return Ok(self.answer),
            (_, Some(signal)) => format!("signal {signal}"),
            (code, None) => format!("exit code {}", code.unwrap_or_default()),
        };
        let complaint = String::from_utf8_lossy(&self.complaint);
        Err(format!(
            "the file worker failed ({how}): {}",
            complaint.trim_end()
        ))
    }
}

#[cfg(test)]
mod tests;
