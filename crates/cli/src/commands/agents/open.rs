//! A stored tree that this program runs for a while.

use std::io;
use std::sync::Arc;

use anyhow::anyhow;
use troupe_agents::{AgentsConfigurator, RecoveryPolicy, TreeHandle};
use troupe_engine::{EventStream, SessionClock, SessionHandle, spawn};
use troupe_protocol::op::ConfigureSession;
use troupe_protocol::session::{SessionSource, TurnOverrides};
use troupe_protocol::{Event, EventMsg, Op, Submission, SubmissionId};
use troupe_server::headless::{HeadlessApprover, HeadlessReaction};

use super::CommandSite;
use super::logged_tree::LoggedTree;
use crate::control::act::act;
use crate::control::{self, ControlAnswer, ControlRequest};
use crate::exec::approval_required::approval_required_message;
use crate::exec::missing_creation::missing_creation_event;
use crate::exec::pending_approval::pending_approval_hint;
use crate::exec::print::EventPrinter;
use crate::exec::request::ExecOutput;
use crate::exec::roster::AgentRoster;
use crate::exec::signals::ExitSignals;
use crate::failure::CommandFailure;
use crate::layers::ConfigSource;
use crate::style::{ColorChoice, TextStyle};
use crate::wiring::{RootDeps, Wiring};

pub struct OpenTree {
    handle: SessionHandle,
    events: EventStream,
    configurator: Arc<AgentsConfigurator>,
    agents: TreeHandle,
    roster: AgentRoster,
    clock: SessionClock,
    printer: EventPrinter,
    standin: HeadlessApprover,
    submissions: u64,
    /// While it runs here, others may act in it too.
    _control: control::Guard,
}

impl OpenTree {
    /// Takes the root's lease and brings the tree back as it was: those who were at work
    /// stay interrupted.
    pub async fn open(site: CommandSite, tree: &LoggedTree) -> Result<Self, CommandFailure> {
        let CommandSite {
            home,
            cwd,
            overrides,
            layers,
            ..
        } = site;
        // The session's own directory decides which configuration counts, if it is there.
        let cwd = if tree.meta.cwd.is_dir() {
            tree.meta.cwd.clone()
        } else {
            cwd
        };
        let source = ConfigSource {
            home: home.clone(),
            overrides,
            layers,
            flags: Vec::new(),
        };
        let wiring = Wiring::new(source, &cwd, SessionSource::Cli)?;
        // What a person says in so many words holds in a tree that is taken up too. Where its
        // sessions work, they say themselves.
        let explicit = TurnOverrides {
            cwd: None,
            ..wiring.explicit()?
        };
        let standin = HeadlessApprover::new(wiring.here().settings.rights.headless());
        let RootDeps { deps, configurator } =
            Arc::new(wiring).with_agents(Some(RecoveryPolicy::Leave));
        let style = TextStyle::choose(ColorChoice::Auto, &io::stderr());
        let clock = deps.clock.clone();
        let printer = EventPrinter::new(ExecOutput::Human(style), clock.clone());
        let (handle, mut events) = spawn(deps);
        let control = control::serve(&configurator, home.path(), Some(events.tap()));
        let configure = ConfigureSession {
            source: Some(SessionSource::Cli),
            resume: Some(tree.root),
            model_provider: Some(tree.meta.model_provider.clone()),
            overrides: explicit,
            ..ConfigureSession::default()
        };
        submit(&handle, 0, Op::ConfigureSession(configure)).await?;
        configured(&mut events).await?;
        let agents = configurator.agents().ok_or_else(ended)?;
        Ok(Self {
            handle,
            events,
            configurator,
            agents,
            roster: AgentRoster::default(),
            clock,
            printer,
            standin,
            submissions: 0,
            _control: control,
        })
    }

    pub async fn act(&mut self, request: ControlRequest) -> ControlAnswer {
        act(&self.agents.user(), request).await
    }

    /// Shows what happens until nothing runs any more, or somebody wants to end it. What
    /// runs then is interrupted, and can be resumed.
    pub async fn stay(&mut self) -> Result<(), CommandFailure> {
        let mut stop = ExitSignals::listen().map_err(CommandFailure::failed)?;
        let agents = self.agents.clone();
        let mut quiet = std::pin::pin!(agents.wait_until_idle());
        loop {
            tokio::select! {
                biased;
                event = self.events.next() => {
                    let event = event.ok_or_else(ended)?;
                    self.show(&event).await;
                    match self.standin.observe(&event.msg) {
                        HeadlessReaction::Nothing => {}
                        HeadlessReaction::Answer(op) => self.submit(*op).await?,
                        HeadlessReaction::Open { call_id, time } => {
                            let invitation = pending_approval_hint(&self.configurator, &call_id, time).await;
                            self.printer.print_notice(&invitation).await;
                        }
                        // Closing the tree ends who asked, with everybody else.
                        HeadlessReaction::Escalate(_) => {
                            return Err(CommandFailure::approval_needed(approval_required_message(&event.msg)));
                        }
                    }
                }
                refusal = self.standin.due() => self.submit(refusal).await?,
                () = &mut quiet => return Ok(()),
                _ = stop.next() => return Ok(()),
            }
        }
    }

    async fn show(&mut self, event: &Event) {
        let introduction = missing_creation_event(&self.configurator, &self.roster, event).await;
        for event in introduction.iter().chain([event]) {
            if let EventMsg::SubagentLifecycle(change) = &event.msg {
                self.roster.apply(change, self.clock.now_ms());
            }
            self.printer.show(event).await;
        }
    }

    /// Ends the session and returns when everything is on disk.
    pub async fn close(mut self) -> Result<(), CommandFailure> {
        self.submit(Op::Shutdown).await?;
        while self.events.next().await.is_some() {}
        self.printer.finish().await.map_err(CommandFailure::from)
    }

    async fn submit(&mut self, op: Op) -> Result<(), CommandFailure> {
        self.submissions += 1;
        submit(&self.handle, self.submissions, op).await
    }
}

async fn submit(handle: &SessionHandle, number: u64, op: Op) -> Result<(), CommandFailure> {
    let id = SubmissionId(format!("agents-{number}"));
    let submission = Submission { id, op };
    handle
        .submit(submission)
        .await
        .map_err(CommandFailure::failed)
}

async fn configured(events: &mut EventStream) -> Result<(), CommandFailure> {
    while let Some(event) = events.next().await {
        match &event.msg {
            EventMsg::SessionConfigured(_) => return Ok(()),
            EventMsg::Error(error) => {
                return Err(CommandFailure::not_started(anyhow!(error.message.clone())));
            }
            _ => {}
        }
    }
    Err(ended())
}

fn ended() -> CommandFailure {
    CommandFailure::failed(anyhow!("the session ended before anything could be done"))
}
