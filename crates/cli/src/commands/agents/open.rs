//! A stored tree that this program runs for a while.

use std::io;
use std::sync::Arc;

use anyhow::anyhow;
use troupe_agents::{Agents, AgentsConfigurator, Recovery};
use troupe_engine::{Clock, EventStream, SessionHandle, spawn};
use troupe_protocol::op::ConfigureSession;
use troupe_protocol::session::{SessionSource, TurnOverrides};
use troupe_protocol::{Event, EventMsg, Op, Submission, SubmissionId};
use troupe_server::headless::{Heard, Standin};

use super::Site;
use super::chronicle::Chronicle;
use crate::control::act::act;
use crate::control::{self, Answer, Request};
use crate::exec::escalation::plea;
use crate::exec::introduction::introduce;
use crate::exec::invitation::invite;
use crate::exec::print::Printer;
use crate::exec::request::Output;
use crate::exec::roster::Roster;
use crate::exec::signals::StopRequests;
use crate::failure::Failure;
use crate::layers::ConfigSource;
use crate::style::{ColorChoice, Style};
use crate::wiring::{Grove, Wiring};

pub struct OpenTree {
    handle: SessionHandle,
    events: EventStream,
    configurator: Arc<AgentsConfigurator>,
    agents: Agents,
    roster: Roster,
    clock: Clock,
    printer: Printer,
    standin: Standin,
    submissions: u64,
    /// While it runs here, others may act in it too.
    _control: control::Guard,
}

impl OpenTree {
    /// Takes the root's lease and brings the tree back as it was: those who were at work
    /// stay interrupted.
    pub async fn open(site: Site, tree: &Chronicle) -> Result<Self, Failure> {
        let Site {
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
        let standin = Standin::new(wiring.here().settings.rights.headless());
        let Grove { deps, configurator } = wiring.with_agents(Some(Recovery::Leave));
        let style = Style::choose(ColorChoice::Auto, &io::stderr());
        let clock = deps.clock.clone();
        let printer = Printer::new(Output::Human(style), clock.clone());
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
            roster: Roster::default(),
            clock,
            printer,
            standin,
            submissions: 0,
            _control: control,
        })
    }

    pub async fn act(&mut self, request: Request) -> Answer {
        act(&self.agents.user(), request).await
    }

    /// Shows what happens until nothing runs any more, or somebody wants to end it. What
    /// runs then is interrupted, and can be resumed.
    pub async fn stay(&mut self) -> Result<(), Failure> {
        let mut stop = StopRequests::listen().map_err(Failure::failed)?;
        let agents = self.agents.clone();
        let mut quiet = std::pin::pin!(agents.quiet());
        loop {
            tokio::select! {
                biased;
                event = self.events.next() => {
                    let event = event.ok_or_else(ended)?;
                    self.show(&event).await;
                    match self.standin.hear(&event.msg) {
                        Heard::Nothing => {}
                        Heard::Answer(op) => self.submit(*op).await?,
                        Heard::Open { call_id, time } => {
                            let invitation = invite(&self.configurator, &call_id, time).await;
                            self.printer.tell_people(&invitation).await;
                        }
                        // Closing the tree ends who asked, with everybody else.
                        Heard::Escalate(_) => {
                            return Err(Failure::approval_needed(plea(&event.msg)));
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
        let introduction = introduce(&self.configurator, &self.roster, event).await;
        for event in introduction.iter().chain([event]) {
            if let EventMsg::SubagentLifecycle(change) = &event.msg {
                self.roster.apply(change, self.clock.now_ms());
            }
            self.printer.show(event).await;
        }
    }

    /// Ends the session and returns when everything is on disk.
    pub async fn close(mut self) -> Result<(), Failure> {
        self.submit(Op::Shutdown).await?;
        while self.events.next().await.is_some() {}
        self.printer.finish().await.map_err(Failure::from)
    }

    async fn submit(&mut self, op: Op) -> Result<(), Failure> {
        self.submissions += 1;
        submit(&self.handle, self.submissions, op).await
    }
}

async fn submit(handle: &SessionHandle, number: u64, op: Op) -> Result<(), Failure> {
    let id = SubmissionId(format!("agents-{number}"));
    let submission = Submission { id, op };
    handle.submit(submission).await.map_err(Failure::failed)
}

async fn configured(events: &mut EventStream) -> Result<(), Failure> {
    while let Some(event) = events.next().await {
        match &event.msg {
            EventMsg::SessionConfigured(_) => return Ok(()),
            EventMsg::Error(error) => {
                return Err(Failure::not_started(anyhow!(error.message.clone())));
            }
            _ => {}
        }
    }
    Err(ended())
}

fn ended() -> Failure {
    Failure::failed(anyhow!("the session ended before anything could be done"))
}
