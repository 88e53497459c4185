//! `troupe demo`: a real task with nothing configured. The model is scripted; the HTTP
//! between us and it, the tools, the sandbox and the files are real.

mod agents;
mod stage;
mod tui;

use std::io::{self, IsTerminal};
use std::net::{Ipv4Addr, SocketAddr};

use anyhow::Context as _;
use clap::{Args, Subcommand};
use troupe_mock_model::{MockServer, Screenplay};

use crate::commands::{block_on, tell};
use crate::exec::request::{ExecOutput, ExecRequest, ExecTask, JsonTexts};
use crate::failure::{CommandExit, CommandFailure, Outcome};
use crate::style::{ColorChoice, TextStyle};

use self::stage::{DemoStage, ProjectFile};

const SCREENPLAY: &str = include_str!("../demo/screenplay.toml");

const PROMPT: &str = "The tests of duration.sh fail. Find out why and repair it.";

const FILES: [ProjectFile; 3] = [
    ("duration.sh", include_str!("../demo/project/duration.sh")),
    ("test.sh", include_str!("../demo/project/test.sh")),
    ("README.md", include_str!("../demo/project/README.md")),
];

#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:
  troupe demo            one agent repairs a script
  troupe demo agents     a parent and three children at the same time
  troupe demo tui        a tour of the screen"
)]
pub struct DemoArguments {
    /// Keep the project, and the session that worked on it.
    #[arg(long)]
    keep: bool,
    /// Print events as JSON lines, as `exec --json` does.
    #[arg(long)]
    json: bool,
    #[command(subcommand)]
    play: Option<DemoCommand>,
}

#[derive(Debug, Subcommand)]
enum DemoCommand {
    /// Show a parent that divides its work among three children.
    Agents(agents::AgentsDemoArguments),
    /// Show the screen: answer, look at, steer and stop agents.
    Tui(tui::TuiDemoArguments),
}

pub fn run(arguments: DemoArguments) -> Outcome {
    match arguments.play {
        Some(DemoCommand::Agents(arguments)) => return agents::run(&arguments),
        Some(DemoCommand::Tui(arguments)) => return tui::run(&arguments),
        None => {}
    }
    let screenplay: Screenplay = SCREENPLAY.parse().map_err(CommandFailure::failed)?;
    let stage = DemoStage::build(&FILES).map_err(CommandFailure::not_started)?;
    let style = TextStyle::choose(ColorChoice::Auto, &io::stderr());
    tell(&introduction(&stage, style));
    let exit = block_on(async {
        let server = MockServer::start(screenplay, SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))
            .await
            .context("cannot listen on loopback")
            .map_err(CommandFailure::not_started)?;
        let output = if arguments.json {
            ExecOutput::Jsonl(JsonTexts::Whole)
        } else {
            ExecOutput::Human(style)
        };
        let exit = crate::exec::run::run(request(&stage, &server, output)).await;
        server.shutdown().await?;
        exit
    })?;
    tell(&conclusion(exit, style));
    if arguments.keep {
        let directory = stage.keep();
        tell(&format!("kept in {}", directory.display()));
    }
    Ok(exit)
}

fn request(stage: &DemoStage, server: &MockServer, output: ExecOutput) -> ExecRequest {
    let source = stage.source(server, &[]);
    ExecRequest::new(source, stage.project(), ExecTask::prompt(PROMPT), output)
}

fn introduction(stage: &DemoStage, style: TextStyle) -> String {
    format!(
        "{}\n\
         The model is scripted: it plays five fixed answers over real HTTP. Everything else is\n\
         real: the engine, the tools, the sandbox, and a small git repository in\n\
         {}\n\n{} {PROMPT}\n",
        style.bold("Troupe demo"),
        stage.project().display(),
        style.cyan(">"),
    )
}

fn conclusion(exit: CommandExit, style: TextStyle) -> String {
    if exit != CommandExit::Success {
        return format!(
            "\n{} `troupe doctor` may tell why.",
            style.red("The demo did not come to its end.")
        );
    }
    let live = io::stderr().is_terminal();
    let next = "\nNext: `troupe demo agents` shows an agent that runs three others. Or\n\
                export OPENAI_API_KEY=… and run `troupe exec \"…\"` in a project of yours.\n\
                Without a key, `troupe exec hello` shows how to use a local model.";
    if live {
        next.to_owned()
    } else {
        next.trim_start().to_owned()
    }
}
