//! Whether a command may run, and how: rules and policy, and a person where they say so.

use std::ffi::OsString;
use std::sync::Arc;

use troupe_process::{Launcher, SandboxBackend, writable_roots};
use troupe_protocol::approval::{ExecApprovalRequest, ProposedRule, ReviewDecision};
use troupe_protocol::policy::SandboxMode;

use super::PreparedCommand;
use super::contained::{CommandContext, Containment};
use super::scripts::ApprovalReach;
use crate::approval::{ApprovalAnswer, ApprovalLifetime, ApprovedAction, SessionApprovals};
use crate::blocking;
use crate::call::{ApprovalQuestion, CallContext, ToolEvent, ToolInvocation};
use crate::policy::{self, PolicyVerdict, SandboxChoice, SandboxEscalation};
use crate::rules::{self, CommandRule, PlacedRule, RuleBook, RuleSet, SandboxUse};
use crate::safety;

/// Decides about the session's commands.
#[derive(Debug)]
pub(crate) struct CommandGate {
    agreements: Arc<SessionApprovals>,
    rules: RuleBook,
    /// Knows what the kernel keeps commands from.
    launcher: Launcher,
}

/// Why a command was not let run.
#[derive(Debug)]
pub(crate) enum CommandRefusal {
    Policy(String),
    Denied,
    /// Its task ended before anybody decided.
    Cancelled,
}

/// What a model reads whose command a person refused.
pub(super) fn denied_text() -> String {
    "not approved (the user said no, or nobody was there to ask): the command was not run; do not \
     try it again by other means, go on without it or say what you need it for"
        .to_owned()
}

impl CommandGate {
    pub(crate) fn new(
        agreements: Arc<SessionApprovals>,
        rules: RuleBook,
        launcher: Launcher,
    ) -> Self {
        Self {
            agreements,
            rules,
            launcher,
        }
    }

    /// Decides about a command before it runs.
    pub(crate) async fn decide(
        &self,
        call: &ToolInvocation,
        request: &PreparedCommand,
    ) -> Result<SandboxChoice, CommandRefusal> {
        let rules = self.rules.current();
        for warning in self.rules.warnings() {
            call.channel.report(ToolEvent::Warning(warning)).await;
        }
        let mut verdict = verdict(&rules, request, &request.escalation, &call.context);
        if verdict == PolicyVerdict::Allow(SandboxChoice::Unconfined)
            && !self.is_bound(call, request).await
        {
            verdict = policy::unbound(call.context.approval_policy);
        }
        match verdict {
            PolicyVerdict::Allow(sandbox) => Ok(sandbox),
            PolicyVerdict::Refuse(text) => Err(CommandRefusal::Policy(text)),
            PolicyVerdict::Ask { reason, then } => {
                match self.ask(call, request, &rules, reason, then).await {
                    ApprovalAnswer::Yes => Ok(then),
                    ApprovalAnswer::No => Err(CommandRefusal::Denied),
                    ApprovalAnswer::Cancelled => Err(CommandRefusal::Cancelled),
                }
            }
        }
    }

    /// Asks whether a command that the sandbox stopped may run without it, if the policy has
    /// somebody to ask.
    pub(crate) async fn may_leave_sandbox(
        &self,
        call: &ToolInvocation,
        request: &PreparedCommand,
        denial: &str,
    ) -> bool {
        let Some(reason) = policy::after_denial(call.context.leaving_policy(), denial) else {
            return false;
        };
        let rules = self.rules.current();
        let answer = self
            .ask(call, request, &rules, reason, SandboxChoice::Unconfined)
            .await;
        answer == ApprovalAnswer::Yes
    }

    async fn ask(
        &self,
        call: &ToolInvocation,
        request: &PreparedCommand,
        rules: &RuleSet,
        reason: String,
        then: SandboxChoice,
    ) -> ApprovalAnswer {
        let reach = self.reach(call, request, then).await;
        let proposal = match reach {
            ApprovalReach::Once => None,
            ApprovalReach::Words => self.proposal(rules, request, &call.context, then),
        };
        let matter = [ApprovedAction::Command {
            argv: request.argv.clone(),
            cwd: request.cwd.clone(),
            sandbox: then,
            reach,
        }];
        let mut available_decisions = vec![
            ReviewDecision::Approved,
            ReviewDecision::ApprovedForSession,
            ReviewDecision::ApprovedAlways,
            ReviewDecision::Denied,
            ReviewDecision::Abort,
        ];
        if proposal.is_none() {
            available_decisions.retain(|decision| *decision != ReviewDecision::ApprovedAlways);
        }
        if reach == ApprovalReach::Once {
            available_decisions.retain(|decision| *decision != ReviewDecision::ApprovedForSession);
        }
        let ask = ApprovalQuestion::Exec(ExecApprovalRequest {
            call_id: call.id.clone(),
            turn_id: call.context.turn_id.clone(),
            command: request.argv.clone(),
            cwd: request.cwd.clone(),
            reason: Some(reason),
            parsed_cmd: safety::describe(&request.argv),
            available_decisions,
            outside_sandbox: is_outside(call, then),
            proposed_rules: proposal.iter().flatten().map(proposed).collect(),
            agent: None,
        });
        let (answer, lasting) = self.agreements.obtain_lasting(call, &matter, ask).await;
        if lasting == ApprovalLifetime::Always {
            match self.save_rules(proposal).await {
                Ok(()) => self.agreements.settle(call, &matter),
                Err(problem) => {
                    self.agreements.remember(call, &matter);
                    let text = format!("{problem}; what you allowed holds for this session");
                    call.channel.report(ToolEvent::Warning(text)).await;
                }
            }
        }
        answer
    }

    /// Returns the rules after which this command would run in the same way, unasked.
    fn proposal(
        &self,
        rules: &RuleSet,
        request: &PreparedCommand,
        context: &CallContext,
        then: SandboxChoice,
    ) -> Option<Vec<CommandRule>> {
        let file = self.rules.user_file()?;
        let sandbox = match (then, context.sandbox_policy.mode()) {
            (SandboxChoice::Unconfined, SandboxMode::ReadOnly | SandboxMode::WorkspaceWrite) => {
                SandboxUse::Off
            }
            (SandboxChoice::Unconfined, SandboxMode::DangerFullAccess)
            | (SandboxChoice::Confined, _) => SandboxUse::On,
        };
        let proposed = rules.proposal(&request.argv, sandbox)?;
        let mut amended = rules.clone();
        amended
            .placed
            .extend(proposed.iter().map(|rule| PlacedRule {
                rule: rule.clone(),
                file: file.to_owned(),
                line: 0,
            }));
        let after = verdict(&amended, request, &SandboxEscalation::None, context);
        (after == PolicyVerdict::Allow(then)).then_some(proposed)
    }

    /// Returns what a lasting yes to this command stands for. Inside the sandbox its words do:
    /// whatever runs there is confined.
    async fn reach(
        &self,
        call: &ToolInvocation,
        request: &PreparedCommand,
        then: SandboxChoice,
    ) -> ApprovalReach {
        if !is_outside(call, then) {
            return ApprovalReach::Words;
        }
        let reach = self.look(call, request, ApprovalReach::look).await;
        reach.unwrap_or(ApprovalReach::Once)
    }

    /// Tells whether a rule that lets a command out of the sandbox still stands for what it runs:
    /// a confined command may have put something else in its way since.
    async fn is_bound(&self, call: &ToolInvocation, request: &PreparedCommand) -> bool {
        if !is_outside(call, SandboxChoice::Unconfined) {
            return true;
        }
        let judge = |argv: &[String], around: &CommandContext<'_>| {
            let parts = safety::parts(argv).unwrap_or_default();
            let is_changeable = |part: &Vec<String>| around.judge(part) == Containment::Changeable;
            !parts.iter().any(is_changeable)
        };
        self.look(call, request, judge).await.unwrap_or(false)
    }

    /// Looks at what surrounds a command where the file system may block.
    async fn look<T: Send + 'static>(
        &self,
        call: &ToolInvocation,
        request: &PreparedCommand,
        look: impl FnOnce(&[String], &CommandContext<'_>) -> T + Send + 'static,
    ) -> Option<T> {
        let utf8 = |(name, value): (OsString, OsString)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        };
        let variables = std::env::vars_os().filter_map(utf8).collect();
        let table = writable_roots(&call.context.sandbox_policy, &call.context.cwd, &variables);
        let (argv, cwd) = (request.argv.clone(), request.cwd.clone());
        let launcher = self.launcher.clone();
        let looking = move || {
            let around = CommandContext {
                cwd: &cwd,
                roots: &table.writable,
                variables: &variables,
                git_is_guarded: launcher.report().backend() == Ok(SandboxBackend::Namespaces),
            };
            look(&argv, &around)
        };
        blocking::finish(looking).await.ok()
    }

    async fn save_rules(&self, proposal: Option<Vec<CommandRule>>) -> Result<(), String> {
        let (Some(rules), Some(file)) = (proposal, self.rules.user_file()) else {
            return Err("no rule can stand for this command".to_owned());
        };
        let file = file.to_owned();
        blocking::finish(move || rules::append(&file, &rules))
            .await?
            .map(|_| ())
            .map_err(|error| error.to_string())
    }
}

fn verdict(
    rules: &RuleSet,
    request: &PreparedCommand,
    escalation: &SandboxEscalation,
    context: &CallContext,
) -> PolicyVerdict {
    let verdict = policy::command(
        &safety::judge(&request.argv),
        &rules.ruling(&request.argv),
        escalation,
        context.approval_policy,
        &context.sandbox_policy,
    );
    policy::keep_in_sandbox(verdict, context.sandbox_held.as_deref())
}

/// Tells whether a command would leave a sandbox: where there is none, nothing is left.
fn is_outside(call: &ToolInvocation, then: SandboxChoice) -> bool {
    let mode = call.context.sandbox_policy.mode();
    then == SandboxChoice::Unconfined && mode != SandboxMode::DangerFullAccess
}

fn proposed(rule: &CommandRule) -> ProposedRule {
    ProposedRule {
        prefix: rule.prefix().to_vec(),
        outside_sandbox: rule.sandbox == SandboxUse::Off,
    }
}
