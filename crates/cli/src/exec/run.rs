//! Drives one session, and the tree below it, through one task.
//!
//! ```text
//! open ─► begin ─► follow ──────────────────────────────► close ─► exit code
//!                    │ events: show, answer, keep score      ▲
//!                    │ the task is over: settle the children │
//!                    └ nothing runs in the tree any more ────┘
//! ```

mod person;

use std::io;
use std::num::NonZeroU32;
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use troupe_agents::tree_access::GO_ON;
use troupe_agents::{AgentsConfigurator, TreeHandle};
use troupe_engine::{
    AnswerCheck, Completion, EventStream, SessionClock, SessionHandle, TaskTerms, spawn,
};
use troupe_model::ConnectError;
use troupe_protocol::approval::ReviewDecision;
use troupe_protocol::error::ErrorInfo;
use troupe_protocol::input::UserInput;
use troupe_protocol::op::{ConfigureSession, ReviewRequest};
use troupe_protocol::policy::{CollaborationMode, SandboxMode};
use troupe_protocol::session::{SessionSource, TurnOverrides};
use troupe_protocol::{Event, EventMsg, Op, SessionId, Submission, SubmissionId};
use troupe_server::TreeSource;
use troupe_server::headless::{HeadlessApprover, HeadlessReaction};

use crate::attach::{AttachPoint, offer_later};
use crate::commands::tell;
use crate::control;
use crate::exec::approval_required::approval_required_message;
use crate::exec::changes::{self, ReviewableChanges};
use crate::exec::missing_creation::missing_creation_event;
use crate::exec::no_model::HOW_TO_CONFIGURE;
use crate::exec::pending_approval::pending_approval_hint;
use crate::exec::print::EventPrinter;
use crate::exec::refusal::{TurnLimits, refusal_message};
use crate::exec::report::{RunReport, RunStop, TaskEnd};
use crate::exec::request::{ExecRequest, ExecTask, ReviewForm};
use crate::exec::resume_stopped::{EarlierRun, LastEnd, revive_children};
use crate::exec::roster::AgentRoster;
use crate::exec::shape::AnswerShape;
use crate::exec::signals::{ExitSignal, ExitSignals};
use crate::exec::stopped_agents::stopped_agents_notice;
use crate::exec::target::configure_session;
use crate::exec::unfinished_children::{UnfinishedChildren, cancel_all};
use crate::failure::{CommandExit, CommandFailure, Outcome};
use crate::provider::ModelSetupError;
use crate::wiring::{RootDeps, Wiring};
use person::{TerminalPerson, typed};

/// Runs a request to its end.
pub async fn run(request: ExecRequest) -> Outcome {
    let ExecRequest {
        source,
        cwd,
        add_dirs,
        continues,
        mut task,
        output,
        last_message_file,
        turns_max,
        ephemeral,
        cassette,
        children,
        children_must_succeed,
        recovery,
    } = request;
    if let ExecTask::Review { target, form } = &task
        && changes::look(source.home.path(), &cwd, target).await? == ReviewableChanges::None
    {
        let report = RunReport {
            cwd,
            review: Some(*form),
            last_message_file,
            children_must_succeed,
        };
        let end = TaskEnd::Reviewed(Some(changes::no_changes()));
        return report.exit(Some(end), RunStop::No, &AgentRoster::default());
    }
    let goes_on = matches!(task, ExecTask::GoOn { .. });
    let home = source.home.clone();
    let wiring = Wiring::new(source, &cwd, SessionSource::Exec)?
        .with_add_dirs(add_dirs.clone())
        .with_cassette(cassette);
    let wiring = Arc::new(wiring);
    let configure = configure_session(&wiring, &cwd, continues, ephemeral).await?;
    if let Err(trouble) = wiring.check_model(&configure) {
        return Err(no_model(trouble));
    }
    if !add_dirs.is_empty() && wiring.here().settings.rights.sandbox_mode == SandboxMode::ReadOnly {
        tell(
            "warning: --add-dir does nothing where commands may not write; add -s workspace-write",
        );
    }
    fill_server_prompt(&wiring, &cwd, &mut task).await?;
    let earlier = match configure.resume {
        Some(session) if goes_on => EarlierRun::of(wiring.store()?.as_ref(), session).await?,
        Some(_) | None => EarlierRun::none(),
    };
    let rights = &wiring.here().settings.rights;
    let is_read_only = rights.sandbox_mode == SandboxMode::ReadOnly;
    let standin = HeadlessApprover::new(rights.headless());
    let person = TerminalPerson::at_terminal(output).filter(|_| rights.asks_at_terminal());

    let mut stop = ExitSignals::listen().map_err(CommandFailure::not_started)?;
    let RootDeps {
        mut deps,
        configurator,
    } = wiring.with_agents(recovery);
    deps.terms = TaskTerms {
        answer_check: AnswerCheck::ByEngine,
        requests_max: turns_max.map(NonZeroU32::get),
    };
    let clock = deps.clock.clone();
    let (handle, events) = spawn(deps);
    let attached_events = events.tap();
    let _control = control::serve(&configurator, home.path(), Some(events.tap()));
    let mut run = ExecRun {
        handle,
        events,
        configurator,
        printer: EventPrinter::new(output, clock.clone()),
        clock,
        standin,
        person,
        children,
        roster: AgentRoster::default(),
        task: SubmissionId(uuid::Uuid::new_v4().to_string()),
        review: None,
        turn: None,
        limits: TurnLimits {
            is_planning: false,
            is_read_only,
        },
        end: None,
        earlier,
        has_worked: false,
        stopping: RunStop::No,
        stopped_children: false,
        submissions: 0,
    };
    let session = run.open(configure, &mut stop).await?;
    let attachable = (!ephemeral).then(|| {
        let point = AttachPoint {
            session,
            handle: run.handle.clone(),
            events: attached_events,
            tree: TreeSource::Configurator(Arc::clone(&run.configurator)),
            commands: wiring,
        };
        offer_later(home.path().to_owned(), point)
    });
    run.begin(task).await?;
    if run.follow(&mut stop).await? == FollowEnd::Killed {
        return Ok(CommandExit::Killed);
    }
    if goes_on && !run.has_worked && run.stopping == RunStop::No {
        let text = stopped_agents_notice(run.configurator.agents()).await;
        run.close(&mut stop).await?.printed?;
        tell(&text);
        return Ok(CommandExit::Success);
    }
    let ended = run.close(&mut stop).await?;
    if let Some(attachable) = attachable {
        attachable.ended().await;
    }
    let report = RunReport {
        cwd,
        review: ended.review,
        last_message_file,
        children_must_succeed,
    };
    let exit = report.exit(ended.end, ended.stopping, &ended.roster)?;
    // The file is written even where standard output is not.
    ended.printed?;
    Ok(exit)
}

/// Puts the prompt of an MCP server in the place of the command that calls it.
async fn fill_server_prompt(
    wiring: &Wiring,
    cwd: &Path,
    task: &mut ExecTask,
) -> Result<(), CommandFailure> {
    let ExecTask::Prompt {
        text,
        command: Some(command),
        ..
    } = task
    else {
        return Ok(());
    };
    let filled = wiring.fill_server_prompt(cwd, command).await;
    if let Some(filled) = filled.map_err(CommandFailure::usage)? {
        for note in &filled.notes {
            tell(&format!("note: {note}"));
        }
        // What was piped in stays behind it.
        let rest = text.strip_prefix(command.as_str()).unwrap_or_default();
        *text = format!("{}{rest}", filled.text);
    }
    Ok(())
}

/// A session with what it is here for.
struct ExecRun {
    handle: SessionHandle,
    events: EventStream,
    configurator: Arc<AgentsConfigurator>,
    printer: EventPrinter,
    clock: SessionClock,
    standin: HeadlessApprover,
    /// The person at the terminal, who is asked instead of the headless approver.
    person: Option<TerminalPerson>,
    children: UnfinishedChildren,
    roster: AgentRoster,
    /// The submission that the run is about.
    task: SubmissionId,
    /// Set if it is a review, which has no turn of its own.
    review: Option<ReviewForm>,
    /// The turn that the session is in.
    turn: Option<SubmissionId>,
    limits: TurnLimits,
    /// How the session's last task ended, once ours has.
    end: Option<TaskEnd>,
    earlier: EarlierRun,
    /// Whether anybody in the tree did something.
    has_worked: bool,
    stopping: RunStop,
    /// Whether others than the first agent were stopped with the run.
    stopped_children: bool,
    submissions: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FollowEnd {
    ToTheEnd,
    /// Somebody asked twice.
    Killed,
}

/// The remains of a run that has ended.
struct EndedRun {
    end: Option<TaskEnd>,
    review: Option<ReviewForm>,
    stopping: RunStop,
    roster: AgentRoster,
    printed: io::Result<()>,
}

impl ExecRun {
    /// Configures the session; what comes before that is done is shown too.
    async fn open(
        &mut self,
        configure: ConfigureSession,
        stop: &mut ExitSignals,
    ) -> Result<SessionId, CommandFailure> {
        self.submit(Op::ConfigureSession(configure)).await?;
        loop {
            let event = tokio::select! {
                event = self.events.next() => event.ok_or_else(ended_early)?,
                _ = stop.next() => return Err(CommandFailure::failed(anyhow::Error::msg("interrupted"))),
            };
            if let EventMsg::Error(error) = &event.msg {
                // A person reads it once, as the reason why the program ends.
                self.printer.show_to_programs(&event).await;
                let error = anyhow::Error::msg(error.message.clone());
                return Err(CommandFailure::not_started(error));
            }
            self.printer.show(&event).await;
            if let EventMsg::SessionConfigured(configured) = &event.msg {
                return Ok(configured.session_id);
            }
        }
    }

    async fn begin(&mut self, task: ExecTask) -> Result<(), CommandFailure> {
        let op = match task {
            ExecTask::Prompt {
                text,
                images,
                command: _,
                mentioned,
                shape,
            } => {
                let output_schema = shape.map(AnswerShape::into_value);
                let images = images
                    .into_iter()
                    .map(|path| UserInput::LocalImage { path, detail: None });
                let items = images.chain([UserInput::text(text)]).chain(mentioned);
                user_turn(items, output_schema)
            }
            ExecTask::GoOn { shape } => return self.resume_stopped_agents(shape).await,
            ExecTask::Compact => Op::Compact,
            ExecTask::Review { target, form } => {
                self.review = Some(form);
                let review_request = ReviewRequest {
                    target,
                    user_facing_hint: None,
                };
                Op::Review { review_request }
            }
        };
        let id = self.task.clone();
        self.send(Submission { id, op }).await
    }

    /// Has everybody go on who was stopped with the last run. The root comes first: a report of a
    /// child could begin a task, which the root's own would replace.
    async fn resume_stopped_agents(
        &mut self,
        shape: Option<AnswerShape>,
    ) -> Result<(), CommandFailure> {
        let is_roots = match self.earlier.last_end {
            LastEnd::Done => false,
            // A tree has its root go on by itself.
            LastEnd::WithEngine => !self.has_tree(),
            LastEnd::Stopped => true,
        };
        if is_roots {
            let id = self.task.clone();
            // What was asked for in a shape still is, unless another one is named now.
            let schema = shape.map(AnswerShape::into_value);
            let schema = schema.or_else(|| self.earlier.output_schema.take());
            let op = user_turn([UserInput::text(GO_ON)], schema);
            self.send(Submission { id, op }).await?;
        } else {
            self.end = Some(TaskEnd::Completed { message: None });
        }
        if let Some(agents) = self.configurator.agents()
            && let Err(trouble) = revive_children(&agents).await
        {
            let text = format!("warning: not all children go on: {trouble}");
            self.printer.print_notice(&text).await;
        }
        Ok(())
    }

    fn has_tree(&self) -> bool {
        let agents = self.configurator.agents();
        agents.is_some_and(|agents| agents.is_planted())
    }

    /// Shows events until the task is over and the tree has come to rest.
    async fn follow(&mut self, stop: &mut ExitSignals) -> Result<FollowEnd, CommandFailure> {
        let mut rest: Option<Completion> = None;
        loop {
            if rest.is_none() && self.end.is_some() {
                rest = Some(self.settle_children().await);
            }
            tokio::select! {
                // Pieces of text come by the thousand; a signal can wait for one of them.
                biased;
                event = self.events.next() => {
                    let event = event.ok_or_else(ended_early)?;
                    self.handle_event(&event).await;
                    self.answer(&event).await?;
                    if is_turn_limit(&event.msg) {
                        self.stop(RunStop::TurnLimit).await?;
                    }
                    if self.children.acts_after_each_task() && is_end_of_turn(&event.msg) {
                        rest = None;
                    }
                    // Nobody reads any more: there is no sense in going on.
                    if self.printer.is_broken() {
                        self.stop(RunStop::Interrupted).await?;
                    }
                }
                refusal = self.standin.due() => self.submit(refusal).await?,
                line = typed(&mut self.person) => self.take_line(line).await?,
                () = wait_if_any(&mut rest) => {
                    self.print_totals().await;
                    return Ok(FollowEnd::ToTheEnd);
                }
                request = stop.next() => {
                    if self.stopping != RunStop::No {
                        return Ok(FollowEnd::Killed);
                    }
                    self.stop(match request {
                        ExitSignal::Interrupt => RunStop::Interrupted,
                        ExitSignal::Terminate => RunStop::Terminated,
                    })
                    .await?;
                }
                () = self.printer.redraw_due() => self.printer.redraw().await,
            }
        }
    }

    /// Shows an event and keeps the score.
    async fn handle_event(&mut self, event: &Event) {
        if let Some(introduction) =
            missing_creation_event(&self.configurator, &self.roster, event).await
        {
            self.apply_event(&introduction).await;
        }
        self.apply_event(event).await;
    }

    async fn apply_event(&mut self, event: &Event) {
        self.printer.show(event).await;
        match &event.msg {
            EventMsg::SubagentLifecycle(change) => {
                self.roster.apply(change, self.clock.now_ms());
                // The roster is long where there are many: it is read once, not at each change.
                self.has_worked = self.has_worked || !self.roster.at_work().is_empty();
            }
            EventMsg::TurnStarted(started) => {
                self.turn = Some(started.turn_id.clone());
                let mode = started.collaboration_mode_kind;
                self.limits.is_planning = mode == CollaborationMode::Plan;
                self.has_worked = true;
            }
            EventMsg::TurnComplete(complete) => {
                let message = complete.last_agent_message.clone();
                self.turn_ended(&complete.turn_id, TaskEnd::Completed { message });
            }
            EventMsg::TurnAborted(aborted) => {
                self.turn_ended(&aborted.turn_id, TaskEnd::Aborted);
            }
            EventMsg::ExitedReviewMode { review_output } => {
                self.end = Some(TaskEnd::Reviewed(review_output.clone()));
            }
            // What is refused never starts, so it has no other end.
            EventMsg::Error(_) if event.id == self.task && self.has_not_begun() => {
                self.end = Some(TaskEnd::Aborted);
            }
            // A later task could not begin: what was said before it does not count as the end.
            EventMsg::Error(error)
                if self.turn.is_none() && error.error_info == Some(ErrorInfo::StorageFailed) =>
            {
                self.end = Some(TaskEnd::Aborted);
            }
            _ => {}
        }
    }

    fn has_not_begun(&self) -> bool {
        self.end.is_none() && self.turn.as_ref() != Some(&self.task)
    }

    /// Other turns than ours count after ours: children that are done have begun them.
    fn turn_ended(&mut self, turn: &SubmissionId, end: TaskEnd) {
        if self.turn.as_ref() != Some(turn) {
            return;
        }
        self.turn = None;
        if *turn == self.task || self.end.is_some() {
            self.end = Some(end);
        }
    }

    /// Does with the children what was asked. Returns what is over when nothing runs.
    async fn settle_children(&mut self) -> Completion {
        let Some(agents) = self.configurator.agents() else {
            return Box::pin(std::future::ready(()));
        };
        let working = self.roster.at_work().join(", ");
        if !working.is_empty() && self.stopping == RunStop::No {
            let text = match self.children {
                UnfinishedChildren::Wait => format!("waiting for {working}"),
                UnfinishedChildren::Cancel => format!("stopping {working}"),
                UnfinishedChildren::Release => {
                    format!("waiting for {working}, on which nobody will act")
                }
            };
            self.printer.print_notice(&text).await;
            if let Err(trouble) = self.children.settle(&agents).await {
                self.printer
                    .print_notice(&format!("warning: {trouble}"))
                    .await;
            }
        }
        Box::pin(async move { agents.wait_until_idle().await })
    }

    /// Says what the run used.
    async fn print_totals(&mut self) {
        let planted = self.configurator.agents().filter(TreeHandle::is_planted);
        let of_tree = match planted {
            // A tree that has ended by itself has nobody to count.
            Some(agents) => agents.user().view("root").await.ok(),
            None => None,
        };
        let of_tree = of_tree.map(|root| root.subtree_usage);
        self.printer.print_totals(of_tree).await;
    }

    /// Stops the session's task and every child's.
    async fn stop(&mut self, why: RunStop) -> Result<(), CommandFailure> {
        if self.stopping != RunStop::No {
            return Ok(());
        }
        self.stopping = why;
        if why == RunStop::Terminated {
            self.printer.give_up_on_programs();
        }
        let is_ahead = self.end.is_none() && self.review.is_none();
        // At the limit the session has stopped its task itself.
        if (self.turn.is_some() || is_ahead) && why != RunStop::TurnLimit {
            self.submit(Op::Interrupt).await?;
        }
        if let Some(agents) = self.configurator.agents().filter(TreeHandle::is_planted) {
            let working = self.roster.at_work();
            self.stopped_children = !working.is_empty();
            if !working.is_empty() {
                let how_to_hurry = match why {
                    RunStop::Interrupted | RunStop::Terminated => {
                        "; once more ends the program at once"
                    }
                    RunStop::No | RunStop::Escalated | RunStop::TurnLimit => "",
                };
                let text = format!("stopping {} too{how_to_hurry}", working.join(", "));
                self.printer.print_notice(&text).await;
            }
            if let Err(trouble) = cancel_all(&agents, why.note()).await {
                self.printer
                    .print_notice(&format!("warning: {trouble}"))
                    .await;
            }
        }
        Ok(())
    }

    /// Has questions answered: by the person at the terminal, or as the configuration says.
    async fn answer(&mut self, event: &Event) -> Result<(), CommandFailure> {
        if let Some(person) = &mut self.person {
            let is_asked = person.asker.hear(&event.msg);
            self.put_question().await;
            if is_asked {
                return Ok(());
            }
        }
        match self.standin.observe(&event.msg) {
            HeadlessReaction::Nothing => Ok(()),
            HeadlessReaction::Answer(op) => {
                if is_refusal(&op)
                    && let Some(text) = refusal_message(&event.msg, self.limits)
                {
                    self.printer.print_notice(&text).await;
                }
                self.submit(*op).await
            }
            HeadlessReaction::Open { call_id, time } => {
                let invitation = pending_approval_hint(&self.configurator, &call_id, time).await;
                self.warn(event, invitation).await;
                Ok(())
            }
            // The end of everything is the end of who asked.
            HeadlessReaction::Escalate(_) => {
                self.warn(event, approval_required_message(&event.msg))
                    .await;
                self.stop(RunStop::Escalated).await
            }
        }
    }

    /// Says something about an event, in its place.
    async fn warn(&mut self, about: &Event, message: String) {
        let msg = EventMsg::Warning { message };
        let id = about.id.clone();
        let seq = about.seq;
        self.printer.show(&Event { id, seq, msg }).await;
    }

    /// Ends the session and waits until everything is on disk.
    async fn close(mut self, stop: &mut ExitSignals) -> Result<EndedRun, CommandFailure> {
        self.submit(Op::Shutdown).await?;
        self.printer.close();
        loop {
            tokio::select! {
                event = self.events.next() => match event {
                    Some(event) => self.handle_event(&event).await,
                    None => break,
                },
                _ = stop.next() => break,
            }
        }
        if let Some(tally) = self.roster.tally() {
            self.printer.print_tally(tally).await;
        }
        // Of its own task the first agent has told it itself.
        let is_roots_done = matches!(self.end, Some(TaskEnd::Completed { .. }));
        if self.stopping == RunStop::Interrupted && self.stopped_children && is_roots_done {
            self.printer.tell_stopped().await;
        }
        Ok(EndedRun {
            end: self.end,
            review: self.review,
            stopping: self.stopping,
            roster: self.roster,
            printed: self.printer.finish().await,
        })
    }

    async fn submit(&mut self, op: Op) -> Result<(), CommandFailure> {
        self.submissions += 1;
        let id = SubmissionId(format!("exec-{}", self.submissions));
        self.send(Submission { id, op }).await
    }

    async fn send(&self, submission: Submission) -> Result<(), CommandFailure> {
        self.handle
            .submit(submission)
            .await
            .map_err(CommandFailure::failed)
    }
}

fn user_turn(items: impl IntoIterator<Item = UserInput>, output_schema: Option<Value>) -> Op {
    Op::UserTurn {
        items: items.into_iter().collect(),
        overrides: TurnOverrides::default(),
        final_output_json_schema: output_schema,
        last_response_id: None,
        client_id: None,
    }
}

/// Tells whether an answer is what is said where nobody can be asked.
fn is_refusal(op: &Op) -> bool {
    matches!(
        op,
        Op::ExecApproval {
            decision: ReviewDecision::Denied,
            ..
        } | Op::PatchApproval {
            decision: ReviewDecision::Denied,
            ..
        } | Op::UserInputAnswer { .. }
    )
}

fn is_turn_limit(msg: &EventMsg) -> bool {
    matches!(msg, EventMsg::Error(error) if error.error_info == Some(ErrorInfo::TurnLimitReached))
}

fn is_end_of_turn(msg: &EventMsg) -> bool {
    matches!(msg, EventMsg::TurnComplete(_) | EventMsg::TurnAborted(_))
}

/// Waits for something that may not have been begun.
async fn wait_if_any(rest: &mut Option<Completion>) {
    match rest {
        Some(rest) => rest.await,
        None => std::future::pending().await,
    }
}

fn ended_early() -> CommandFailure {
    CommandFailure::failed(anyhow::Error::msg("the session ended before its task did"))
}

/// One screen for somebody who has not configured anything yet.
pub fn no_model(trouble: ModelSetupError) -> CommandFailure {
    match trouble {
        ModelSetupError::Connect(ConnectError::KeyMissing { .. }) => CommandFailure::not_started(
            anyhow::Error::msg(format!("{trouble}\n\n{HOW_TO_CONFIGURE}")),
        ),
        other => CommandFailure::not_started(other),
    }
}
