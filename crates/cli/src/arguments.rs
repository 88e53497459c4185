//! The command line. Each command has its own file in `commands/`.

use clap::{Args, Parser, Subcommand};
use troupe_config::{KeyPath, check_key};

use crate::commands::{
    acp, agents, app_server, apply_patch, attach, compact, completion, config, demo, doctor, exec,
    import, init, login, mcp, mcp_server, mock_model, models, proto, review, roles, rollback,
    rules, serve, sessions, skills, trust, undo,
};
use crate::failure::CommandFailure;
use crate::settings;

/// A local coding-agent engine in which one agent can run many.
#[derive(Debug, Parser)]
#[command(
    name = "troupe",
    version,
    after_help = "At a terminal, `troupe [OPTIONS] [PROMPT]` opens the screen; it takes the options of `exec` that
say how agents work (-m, -s, -C, --add-dir, --plan), and --no-alt-screen.

Examples:
  troupe                                 work with agents on a screen
  troupe demo                            see it work, without a key
  troupe exec \"fix the failing test\"     one task in this directory
  git diff | troupe exec \"review this\"   with more input from a pipe
  troupe exec resume --last \"go on\"      continue the last session of this directory
  troupe doctor                          what works on this machine, and what does not"
)]
pub struct Cli {
    #[command(flatten)]
    pub overrides: ConfigOverrides,
    #[command(flatten)]
    pub layers: LayerSelection,
    #[command(subcommand)]
    pub command: Option<CliCommand>,
}

#[derive(Debug, Subcommand)]
pub enum CliCommand {
    /// Run one task without a screen and print what happens.
    #[command(visible_alias = "e")]
    Exec(Box<exec::ExecArguments>),
    /// Continue a session: at a terminal on the screen, else as `exec resume`.
    Resume(Box<exec::ResumeCommand>),
    /// Begin a new session with the history of another: at a terminal on the screen, else as
    /// `exec fork`.
    Fork(Box<exec::ForkCommand>),
    /// See a session that another process runs, and drive it.
    Attach(attach::AttachArguments),
    /// Run the engine of a screen; the screen starts it.
    #[command(hide = true)]
    Engine,
    /// Have changes reviewed: uncommitted ones, a branch, or a commit.
    Review(Box<review::ReviewCommand>),
    /// JSON protocol on stdin and stdout: submissions in, events out, one object per line.
    Proto(proto::ProtoArguments),
    /// Serve threads to editors and scripts over JSON-RPC.
    AppServer(app_server::AppServerArguments),
    /// Run the daemon of this home: sessions over HTTP, for any number of clients.
    Serve(Box<serve::ServeArguments>),
    /// Offer sessions to other agents as tools, over the Model Context Protocol.
    McpServer(Box<mcp_server::McpServerArguments>),
    /// Be the agent of an editor that speaks the Agent Client Protocol.
    Acp(acp::AcpArguments),
    /// Have an AGENTS.md written for this project: what agents must know to work here.
    Init(Box<init::InitCommand>),
    /// Store a provider's key, or tell which providers have one.
    Login(login::LoginArguments),
    /// Delete a stored key.
    Logout(login::LogoutArguments),
    /// List, show, export and archive sessions.
    Sessions(sessions::SessionsArguments),
    /// Take over a conversation of Codex or Claude Code.
    Import(import::ImportArguments),
    /// Bring files back to what they were before a session's last turns.
    Undo(undo::UndoArguments),
    /// Take a session's last turns out of its history; files stay as they are.
    Rollback(rollback::RollbackArguments),
    /// Replace a session's history by a summary, so that there is room again.
    Compact(compact::CompactArguments),
    /// Look at the agents of a session, and act in its tree.
    Agents(agents::AgentsArguments),
    /// List, show, check and begin roles: the kinds of children.
    Roles(roles::RolesArguments),
    /// List, show and check skills: instructions for certain kinds of work.
    Skills(skills::SkillsArguments),
    /// Rebuild the index of sessions from their files (short for `sessions reindex`).
    Reindex,
    /// Show a real task over a scripted model; needs no key and no configuration.
    Demo(demo::DemoArguments),
    /// List the models to choose from, with their context windows and efforts.
    Models(models::ModelsArguments),
    /// Check what works on this machine.
    Doctor(doctor::DoctorArguments),
    /// Print each effective setting with its origin.
    Config(config::ConfigArguments),
    /// List, add, remove and check rules about commands: allow, ask, forbid.
    Rules(rules::RulesArguments),
    /// Trust a project with its settings as they are now.
    Trust(trust::TrustArguments),
    /// List, try, add and remove MCP servers, which bring further tools.
    Mcp(mcp::McpArguments),
    /// Apply a patch in the engine's patch format to files of this directory.
    ApplyPatch(apply_patch::ApplyPatchArguments),
    /// Serve a screenplay as a model over HTTP.
    MockModel(mock_model::MockModelArguments),
    /// Print a completion script for a shell.
    Completion(completion::CompletionArguments),
}

/// The command line of the screen: no command, but perhaps options of a session and a prompt.
#[derive(Debug, Default, Parser)]
#[command(name = "troupe", disable_help_subcommand = true)]
pub struct ScreenCli {
    #[command(flatten)]
    pub layers: LayerSelection,
    #[command(flatten)]
    pub repeated: exec::RepeatedOptions,
    #[command(flatten)]
    pub options: exec::ExecOptions,
    /// Draw nothing on the alternate screen.
    #[arg(long)]
    pub no_alt_screen: bool,
    pub prompt: Option<String>,
}

/// `-c`, which may stand before and after each command name.
#[derive(Debug, Clone, Default, Args)]
pub struct ConfigOverrides {
    /// Set a configuration value; the key is dotted, the value is TOML or else plain text.
    #[arg(
        short = 'c',
        long = "config",
        value_name = "KEY=VALUE",
        help_heading = "Configuration"
    )]
    pub config: Vec<String>,
    /// Settings that a client gave one session, in the same form. They win over the arguments.
    #[arg(skip)]
    pub of_client: Vec<String>,
}

impl ConfigOverrides {
    /// Refuses keys that no setting has, for commands that do not look at the configuration.
    pub fn check_keys(&self) -> Result<(), CommandFailure> {
        for argument in &self.config {
            let (key, _) = argument.split_once('=').unwrap_or((argument, ""));
            if let Some(key) = KeyPath::parse(key) {
                check_key(&settings::schema(), &key)
                    .map_err(|error| CommandFailure::usage(format!("-c {argument}: {error}")))?;
            }
        }
        Ok(())
    }

    /// Adds what was said further to the right, which wins.
    pub fn then(mut self, further: ConfigOverrides) -> Self {
        self.config.extend(further.config);
        self.of_client.extend(further.of_client);
        self
    }
}

/// Which layers of configuration count.
#[derive(Debug, Clone, Default, Args)]
pub struct LayerSelection {
    /// Use the settings of `[profiles.NAME]`.
    #[arg(
        short,
        long,
        global = true,
        value_name = "NAME",
        help_heading = "Configuration"
    )]
    pub profile: Option<String>,
    /// Treat an unknown configuration key as an error.
    #[arg(long, global = true, help_heading = "Configuration")]
    pub strict_config: bool,
    /// Leave out the `config.toml` of the home.
    #[arg(long, global = true, help_heading = "Configuration")]
    pub ignore_user_config: bool,
    /// Leave out the rules about commands (`rules.toml`), those of projects too.
    #[arg(long, global = true, help_heading = "Configuration")]
    pub ignore_rules: bool,
}
