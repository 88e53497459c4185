//! Context fragments: what the model is told about where it works, before the user speaks.

mod setting_notes;

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use troupe_protocol::command::{PlanStep, StepStatus};
use troupe_protocol::history::{ContentItem, Role};
use troupe_protocol::item::CommandExecutionItem;
use troupe_protocol::policy::{Personality, SandboxPolicy};
use troupe_protocol::session::TurnContext;
use troupe_protocol::{ContextFragment, ResponseItem};
use troupe_tools::hooks::HookRefusal;

use crate::deps::{InstructionSettings, ProjectDocSettings, SessionClock};
use crate::host::{StopAuthor, StopRequester};
use crate::limits::UNDONE_FILES_SHOWN_MAX;

pub(crate) use setting_notes::SettingNote;

const BASE_INSTRUCTIONS: &str = include_str!("prompts/base.md");
const PERSONALITY_PLACEHOLDER: &str = "{{personality}}";
const PERSONALITY_FRIENDLY: &str = include_str!("prompts/personality_friendly.md");
const PERSONALITY_PRAGMATIC: &str = include_str!("prompts/personality_pragmatic.md");

/// Looked for in each directory, in this order; the first one that exists counts.
const PROJECT_DOC_NAMES: [&str; 2] = ["AGENTS.override.md", "AGENTS.md"];

const USER_SHELL_OPEN: &str = ContextFragment::UserShell.opening();
const ENVIRONMENT_OPEN: &str = ContextFragment::Environment.opening();
const PROJECT_DOC_OPEN: &str = ContextFragment::ProjectDoc.opening();
const PLAN_OPEN: &str = ContextFragment::Plan.opening();
const PROPOSAL_OPEN: &str = ContextFragment::Proposal.opening();
const ABORTED_OPEN: &str = ContextFragment::Aborted.opening();
const AGENTS_OPEN: &str = ContextFragment::Agents.opening();
const HOOK_OPEN: &str = ContextFragment::Hook.opening();
const UNDONE_OPEN: &str = ContextFragment::Undone.opening();

const TAKEN_BACK: &str = "The user has taken back changes to these files; read them again before \
                          you rely on what they hold.";

pub(crate) fn is_environment(text: &str) -> bool {
    text.starts_with(ENVIRONMENT_OPEN)
}

/// Returns how the message with the instructions for this directory begins.
pub(crate) fn project_doc_title(cwd: &Path) -> String {
    format!("{PROJECT_DOC_OPEN}{}\n", cwd.display())
}

/// Reminds the model of its plan.
pub(crate) fn plan(steps: &[PlanStep]) -> String {
    let mut text = format!("{PLAN_OPEN}\nYour plan, as you last set it with update_plan:\n");
    for PlanStep { step, status } in steps {
        let status = match status {
            StepStatus::Pending => "pending",
            StepStatus::InProgress => "in progress",
            StepStatus::Completed => "completed",
        };
        writeln!(text, "- [{status}] {step}").expect("writing to a string does not fail");
    }
    text.push_str("</current_plan>");
    text
}

/// Reminds the model of a plan that it proposed to the user.
pub(crate) fn proposal(plan: &str) -> String {
    let plan = plan.trim_end();
    format!("{PROPOSAL_OPEN}\nThe plan that you proposed last:\n{plan}\n</latest_proposal>")
}

/// Tells the model why it is not done yet.
pub(crate) fn objection(refusal: &HookRefusal) -> String {
    let HookRefusal { hook, reason } = refusal;
    format!("{HOOK_OPEN}\nThe user's hook {hook} does not let the task end yet: {reason}\n</hook>")
}

/// Tells the model why its last turn ends in the middle, and who wanted that.
pub(crate) fn interrupted(by: &StopRequester) -> String {
    let (who, next) = match &by.who {
        StopAuthor::User => ("The user".to_owned(), "the user says"),
        StopAuthor::Agent(path) => (format!("The agent {path}"), "you are told"),
    };
    let why = match by.note.as_deref().map(str::trim) {
        None | Some("") => String::new(),
        Some(note) => format!(" ({note})"),
    };
    format!(
        "{ABORTED_OPEN}\n{who} interrupted the previous turn on purpose{why}. Commands that \
         were running have been stopped and may have done part of their work. Wait for what \
         {next} next.\n</turn_aborted>"
    )
}

/// Reminds the model of the agents that it has, in the words of the tree.
pub(crate) fn agents(standing: &str) -> String {
    format!("{AGENTS_OPEN}\n{}\n</agents>", standing.trim_end())
}

/// Tells whether an item is a message of the engine that says how things stand, or one of a
/// developer, who speaks as the engine does.
pub(crate) fn is_fragment_item(item: &ResponseItem) -> bool {
    let ResponseItem::Message { role, .. } = item else {
        return false;
    };
    match role {
        Role::User => item.fragment().is_some_and(|fragment| !fragment.is_news()),
        Role::System | Role::Developer => true,
        Role::Assistant => false,
    }
}

/// Tells whether an item says what an undo took back.
pub(crate) fn is_undo_note(item: &ResponseItem) -> bool {
    let is_note = |text: &str| {
        let words = text.strip_prefix(UNDONE_OPEN);
        words.is_some_and(|words| words.trim_start().starts_with(TAKEN_BACK))
    };
    item.fragment() == Some(ContextFragment::Undone) && text_of(item).is_some_and(is_note)
}

/// Returns the first text of a message.
pub(crate) fn text_of(item: &ResponseItem) -> Option<&str> {
    match item {
        ResponseItem::Message { content, .. } => content.iter().find_map(ContentItem::text),
        _ => None,
    }
}

/// Returns the beginning of a text, and how much of it is left out.
pub(crate) fn cut_text(text: &str, bytes_max: usize, what: &str) -> String {
    let kept = cut_at(text, bytes_max);
    match text.len() - kept.len() {
        0 => text.to_owned(),
        more => format!("{kept}\n[… {more} more bytes of this {what} were left out]"),
    }
}

/// Returns how a personality speaks.
fn manner(personality: Personality) -> &'static str {
    match personality {
        Personality::None => "",
        Personality::Friendly => PERSONALITY_FRIENDLY.trim_end(),
        Personality::Pragmatic => PERSONALITY_PRAGMATIC.trim_end(),
    }
}

/// Tells whether the instructions have a place for a personality.
pub(crate) fn has_place_for_personality(base: Option<&str>) -> bool {
    base.unwrap_or(BASE_INSTRUCTIONS)
        .contains(PERSONALITY_PLACEHOLDER)
}

/// Returns the instructions that go beside the history.
pub(crate) fn instructions(
    base: Option<&str>,
    personality: Personality,
    role: Option<&str>,
) -> String {
    let mut text = base
        .unwrap_or(BASE_INSTRUCTIONS)
        .replace(PERSONALITY_PLACEHOLDER, manner(personality));
    if let Some(role) = role {
        text.truncate(text.trim_end().len());
        text.push_str("\n\n");
        text.push_str(role);
    }
    text
}

/// Returns the message that describes the surroundings. It is sent at the start and again
/// whenever it changes.
pub(crate) fn environment(
    context: &TurnContext,
    instructions: &InstructionSettings,
    clock: &SessionClock,
) -> String {
    let mut text = format!("{ENVIRONMENT_OPEN}\n");
    let mut line = |tag: &str, value: &str| {
        writeln!(text, "  <{tag}>{value}</{tag}>").expect("writing to a string does not fail");
    };
    line("cwd", &context.cwd.display().to_string());
    line("approval_policy", approval_name(context));
    line("sandbox_mode", sandbox_name(&context.sandbox_policy));
    line("network_access", network_name(&context.sandbox_policy));
    if let SandboxPolicy::WorkspaceWrite { writable_roots, .. } = &context.sandbox_policy {
        for root in writable_roots {
            line("writable_root", &root.display().to_string());
        }
    }
    line("shell", &instructions.shell);
    let zone = &instructions.time_zone;
    let now = clock.now().to_zoned(zone.clone());
    line("current_date", &now.date().to_string());
    line("timezone", zone.iana_name().unwrap_or("UTC"));
    text.push_str("</environment_context>");
    text
}

fn approval_name(context: &TurnContext) -> &'static str {
    use troupe_protocol::policy::ApprovalPolicy as Policy;
    match context.approval_policy {
        Policy::Untrusted => "untrusted",
        Policy::OnFailure => "on-failure",
        Policy::OnRequest => "on-request",
        Policy::Never => "never",
    }
}

fn sandbox_name(policy: &SandboxPolicy) -> &'static str {
    match policy {
        SandboxPolicy::DangerFullAccess => "danger-full-access",
        SandboxPolicy::ReadOnly { .. } => "read-only",
        SandboxPolicy::WorkspaceWrite { .. } => "workspace-write",
    }
}

fn network_name(policy: &SandboxPolicy) -> &'static str {
    if policy.network_access() {
        "enabled"
    } else {
        "restricted"
    }
}

/// Returns what the model is told of a command of the user's own that is over.
pub(crate) fn user_shell(item: &CommandExecutionItem) -> String {
    let command = item.command.last().map_or("", String::as_str);
    let result = match &item.outcome {
        Some(outcome) => outcome.formatted_output.as_str(),
        None => "It was not run, or was ended before it could be seen what it did.",
    };
    format!(
        "{USER_SHELL_OPEN}\n<command>\n{command}\n</command>\n<result>\n{}\n</result>\n\
         </user_shell_command>",
        result.trim_end()
    )
}

/// What an undo did to the model's turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UndoDirection {
    /// The files are as they were before its turns.
    TakenBack,
    /// The files are as its turns left them, again.
    BroughtBack,
}

/// Returns what the model is told of an undo, or of one that was taken back.
pub(crate) fn files_taken_back(
    direction: UndoDirection,
    restored: &[PathBuf],
    removed: &[PathBuf],
) -> String {
    let lines = |word: &str, paths: &[PathBuf]| {
        let shown = paths.iter().take(UNDONE_FILES_SHOWN_MAX);
        let mut lines: Vec<String> = shown
            .map(|path| format!("{word} {}\n", path.display()))
            .collect();
        let over = paths.len().saturating_sub(UNDONE_FILES_SHOWN_MAX);
        lines.extend((over > 0).then(|| format!("{word} {over} more\n")));
        lines.concat()
    };
    let words = match direction {
        UndoDirection::TakenBack => TAKEN_BACK,
        UndoDirection::BroughtBack => {
            "The user has reversed the last undo: these files are again as your turns left them, \
             and what was said of them as taken back no longer holds."
        }
    };
    format!(
        "{UNDONE_OPEN}\n{words}\n{}{}</files_taken_back>",
        lines("changed", restored),
        lines("removed", removed)
    )
}

/// The instructions of user and project for one working directory.
#[derive(Debug, Default)]
pub(crate) struct ProjectDoc {
    pub message: Option<ResponseItem>,
    /// What was left out, and why.
    pub warnings: Vec<String>,
}

/// Reads the instruction files from the project's root down to `cwd`.
pub(crate) fn project_doc(cwd: &Path, instructions: &InstructionSettings) -> ProjectDoc {
    let mut doc = ProjectDoc::default();
    let mut text = instructions.user.as_deref().unwrap_or_default().to_owned();
    let mut left = instructions.project.bytes_max;
    let files = ProjectFiles::find(cwd, &instructions.project);
    for path in &files.paths {
        let read = files.real(path).and_then(|it| read_beginning(&it, left));
        let (content, bytes) = match read {
            Ok(read) => read,
            Err(error) => {
                doc.warnings
                    .push(format!("{} was not read: {error}", path.display()));
                continue;
            }
        };
        let kept = cut_at(&content, left);
        if (kept.len() as u64) < bytes {
            doc.warnings.push(format!(
                "{} was cut: only {} of its {bytes} bytes fit in project_doc_max_bytes = {}",
                path.display(),
                kept.len(),
                instructions.project.bytes_max
            ));
        }
        left -= kept.len();
        if !kept.trim().is_empty() {
            if !text.is_empty() {
                text.push_str("\n\n--- project-doc ---\n\n");
            }
            text.push_str(kept);
        }
    }
    if !text.trim().is_empty() {
        doc.message = Some(ResponseItem::user_text(format!(
            "{}\n<INSTRUCTIONS>\n{}\n</INSTRUCTIONS>",
            project_doc_title(cwd),
            text.trim_end()
        )));
    }
    doc
}

/// Returns the files that the instructions of user and project come from.
pub(crate) fn instruction_sources(cwd: &Path, instructions: &InstructionSettings) -> Vec<PathBuf> {
    let files = ProjectFiles::find(cwd, &instructions.project);
    let project = files.paths.iter().filter(|path| files.real(path).is_ok());
    let user = instructions.user_file.iter();
    user.chain(project).cloned().collect()
}

/// The instruction files of a project, from its root down.
struct ProjectFiles<'a> {
    root: &'a Path,
    paths: Vec<PathBuf>,
}

impl<'a> ProjectFiles<'a> {
    fn find(cwd: &'a Path, settings: &ProjectDocSettings) -> Self {
        let is_root = |dir: &Path| {
            settings
                .root_markers
                .iter()
                .any(|marker| dir.join(marker).exists())
        };
        let depth = cwd.ancestors().position(is_root).unwrap_or(0);
        let mut dirs: Vec<&Path> = cwd.ancestors().take(depth + 1).collect();
        dirs.reverse();
        let root = dirs.first().copied().unwrap_or(cwd);
        let paths = dirs.into_iter().filter_map(|dir| {
            PROJECT_DOC_NAMES
                .into_iter()
                .chain(settings.fallback_filenames.iter().map(String::as_str))
                .map(|name| dir.join(name))
                .find(|path| path.is_file())
        });
        Self {
            root,
            paths: paths.collect(),
        }
    }

    /// Returns where a file really lies. Whoever wrote the project could make a link lead to
    /// the user's keys, or to this process's environment, and have them sent to the model.
    fn real(&self, path: &Path) -> io::Result<PathBuf> {
        let real = path.canonicalize()?;
        if real.starts_with(self.root.canonicalize()?) {
            return Ok(real);
        }
        let message = format!("it is a link out of the project, to {}", real.display());
        Err(io::Error::new(io::ErrorKind::PermissionDenied, message))
    }
}

/// Reads what may be used of a file, and how long the whole is. The file is somebody else's:
/// it may be of any size, and the session waits meanwhile.
fn read_beginning(path: &Path, bytes_max: usize) -> io::Result<(String, u64)> {
    let mut file = File::open(path)?;
    let whole = file.metadata()?.len();
    let mut bytes = Vec::new();
    // A character that the bound cuts is at most three bytes longer.
    let wanted = bytes_max as u64 + 3;
    file.by_ref().take(wanted).read_to_end(&mut bytes)?;
    let whole = whole.max(bytes.len() as u64);
    match String::from_utf8(bytes) {
        Ok(text) => Ok((text, whole)),
        Err(error) if error.utf8_error().error_len().is_none() && whole > wanted => {
            let valid = error.utf8_error().valid_up_to();
            let mut bytes = error.into_bytes();
            bytes.truncate(valid);
            let text = String::from_utf8(bytes).map_err(io::Error::other)?;
            Ok((text, whole))
        }
        Err(error) => Err(io::Error::new(io::ErrorKind::InvalidData, error)),
    }
}

/// Returns at most `bytes_max` bytes of the text, cut between characters.
fn cut_at(text: &str, bytes_max: usize) -> &str {
    &text[..text.floor_char_boundary(bytes_max)]
}

#[cfg(test)]
mod tests;
