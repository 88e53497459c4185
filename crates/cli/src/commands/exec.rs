//! `troupe exec`: one task without a screen. Here are its arguments; what it does is in
//! [`crate::exec`].

mod positionals;
mod screen;

use std::fs;
use std::io::{self, IsTerminal};
use std::num::NonZeroU32;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueEnum};
use troupe_config::{ConfigFlag, KeyPath};
use troupe_server::called_command;
use troupe_tools::{ModelPicture, PictureScale};

use crate::arguments::{ConfigOverrides, LayerSelection};
use crate::commands::review::ReviewArguments;
use crate::commands::{block_on, tell};
use crate::exec::mentions::mentioned;
use crate::exec::prompt::{self, StdinKind};
use crate::exec::request::{
    CassetteMode, ExecOutput, ExecRequest, ExecTask, JsonTexts, ReviewForm,
};
use crate::exec::saved_prompts::{FilledPrompt, PromptPlaces};
use crate::exec::shape::AnswerShape;
use crate::exec::unfinished_children::UnfinishedChildren;
use crate::failure::{CommandFailure, Outcome};
use crate::home::{TroupeHome, here, repository_root};
use crate::layers::ConfigSource;
use crate::style::{ColorChoice, TextStyle};
use positionals::{ExecPositionals, PromptSource, aim};
pub use screen::{open, open_new};

#[derive(Debug, Args)]
#[command(
    subcommand_negates_reqs = true,
    after_help = "Progress goes to stderr, the final message to stdout; with --json, events go to stdout.
Ctrl-C stops the task and all agents; a second one ends the program.

Exit codes: 0 completed · 1 failed or interrupted · 2 not usable as typed · 3 not started
  4 --children-must-succeed · 5 a person must decide · 6 --max-turns · 130, 143 ended by a signal
docs/exec.md has approvals, children, the JSON lines and the exit codes in full.

Examples:
  troupe exec \"add a test for the parser\"
  troupe exec -s read-only -m gpt-5.1 --json \"explain this repository\" > events.jsonl
  cargo build 2>&1 | troupe exec \"fix these errors\"
  troupe exec --output-schema answer.schema.json -o answer.json \"list the public functions\"
  troupe exec resume 3f2a9c1e \"now update the docs\"
  troupe exec --plan \"split the parser\" > plan.md
  troupe exec resume --last --no-plan \"do it\""
)]
pub struct ExecArguments {
    /// What to do; `-` or nothing reads it from stdin, and what is piped in beside it is added.
    /// `@path` points the model at a file or directory, and shows it a picture. `/name words` is
    /// the prompt in .troupe/commands/name.md or .claude/commands/name.md, with these arguments.
    pub prompt: Option<String>,
    #[command(flatten)]
    pub repeated: RepeatedOptions,
    #[command(flatten)]
    pub options: ExecOptions,
    #[command(subcommand)]
    pub action: Option<ExecAction>,
}

#[derive(Debug, Subcommand)]
pub enum ExecAction {
    /// Continue a session with a new prompt.
    Resume(ResumeArguments),
    /// Begin a new session with the history of another.
    Fork(ForkArguments),
    /// Have changes reviewed (as `troupe review`).
    Review(ReviewArguments),
}

#[derive(Debug, Args)]
pub struct ResumeArguments {
    /// The session: id, its first 4 or more characters, or name; or a file of Codex or Claude
    /// Code, which is taken over. With --last, the prompt.
    pub session: Option<String>,
    /// What to do next; `-` or nothing reads it from stdin.
    pub prompt: Option<String>,
    /// Continue the session of this directory that changed last.
    #[arg(long)]
    pub last: bool,
    /// With --last: of any directory.
    #[arg(long, requires = "last")]
    pub all: bool,
    /// Have children go on that were at work when the session ended, by Ctrl-C, by a crash or
    /// because a person had to decide; without a prompt, the session itself too.
    #[arg(long = "continue")]
    pub go_on: bool,
    #[command(flatten)]
    pub repeated: RepeatedOptions,
}

#[derive(Debug, Args)]
pub struct ForkArguments {
    /// The session: id, its first 4 or more characters, or name.
    pub session: String,
    /// What to do; `-` or nothing reads it from stdin.
    pub prompt: Option<String>,
    /// Fork at this bookmark (a `response_id`) and not at the end.
    #[arg(long, value_name = "RESPONSE_ID")]
    pub at: Option<String>,
    #[command(flatten)]
    pub repeated: RepeatedOptions,
}

/// `troupe resume`.
#[derive(Debug, Args)]
pub struct ResumeCommand {
    #[command(flatten)]
    resume: ResumeArguments,
    #[command(flatten)]
    options: ExecOptions,
}

/// `troupe fork`.
#[derive(Debug, Args)]
pub struct ForkCommand {
    #[command(flatten)]
    fork: ForkArguments,
    #[command(flatten)]
    options: ExecOptions,
}

impl ResumeCommand {
    pub fn into_exec(self) -> ExecArguments {
        ExecAction::Resume(self.resume).with(self.options)
    }
}

impl ForkCommand {
    pub fn into_exec(self) -> ExecArguments {
        ExecAction::Fork(self.fork).with(self.options)
    }
}

impl ExecAction {
    pub(super) fn with(self, options: ExecOptions) -> ExecArguments {
        ExecArguments {
            prompt: None,
            repeated: RepeatedOptions::default(),
            options,
            action: Some(self),
        }
    }
}

/// Options that may be given several times, before and after `resume` and `fork`.
#[derive(Debug, Clone, Default, Args)]
pub struct RepeatedOptions {
    #[command(flatten)]
    pub overrides: ConfigOverrides,
    /// Send an image along.
    #[arg(short, long = "image", value_name = "FILE", value_delimiter = ',')]
    pub images: Vec<PathBuf>,
    /// Let commands write below this directory too.
    #[arg(long = "add-dir", value_name = "DIR")]
    pub add_dirs: Vec<PathBuf>,
}

impl RepeatedOptions {
    fn then(mut self, further: Self) -> Self {
        self.overrides = self.overrides.then(further.overrides);
        self.images.extend(further.images);
        self.add_dirs.extend(further.add_dirs);
        self
    }
}

#[derive(Debug, Clone, Default, Args)]
pub struct ExecOptions {
    /// Print events as JSON lines on stdout.
    #[arg(long, global = true, alias = "experimental-json")]
    json: bool,
    /// With --json: tell of messages, plans and reasoning also while they grow (item.started, then
    /// item.updated with the text so far).
    #[arg(long, global = true, requires = "json")]
    include_partial: bool,
    /// Write the final message of a completed task to this file.
    #[arg(
        short = 'o',
        long = "output-last-message",
        global = true,
        value_name = "FILE"
    )]
    output_last_message: Option<PathBuf>,
    /// Have a final answer that follows the JSON Schema in this file. One that does not is asked
    /// for again once; then the task has failed.
    #[arg(long, global = true, value_name = "FILE")]
    output_schema: Option<PathBuf>,
    /// The model to ask.
    #[arg(short, long, global = true, value_name = "NAME")]
    model: Option<String>,
    /// Ask a model on this machine: a gpt-oss of ollama, if nothing else is named.
    #[arg(long, global = true)]
    oss: bool,
    /// Which server on this machine is asked (implies --oss).
    #[arg(long, global = true, value_enum, value_name = "NAME")]
    local_provider: Option<LocalProvider>,
    /// What commands may do.
    #[arg(short, long, global = true, value_enum, value_name = "MODE")]
    sandbox: Option<SandboxArgument>,
    /// Let commands write in the working directory (short for `-s workspace-write`).
    #[arg(long, global = true, hide = true, conflicts_with = "sandbox")]
    full_auto: bool,
    /// Run everything without sandbox and without asking. Only for machines that are a
    /// sandbox themselves.
    #[arg(
        long = "dangerously-bypass-approvals-and-sandbox",
        global = true,
        alias = "yolo",
        conflicts_with_all = ["sandbox", "full_auto"]
    )]
    bypass: bool,
    /// Plan mode: the model looks, asks and proposes a plan. Commands can only read meanwhile,
    /// unless -s says otherwise; those of agents below it in any case.
    #[arg(long, global = true)]
    plan: bool,
    /// Leave the plan mode of a session that is continued: have the work done.
    #[arg(long, global = true, conflicts_with = "plan")]
    no_plan: bool,
    /// Work in this directory.
    #[arg(short = 'C', long, global = true, value_name = "DIR")]
    cd: Option<PathBuf>,
    /// Work outside a git repository too.
    #[arg(long, global = true)]
    skip_git_repo_check: bool,
    /// What becomes of children that are at work when the task is over.
    #[arg(
        long,
        global = true,
        value_enum,
        default_value = "wait",
        value_name = "HOW"
    )]
    children: UnfinishedChildren,
    /// Exit with 4 if the last task of a child failed.
    #[arg(long, global = true)]
    children_must_succeed: bool,
    /// Stop after this many answers of the first agent's model, with exit code 6. The calls in
    /// the last one are still carried out.
    #[arg(long, global = true, value_name = "N")]
    max_turns: Option<NonZeroU32>,
    /// Write nothing to the home.
    #[arg(long, global = true)]
    ephemeral: bool,
    /// Colour the progress on stderr.
    #[arg(
        long,
        global = true,
        value_enum,
        default_value = "auto",
        value_name = "WHEN"
    )]
    color: ColorChoice,
    /// Record the model's answers to this file, which must not exist.
    #[arg(long, global = true, value_name = "FILE", conflicts_with = "replay")]
    record: Option<PathBuf>,
    /// Answer from a recorded file and ask no model.
    #[arg(long, global = true, value_name = "FILE")]
    replay: Option<PathBuf>,
}

impl ExecOptions {
    /// Where to work, if not here.
    pub(super) fn directory(&self) -> Option<&Path> {
        self.cd.as_deref()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum SandboxArgument {
    ReadOnly,
    WorkspaceWrite,
    DangerFullAccess,
}

/// The built-in providers that need no key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum LocalProvider {
    Ollama,
    #[value(name = "llamacpp")]
    LlamaCpp,
    Vllm,
}

impl LocalProvider {
    fn id(self) -> &'static str {
        match self {
            Self::Ollama => "ollama",
            Self::LlamaCpp => "llamacpp",
            Self::Vllm => "vllm",
        }
    }

    /// As the server calls it.
    fn default_model(self) -> &'static str {
        match self {
            Self::Ollama => "gpt-oss:20b",
            Self::LlamaCpp => "gpt-oss-20b",
            Self::Vllm => "openai/gpt-oss-20b",
        }
    }
}

impl SandboxArgument {
    fn key_value(self) -> &'static str {
        match self {
            Self::ReadOnly => "read-only",
            Self::WorkspaceWrite => "workspace-write",
            Self::DangerFullAccess => "danger-full-access",
        }
    }
}

pub fn run(
    arguments: ExecArguments,
    overrides: ConfigOverrides,
    layers: LayerSelection,
) -> Outcome {
    let request = request(arguments, overrides, layers)?;
    block_on(crate::exec::run::run(request))
}

/// Turns arguments into a request; everything that can be refused early is refused here.
fn request(
    arguments: ExecArguments,
    overrides: ConfigOverrides,
    layers: LayerSelection,
) -> Result<ExecRequest, CommandFailure> {
    let ExecArguments {
        prompt: argument,
        repeated,
        options,
        action,
    } = arguments;
    let ExecPositionals {
        continues,
        prompt,
        repeated,
    } = aim(action, argument, repeated)?;
    let cwd = working_directory(options.cd.as_deref())?;
    if !options.skip_git_repo_check && !options.bypass && repository_root(&cwd).is_none() {
        return Err(CommandFailure::usage(format!(
            "{} is not inside a git repository, so changes could not be undone; \
             use --skip-git-repo-check to work there all the same",
            cwd.display()
        )));
    }
    let shape = options
        .output_schema
        .as_deref()
        .map(AnswerShape::read)
        .transpose()?;
    let images: Vec<PathBuf> = repeated
        .images
        .iter()
        .map(|path| picture(path))
        .collect::<Result<_, _>>()?;
    let add_dirs = repeated
        .add_dirs
        .iter()
        .map(|path| existing(path))
        .collect::<Result<_, _>>()?;
    if let Some(path) = &options.output_last_message {
        check_writable(path)?;
    }
    if let Some(path) = &options.record {
        check_absent(path)?;
    }
    let home = TroupeHome::find()?;
    let places = PromptPlaces::around(&cwd, &home);
    let is_review = matches!(prompt, PromptSource::Review(_));
    if is_review {
        check_review(&options)?;
    }
    Ok(ExecRequest {
        source: ConfigSource {
            home,
            overrides: overrides.then(repeated.overrides),
            layers,
            flags: flags(&options),
        },
        add_dirs,
        continues,
        recovery: prompt.recovery(),
        // Last, because it may wait for somebody to type.
        task: task(prompt, &cwd, &places, images, shape, &options)?,
        cwd,
        output: if options.json && !is_review {
            ExecOutput::Jsonl(if options.include_partial {
                JsonTexts::Growing
            } else {
                JsonTexts::Whole
            })
        } else {
            ExecOutput::Human(TextStyle::choose(options.color, &io::stderr()))
        },
        last_message_file: options.output_last_message,
        turns_max: options.max_turns,
        children: options.children,
        children_must_succeed: options.children_must_succeed,
        ephemeral: options.ephemeral,
        cassette: match (options.record, options.replay) {
            (Some(path), _) => CassetteMode::Record(path),
            (None, Some(path)) => CassetteMode::Replay(path),
            (None, None) => CassetteMode::None,
        },
    })
}

fn task(
    prompt: PromptSource,
    cwd: &Path,
    places: &PromptPlaces,
    images: Vec<PathBuf>,
    shape: Option<AnswerShape>,
    options: &ExecOptions,
) -> Result<ExecTask, CommandFailure> {
    let argument = match prompt {
        PromptSource::Required(text) => text,
        PromptSource::Optional(None) => return Ok(ExecTask::GoOn { shape }),
        PromptSource::Optional(Some(text)) => Some(text),
        PromptSource::Review(review) => {
            return Ok(ExecTask::Review {
                target: review.target()?,
                form: if options.json {
                    ReviewForm::Json
                } else {
                    ReviewForm::Text
                },
            });
        }
    };
    // Only what somebody typed points at files; what is piped in may be anybody's words.
    let typed = argument.as_deref().unwrap_or_default();
    let mentioned = mentioned(typed, cwd);
    let saved = places.fill(typed)?;
    for note in saved.iter().flat_map(FilledPrompt::notes) {
        tell(&format!("note: {note}"));
    }
    let command = argument.clone().filter(|_| saved.is_none());
    let argument = saved.map(|saved| saved.text).or(argument);
    Ok(ExecTask::Prompt {
        command: command.filter(|typed| called_command(typed).is_some()),
        mentioned,
        text: read_prompt(argument.as_deref())?,
        images,
        shape,
    })
}

fn flags(options: &ExecOptions) -> Vec<ConfigFlag> {
    let flag = |name, key: &str, value: &str| ConfigFlag {
        name,
        key: KeyPath::from([key]),
        value: value.to_owned(),
    };
    let mut flags = Vec::new();
    let local = options.local_provider;
    if let Some(local) = local.or(options.oss.then_some(LocalProvider::Ollama)) {
        flags.push(flag("--oss", "model_provider", local.id()));
        // What is configured is most likely the name of a model elsewhere.
        flags.push(flag("--oss", "model", local.default_model()));
    }
    if let Some(model) = &options.model {
        flags.push(flag("--model", "model", model));
    }
    if let Some(sandbox) = options.sandbox {
        flags.push(flag("--sandbox", "sandbox_mode", sandbox.key_value()));
    }
    if options.full_auto {
        flags.push(flag("--full-auto", "sandbox_mode", "workspace-write"));
    }
    if options.plan {
        flags.push(flag("--plan", "collaboration_mode", "plan"));
    }
    if options.no_plan {
        flags.push(flag("--no-plan", "collaboration_mode", "default"));
    }
    if options.bypass {
        let name = "--dangerously-bypass-approvals-and-sandbox";
        flags.push(flag(name, "sandbox_mode", "danger-full-access"));
        flags.push(flag(name, "approval_policy", "never"));
    }
    flags
}

fn working_directory(chosen: Option<&Path>) -> Result<PathBuf, CommandFailure> {
    let directory = match chosen {
        Some(path) => existing(path)?,
        None => here()?,
    };
    if !directory.is_dir() {
        return Err(CommandFailure::usage(format!(
            "{} is not a directory",
            directory.display()
        )));
    }
    Ok(directory)
}

/// Returns the absolute path of something that must exist.
fn existing(path: &Path) -> Result<PathBuf, CommandFailure> {
    fs::canonicalize(path)
        .map_err(|error| CommandFailure::usage(format!("{}: {error}", path.display())))
}

/// Returns the absolute path of a picture that a model can be shown.
fn picture(path: &Path) -> Result<PathBuf, CommandFailure> {
    let path = existing(path)?;
    match ModelPicture::read(&path, PictureScale::Fitting) {
        Ok(_) => Ok(path),
        Err(why) => Err(CommandFailure::usage(format!("--image: {why}"))),
    }
}

/// Finds out whether the answer can be kept before anybody pays for it. Nothing is left
/// behind: the file is for the message of a task that was completed.
fn check_writable(path: &Path) -> Result<(), CommandFailure> {
    let open = |is_new: bool| {
        let mut options = fs::OpenOptions::new();
        options.write(true).create_new(is_new).open(path)
    };
    let tried = match fs::metadata(path) {
        // Opening a pipe would wait for its reader.
        Ok(metadata) if !metadata.is_file() && !metadata.is_dir() => Ok(()),
        Ok(_) => open(false).map(drop),
        Err(_) => open(true).and_then(|_| fs::remove_file(path)),
    };
    tried.map_err(|error| CommandFailure::usage(format!("-o {}: {error}", path.display())))
}

/// A review has a form of its own, and asks the first agent's model nothing.
fn check_review(options: &ExecOptions) -> Result<(), CommandFailure> {
    let given = [
        ("--output-schema", options.output_schema.is_some()),
        ("--max-turns", options.max_turns.is_some()),
        ("--include-partial", options.include_partial),
    ];
    match given.iter().find(|(_, is_given)| *is_given) {
        Some((name, _)) => Err(CommandFailure::usage(format!(
            "{name} does not go with a review"
        ))),
        None => Ok(()),
    }
}

/// A recording that somebody paid for is not replaced.
fn check_absent(path: &Path) -> Result<(), CommandFailure> {
    match fs::metadata(path) {
        // A pipe or a device holds nothing.
        Ok(metadata) if !metadata.is_file() && !metadata.is_dir() => Ok(()),
        Ok(_) => Err(CommandFailure::usage(format!(
            "--record {}: there is such a file already; delete it or name another",
            path.display()
        ))),
        // Opening it says what else is wrong.
        Err(_) => Ok(()),
    }
}

pub(super) fn read_prompt(argument: Option<&str>) -> Result<String, CommandFailure> {
    let stdin = if io::stdin().is_terminal() {
        StdinKind::Terminal
    } else {
        StdinKind::Piped
    };
    if argument.is_some_and(|text| text != "-") && may_wait(io::stdin().as_fd()) {
        // Whoever forgot to close a pipe should see what is waited for.
        tell("reading more input from stdin…");
    }
    prompt::assemble(argument, stdin, io::stdin().lock())
        .map_err(|error| CommandFailure::usage(error.to_string()))
}

/// Tells whether reading may wait for another program; files and `/dev/null` just end.
fn may_wait(stdin: BorrowedFd<'_>) -> bool {
    let kind = stdin
        .try_clone_to_owned()
        .and_then(|stdin| fs::File::from(stdin).metadata())
        .map(|metadata| metadata.file_type());
    kind.is_ok_and(|kind| kind.is_fifo() || kind.is_socket())
}

#[cfg(test)]
mod tests;
