//! `troupe agents`: look at the tree of a session, and act in it, whether it runs or not.
//!
//! Reading goes to the logs, and asks a running process only for what is not written.
//! Acting goes to the process that runs the tree; without one, this program runs it.

mod act;
mod address;
mod answer;
pub mod draw;
mod dry_run;
pub mod event_line;
mod follow;
mod live_output;
mod logged_tree;
mod logs;
mod open;
mod print_answer;
mod result;
pub mod screen;
mod session_feed;
mod show;
mod tree_listing;

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};
use troupe_protocol::StopVerb;
use troupe_protocol::input::is_blank;
use troupe_store::EmbeddedStore;

use self::tree_listing::PrunedAgents;
use crate::arguments::{ConfigOverrides, LayerSelection};
use crate::commands::block_on;
use crate::control::{ControlMode, ControlRequest};
use crate::failure::{CommandFailure, Outcome};
use crate::home::{TroupeHome, here};
use troupe_protocol::link::query::MessageUrgency;

#[derive(Debug, Args)]
#[command(after_help = "ADDRESS says which agent is meant:
  (nothing)                     the root of the newest tree of this directory
  2, /root/tester, tester       an agent of that tree, by number or path
  3f2a9c1e                      a session (id, its first characters, or name): the agent that it is
  3f2a9c1e:2, 3f2a9c1e:tester   an agent of the tree of that session

Reading works on trees of running processes and on stored ones. Acting reaches the process that
runs the tree; if there is none, this program runs the tree until it is quiet.

Examples:
  troupe agents tree --watch
  troupe agents result tester
  troupe agents send 2 \"leave the generated files alone\"
  troupe agents stop cancel 3f2a9c1e:2
  troupe demo agents            a tree to look at, without a key")]
pub struct AgentsArguments {
    #[command(subcommand)]
    action: AgentsAction,
}

#[derive(Debug, Subcommand)]
enum AgentsAction {
    /// Draw the tree: who is there, since when, with which role and model, at what cost.
    #[command(
        after_help = "Examples:\n  troupe agents tree\n  troupe agents tree 3f2a9c1e --watch\n  troupe agents tree --json | jq -r '.agents[].path'"
    )]
    Tree {
        /// The agent; the root of the tree that changed last if absent.
        #[arg(value_name = "ADDRESS")]
        address: Option<String>,
        /// Draw again when something changes, until no process runs the tree.
        #[arg(short, long)]
        watch: bool,
        /// Those too that were pruned.
        #[arg(short, long)]
        all: bool,
        /// One JSON object; with --watch, one per change.
        #[arg(long)]
        json: bool,
    },
    /// Tell everything about one agent: how it was made, its tasks, what waits for it.
    #[command(
        after_help = "Examples:\n  troupe agents show 2\n  troupe agents show 3f2a9c1e:tester --json"
    )]
    Show {
        /// The agent; the root of the tree that changed last if absent.
        #[arg(value_name = "ADDRESS")]
        address: Option<String>,
        #[arg(long)]
        json: bool,
    },
    /// Print what an agent did and said.
    #[command(
        after_help = "A session without agents can be named too: its id, its first characters, or its name.\n\nExamples:\n  troupe agents logs tester --follow\n  troupe agents logs 2 -n 5\n  troupe agents logs 2 --json | jq -c 'select(.type == \"response_item\")'"
    )]
    Logs {
        /// The agent, or a session; the session of this directory that changed last if absent.
        #[arg(value_name = "ADDRESS")]
        address: Option<String>,
        /// Only the last N entries.
        #[arg(short = 'n', long, value_name = "N")]
        limit: Option<NonZeroUsize>,
        /// Go on until no process runs the tree, with what its command writes while it runs.
        #[arg(short, long)]
        follow: bool,
        /// The lines of the log as they are.
        #[arg(long)]
        json: bool,
    },
    /// Print what a task came to, and what Troupe recorded of it.
    #[command(
        after_help = "Examples:\n  troupe agents result tester\n  troupe agents result 2 --json | jq .evidence.files"
    )]
    Result {
        /// The agent; the root of the tree that changed last if absent.
        #[arg(value_name = "ADDRESS")]
        address: Option<String>,
        /// This task and not the last one; `troupe agents show` lists them.
        #[arg(long, value_name = "ID")]
        task: Option<String>,
        /// The whole record.
        #[arg(long)]
        json: bool,
    },
    /// Wait until an agent's task has ended.
    #[command(
        after_help = "Exit codes:\n  0    the task was completed\n  1    it ended otherwise, or no process runs the tree\n  124  the time is up\n\nExample:\n  troupe agents wait tester --timeout 600 && troupe agents result tester"
    )]
    Wait {
        /// The agent; the root of the tree that changed last if absent.
        #[arg(value_name = "ADDRESS")]
        address: Option<String>,
        /// Give up after so many seconds.
        #[arg(long, value_name = "SECONDS")]
        timeout: Option<u64>,
    },
    /// Write to an agent: a running task takes the message along, an idle agent begins one.
    #[command(
        after_help = "If no process runs the tree, this program does, and stays until it is quiet: there is nobody
to leave it to.

Examples:\n  troupe agents send tester \"also run the slow tests\"\n  troupe agents send 3f2a9c1e:2 --interrupt \"stop that; look at parser.rs first\""
    )]
    Send {
        /// The agent.
        #[arg(value_name = "ADDRESS")]
        address: String,
        message: String,
        /// End the running task first; the message begins the next one.
        #[arg(long)]
        interrupt: bool,
    },
    /// Stop an agent, or everything below it.
    #[command(
        after_help = "Examples:\n  troupe agents stop cancel tester --dry-run\n  troupe agents stop close 3f2a9c1e:2\n  troupe agents stop prune /root/tester"
    )]
    Stop {
        #[arg(value_name = "HOW", value_parser = stop_verbs())]
        verb: StopVerb,
        /// The agent.
        #[arg(value_name = "ADDRESS")]
        address: String,
        /// Only tell what would be touched.
        #[arg(long)]
        dry_run: bool,
        #[arg(long)]
        json: bool,
    },
    /// Bring a closed agent back, or have an interrupted or cancelled one go on.
    #[command(
        after_help = "Without an agent: all that were cut off when their process ended. If no process runs the tree,
this program does, and stays until it is quiet.

Examples:\n  troupe agents resume\n  troupe agents resume 3f2a9c1e:tester"
    )]
    Resume {
        /// The agent; the root of the tree that changed last if absent.
        #[arg(value_name = "ADDRESS")]
        address: Option<String>,
    },
    /// Answer what an agent asks to be allowed; without arguments, list what is asked.
    #[command(
        after_help = "QUESTION is the id that the list shows, or an agent that asks one thing: SESSION:ID for the tree
of another session. A headless run leaves its questions open for a while with the setting
headless_approvals = \"wait\"; any other running tree can be answered too, and the first answer
counts.

Examples:\n  troupe agents answer\n  troupe agents answer /root/tester#call_3 approve\n  troupe agents answer 3f2a9c1e:2 deny"
    )]
    Answer {
        #[arg(value_name = "QUESTION", requires = "word")]
        question: Option<String>,
        #[arg(value_enum, value_name = "ANSWER")]
        word: Option<answer::AnswerChoice>,
        #[arg(long)]
        json: bool,
    },
}

/// The audience of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OutputAudience {
    People,
    Programs,
}

impl OutputAudience {
    fn json(asked: bool) -> Self {
        if asked { Self::Programs } else { Self::People }
    }
}

/// Where a command is given: what every action needs.
struct CommandSite {
    home: TroupeHome,
    store: EmbeddedStore,
    cwd: PathBuf,
    overrides: ConfigOverrides,
    layers: LayerSelection,
}

pub fn run(
    arguments: AgentsArguments,
    overrides: ConfigOverrides,
    layers: LayerSelection,
) -> Outcome {
    let home = TroupeHome::find()?;
    let site = CommandSite {
        store: EmbeddedStore::open(home.path()).map_err(CommandFailure::not_started)?,
        cwd: here()?,
        home,
        overrides,
        layers,
    };
    block_on(perform(site, arguments.action))
}

/// Reads how an agent is to be stopped, and says what each way does.
fn stop_verbs() -> impl TypedValueParser<Value = StopVerb> {
    let value = |verb: StopVerb| {
        let help = match verb {
            StopVerb::Interrupt => "End the running task of this one agent; it can go on later",
            StopVerb::Cancel => "End the tasks of the agent and of everybody below it",
            StopVerb::Close => "Cancel, and take no more messages until `resume`",
            StopVerb::Release => "Let the agent go on without its parent",
            StopVerb::Prune => "Take finished agents out of the tree; their results stay",
        };
        PossibleValue::new(verb.as_str()).help(help)
    };
    PossibleValuesParser::new(StopVerb::ALL.map(value))
        .try_map(|name| StopVerb::named(&name).ok_or("no way to stop an agent"))
}

async fn perform(site: CommandSite, action: AgentsAction) -> Outcome {
    match action {
        AgentsAction::Tree {
            address,
            watch,
            all,
            json,
        } => {
            let shown = OutputAudience::json(json);
            let pruned = if all {
                PrunedAgents::Shown
            } else {
                PrunedAgents::Counted
            };
            if watch {
                tree_listing::watch(&site, address.as_deref(), shown, pruned).await
            } else {
                tree_listing::tree(&site, address.as_deref(), shown, pruned).await
            }
        }
        AgentsAction::Show { address, json } => {
            show::run(&site, address.as_deref(), OutputAudience::json(json)).await
        }
        AgentsAction::Logs {
            address,
            limit,
            follow,
            json,
        } => {
            let query = logs::LogQuery {
                limit,
                follow,
                shown: OutputAudience::json(json),
            };
            logs::run(&site, address.as_deref(), query).await
        }
        AgentsAction::Result {
            address,
            task,
            json,
        } => result::run(&site, address.as_deref(), task, OutputAudience::json(json)).await,
        AgentsAction::Wait { address, timeout } => {
            follow::wait(&site, address.as_deref(), timeout).await
        }
        AgentsAction::Send {
            address,
            message,
            interrupt,
        } => {
            if is_blank(&message) {
                return Err(CommandFailure::usage(
                    "the message is empty; say what the agent is to do",
                ));
            }
            let urgency = if interrupt {
                MessageUrgency::Interrupt
            } else {
                MessageUrgency::Regular
            };
            let ask = |to| ControlRequest::Send {
                to,
                text: message,
                urgency,
            };
            act::run(site, Some(&address), OutputAudience::People, ask).await
        }
        AgentsAction::Stop {
            verb,
            address,
            dry_run,
            json,
        } => {
            let mode = if dry_run {
                ControlMode::DryRun
            } else {
                ControlMode::Act
            };
            let ask = |target| ControlRequest::Stop { verb, target, mode };
            act::run(site, Some(&address), OutputAudience::json(json), ask).await
        }
        AgentsAction::Resume { address } => act::resume(site, address.as_deref()).await,
        AgentsAction::Answer {
            question,
            word,
            json,
        } => {
            let shown = OutputAudience::json(json);
            match question.zip(word) {
                Some((question, word)) => answer::give(&site, &question, word, shown).await,
                None => answer::list(&site, shown).await,
            }
        }
    }
}
