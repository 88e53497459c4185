//! `troupe demo`: a real task with nothing configured. The model is scripted; the HTTP
//! between us and it, the tools, the sandbox and the files are real.

use std::fs;
use std::io::{self, IsTerminal};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;
use troupe_model::scripted::{MockServer, Screenplay};

use crate::arguments::{Layers, Overrides};
use crate::commands::{block_on, tell};
use crate::exec::request::{Output, Request, Task};
use crate::failure::{Exit, Failure, Outcome};
use crate::home::Home;
use crate::layers::ConfigSource;
use crate::style::{ColorChoice, Style};

const SCREENPLAY: &str = include_str!("../demo/screenplay.toml");

const PROMPT: &str = "The tests of duration.sh fail. Find out why and repair it.";

const FILES: [(&str, &str); 3] = [
    ("duration.sh", include_str!("../demo/project/duration.sh")),
    ("test.sh", include_str!("../demo/project/test.sh")),
    ("README.md", include_str!("../demo/project/README.md")),
];

#[derive(Debug, Args)]
pub struct DemoArguments {
    /// Keep the project, and the session that worked on it.
    #[arg(long)]
    keep: bool,
    /// Print events as JSON lines, as `exec --json` does.
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: DemoArguments) -> Outcome {
    let screenplay: Screenplay = SCREENPLAY.parse().map_err(Failure::failed)?;
    let stage = Stage::build().map_err(Failure::not_started)?;
    let style = Style::choose(ColorChoice::Auto, &io::stderr());
    tell(&introduction(&stage, style));
    let exit = block_on(async {
        let server = MockServer::start(screenplay, SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))
            .await
            .context("cannot listen on loopback")
            .map_err(Failure::not_started)?;
        let output = if arguments.json {
            Output::Jsonl
        } else {
            Output::Human(style)
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

fn request(stage: &Stage, server: &MockServer, output: Output) -> Request {
    let source = ConfigSource {
        // A home of its own: the demo neither reads nor leaves anything of the user's.
        home: Home::at(stage.home()),
        overrides: Overrides {
            config: vec![
                "model=scripted".to_owned(),
                "model_provider=scripted".to_owned(),
                format!("model_providers.scripted.base_url={}", server.base_url()),
            ],
        },
        layers: Layers::default(),
        flags: Vec::new(),
    };
    Request::new(source, stage.project(), Task::prompt(PROMPT), output)
}

fn introduction(stage: &Stage, style: Style) -> String {
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

fn conclusion(exit: Exit, style: Style) -> String {
    if exit != Exit::Success {
        return format!(
            "\n{} `troupe doctor` may tell why.",
            style.red("The demo did not come to its end.")
        );
    }
    let live = io::stderr().is_terminal();
    let next = "\nNext: export OPENAI_API_KEY=… and run `troupe exec \"…\"` in a project of yours.\n\
                Without a key, `troupe exec hello` shows how to use a local model.";
    if live {
        next.to_owned()
    } else {
        next.trim_start().to_owned()
    }
}

/// A temporary directory with the project and a home. It is removed when this is dropped.
struct Stage {
    directory: PathBuf,
    keep: bool,
}

impl Stage {
    fn build() -> anyhow::Result<Self> {
        let name = format!("troupe-demo-{}", uuid::Uuid::new_v4().simple());
        // The kernel may show the same directory under another name; the sandbox must not.
        let parent = fs::canonicalize(std::env::temp_dir())?;
        let directory = parent.join(&name[..20]);
        fs::create_dir(&directory)
            .with_context(|| format!("cannot make {}", directory.display()))?;
        let stage = Self {
            directory,
            keep: false,
        };
        stage.fill().context("cannot write the demo's project")?;
        Ok(stage)
    }

    fn fill(&self) -> io::Result<()> {
        let project = self.project();
        make_repository(&project)?;
        for (name, text) in FILES {
            fs::write(project.join(name), text)?;
        }
        Ok(())
    }

    fn project(&self) -> PathBuf {
        self.directory.join("project")
    }

    fn home(&self) -> PathBuf {
        self.directory.join("home")
    }

    fn keep(mut self) -> PathBuf {
        self.keep = true;
        self.directory.clone()
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        if !self.keep {
            // It is in the temporary directory; the system removes what we cannot.
            let _ = fs::remove_dir_all(&self.directory);
        }
    }
}

/// Makes an empty git repository by hand, because git need not be installed.
fn make_repository(root: &Path) -> io::Result<()> {
    let git = root.join(".git");
    fs::create_dir_all(git.join("objects"))?;
    fs::create_dir_all(git.join("refs/heads"))?;
    fs::write(git.join("HEAD"), "ref: refs/heads/main\n")?;
    fs::write(
        git.join("config"),
        "[core]\n\trepositoryformatversion = 0\n\tbare = false\n",
    )
}
