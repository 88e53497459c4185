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
use std::sync::Arc;

use serde_json::Value;
use troupe_agents::{Agents, AgentsConfigurator};
use troupe_engine::{AnswerCheck, Clock, EventStream, Later, SessionHandle, TaskTerms, spawn};
use troupe_model::ConnectError;
use troupe_protocol::approval::ReviewDecision;
use troupe_protocol::error::ErrorInfo;
use troupe_protocol::input::UserInput;
use troupe_protocol::op::{ConfigureSession, ReviewRequest};
use troupe_protocol::policy::{CollaborationMode, SandboxMode};
use troupe_protocol::session::{SessionSource, TurnOverrides};
use troupe_protocol::{Event, EventMsg, Op, Submission, SubmissionId};
use troupe_server::headless::{Heard, Standin};

use crate::commands::tell;
use crate::control::{self, act::GO_ON};
use crate::exec::changes::{self, Changes};
use crate::exec::children::{Children, cancel_all};
use crate::exec::escalation::plea;
use crate::exec::going_on::{EarlierRun, LastEnd, revive_children};
use crate::exec::introduction::introduce;
use crate::exec::invitation::invite;
use crate::exec::left_over::left_over;
use crate::exec::no_model::HOW_TO_CONFIGURE;
use crate::exec::print::Printer;
use crate::exec::refusal::{TurnLimits, refused};
use crate::exec::report::{Report, Stopping, TaskEnd};
use crate::exec::request::{Request, ReviewForm, Task};
use crate::exec::roster::Roster;
use crate::exec::shape::Shape;
use crate::exec::signals::{StopRequest, StopRequests};
use crate::exec::target::configure_session;
use crate::failure::{Exit, Failure, Outcome};
use crate::provider::ModelTrouble;
use crate::wiring::{Grove, Wiring};
use person::{Person, typed};

/// Runs a request to its end.
pub async fn run(request: Request) -> Outcome {
    let Request {
        source,
        cwd,
        add_dirs,
        continues,
        task,
        output,
        last_message_file,
        turns_max,
        ephemeral,
        cassette,
        children,
        children_must_succeed,
        recovery,
    } = request;
    if let Task::Review { target, form } = &task
        && changes::look(source.home.path(), &cwd, target).await? == Changes::None
    {
        let report = Report {
            cwd,
            review: Some(*form),
            last_message_file,
            children_must_succeed,
        };
        let end = TaskEnd::Reviewed(Some(changes::no_changes()));
        return report.exit(Some(end), Stopping::No, &Roster::default());
    }
    let goes_on = matches!(task, Task::GoOn { .. });
    let home = source.home.clone();
    let wiring = Wiring::new(source, &cwd, SessionSource::Exec)?
        .with_add_dirs(add_dirs.clone())
        .with_cassette(cassette);
    let configure = configure_session(&wiring, &cwd, continues, ephemeral).await?;
    if let Err(trouble) = wiring.check_model(&configure) {
        return Err(no_model(trouble));
    }
    if !add_dirs.is_empty() && wiring.here().settings.rights.sandbox_mode == SandboxMode::ReadOnly {
        tell(
            "warning: --add-dir does nothing where commands may not write; add -s workspace-write",
        );
    }
    let earlier = match configure.resume {
        Some(session) if goes_on => EarlierRun::of(wiring.store()?.as_ref(), session).await?,
        Some(_) | None => EarlierRun::none(),
    };
    let rights = &wiring.here().settings.rights;
    let is_read_only = rights.sandbox_mode == SandboxMode::ReadOnly;
    let standin = Standin::new(rights.headless());
    let person = Person::at_terminal(output).filter(|_| rights.asks_at_terminal());

    let mut stop = StopRequests::listen().map_err(Failure::not_started)?;
    let Grove {
        mut deps,
        configurator,
    } = wiring.with_agents(recovery);
    deps.terms = TaskTerms {
        answer_check: AnswerCheck::ByEngine,
        requests_max: turns_max.map(NonZeroU32::get),
    };
    let clock = deps.clock.clone();
    let (handle, events) = spawn(deps);
    let _control = control::serve(&configurator, home.path(), Some(events.tap()));
    let mut run = Run {
        handle,
        events,
        configurator,
        printer: Printer::new(output, clock.clone()),
        clock,
        standin,
        person,
        children,
        roster: Roster::default(),
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
        stopping: Stopping::No,
        stopped_children: false,
        submissions: 0,
    };
    run.open(configure, &mut stop).await?;
    run.begin(task).await?;
    if run.follow(&mut stop).await? == Followed::Killed {
        return Ok(Exit::Killed);
    }
    if goes_on && !run.has_worked && run.stopping == Stopping::No {
        let text = left_over(run.configurator.agents()).await;
        run.close(&mut stop).await?.printed?;
        tell(&text);
        return Ok(Exit::Success);
    }
    let ended = run.close(&mut stop).await?;
    let report = Report {
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

/// A session with what it is here for.
struct Run {
    handle: SessionHandle,
    events: EventStream,
    configurator: Arc<AgentsConfigurator>,
    printer: Printer,
    clock: Clock,
    standin: Standin,
    /// The person at the terminal, who is asked instead of the headless approver.
    person: Option<Person>,
    children: Children,
    roster: Roster,
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
    stopping: Stopping,
    /// Whether others than the first agent were stopped with the run.
    stopped_children: bool,
    submissions: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Followed {
    ToTheEnd,
    /// Somebody asked twice.
    Killed,
}

/// The remains of a run that has ended.
struct Ended {
    end: Option<TaskEnd>,
    review: Option<ReviewForm>,
    stopping: Stopping,
    roster: Roster,
    printed: io::Result<()>,
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

    async fn begin(&mut self, task: Task) -> Result<(), Failure> {
        let op = match task {
            Task::Prompt {
                text,
                images,
                mentioned,
                shape,
            } => {
                let output_schema = shape.map(Shape::into_value);
                let images = images
                    .into_iter()
                    .map(|path| UserInput::LocalImage { path, detail: None });
                let items = images.chain([UserInput::text(text)]).chain(mentioned);
                user_turn(items, output_schema)
            }
            Task::GoOn { shape } => return self.go_on(shape).await,
            Task::Compact => Op::Compact,
            Task::Review { target, form } => {
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
    async fn go_on(&mut self, shape: Option<Shape>) -> Result<(), Failure> {
        let is_roots = match self.earlier.last_end {
            LastEnd::Done => false,
            // A tree has its root go on by itself.
            LastEnd::WithEngine => !self.has_tree(),
            LastEnd::Stopped => true,
        };
        if is_roots {
            let id = self.task.clone();
            // What was asked for in a shape still is, unless another one is named now.
            let schema = shape.map(Shape::into_value);
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
            self.printer.tell_people(&text).await;
        }
        Ok(())
    }

    fn has_tree(&self) -> bool {
        let agents = self.configurator.agents();
        agents.is_some_and(|agents| agents.is_planted())
    }

    /// Shows events until the task is over and the tree has come to rest.
    async fn follow(&mut self, stop: &mut StopRequests) -> Result<Followed, Failure> {
        let mut rest: Option<Later> = None;
        loop {
            if rest.is_none() && self.end.is_some() {
                rest = Some(self.come_to_rest().await);
            }
            tokio::select! {
                // Pieces of text come by the thousand; a signal can wait for one of them.
                biased;
                event = self.events.next() => {
                    let event = event.ok_or_else(ended_early)?;
                    self.take(&event).await;
                    self.answer(&event).await?;
                    if is_turn_limit(&event.msg) {
                        self.stop(Stopping::TurnLimit).await?;
                    }
                    if self.children.is_settled_by_deeds() && is_end_of_turn(&event.msg) {
                        rest = None;
                    }
                    // Nobody reads any more: there is no sense in going on.
                    if self.printer.is_broken() {
                        self.stop(Stopping::Interrupted).await?;
                    }
                }
                refusal = self.standin.due() => self.submit(refusal).await?,
                line = typed(&mut self.person) => self.take_line(line).await?,
                () = later(&mut rest) => {
                    self.tell_total().await;
                    return Ok(Followed::ToTheEnd);
                }
                request = stop.next() => {
                    if self.stopping != Stopping::No {
                        return Ok(Followed::Killed);
                    }
                    self.stop(match request {
                        StopRequest::Interrupt => Stopping::Interrupted,
                        StopRequest::Terminate => Stopping::Terminated,
                    })
                    .await?;
                }
                () = self.printer.redraw_due() => self.printer.redraw().await,
            }
        }
    }

    /// Shows an event and keeps the score.
    async fn take(&mut self, event: &Event) {
        if let Some(introduction) = introduce(&self.configurator, &self.roster, event).await {
            self.take_in(&introduction).await;
        }
        self.take_in(event).await;
    }

    async fn take_in(&mut self, event: &Event) {
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
    async fn come_to_rest(&mut self) -> Later {
        let Some(agents) = self.configurator.agents() else {
            return Box::pin(std::future::ready(()));
        };
        let working = self.roster.at_work().join(", ");
        if !working.is_empty() && self.stopping == Stopping::No {
            let text = match self.children {
                Children::Wait => format!("waiting for {working}"),
                Children::Cancel => format!("stopping {working}"),
                Children::Release => format!("waiting for {working}, on which nobody will act"),
            };
            self.printer.tell_people(&text).await;
            if let Err(trouble) = self.children.settle(&agents).await {
                self.printer
                    .tell_people(&format!("warning: {trouble}"))
                    .await;
            }
        }
        Box::pin(async move { agents.quiet().await })
    }

    /// Says what the run used.
    async fn tell_total(&mut self) {
        let planted = self.configurator.agents().filter(Agents::is_planted);
        let of_tree = match planted {
            // A tree that has ended by itself has nobody to count.
            Some(agents) => agents.user().view("root").await.ok(),
            None => None,
        };
        let of_tree = of_tree.map(|root| root.subtree_usage);
        self.printer.tell_totals(of_tree).await;
    }

    /// Stops the session's task and every child's.
    async fn stop(&mut self, why: Stopping) -> Result<(), Failure> {
        if self.stopping != Stopping::No {
            return Ok(());
        }
        self.stopping = why;
        if why == Stopping::Terminated {
            self.printer.give_up_on_programs();
        }
        let is_ahead = self.end.is_none() && self.review.is_none();
        // At the limit the session has stopped its task itself.
        if (self.turn.is_some() || is_ahead) && why != Stopping::TurnLimit {
            self.submit(Op::Interrupt).await?;
        }
        if let Some(agents) = self.configurator.agents().filter(Agents::is_planted) {
            let working = self.roster.at_work();
            self.stopped_children = !working.is_empty();
            if !working.is_empty() {
                let how_to_hurry = match why {
                    Stopping::Interrupted | Stopping::Terminated => {
                        "; once more ends the program at once"
                    }
                    Stopping::No | Stopping::Escalated | Stopping::TurnLimit => "",
                };
                let text = format!("stopping {} too{how_to_hurry}", working.join(", "));
                self.printer.tell_people(&text).await;
            }
            if let Err(trouble) = cancel_all(&agents, why.note()).await {
                self.printer
                    .tell_people(&format!("warning: {trouble}"))
                    .await;
            }
        }
        Ok(())
    }

    /// Has questions answered: by the person at the terminal, or as the configuration says.
    async fn answer(&mut self, event: &Event) -> Result<(), Failure> {
        if let Some(person) = &mut self.person {
            let is_asked = person.asker.hear(&event.msg);
            self.put_question().await;
            if is_asked {
                return Ok(());
            }
        }
        match self.standin.hear(&event.msg) {
            Heard::Nothing => Ok(()),
            Heard::Answer(op) => {
                if is_refusal(&op)
                    && let Some(text) = refused(&event.msg, self.limits)
                {
                    self.printer.tell_people(&text).await;
                }
                self.submit(*op).await
            }
            Heard::Open { call_id, time } => {
                let invitation = invite(&self.configurator, &call_id, time).await;
                self.warn(event, invitation).await;
                Ok(())
            }
            // The end of everything is the end of who asked.
            Heard::Escalate(_) => {
                self.warn(event, plea(&event.msg)).await;
                self.stop(Stopping::Escalated).await
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
    async fn close(mut self, stop: &mut StopRequests) -> Result<Ended, Failure> {
        self.submit(Op::Shutdown).await?;
        self.printer.close();
        loop {
            tokio::select! {
                event = self.events.next() => match event {
                    Some(event) => self.take(&event).await,
                    None => break,
                },
                _ = stop.next() => break,
            }
        }
        if let Some(tally) = self.roster.tally() {
            self.printer.tell_tally(tally).await;
        }
        // Of its own task the first agent has told it itself.
        let is_roots_done = matches!(self.end, Some(TaskEnd::Completed { .. }));
        if self.stopping == Stopping::Interrupted && self.stopped_children && is_roots_done {
            self.printer.tell_stopped().await;
        }
        Ok(Ended {
            end: self.end,
            review: self.review,
            stopping: self.stopping,
            roster: self.roster,
            printed: self.printer.finish().await,
        })
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
async fn later(rest: &mut Option<Later>) {
    match rest {
        Some(rest) => rest.await,
        None => std::future::pending().await,
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
