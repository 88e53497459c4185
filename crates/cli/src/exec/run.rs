//! Drives one session through one task.

use std::io;
use std::path::Path;

use anyhow::Context as _;
use troupe_engine::{EventStream, SessionHandle, spawn};
use troupe_model::ConnectError;
use troupe_protocol::approval::{ReviewDecision, UserInputResponse};
use troupe_protocol::input::UserInput;
use troupe_protocol::op::{ConfigureSession, ElicitationDecision};
use troupe_protocol::session::{SessionSource, TurnOverrides};
use troupe_protocol::{Event, EventMsg, Op, Submission, SubmissionId};

use crate::commands::tell;
use crate::exec::no_model::HOW_TO_CONFIGURE;
use crate::exec::print::Printer;
use crate::exec::request::Request;
use crate::exec::signals::{StopRequest, StopRequests};
use crate::exec::target::configure_session;
use crate::failure::{Exit, Failure, Outcome};
use crate::provider::ModelTrouble;
use crate::settings::HeadlessApprovals;
use crate::wiring::Wiring;

/// Runs a request to its end.
pub async fn run(request: Request) -> Outcome {
    let Request {
        source,
        cwd,
        add_dirs,
        continues,
        prompt,
        images,
        output_schema,
        output,
        last_message_file,
        ephemeral,
        cassette,
    } = request;
    let wiring = Wiring::new(source, &cwd, SessionSource::Exec)?
        .with_add_dirs(add_dirs)
        .with_cassette(cassette);
    let configure = configure_session(&wiring, &cwd, continues, ephemeral).await?;
    if let Err(trouble) = wiring.check_model(&configure) {
        return Err(no_model(trouble));
    }
    let approvals = wiring.here().settings.rights.headless_approvals;

    let mut stop = StopRequests::listen().map_err(Failure::not_started)?;
    let (handle, events) = spawn(wiring.with_agents(None).deps);
    let mut run = Run {
        handle,
        events,
        printer: Printer::new(output),
        approvals,
        turn: SubmissionId(uuid::Uuid::new_v4().to_string()),
        started: false,
        interrupted: false,
        terminated: false,
        submissions: 0,
    };
    run.open(configure, &mut stop).await?;
    let images = images
        .into_iter()
        .map(|path| UserInput::LocalImage { path, detail: None });
    run.submit_turn(Op::UserTurn {
        items: images.chain([UserInput::text(prompt)]).collect(),
        overrides: TurnOverrides::default(),
        final_output_json_schema: output_schema,
        last_response_id: None,
    })
    .await?;
    let end = run.follow(&mut stop).await?;
    if let TurnEnd::Killed = end {
        return Ok(Exit::Killed);
    }
    let terminated = run.terminated;
    let printed = run.close(&mut stop).await?;
    printed?;
    if terminated {
        return Ok(Exit::Terminated);
    }
    match end {
        TurnEnd::Completed { message } => {
            if let Some(path) = last_message_file {
                write_last_message(&path, message.as_deref())?;
            }
            Ok(Exit::Success)
        }
        TurnEnd::Aborted => Ok(Exit::Failed),
        TurnEnd::Killed => Ok(Exit::Killed),
    }
}

/// A session with the one turn that it is here for.
struct Run {
    handle: SessionHandle,
    events: EventStream,
    printer: Printer,
    approvals: HeadlessApprovals,
    turn: SubmissionId,
    started: bool,
    interrupted: bool,
    terminated: bool,
    submissions: u64,
}

enum TurnEnd {
    Completed {
        message: Option<String>,
    },
    Aborted,
    /// Somebody asked twice.
    Killed,
}

impl Run {
    /// Configures the session; what comes before that is done is shown too.
    async fn open(
        &mut self,
        configure: ConfigureSession,
        stop: &mut StopRequests,
    ) -> Result<(), Failure> {
        self.submit(Op::ConfigureSession(configure)).await?;
        loop {
            let event = tokio::select! {
                event = self.events.next() => event.ok_or_else(ended_early)?,
                _ = stop.next() => return Err(Failure::failed(anyhow::Error::msg("interrupted"))),
            };
            if let EventMsg::Error(error) = &event.msg {
                // A person reads it once, as the reason why the program ends.
                self.printer.show_to_programs(&event).await;
                let error = anyhow::Error::msg(error.message.clone());
                return Err(Failure::not_started(error));
            }
            self.printer.show(&event).await;
            if let EventMsg::SessionConfigured(_) = &event.msg {
                return Ok(());
            }
        }
    }

    async fn submit_turn(&mut self, op: Op) -> Result<(), Failure> {
        let id = self.turn.clone();
        self.send(Submission { id, op }).await
    }

    /// Shows events until the turn is over.
    async fn follow(&mut self, stop: &mut StopRequests) -> Result<TurnEnd, Failure> {
        loop {
            tokio::select! {
                // Pieces of text come by the thousand; a signal can wait for one of them.
                biased;
                event = self.events.next() => {
                    let event = event.ok_or_else(ended_early)?;
                    self.printer.show(&event).await;
                    self.answer(&event.msg).await?;
                    if let Some(end) = self.turn_end(&event) {
                        return Ok(end);
                    }
                    // Nobody reads any more: there is no sense in going on.
                    if self.printer.is_broken() {
                        self.interrupt().await?;
                    }
                }
                request = stop.next() => {
                    if self.interrupted {
                        return Ok(TurnEnd::Killed);
                    }
                    if request == StopRequest::Terminate {
                        self.terminated = true;
                        self.printer.give_up_on_programs();
                    }
                    self.interrupt().await?;
                }
            }
        }
    }

    async fn interrupt(&mut self) -> Result<(), Failure> {
        if self.interrupted {
            return Ok(());
        }
        self.interrupted = true;
        self.submit(Op::Interrupt).await
    }

    fn turn_end(&mut self, event: &Event) -> Option<TurnEnd> {
        match &event.msg {
            EventMsg::TurnStarted(started) if started.turn_id == self.turn => {
                self.started = true;
                None
            }
            // A turn that is refused never starts, so it has no other end.
            EventMsg::Error(_) if !self.started && event.id == self.turn => Some(TurnEnd::Aborted),
            EventMsg::TurnComplete(complete) if complete.turn_id == self.turn => {
                Some(TurnEnd::Completed {
                    message: complete.last_agent_message.clone(),
                })
            }
            EventMsg::TurnAborted(aborted) if aborted.turn_id == self.turn => {
                Some(TurnEnd::Aborted)
            }
            _ => None,
        }
    }

    /// Answers questions: nobody is there, so the configuration speaks.
    async fn answer(&mut self, msg: &EventMsg) -> Result<(), Failure> {
        let decision = match self.approvals {
            HeadlessApprovals::Refuse => ReviewDecision::Denied,
            HeadlessApprovals::Approve => ReviewDecision::Approved,
        };
        let op = match msg {
            EventMsg::ExecApprovalRequest(request) => Op::ExecApproval {
                id: request.call_id.0.clone(),
                decision,
            },
            EventMsg::ApplyPatchApprovalRequest(request) => Op::PatchApproval {
                id: request.call_id.0.clone(),
                decision,
            },
            EventMsg::RequestUserInput(request) => Op::UserInputAnswer {
                id: request.call_id.0.clone(),
                response: UserInputResponse::default(),
            },
            EventMsg::ElicitationRequest {
                server_name, id, ..
            } => Op::ResolveElicitation {
                server_name: server_name.clone(),
                request_id: id.clone(),
                decision: ElicitationDecision::Cancel,
                content: None,
            },
            _ => return Ok(()),
        };
        self.submit(op).await
    }

    /// Ends the session and waits until everything is on disk. Returns whether everything
    /// could be printed.
    async fn close(mut self, stop: &mut StopRequests) -> Result<io::Result<()>, Failure> {
        self.submit(Op::Shutdown).await?;
        loop {
            tokio::select! {
                event = self.events.next() => match event {
                    Some(event) => self.printer.show(&event).await,
                    None => return Ok(self.printer.finish()),
                },
                _ = stop.next() => return Ok(self.printer.finish()),
            }
        }
    }

    async fn submit(&mut self, op: Op) -> Result<(), Failure> {
        self.submissions += 1;
        let id = SubmissionId(format!("exec-{}", self.submissions));
        self.send(Submission { id, op }).await
    }

    async fn send(&self, submission: Submission) -> Result<(), Failure> {
        self.handle
            .submit(submission)
            .await
            .map_err(Failure::failed)
    }
}

fn ended_early() -> Failure {
    Failure::failed(anyhow::Error::msg("the session ended before its task did"))
}

/// One screen for somebody who has not configured anything yet.
fn no_model(trouble: ModelTrouble) -> Failure {
    match trouble {
        ModelTrouble::Connect(ConnectError::KeyMissing { .. }) => Failure::not_started(
            anyhow::Error::msg(format!("{trouble}\n\n{HOW_TO_CONFIGURE}")),
        ),
        other => Failure::not_started(other),
    }
}

fn write_last_message(path: &Path, message: Option<&str>) -> Result<(), Failure> {
    if message.is_none() {
        tell(&format!(
            "warning: the task ended without a message; {} is empty",
            path.display()
        ));
    }
    std::fs::write(path, message.unwrap_or_default())
        .with_context(|| format!("cannot write {}", path.display()))
        .map_err(Failure::failed)
}
