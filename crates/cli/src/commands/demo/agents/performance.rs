//! Runs the demo's tree: shows it, answers its questions, and sees how it ends.

use std::collections::VecDeque;
use std::io;
use std::path::Path;
use std::sync::Arc;

use anyhow::anyhow;
use tokio::sync::mpsc::{self, UnboundedReceiver};
use troupe_agents::{AgentsConfigurator, TreeHandle};
use troupe_engine::{Completion, EventStream, SessionHandle, spawn};
use troupe_protocol::agent::{AgentCard, AgentStatus};
use troupe_protocol::approval::{ExecApprovalRequest, ReviewDecision};
use troupe_protocol::input::UserInput;
use troupe_protocol::op::ConfigureSession;
use troupe_protocol::session::{SessionSource, TurnOverrides};
use troupe_protocol::{
    AgentId, CallId, EventMsg, Op, SessionId, Submission, SubmissionId, TurnItem,
};

use super::DemoAnswerer;
use crate::commands::agents::screen::RedrawnScreen;
use crate::commands::agents::{draw, event_line};
use crate::commands::print;
use crate::control::act::act;
use crate::control::{self, ControlAnswer, ControlRequest};
use crate::exec::command_line;
use crate::exec::signals::ExitSignals;
use crate::failure::{CommandExit, CommandFailure};
use crate::layers::ConfigSource;
use crate::style::TextStyle;
use crate::wiring::{RootDeps, Wiring};

pub struct DemoRun {
    handle: SessionHandle,
    events: EventStream,
    agents: TreeHandle,
    root: SessionId,
    answers: DemoAnswerer,
    /// What a person is asked, oldest first; the tree goes on meanwhile.
    questions: VecDeque<ExecApprovalRequest>,
    /// What is typed, once somebody was asked.
    typed: Option<UnboundedReceiver<String>>,
    style: TextStyle,
    screen: RedrawnScreen,
    submissions: u64,
    /// So that the tree can be looked at from another terminal.
    _control: control::Guard,
}

/// How it went.
pub struct DemoResult {
    pub root: SessionId,
    pub exit: CommandExit,
}

impl DemoRun {
    pub async fn open(
        source: ConfigSource,
        project: &Path,
        answers: DemoAnswerer,
        style: TextStyle,
    ) -> Result<Self, CommandFailure> {
        let home = source.home.clone();
        let wiring = Wiring::new(source, project, SessionSource::Cli)?;
        let RootDeps { deps, configurator } = Arc::new(wiring).with_agents(None);
        let (handle, mut events) = spawn(deps);
        let control = control::serve(&configurator, home.path(), Some(events.tap()));
        let configure = Op::ConfigureSession(ConfigureSession::default());
        submit(&handle, 0, configure).await?;
        let root = configured(&mut events).await?;
        Ok(Self {
            handle,
            events,
            agents: tree(&configurator)?,
            root,
            answers,
            questions: VecDeque::new(),
            typed: None,
            style,
            screen: RedrawnScreen::of_stdout(),
            submissions: 0,
            _control: control,
        })
    }

    /// Gives the parent its task and stays until nobody has anything to do, or somebody has
    /// seen enough.
    pub async fn play(
        mut self,
        prompt: &str,
        stop: &mut ExitSignals,
    ) -> Result<DemoResult, CommandFailure> {
        self.submit(Op::UserTurn {
            items: vec![UserInput::text(prompt)],
            overrides: TurnOverrides::default(),
            final_output_json_schema: None,
            last_response_id: None,
            client_id: None,
        })
        .await?;
        let mut quiet: Option<Completion> = None;
        let mut is_completed = false;
        loop {
            tokio::select! {
                biased;
                event = self.events.next() => {
                    let event = event.ok_or_else(ended)?;
                    self.show(&event.msg).await?;
                    match &event.msg {
                        EventMsg::ExecApprovalRequest(request) => self.asked(request).await?,
                        EventMsg::ApprovalResolved { call_id, .. } => {
                            self.questions.retain(|asked| asked.call_id != *call_id);
                        }
                        EventMsg::TurnComplete(_) => is_completed = true,
                        EventMsg::TurnAborted(_) => is_completed = false,
                        _ => {}
                    }
                    let is_over = matches!(
                        event.msg,
                        EventMsg::TurnComplete(_) | EventMsg::TurnAborted(_)
                    );
                    if is_over && quiet.is_none() {
                        let agents = self.agents.clone();
                        quiet = Some(Box::pin(async move { agents.wait_until_idle().await }));
                    }
                }
                line = next_line(&mut self.typed), if !self.questions.is_empty() => {
                    self.answer(&line).await?;
                }
                () = later(&mut quiet) => break,
                _ = stop.next() => {
                    self.close().await?;
                    let (root, exit) = (self.root, CommandExit::Killed);
                    return Ok(DemoResult { root, exit });
                }
            }
        }
        let rows = self.rows().await;
        self.draw(&rows, "")?;
        self.close().await?;
        let is_done = |row: &AgentCard| matches!(row.status, AgentStatus::Completed(_));
        let all_done = is_completed && rows.len() > 1 && rows.iter().all(is_done);
        Ok(DemoResult {
            root: self.root,
            exit: if all_done {
                CommandExit::Success
            } else {
                CommandExit::Failed
            },
        })
    }

    /// Tells what happened and draws the tree anew.
    async fn show(&mut self, msg: &EventMsg) -> Result<(), CommandFailure> {
        let is_drawn = self.screen.is_redrawn();
        let line = match msg {
            // Where the tree is drawn again and again, it shows these itself.
            EventMsg::SubagentLifecycle(_) | EventMsg::AgentInbox(_) if is_drawn => String::new(),
            EventMsg::ItemCompleted {
                item: TurnItem::UserMessage(item),
                ..
            } if item.metadata.is_none() => return Ok(()),
            // Told by the child that it makes, and by the answer.
            EventMsg::ItemCompleted {
                item: TurnItem::ToolCall(item),
                ..
            } if item.tool == "spawn_agent" => return Ok(()),
            EventMsg::ExecApprovalRequest(_)
            | EventMsg::ApprovalResolved { .. }
            | EventMsg::TurnStarted(_)
            | EventMsg::TurnComplete(_) => return Ok(()),
            msg => match event_line::of(msg, self.style) {
                Some(line) => line + "\n",
                None => return Ok(()),
            },
        };
        if is_drawn {
            let rows = self.rows().await;
            self.draw(&rows, &line)
        } else {
            print(&line).map_err(CommandFailure::from)
        }
    }

    async fn rows(&self) -> Vec<AgentCard> {
        if !self.agents.is_planted() {
            return Vec::new();
        }
        match act(&self.agents.user(), ControlRequest::Look).await {
            ControlAnswer::Agents { agents } => agents,
            _ => Vec::new(),
        }
    }

    /// Puts a line above the tree.
    fn draw(&mut self, rows: &[AgentCard], line: &str) -> Result<(), CommandFailure> {
        let now = jiff::Timestamp::now().as_millisecond();
        let prompt = self.questions.front().map(prompt).unwrap_or_default();
        // What stays above is written with it, and the cursor stands below.
        let others = line.lines().count() + prompt.lines().count() + 2;
        let room = draw::DrawingSize::of_stdout(&self.screen, others);
        let tree = draw::tree(rows, AgentId::ROOT, now, self.style, room);
        self.screen.show_below(line, &format!("\n{tree}{prompt}"))?;
        Ok(())
    }

    async fn asked(&mut self, request: &ExecApprovalRequest) -> Result<(), CommandFailure> {
        match self.answers {
            DemoAnswerer::Demo => {
                let question = question(request);
                print(&format!("{question}\n  approved by the demo\n"))?;
                self.screen.keep();
                self.decide(request.call_id.clone(), ReviewDecision::Approved)
                    .await
            }
            DemoAnswerer::User => {
                self.typed.get_or_insert_with(read_lines);
                self.questions.push_back(request.clone());
                self.show_question().await
            }
        }
    }

    /// Takes what a person has typed for the answer to the oldest question.
    async fn answer(&mut self, line: &str) -> Result<(), CommandFailure> {
        self.screen.keep();
        let Some(request) = self.questions.pop_front() else {
            return Ok(());
        };
        let decision = match line.trim().to_ascii_lowercase().as_str() {
            "y" | "yes" => ReviewDecision::Approved,
            _ => ReviewDecision::Denied,
        };
        self.decide(request.call_id, decision).await?;
        self.show_question().await
    }

    async fn show_question(&mut self) -> Result<(), CommandFailure> {
        if self.screen.is_redrawn() {
            let rows = self.rows().await;
            return self.draw(&rows, "");
        }
        match self.questions.front() {
            Some(asked) => print(&prompt(asked)).map_err(CommandFailure::from),
            None => Ok(()),
        }
    }

    async fn decide(
        &mut self,
        call: CallId,
        decision: ReviewDecision,
    ) -> Result<(), CommandFailure> {
        let id = call.0;
        self.submit(Op::ExecApproval { id, decision }).await
    }

    async fn close(&mut self) -> Result<(), CommandFailure> {
        self.submit(Op::Shutdown).await?;
        while self.events.next().await.is_some() {}
        Ok(())
    }

    async fn submit(&mut self, op: Op) -> Result<(), CommandFailure> {
        self.submissions += 1;
        submit(&self.handle, self.submissions, op).await
    }
}

async fn submit(handle: &SessionHandle, number: u64, op: Op) -> Result<(), CommandFailure> {
    let id = SubmissionId(format!("demo-{number}"));
    let submission = Submission { id, op };
    handle
        .submit(submission)
        .await
        .map_err(CommandFailure::failed)
}

async fn configured(events: &mut EventStream) -> Result<SessionId, CommandFailure> {
    while let Some(event) = events.next().await {
        match &event.msg {
            EventMsg::SessionConfigured(session) => return Ok(session.session_id),
            EventMsg::Error(error) => {
                return Err(CommandFailure::not_started(anyhow!(error.message.clone())));
            }
            _ => {}
        }
    }
    Err(ended())
}

fn tree(configurator: &AgentsConfigurator) -> Result<TreeHandle, CommandFailure> {
    configurator.agents().ok_or_else(ended)
}

/// Waits for something that may not have been begun.
async fn later(rest: &mut Option<Completion>) {
    match rest {
        Some(rest) => rest.await,
        None => std::future::pending().await,
    }
}

fn question(request: &ExecApprovalRequest) -> String {
    let who = request.agent.as_ref().map_or("/root", |agent| &agent.path);
    let command = command_line::shown(&request.command);
    let reason = request.reason.as_deref().unwrap_or("May it run?");
    format!("{who} asks to run `{command}`: {reason}")
}

fn prompt(request: &ExecApprovalRequest) -> String {
    format!("{} [y/N]\n", question(request))
}

/// Reads what is typed. The thread ends with the program: a read of a terminal cannot be taken
/// back, and nothing may wait for it.
fn read_lines() -> UnboundedReceiver<String> {
    let (sender, lines) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        for line in io::stdin().lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    lines
}

/// Returns the next line; an empty one if nobody types any more. Safe to cancel.
async fn next_line(typed: &mut Option<UnboundedReceiver<String>>) -> String {
    match typed {
        Some(typed) => typed.recv().await.unwrap_or_default(),
        None => std::future::pending().await,
    }
}

fn ended() -> CommandFailure {
    CommandFailure::failed(anyhow!("the session ended before the play did"))
}
