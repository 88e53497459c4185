//! `troupe demo agents`: a scripted parent that divides its work among three children. One
//! reads, one fails and is tried again, one asks before it acts; each calls the parent back.

mod performance;

use std::io::{self, IsTerminal};
use std::net::{Ipv4Addr, SocketAddr};

use anyhow::Context as _;
use clap::Args;
use troupe_mock_model::{MockServer, Screenplay};
use troupe_protocol::SessionId;

use super::stage::{DemoStage, ProjectFile};
use crate::commands::{block_on, print};
use crate::exec::signals::ExitSignals;
use crate::failure::{CommandExit, CommandFailure, Outcome};
use crate::style::{ColorChoice, TextStyle};

use performance::DemoRun;

const SCREENPLAY: &str = include_str!("../../demo/agents/screenplay.toml");

const PROMPT: &str = "Prepare the release: what is there, is it documented, does it work?";

const FILES: [ProjectFile; 3] = [
    (
        "api/greet.sh",
        include_str!("../../demo/agents/project/api/greet.sh"),
    ),
    (
        "api/shout.sh",
        include_str!("../../demo/agents/project/api/shout.sh"),
    ),
    (
        "checks/run.sh",
        include_str!("../../demo/agents/project/checks/run.sh"),
    ),
];

/// A model that is having a bad day is not asked again behind the scenes: the retry is part
/// of the play.
const SETTINGS: [&str; 3] = [
    "approval_policy=on-request",
    "model_providers.scripted.request_max_retries=0",
    "model_providers.scripted.stream_max_retries=0",
];

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  troupe demo agents
  troupe demo agents --ask     answer the checker's question yourself
  troupe demo agents --keep    and look at the tree afterwards with `troupe agents`")]
pub struct AgentsDemoArguments {
    /// Keep the project, and the tree that worked on it.
    #[arg(long)]
    keep: bool,
    /// Answer the question of a child yourself.
    #[arg(long)]
    ask: bool,
}

/// The answerer of the children's questions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DemoAnswerer {
    Demo,
    User,
}

pub fn run(arguments: &AgentsDemoArguments) -> Outcome {
    if arguments.ask && !io::stdin().is_terminal() {
        return Err(CommandFailure::usage(
            "--ask needs a terminal to ask at; leave it out, and the demo answers",
        ));
    }
    let answers = if arguments.ask {
        DemoAnswerer::User
    } else {
        DemoAnswerer::Demo
    };
    let screenplay: Screenplay = SCREENPLAY.parse().map_err(CommandFailure::failed)?;
    let stage = DemoStage::build(&FILES).map_err(CommandFailure::not_started)?;
    let style = TextStyle::choose(ColorChoice::Auto, &io::stdout());
    print(&introduction(&stage, style))?;
    let played = block_on(async {
        // From here on an end is one that removes the stage.
        let mut stop = ExitSignals::listen().map_err(CommandFailure::not_started)?;
        let server = MockServer::start(screenplay, SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))
            .await
            .context("cannot listen on loopback")
            .map_err(CommandFailure::not_started)?;
        let source = stage.source(&server, &SETTINGS);
        let performance = DemoRun::open(source, &stage.project(), answers, style).await?;
        let played = performance.play(PROMPT, &mut stop).await;
        server.shutdown().await?;
        played
    })?;
    print(&conclusion(played.exit, style))?;
    let home = stage.home();
    if arguments.keep {
        stage.keep();
        print(&where_to_look(&home.display().to_string(), played.root))?;
    } else {
        print(
            "With --keep the tree stays: `troupe agents tree`, `show`, `logs` and `result` look at it.\n",
        )?;
    }
    Ok(played.exit)
}

fn introduction(stage: &DemoStage, style: TextStyle) -> String {
    format!(
        "{}\n\
         The models are scripted, over real HTTP. The agents, their rights, the sandbox and the\n\
         files are real, in {}\n\n{} {PROMPT}\n",
        style.bold("Troupe demo: one agent runs three"),
        stage.project().display(),
        style.cyan(">"),
    )
}

fn conclusion(exit: CommandExit, style: TextStyle) -> String {
    match exit {
        CommandExit::Success => return String::new(),
        CommandExit::Killed => return "Interrupted.\n".to_owned(),
        _ => {}
    }
    let ended = style.red("The demo did not come to its end.");
    format!("{ended} `troupe doctor` may tell why.\n")
}

fn where_to_look(home: &str, root: SessionId) -> String {
    let root = root.short();
    format!(
        "Kept. Look at it with\n\
         \x20 export TROUPE_HOME={home}\n\
         \x20 troupe agents tree {root}\n\
         \x20 troupe agents result {root}:writer\n\
         \x20 troupe agents logs {root}:checker\n"
    )
}
