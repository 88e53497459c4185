//! The tools of one session, by name.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt as _;
use troupe_protocol::policy::SandboxPolicy;
use troupe_protocol::tool::ToolSpec;

use crate::approval::{ApprovalMemory, SessionApprovals};
use crate::call::{CallChannel, ToolInvocation};
use crate::command::BackgroundTerminals;
use crate::hooks::{self, HookSet};
use crate::item;
use crate::item_tracker::ItemTracker;
use crate::source::{GatheredTools, SourceRevision, ToolSource};
use crate::tool::{Tool, ToolConcurrency, ToolOutput};
use crate::toolbox::{ToolDeps, Toolbox};
use crate::turn_diff::TurnDiff;
use crate::undo::UndoRecorder;
use crate::user_shell::{self, UserShell};

/// Offers the tools to the model and runs its calls. One per session.
#[derive(Debug)]
pub struct Registry {
    tools: BTreeMap<String, Arc<dyn Tool>>,
    /// Tools that exist and that this session may not use.
    withheld: BTreeSet<String>,
    /// Runs the user's own commands.
    user_shell: Option<UserShell>,
    /// What every tool must pass, also one that comes later.
    filters: Vec<ToolFilter>,
    /// Why nothing leaves the sandbox, whoever agrees.
    held: Option<Arc<str>>,
    /// What people agreed to.
    agreements: Arc<SessionApprovals>,
    later: Option<ToolSourceState>,
    /// What calls left running. It ends with the registry.
    terminals: Arc<BackgroundTerminals>,
    /// Knows what calls did to files, if that is kept.
    keeper: Option<Arc<UndoRecorder>>,
    /// Remembers the files that the turn's patches touched.
    turn_diff: Arc<TurnDiff>,
    /// What the user wants to be run around calls; mostly nothing.
    hooks: Option<Arc<HookSet>>,
}

/// Tells by its name whether a tool may be used.
#[derive(Clone)]
struct ToolFilter(Arc<dyn Fn(&str) -> bool + Send + Sync>);

impl fmt::Debug for ToolFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Filter")
    }
}

/// Where further tools come from, and which of its states the registry knows.
#[derive(Debug, Clone)]
struct ToolSourceState {
    source: Arc<dyn ToolSource>,
    known: SourceRevision,
    /// The names that came from it.
    names: BTreeSet<String>,
}

impl Registry {
    /// Builds a registry of the given tools. Of two with one name the later one is offered.
    pub fn new(tools: impl IntoIterator<Item = Arc<dyn Tool>>) -> Self {
        let tools = tools
            .into_iter()
            .map(|tool| (tool.spec().name().to_owned(), tool))
            .collect();
        Self {
            tools,
            withheld: BTreeSet::new(),
            user_shell: None,
            filters: Vec::new(),
            held: None,
            agreements: Arc::default(),
            later: None,
            terminals: Arc::default(),
            keeper: None,
            turn_diff: Arc::default(),
            hooks: None,
        }
    }

    /// Builds the registry of a session: every tool of this crate.
    pub fn standard(deps: ToolDeps) -> Self {
        Toolbox::new(deps).registry()
    }

    pub(crate) fn with_terminals(
        tools: impl IntoIterator<Item = Arc<dyn Tool>>,
        terminals: Arc<BackgroundTerminals>,
        user_shell: UserShell,
    ) -> Self {
        Self {
            terminals,
            user_shell: Some(user_shell),
            ..Self::new(tools)
        }
    }

    pub(crate) fn with_keeper(self, keeper: Option<Arc<UndoRecorder>>) -> Self {
        Self { keeper, ..self }
    }

    pub(crate) fn with_agreements(self, agreements: Arc<SessionApprovals>) -> Self {
        Self { agreements, ..self }
    }

    /// Has what people agree to count for all registries with this consent.
    pub fn share_consent(&self, consent: &Arc<ApprovalMemory>) {
        self.agreements.share(consent);
    }

    pub(crate) fn with_turn_diff(self, turn_diff: Arc<TurnDiff>) -> Self {
        Self { turn_diff, ..self }
    }

    /// Forgets what was remembered for the turn that is over.
    pub fn forget_turn(&self) {
        self.turn_diff.forget();
    }

    /// Returns what takes back changes of files; none if they are not kept.
    pub fn keeper(&self) -> Option<&Arc<UndoRecorder>> {
        self.keeper.as_ref()
    }

    #[must_use]
    pub fn with_hooks(self, hooks: Option<Arc<HookSet>>) -> Self {
        Self { hooks, ..self }
    }

    pub fn hooks(&self) -> Option<&Arc<HookSet>> {
        self.hooks.as_ref()
    }

    /// Adds a tool; one of the same name gives way.
    pub fn add(&mut self, tool: Arc<dyn Tool>) {
        self.tools.insert(tool.spec().name().to_owned(), tool);
    }

    /// Keeps the tools that are allowed. The others are neither offered nor run, whether they
    /// are there or come later.
    #[must_use]
    pub fn narrow(mut self, allows: impl Fn(&str) -> bool + Send + Sync + 'static) -> Self {
        let (allowed, withheld): (BTreeMap<_, _>, BTreeMap<_, _>) =
            self.tools.into_iter().partition(|(name, _)| allows(name));
        self.tools = allowed;
        self.withheld.extend(withheld.into_keys());
        self.filters.push(ToolFilter(Arc::new(allows)));
        self
    }

    /// Keeps commands and edits in the sandbox, whoever agrees to let them out. `why` is told
    /// to the model.
    #[must_use]
    pub fn held_in_sandbox(self, why: &str) -> Self {
        Self {
            held: Some(why.into()),
            ..self
        }
    }

    /// Has further tools come from a source.
    pub fn set_source(&mut self, source: Arc<dyn ToolSource>) {
        self.later = Some(ToolSourceState {
            source,
            known: SourceRevision::NOTHING,
            names: BTreeSet::new(),
        });
    }

    /// Leaves these servers of the source, if there is one.
    #[must_use]
    pub fn narrow_source(mut self, servers: &[String]) -> Self {
        if let Some(later) = &mut self.later {
            later.source = later.source.only(servers);
        }
        self
    }

    /// Returns where further tools come from.
    pub fn source(&self) -> Option<&Arc<dyn ToolSource>> {
        self.later.as_ref().map(|later| &later.source)
    }

    /// Returns the source if it has something that this registry does not know.
    pub fn news(&self) -> Option<&Arc<dyn ToolSource>> {
        let later = self.later.as_ref()?;
        let is_known = later.known == later.source.revision();
        (!is_known).then_some(&later.source)
    }

    /// Returns the registry with what its source has now. What calls left running belongs to
    /// both.
    #[must_use]
    pub fn with_gathered_tools(&self, gathered: GatheredTools) -> Self {
        let mut tools = self.tools.clone();
        let mut withheld = self.withheld.clone();
        for name in self.later.iter().flat_map(|later| &later.names) {
            tools.remove(name);
            withheld.remove(name);
        }
        let mut names = BTreeSet::new();
        for tool in gathered.tools {
            let name = tool.spec().name().to_owned();
            // What the engine brings keeps its name.
            if tools.contains_key(&name) || withheld.contains(&name) {
                continue;
            }
            names.insert(name.clone());
            if self.filters.iter().all(|ToolFilter(allows)| allows(&name)) {
                tools.insert(name, tool);
            } else {
                withheld.insert(name);
            }
        }
        Self {
            tools,
            withheld,
            user_shell: self.user_shell.clone(),
            filters: self.filters.clone(),
            held: self.held.clone(),
            agreements: Arc::clone(&self.agreements),
            later: self.later.as_ref().map(|later| ToolSourceState {
                source: Arc::clone(&later.source),
                known: gathered.revision,
                names,
            }),
            terminals: Arc::clone(&self.terminals),
            keeper: self.keeper.clone(),
            turn_diff: Arc::clone(&self.turn_diff),
            hooks: self.hooks.clone(),
        }
    }

    /// Returns what the model is offered, by name.
    pub fn specs(&self) -> impl Iterator<Item = &ToolSpec> {
        self.tools.values().map(|tool| tool.spec())
    }

    pub fn find(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.tools.get(name)
    }

    /// Returns how a call of this name may be scheduled. A name that is not known is only
    /// answered, so it may run beside anything.
    pub fn concurrency(&self, name: &str) -> ToolConcurrency {
        self.find(name)
            .map_or(ToolConcurrency::Shared, |tool| tool.concurrency())
    }

    /// Runs one call. A name that is not known, and a tool that panics, are told to the model.
    pub async fn call(&self, name: &str, call: ToolInvocation) -> ToolOutput {
        let Some(tool) = self.find(name) else {
            return self.unknown_tool_answer(name, &call).await;
        };
        let call = self.with_session_sandbox(call);
        let run = |call| guarded(name, call, |call| tool.call(call));
        match &self.hooks {
            None => run(call).await,
            Some(hooks) => hooks::around(hooks, &**tool, call, run).await,
        }
    }

    /// Tells a call what holds for all of the session's.
    fn with_session_sandbox(&self, mut call: ToolInvocation) -> ToolInvocation {
        if let Some(held) = &self.held {
            Arc::make_mut(&mut call.context).sandbox_held = Some(Arc::clone(held));
        }
        call
    }

    /// Runs a command of the user's own, which is the call's input. No policy is asked.
    pub async fn user_command(&self, call: ToolInvocation) -> ToolOutput {
        let Some(shell) = &self.user_shell else {
            let text = "this session has no shell for commands of the user's own".to_owned();
            return item::failed(&call, user_shell::NAME, text).await;
        };
        guarded(user_shell::NAME, call, |call| shell.run(call)).await
    }

    /// Ends every process that earlier calls left running, and waits until they are gone. What
    /// is called afterwards works as before; dropping the registry also ends what is left.
    pub async fn shutdown(&self) {
        self.terminals.end_all().await;
    }

    /// Ends the processes in the background that were begun with more rights than these, and
    /// waits until they are gone. Returns the numbers that the model knows them by.
    pub async fn end_wider_commands(&self, rights: &SandboxPolicy) -> Vec<String> {
        let ended = self.terminals.end_wider(rights).await;
        ended.iter().map(ToString::to_string).collect()
    }

    async fn unknown_tool_answer(&self, name: &str, call: &ToolInvocation) -> ToolOutput {
        if self.withheld.contains(name) {
            let text = format!(
                "this agent may not use {name}: the role it was given does not allow it; go on \
                 without, or say in your answer what is missing"
            );
            return item::failed(call, name, text).await;
        }
        let names: Vec<&str> = self.tools.keys().map(String::as_str).collect();
        let hint = match nearest(name, &names) {
            Some(nearest) => format!("; the nearest is {nearest}"),
            None => String::new(),
        };
        let text = format!(
            "there is no tool {name:?}{hint}; the tools are: {}",
            names.join(", ")
        );
        item::failed(call, name, text).await
    }
}

/// Runs a call. A panic of its is told to the model, and what it had begun is shown to be over.
async fn guarded<F>(
    name: &str,
    call: ToolInvocation,
    run: impl FnOnce(ToolInvocation) -> F,
) -> ToolOutput
where
    F: Future<Output = ToolOutput>,
{
    let witness = Arc::new(ItemTracker::new(Arc::clone(&call.channel)));
    let watched = ToolInvocation {
        channel: Arc::clone(&witness) as Arc<dyn CallChannel>,
        ..call
    };
    match AssertUnwindSafe(run(watched)).catch_unwind().await {
        Ok(output) => output,
        Err(panic) => {
            let text = format!(
                "the tool {name} failed inside the engine ({}); this is a defect of the engine, \
                 not of the call: go on another way",
                panic_text(panic.as_ref())
            );
            witness.close_open_item(&text).await;
            ToolOutput::failure(text)
        }
    }
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("without a message")
}

/// Returns the name that is at most a third of its letters away.
fn nearest<'a>(name: &str, names: &[&'a str]) -> Option<&'a str> {
    // A name made of pages of text is near to nothing, and costs nothing to say so.
    let is_plausible = |known: &&&str| name.len() <= 2 * known.len();
    let ranked = names
        .iter()
        .filter(is_plausible)
        .map(|known| (strsim::levenshtein(name, known), *known));
    let (distance, known) = ranked.min()?;
    (distance <= known.len() / 3).then_some(known)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    fn check(name: &str, expected: Option<&str>) {
        assert_eq!(nearest(name, &["read_file", "shell_command"]), expected);
    }

    #[test]
    fn a_slip_is_recognised_and_another_word_is_not() {
        check("readfile", Some("read_file"));
        check("Read_File", Some("read_file"));
        check("shell", None);
        check("shell.command", Some("shell_command"));
        check("", None);
        check(&"x".repeat(1_000_000), None);
    }
}
