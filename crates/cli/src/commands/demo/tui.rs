//! `troupe demo tui`: a tour of the screen over scripted models. A person answers a grandchild,
//! peeks at a child and steers it, stops another, and sees a plan.

use std::net::{Ipv4Addr, SocketAddr};

use anyhow::Context as _;
use clap::Args;
use troupe_mock_model::{MockServer, Screenplay};

use super::stage::{DemoStage, ProjectFile};
use crate::attach::{AttachPlace, EngineOrder, start_engine};
use crate::commands::{block_on, tell};
use crate::exec::request::SessionChoice;
use crate::failure::{CommandExit, CommandFailure, Outcome};
use crate::screen::{self, ScreenOrigin, ScreenPlan, Survival, require_terminal};

const SCREENPLAY: &str = include_str!("../../demo/tui/screenplay.toml");

const PROMPT: &str = "Get count ready: why does its test fail, and where is its page?";

const FILES: [ProjectFile; 2] = [
    ("count.sh", include_str!("../../demo/tui/project/count.sh")),
    ("test.sh", include_str!("../../demo/tui/project/test.sh")),
];

const SETTINGS: [&str; 2] = ["approval_policy=on-request", "agents.max_threads=8"];

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  troupe demo tui")]
pub struct TuiDemoArguments {}

pub fn run(_arguments: &TuiDemoArguments) -> Outcome {
    require_terminal("troupe demo tui")?;
    let screenplay: Screenplay = SCREENPLAY.parse().map_err(CommandFailure::failed)?;
    let stage = DemoStage::build(&FILES).map_err(CommandFailure::not_started)?;
    block_on(async {
        let server = MockServer::start(screenplay, SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))
            .await
            .context("cannot listen on loopback")
            .map_err(CommandFailure::not_started)?;
        let order = order(&stage, &server);
        let settings = screen::settings(&order.source(), &order.cwd)?;
        let engine = order.clone();
        // The engine may ask the scripted model something before it is ready.
        let started = tokio::task::spawn_blocking(move || start_engine(&engine)).await;
        let id = started.map_err(CommandFailure::failed)??;
        let place = AttachPlace::of(&order.home, id).map_err(CommandFailure::not_started)?;
        let shown = screen::show(ScreenPlan {
            origin: ScreenOrigin::Started(id),
            address: place.address(),
            token: None,
            settings,
            prompt: Some(PROMPT.to_owned()),
            survival: Survival::EndsWithScreen,
            next: None,
        });
        shown.await?;
        server.shutdown().await?;
        Ok(())
    })?;
    tell("Next: export OPENAI_API_KEY=… and run `troupe` in a project of yours.");
    Ok(CommandExit::Success)
}

fn order(stage: &DemoStage, server: &MockServer) -> EngineOrder {
    let source = stage.source(server, &SETTINGS);
    EngineOrder {
        home: stage.home(),
        cwd: stage.project(),
        config: source.overrides.config,
        profile: None,
        strict_config: false,
        ignore_user_config: false,
        ignore_rules: false,
        add_dirs: Vec::new(),
        continues: SessionChoice::New,
        go_on: false,
        ends_with_screen: true,
    }
}
