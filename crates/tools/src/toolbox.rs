//! What the tools of many sessions have in common, so that one more session costs little.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use troupe_process::Launcher;

use crate::approval::SessionApprovals;
use crate::builtin::apply_patch::ApplyPatch;
use crate::builtin::exec_command::ExecCommand;
use crate::builtin::find_files::FindFiles;
use crate::builtin::grep_files::GrepFiles;
use crate::builtin::list_dir::ListDir;
use crate::builtin::read_file::ReadFile;
use crate::builtin::request_user_input::RequestUserInput;
use crate::builtin::shell_command::ShellCommand;
use crate::builtin::update_plan::UpdatePlan;
use crate::builtin::view_image::ViewImage;
use crate::builtin::write_stdin::WriteStdin;
use crate::command::{BackgroundTerminals, CommandRunner};
use crate::edit::PatchEditor;
use crate::environment::{EnvironmentPolicy, Variables};
use crate::file::HiddenDirectory;
use crate::hooks::{HookSet, HookSettings};
use crate::login::{self, LoginEnvironment};
use crate::registry::Registry;
use crate::rules::{RuleBook, RuleSource};
use crate::tool::Tool;
use crate::turn_diff::TurnDiff;
use crate::undo::{SnapshotHome, UndoRecorder};
use crate::user_shell::UserShell;
use crate::worker::FileWorkers;

/// The names of all tools of this crate.
pub const BUILT_IN_TOOLS: [&str; 11] = [
    "shell_command",
    "exec_command",
    "write_stdin",
    "apply_patch",
    "read_file",
    "list_dir",
    "grep_files",
    "find_files",
    "view_image",
    "update_plan",
    "request_user_input",
];

/// What the tools need from the outside.
#[derive(Debug, Clone)]
pub struct ToolDeps {
    pub launcher: Launcher,
    pub environment: EnvironmentPolicy,
    /// The environment that the engine was started with.
    pub inherited: BTreeMap<String, String>,
    /// Names of variables that never reach a command, such as that of the provider's key.
    pub secrets: Vec<String>,
    /// Hidden from file tools as it is from commands.
    pub troupe_home: Option<PathBuf>,
    pub rules: RuleSource,
}

/// Makes the registries of sessions that work in one directory. They share the login
/// environment: a login shell takes longer than everything else that a session begins with.
#[derive(Debug)]
pub struct Toolbox {
    launcher: Launcher,
    workers: FileWorkers,
    shell: PathBuf,
    login: Arc<LoginEnvironment>,
    inherited: Arc<Variables>,
    troupe_home: Option<PathBuf>,
    rules: RuleSource,
    answer_time_max: Option<Duration>,
    secrets: Vec<String>,
    hooks: Option<Arc<HookSet>>,
    /// None if what turns do to files is not kept.
    snapshots: Option<Arc<SnapshotHome>>,
}

/// What is kept so that turns can be taken back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UndoCoverage {
    Nothing,
    /// What patches touch.
    Patches,
    /// And what commands change in git repositories.
    PatchesAndCommands,
}

impl Toolbox {
    pub fn new(deps: ToolDeps) -> Self {
        let ToolDeps {
            launcher,
            environment,
            inherited,
            secrets,
            troupe_home,
            rules,
        } = deps;
        let shell = login::shell(&inherited);
        let login = LoginEnvironment::new(
            launcher.clone(),
            shell.clone(),
            environment,
            inherited.clone(),
            secrets.clone(),
        );
        Self {
            workers: FileWorkers::new(launcher.clone(), &inherited),
            login: Arc::new(login),
            launcher,
            shell,
            inherited: Arc::new(inherited),
            troupe_home,
            rules,
            answer_time_max: None,
            secrets,
            hooks: None,
            snapshots: None,
        }
    }

    /// Keeps what turns do to files below `home`, so that it can be taken back.
    #[must_use]
    pub fn with_undo(self, home: &Path, keeping: UndoCoverage) -> Self {
        let inherited = || Variables::clone(&self.inherited);
        let snapshots = || SnapshotHome::new(home, self.launcher.clone(), inherited());
        let snapshots = match keeping {
            UndoCoverage::Nothing => None,
            UndoCoverage::Patches => Some(snapshots().without_commands()),
            UndoCoverage::PatchesAndCommands => Some(snapshots()),
        };
        Self {
            snapshots: snapshots.map(Arc::new),
            ..self
        }
    }

    /// Bounds how long the user's answers to a model's questions are waited for.
    #[must_use]
    pub fn with_answer_time_max(self, answer_time_max: Option<Duration>) -> Self {
        Self {
            answer_time_max,
            ..self
        }
    }

    /// Runs these commands of the user's around calls.
    #[must_use]
    pub fn with_hooks(self, settings: HookSettings) -> Self {
        let hooks = HookSet::new(
            settings,
            self.launcher.clone(),
            Variables::clone(&self.inherited),
            &self.secrets,
            self.shell.clone(),
        );
        Self { hooks, ..self }
    }

    /// Makes the registry of one session: every tool of this crate. What a person agrees to
    /// counts for this session alone unless its consent is shared, and so does what its calls
    /// leave running.
    pub fn registry(&self) -> Registry {
        self.build(self.snapshots.clone())
    }

    /// Makes the registry of a session that leaves nothing on disk.
    pub fn registry_keeping_nothing(&self) -> Registry {
        self.build(None)
    }

    fn build(&self, snapshots: Option<Arc<SnapshotHome>>) -> Registry {
        let keeper = snapshots.map(|snapshots| Arc::new(UndoRecorder::new(snapshots)));
        let agreements = Arc::new(SessionApprovals::default());
        let turn_diff = Arc::new(TurnDiff::default());
        let editor = Arc::new(PatchEditor::new(
            Arc::clone(&agreements),
            self.workers.clone(),
            Arc::clone(&self.inherited),
            self.troupe_home.clone(),
            keeper.clone(),
            Arc::clone(&turn_diff),
            RuleBook::new(self.rules.clone()),
        ));
        let commands = Arc::new(CommandRunner::new(
            self.launcher.clone(),
            self.shell.clone(),
            Arc::clone(&self.login),
            Arc::clone(&agreements),
            RuleBook::new(self.rules.clone()),
            keeper.clone(),
        ));
        let terminals = Arc::new(BackgroundTerminals::default());
        let user_shell = UserShell::new(Arc::clone(&commands));
        let hidden = HiddenDirectory::new(self.troupe_home.clone(), self.launcher.shown_in_home());
        let workers = &self.workers;
        let tools: [Arc<dyn Tool>; BUILT_IN_TOOLS.len()] = [
            Arc::new(ShellCommand::new(
                Arc::clone(&commands),
                Arc::clone(&editor),
            )),
            Arc::new(ExecCommand::new(
                commands,
                Arc::clone(&terminals),
                Arc::clone(&editor),
            )),
            Arc::new(WriteStdin::new(
                Arc::clone(&terminals),
                Arc::clone(&agreements),
                keeper.clone(),
            )),
            Arc::new(ApplyPatch::new(editor)),
            Arc::new(ReadFile::new(workers.clone(), hidden.clone())),
            Arc::new(ListDir::new(workers.clone())),
            Arc::new(GrepFiles::new(workers.clone(), hidden.clone())),
            Arc::new(FindFiles::new(workers.clone())),
            Arc::new(ViewImage::new(workers.clone(), hidden)),
            Arc::new(UpdatePlan),
            Arc::new(RequestUserInput::new(self.answer_time_max)),
        ];
        Registry::with_terminals(tools, terminals, user_shell)
            .with_keeper(keeper)
            .with_agreements(agreements)
            .with_turn_diff(turn_diff)
            .with_hooks(self.hooks.clone())
    }
}
