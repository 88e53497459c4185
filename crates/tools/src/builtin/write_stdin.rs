//! `write_stdin`: types into a command in the background, or only looks at it.

use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use troupe_protocol::approval::{ExecApprovalRequest, ReviewDecision};
use troupe_protocol::policy::SandboxPolicy;
use troupe_protocol::tool::ToolSpec;

use crate::approval::{ApprovalAnswer, ApprovedAction, SessionApprovals};
use crate::arguments;
use crate::call::{ApprovalQuestion, ToolEvent, ToolInvocation};
use crate::command::scripts::ApprovalReach;
use crate::command::{
    BackgroundReport, BackgroundStatus, BackgroundTerminals, CommandItem, CommandTerminal,
    OutputCapture, TerminalId, TerminalKind, WatchOutcome,
};
use crate::item;
use crate::limits::{
    ANSWER_TOKENS_MAX, INPUT_BYTES_MAX, POLL_MAX_MS, POLL_MIN_MS, WRITE_YIELD_DEFAULT_MS,
    YIELD_MAX_MS, YIELD_MIN_MS,
};
use crate::policy::{self, PolicyVerdict, SandboxChoice, WatchStart};
use crate::safety;
use crate::tool::{Tool, ToolConcurrency, ToolOutput};
use crate::undo::UndoRecorder;

const NAME: &str = "write_stdin";
/// What a model reads whose input a person refused.
const DENIED_TEXT: &str = "not approved (the user said no, or nobody was there to ask): nothing \
    was typed, and the command goes on; do not try it again by other means";
const CTRL_C: &str = "\u{3}";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct WriteStdinArguments {
    /// The session ID that exec_command answered with.
    session_id: TerminalId,
    /// What to type; absent or empty only looks. `\u0003` is ctrl-C, the one thing that a
    /// command without tty takes.
    chars: Option<String>,
    /// How many milliseconds to wait for its end. After typing: default 250, between 250 and
    /// 30000; when only looking: between 5000 and 300000.
    yield_time_ms: Option<u64>,
    /// How much output to return; the middle of more is cut. Default and limit 10000.
    max_output_tokens: Option<usize>,
}

static SPEC: LazyLock<ToolSpec> = LazyLock::new(|| {
    arguments::function::<WriteStdinArguments>(
        NAME,
        "Types into a command that exec_command left running, and returns what it wrote \
         since the last look.",
    )
});

#[derive(Debug)]
pub(crate) struct WriteStdin {
    terminals: Arc<BackgroundTerminals>,
    agreements: Arc<SessionApprovals>,
    keeper: Option<Arc<UndoRecorder>>,
}

impl WriteStdin {
    pub(crate) fn new(
        terminals: Arc<BackgroundTerminals>,
        agreements: Arc<SessionApprovals>,
        keeper: Option<Arc<UndoRecorder>>,
    ) -> Self {
        Self {
            terminals,
            agreements,
            keeper,
        }
    }

    /// Asks for what is to be typed into a command that runs outside of the sandbox: whoever let
    /// it out has not seen that. Returns why it is not typed.
    async fn let_type(
        &self,
        call: &ToolInvocation,
        id: TerminalId,
        terminal: &CommandTerminal,
        chars: &str,
    ) -> Result<(), String> {
        if chars.is_empty() || chars == CTRL_C || !terminal.is_outside() {
            return Ok(());
        }
        let context = &call.context;
        if context.sandbox_policy == SandboxPolicy::DangerFullAccess {
            return Ok(());
        }
        let verdict = policy::typing(context.approval_policy, &terminal.argv);
        let verdict = policy::keep_in_sandbox(verdict, context.sandbox_held.as_deref());
        let (reason, then) = match verdict {
            PolicyVerdict::Allow(_) => return Ok(()),
            PolicyVerdict::Refuse(text) => return Err(text),
            PolicyVerdict::Ask { reason, then } => (reason, then),
        };
        let command = vec![NAME.to_owned(), id.to_string(), chars.to_owned()];
        let matter = ApprovedAction::Command {
            argv: command.clone(),
            cwd: terminal.cwd.clone(),
            sandbox: then,
            // What it does depends on what was typed before.
            reach: ApprovalReach::Once,
        };
        let ask = ApprovalQuestion::Exec(ExecApprovalRequest {
            call_id: call.id.clone(),
            turn_id: context.turn_id.clone(),
            parsed_cmd: safety::describe(&command),
            command,
            cwd: terminal.cwd.clone(),
            reason: Some(reason),
            available_decisions: vec![
                ReviewDecision::Approved,
                ReviewDecision::Denied,
                ReviewDecision::Abort,
            ],
            outside_sandbox: true,
            proposed_rules: Vec::new(),
            agent: None,
        });
        match self.agreements.obtain(call, vec![matter], ask).await {
            ApprovalAnswer::Yes => Ok(()),
            ApprovalAnswer::No => Err(DENIED_TEXT.to_owned()),
            ApprovalAnswer::Cancelled => Err("aborted before it was typed".to_owned()),
        }
    }

    async fn look(
        &self,
        call: &ToolInvocation,
        terminal: &CommandTerminal,
        arguments: WriteStdinArguments,
    ) -> ToolOutput {
        let id = arguments.session_id;
        let began = Instant::now();
        let chars = arguments.chars.unwrap_or_default();
        let until = began + wait_time(arguments.yield_time_ms, &chars);
        let item = CommandItem::interaction(call, id, terminal);
        item.started(call).await;
        if let Some(keeper) = self.keeper.as_ref().filter(|_| !chars.is_empty()) {
            let argv = &terminal.argv;
            keeper
                .before_command(call, argv, SandboxChoice::Confined)
                .await;
        }
        if let Some(problem) = type_in(call, id, terminal, chars).await {
            return item.not_started(call, problem).await;
        }
        let mut capture = OutputCapture::new();
        let ending = terminal.watch(call, until, &mut capture).await;
        let standing = match &ending {
            WatchOutcome::Running => BackgroundStatus::Running(id),
            WatchOutcome::Exited(exit) => {
                self.terminals.remove(id);
                BackgroundStatus::Exited(exit)
            }
            WatchOutcome::Cancelled => {
                self.terminals.remove(id);
                terminal.kill(call, &mut capture).await;
                BackgroundStatus::Aborted
            }
        };
        let look = BackgroundReport {
            number: self.terminals.next_look(),
            elapsed: began.elapsed(),
            standing,
            capture: &capture,
            watched: WatchStart::Later,
            tokens_max: arguments
                .max_output_tokens
                .unwrap_or(ANSWER_TOKENS_MAX)
                .min(ANSWER_TOKENS_MAX),
        };
        let text = look.render(call.context.leaving_policy());
        item.completed(call, look.outcome(), text).await
    }
}

#[async_trait]
impl Tool for WriteStdin {
    fn spec(&self) -> &ToolSpec {
        &SPEC
    }

    fn concurrency(&self) -> ToolConcurrency {
        ToolConcurrency::Shared
    }

    async fn call(&self, call: ToolInvocation) -> ToolOutput {
        let arguments: WriteStdinArguments = match arguments::parse(&call, &SPEC).await {
            Ok(arguments) => arguments,
            Err(output) => return output,
        };
        let terminal = match self.terminals.find(arguments.session_id) {
            Ok(terminal) => terminal,
            Err(problem) => return item::failed(&call, NAME, problem).await,
        };
        // A call may do what its turn may do, and so does what it types into.
        if !terminal.begun_under.is_within(&call.context.sandbox_policy) {
            self.terminals.remove(arguments.session_id);
            terminal.end().await;
            let problem = "the command was begun with more rights than there are now, so it was \
                           ended; start another one";
            return item::failed(&call, NAME, problem.to_owned()).await;
        }
        if let Err(problem) = acceptable(&terminal, arguments.chars.as_deref().unwrap_or("")) {
            return item::failed(&call, NAME, problem).await;
        }
        let chars = arguments.chars.as_deref().unwrap_or_default();
        let id = arguments.session_id;
        if let Err(text) = self.let_type(&call, id, &terminal, chars).await {
            return CommandItem::interaction(&call, id, &terminal)
                .declined(&call, text)
                .await;
        }
        self.look(&call, &terminal, arguments).await
    }
}

fn wait_time(yield_time_ms: Option<u64>, chars: &str) -> Duration {
    let milliseconds = yield_time_ms.unwrap_or(WRITE_YIELD_DEFAULT_MS);
    Duration::from_millis(if chars.is_empty() {
        milliseconds.clamp(POLL_MIN_MS, POLL_MAX_MS)
    } else {
        milliseconds.clamp(YIELD_MIN_MS, YIELD_MAX_MS)
    })
}

fn acceptable(terminal: &CommandTerminal, chars: &str) -> Result<(), String> {
    if chars.len() > INPUT_BYTES_MAX {
        return Err(format!(
            "chars has {} bytes; type at most {INPUT_BYTES_MAX} at once",
            chars.len()
        ));
    }
    match terminal.kind {
        TerminalKind::Tty => Ok(()),
        TerminalKind::Pipes if chars.is_empty() || chars == CTRL_C => Ok(()),
        TerminalKind::Pipes => Err(
            "the command has no terminal and takes no input except ctrl-C (\\u0003); start it \
             again with tty: true"
                .to_owned(),
        ),
    }
}

/// Types, and returns what went wrong.
async fn type_in(
    call: &ToolInvocation,
    id: TerminalId,
    terminal: &CommandTerminal,
    chars: String,
) -> Option<String> {
    if chars.is_empty() {
        return None;
    }
    call.channel
        .report(ToolEvent::TerminalInteraction {
            process_id: id.to_string(),
            stdin: chars.clone(),
        })
        .await;
    if terminal.kind == TerminalKind::Pipes {
        terminal.interrupt();
        return None;
    }
    let typed = tokio::select! {
        typed = terminal.type_in(chars.into_bytes()) => typed,
        // The look that follows sees the cancellation and ends the command.
        () = call.cancel.cancelled() => return None,
    };
    match typed {
        Ok(()) => None,
        // A command that has ended is told with its exit code.
        Err(_) if terminal.has_exited() => None,
        Err(error) => Some(format!("the command took no input: {error}")),
    }
}
