//! The terminal: starts an engine, or finds one, and puts the screen of the crate `tui` before it.
//!
//! Nothing of a session is in this process: what the screen shows came over the socket, and what
//! it leaves goes on without it. A closed terminal, a hang-up or a crash of the screen therefore
//! is what leaving is; only a person who says so ends the engine.

mod catalogue;
mod choose;
mod editor;
mod next;
mod start;

use std::io::{self, IsTerminal as _};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;
use troupe_client::{Client, ClientOptions, ClientUpdate};
use troupe_protocol::link::{ClientRole, HistoryStart, Secret};
use troupe_protocol::{Op, SessionId};
use troupe_transport::SessionAddress;
use troupe_tui::session::wire::WireLink;
use troupe_tui::terminal::TerminalDevice;
use troupe_tui::{
    NextSession, SavedPrompts, ScreenOptions, SessionEnding, TerminalSurroundings, TuiSettings,
    run_screen,
};
use uuid::Uuid;

use crate::attach::EngineOrder;
use crate::commands::{block_on, tell};
use crate::exec::saved_prompts::PromptPlaces;
use crate::failure::{CommandExit, CommandFailure, Outcome};
use crate::layers::ConfigSource;
use crate::limits::{ENGINE_ENDING_MS_MAX, ENGINE_LOST_MS_MAX};
use crate::settings::Settings;

pub use choose::choose_session;
pub use start::{ScreenStart, open};

/// A screen that is about to open.
#[derive(Debug)]
pub struct ScreenPlan {
    pub origin: ScreenOrigin,
    pub address: SessionAddress,
    /// Needed for an address in the network.
    pub token: Option<Secret>,
    pub settings: TuiSettings,
    pub prompt: Option<String>,
    pub survival: Survival,
    /// How another session would be opened after this one; `None` where none can be.
    pub next: Option<EngineOrder>,
}

/// Whether the session can go on without the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Survival {
    GoesOn,
    /// Its model is part of the screen's own process.
    EndsWithScreen,
}

/// How the screen came to its session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScreenOrigin {
    /// It had the engine started, and drives.
    Started(SessionId),
    /// Somebody else runs the session; it drives if nobody does. One at an address has no name
    /// here.
    Attached(Option<SessionId>),
}

/// Tells whether a person sits at both ends.
pub fn is_at_terminal() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal()
}

pub fn require_terminal(command: &str) -> Result<(), CommandFailure> {
    if is_at_terminal() {
        return Ok(());
    }
    Err(CommandFailure::usage(format!(
        "{command} needs a terminal on standard input and output; `troupe exec` needs none"
    )))
}

/// Reads what the configuration says of the screen.
pub fn settings(source: &ConfigSource, cwd: &Path) -> Result<TuiSettings, CommandFailure> {
    let loaded = source.load(cwd)?;
    Ok(Settings::read(&loaded.config)?.screen.tui)
}

/// Shows a session, and says how to come back to it; then what the person wants next.
pub fn run(plan: ScreenPlan) -> Outcome {
    let mut plan = plan;
    loop {
        let origin = plan.origin;
        let order = plan.next.clone();
        let (remains, next) = block_on(show(plan))?;
        let id = match origin {
            ScreenOrigin::Started(id) | ScreenOrigin::Attached(Some(id)) => Some(id),
            ScreenOrigin::Attached(None) => None,
        };
        match (id, remains) {
            (Some(id), ScreenRemains::Running) => tell(&format!(
                "It goes on without the screen. Back to it: troupe attach {}",
                id.short()
            )),
            (Some(id), ScreenRemains::Ended | ScreenRemains::AtRest) => {
                tell(&format!("Go on with: troupe resume {}", id.short()));
            }
            (None, ScreenRemains::Running | ScreenRemains::AtRest) => {}
            (None, ScreenRemains::Ended) => tell("The session has ended."),
        }
        let wanted = id.zip(order).zip(next);
        let Some(((id, order), next)) = wanted else {
            return Ok(CommandExit::Success);
        };
        match next::plan(order, id, next)? {
            Some(following) => plan = following,
            None => return Ok(CommandExit::Success),
        }
    }
}

/// What a screen leaves behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScreenRemains {
    Running,
    /// Nothing ran any more.
    AtRest,
    Ended,
}

/// Shows a session until it is left.
pub async fn show(
    plan: ScreenPlan,
) -> Result<(ScreenRemains, Option<NextSession>), CommandFailure> {
    let role = match plan.origin {
        ScreenOrigin::Started(_) => ClientRole::Drive,
        ScreenOrigin::Attached(_) => ClientRole::Follow,
    };
    let options = ClientOptions {
        role,
        history: HistoryStart::Session,
        token: plan.token,
        patience: Duration::from_millis(ENGINE_LOST_MS_MAX),
        ..ClientOptions::default()
    };
    let client = Client::connect(plan.address, options).await;
    let client = client.map_err(CommandFailure::not_started)?;
    // Whoever comes to a session that nobody drives has come to drive it.
    if client.welcome().seat.driver.is_none() {
        let seat = client.submitter().take_seat().await;
        seat.map_err(CommandFailure::failed)?;
    }
    let options = ScreenOptions {
        settings: plan.settings,
        prompt: plan.prompt,
        surroundings: surroundings(),
        editor: editor::of_user(),
        home: crate::home::user_home(),
        saved_prompts: plan.next.as_ref().map(saved_prompts),
        outlives_screen: plan.survival == Survival::GoesOn,
        has_next: plan.next.is_some(),
        ..ScreenOptions::default()
    };
    let is_plain = options.surroundings.wants_plain();
    let terminal = TerminalDevice::open(is_plain).map_err(CommandFailure::not_started)?;
    let (link, returned) = WireLink::new(client);
    let exit = run_screen(Box::new(link), terminal, options).await;
    let exit = exit.map_err(CommandFailure::failed)?;
    let Ok(client) = returned.await else {
        return Ok((ScreenRemains::Running, exit.next));
    };
    let remains = match exit.ending {
        SessionEnding::KeepRunning => ScreenRemains::Running,
        SessionEnding::Suspend => end(client).await,
        SessionEnding::Ended => match plan.survival {
            // Somebody else may be attached. An engine that nobody needs ends by itself.
            Survival::GoesOn => ScreenRemains::AtRest,
            Survival::EndsWithScreen => end(client).await,
        },
    };
    Ok((remains, exit.next))
}

/// Finds the prompts that were written down for a directory.
fn saved_prompts(order: &EngineOrder) -> SavedPrompts {
    Arc::new(PromptPlaces::around(&order.cwd, &order.source().home))
}

/// Ends the engine, and returns when it has ended. One who does not drive ends nothing.
async fn end(mut client: Client) -> ScreenRemains {
    let id = Uuid::new_v4().to_string();
    let ended = async {
        if client.submit(id, Op::Shutdown).await.is_err() {
            return ScreenRemains::Ended;
        }
        loop {
            match client.next().await {
                Ok(Some(ClientUpdate::Notice(notice))) if is_refusal(&notice) => {
                    return ScreenRemains::Running;
                }
                Ok(Some(ClientUpdate::Event(_) | ClientUpdate::Notice(_))) => {}
                Ok(Some(ClientUpdate::Lost(_)) | None) | Err(_) => return ScreenRemains::Ended,
            }
        }
    };
    let time = Duration::from_millis(ENGINE_ENDING_MS_MAX);
    timeout(time, ended).await.unwrap_or(ScreenRemains::Running)
}

fn is_refusal(notice: &troupe_protocol::link::ServerNotice) -> bool {
    use troupe_protocol::link::ServerNotice;
    matches!(notice, ServerNotice::Refused { id: Some(_), .. })
}

/// Reads what the environment says of the terminal.
fn surroundings() -> TerminalSurroundings {
    let text = |name: &str| std::env::var(name).unwrap_or_default();
    let is_set = |name: &str| !text(name).is_empty();
    TerminalSurroundings {
        term: text("TERM"),
        program: text("TERM_PROGRAM"),
        no_color: is_set("NO_COLOR"),
        accessible: is_set("ACCESSIBLE"),
        tmux: is_set("TMUX"),
        colour_hint: text("COLORFGBG"),
    }
}
