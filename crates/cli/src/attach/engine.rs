//! The engine as a process of its own: started by a screen, and left running by it.
//!
//! The screen writes one [`EngineOrder`] to its standard input. It opens the session, listens,
//! and writes the session's id as one line: from then on it is found at the session's socket. It
//! ends with its session: when a client shuts it down, or when it has nothing to do and nobody
//! has been attached for a while.

use std::io::{self, Read as _, Write as _};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use tokio::time::{Instant, sleep};
use troupe_agents::{AgentsConfigurator, RecoveryPolicy};
use troupe_engine::{EventStream, EventTap, SessionHandle, spawn};
use troupe_process::{DetachedEnd, DetachedProcess};
use troupe_protocol::op::ConfigureSession;
use troupe_protocol::session::SessionSource;
use troupe_protocol::{EventMsg, Op, SessionId};
use troupe_server::{StopSignal, TreeSource};

use super::offer::offer;
use crate::arguments::{ConfigOverrides, LayerSelection};
use crate::commands::block_on;
use crate::commands::listen_arguments::StopSignals;
use crate::control;
use crate::exec::request::SessionChoice;
use crate::exec::run::no_model;
use crate::exec::target::configure_session;
use crate::failure::{CommandExit, CommandFailure, Outcome};
use crate::home::TroupeHome;
use crate::layers::ConfigSource;
use crate::limits::{ENGINE_ALONE_MS_MAX, ENGINE_LOOK_MS};
use crate::wiring::{RootDeps, Wiring};

/// The command that a screen starts this program with.
const COMMAND: &str = "engine";

/// What session an engine is to run, and how.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct EngineOrder {
    pub home: PathBuf,
    pub cwd: PathBuf,
    /// As after `-c`.
    pub config: Vec<String>,
    pub profile: Option<String>,
    pub strict_config: bool,
    pub ignore_user_config: bool,
    pub ignore_rules: bool,
    pub add_dirs: Vec<PathBuf>,
    pub continues: SessionChoice,
    /// Whether agents go on that were at work when the session ended.
    pub go_on: bool,
    /// Whether the engine is of no use without its screen: it ends when the last client has left,
    /// whatever runs.
    #[serde(default)]
    pub ends_with_screen: bool,
}

impl EngineOrder {
    pub fn source(&self) -> ConfigSource {
        ConfigSource {
            home: TroupeHome::at(&self.home),
            overrides: ConfigOverrides {
                config: self.config.clone(),
                ..ConfigOverrides::default()
            },
            layers: LayerSelection {
                profile: self.profile.clone(),
                strict_config: self.strict_config,
                ignore_user_config: self.ignore_user_config,
                ignore_rules: self.ignore_rules,
            },
            flags: Vec::new(),
        }
    }
}

/// Starts an engine, and returns its session once others can attach to it.
pub fn start_engine(order: &EngineOrder) -> Result<SessionId, CommandFailure> {
    let program = std::env::current_exe().map_err(CommandFailure::not_started)?;
    let order_json = serde_json::to_vec(order).map_err(CommandFailure::not_started)?;
    let started = DetachedProcess::start(&program, &[COMMAND], &order.cwd, &order_json);
    let ready = started.and_then(DetachedProcess::ready);
    let ready = ready
        .context("the engine cannot be started")
        .map_err(CommandFailure::not_started)?;
    match ready {
        Ok(text) => text
            .parse()
            .with_context(|| format!("the engine said {text:?} in place of its session"))
            .map_err(CommandFailure::not_started),
        Err(DetachedEnd { code, error }) => {
            let message = error.strip_prefix("troupe: ").unwrap_or(&error).to_owned();
            let message = if message.is_empty() {
                "the engine ended before it was ready".to_owned()
            } else {
                message
            };
            Err(if code == Some(CommandExit::Usage as i32) {
                CommandFailure::usage(message)
            } else {
                CommandFailure::not_started(anyhow::Error::msg(message))
            })
        }
    }
}

/// Is the engine.
pub fn serve_engine() -> Outcome {
    let mut order = Vec::new();
    io::stdin().read_to_end(&mut order)?;
    let order: EngineOrder = serde_json::from_slice(&order)
        .map_err(|error| CommandFailure::usage(format!("no order for an engine: {error}")))?;
    let source = order.source();
    let home = source.home.clone();
    let wiring =
        Wiring::new(source, &order.cwd, SessionSource::Tui)?.with_add_dirs(order.add_dirs.clone());
    let wiring = Arc::new(wiring);
    block_on(async {
        let configure = configure_session(&wiring, &order.cwd, order.continues, false).await?;
        let configure = ConfigureSession {
            source: Some(SessionSource::Tui),
            ..configure
        };
        if let Err(trouble) = wiring.check_model(&configure) {
            return Err(no_model(trouble));
        }
        let signals = StopSignals::listen()?;
        let recovery = order.go_on.then_some(RecoveryPolicy::Continue);
        let RootDeps { deps, configurator } = wiring.with_agents(recovery);
        let (handle, mut events) = spawn(deps);
        let _control = control::serve(&configurator, home.path(), Some(events.tap()));
        let session = open(&handle, &mut events, configure).await?;
        let tree = TreeSource::Configurator(Arc::clone(&configurator));
        let offered = offer(home.path(), session, tree, wiring).await;
        let offered = offered.map_err(CommandFailure::not_started)?;
        let stop = EngineStop {
            signals,
            present: offered.server.present(),
            events: events.tap(),
            configurator,
            ends_with_screen: order.ends_with_screen,
            is_ending: false,
        };
        tell_ready(session)?;
        offered.server.run(handle, events, stop).await;
        Ok(CommandExit::Success)
    })
}

/// Opens the session; what keeps it from that is the failure.
async fn open(
    handle: &SessionHandle,
    events: &mut EventStream,
    configure: ConfigureSession,
) -> Result<SessionId, CommandFailure> {
    let ended = || CommandFailure::not_started(anyhow::Error::msg("the session ended at once"));
    let posted = handle.operate(Op::ConfigureSession(configure)).await;
    posted.map_err(|_| ended())?;
    loop {
        let event = events.next().await.ok_or_else(ended)?;
        match &event.msg {
            EventMsg::SessionConfigured(configured) => return Ok(configured.session_id),
            EventMsg::Error(error) => {
                let error = anyhow::Error::msg(error.message.clone());
                return Err(CommandFailure::not_started(error));
            }
            _ => {}
        }
    }
}

fn tell_ready(session: SessionId) -> Result<(), CommandFailure> {
    let mut stdout = io::stdout().lock();
    writeln!(stdout, "{session}")?;
    stdout.flush()?;
    Ok(())
}

/// When an engine ends by itself.
struct EngineStop {
    signals: StopSignals,
    present: watch::Receiver<usize>,
    events: EventTap,
    configurator: Arc<AgentsConfigurator>,
    ends_with_screen: bool,
    /// The session was asked to end, and is given its time.
    is_ending: bool,
}

impl StopSignal for EngineStop {
    async fn wanted(&mut self) {
        let Self {
            signals,
            present,
            events,
            configurator,
            ends_with_screen,
            is_ending,
        } = self;
        let alone = async {
            match (*is_ending, *ends_with_screen) {
                (true, _) => std::future::pending().await,
                (false, true) => left_by_all(present).await,
                (false, false) => left_alone(present, events, configurator).await,
            }
        };
        tokio::select! {
            () = signals.next() => (),
            () = alone => (),
        }
        *is_ending = true;
    }
}

/// Returns when somebody was attached and everybody has left.
async fn left_by_all(present: &mut watch::Receiver<usize>) {
    // A hub that is gone serves nobody.
    if present.wait_for(|present| *present > 0).await.is_ok() {
        present.wait_for(|present| *present == 0).await.ok();
    }
}

/// Returns when nobody has been attached for a while, and nothing was to be done meanwhile.
async fn left_alone(
    present: &mut watch::Receiver<usize>,
    events: &EventTap,
    configurator: &AgentsConfigurator,
) {
    let patience = Duration::from_millis(ENGINE_ALONE_MS_MAX);
    let mut since = Instant::now();
    loop {
        if *present.borrow_and_update() > 0 {
            if present.changed().await.is_err() {
                return;
            }
            since = Instant::now();
            continue;
        }
        let agents = configurator.agents();
        let is_quiet = match agents {
            // A tree that is at work does not answer before it is quiet.
            Some(agents) => {
                let look = Duration::from_millis(ENGINE_LOOK_MS);
                tokio::time::timeout(look, agents.wait_until_idle())
                    .await
                    .is_ok()
            }
            None => true,
        };
        if !is_quiet || !events.is_idle() {
            since = Instant::now();
        }
        if since.elapsed() >= patience {
            return;
        }
        sleep(Duration::from_millis(ENGINE_LOOK_MS)).await;
    }
}
