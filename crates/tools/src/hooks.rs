//! Commands of the user's that run around what agents do: before and after a tool, before an
//! agent is made, when a person is asked, and when a task is about to end.
//!
//! ```text
//! event ─► each hook that matches, in order: JSON on stdin ─► allow │ refuse │ fails
//!                                                  fails ─► its policy: allow, warned │ refuse
//! ```
//!
//! The first refusal counts, and its reason is what the model reads. A hook is run like a
//! command of the user's own, not held to the agents' sandbox, and it ends with the call or
//! task that it runs for. `docs/hooks.md` is for whoever writes one.
//!
//! Deliberately absent: changing what a call does, and granting what policy or person would
//! not. A session without hooks has none of this.

mod around;
mod event;
mod run;
mod settings;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use troupe_process::Launcher;
use troupe_protocol::EventMsg;
use troupe_protocol::event::BackgroundEvent;

use crate::call::{CallChannel, CallContext, ToolEvent};

pub(crate) use around::around;
pub use event::{HookEvent, HookInput, ToolAnswer, ToolCalled};
pub use settings::{Hook, HookCommand, HookSettings, OnFailure};

use event::{HookEventName, VERSION};
use run::{HookOutcome, HookRunner};

/// The hooks of one configuration. Shared by all sessions that it counts for.
#[derive(Debug)]
pub struct HookSet {
    settings: HookSettings,
    runner: HookRunner,
}

/// Why something must not happen, for the model and for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookRefusal {
    pub hook: String,
    pub reason: String,
}

impl HookRefusal {
    /// Tells people: the model reads the reason, and may not pass it on.
    async fn reported(
        self,
        moment: HookEventName,
        subject: &str,
        channel: &dyn CallChannel,
    ) -> Self {
        let Self { hook, reason } = &self;
        let of = if subject.is_empty() { "" } else { " " };
        let warning = format!("hook {hook} refused {moment}{of}{subject}: {reason}");
        channel.report(ToolEvent::HookWarning(warning)).await;
        self
    }
}

impl HookSet {
    /// Returns nothing where nothing is configured: then nothing is done for it either.
    /// `secrets` are left out of the environment that hooks get.
    pub fn new(
        settings: HookSettings,
        launcher: Launcher,
        mut environment: BTreeMap<String, String>,
        secrets: &[String],
        shell: PathBuf,
    ) -> Option<Arc<Self>> {
        if settings.is_empty() {
            return None;
        }
        environment.retain(|name, _| !secrets.contains(name));
        let runner = HookRunner {
            launcher,
            environment,
            shell,
        };
        Some(Arc::new(Self { settings, runner }))
    }

    /// Tells whether any hook wants to know of the end of tasks.
    pub fn watches_stop(&self) -> bool {
        !self.settings.on_stop.is_empty()
    }

    /// Asks the hooks whether the task may end.
    pub async fn on_stop(
        &self,
        context: &CallContext,
        last_message: Option<&str>,
        channel: &dyn CallChannel,
    ) -> Result<(), HookRefusal> {
        let event = HookEvent::OnStop { last_message };
        self.consult(&self.settings.on_stop, "", event, context, channel)
            .await
    }

    /// Runs the hooks whose matcher fits, until one refuses.
    async fn consult(
        &self,
        hooks: &[Hook],
        subject: &str,
        event: HookEvent<'_>,
        context: &CallContext,
        channel: &dyn CallChannel,
    ) -> Result<(), HookRefusal> {
        let fitting: Vec<&Hook> = hooks.iter().filter(|hook| hook.matches(subject)).collect();
        if fitting.is_empty() {
            return Ok(());
        }
        let moment = event.moment();
        let input = HookInput {
            version: VERSION,
            session_id: context.session_id,
            turn_id: &context.turn_id,
            cwd: &context.cwd,
            model: &context.model,
            event,
        };
        let mut line =
            serde_json::to_vec(&input).expect("hook input has string keys and fits in memory");
        line.push(b'\n');
        for hook in fitting {
            self.run(hook, moment, subject, &line, &context.cwd, channel)
                .await?;
        }
        Ok(())
    }

    async fn run(
        &self,
        hook: &Hook,
        moment: HookEventName,
        subject: &str,
        input: &[u8],
        cwd: &Path,
        channel: &dyn CallChannel,
    ) -> Result<(), HookRefusal> {
        let name = hook.name();
        let started = Instant::now();
        let ran = self.runner.run(hook, moment, input, cwd).await;
        let took_ms = started.elapsed().as_millis();
        let what = match &ran {
            HookOutcome::Allowed => "allowed",
            HookOutcome::Refused { .. } => "refused",
            HookOutcome::Failed { .. } => "failed",
        };
        let of = if subject.is_empty() { "" } else { " " };
        let message = format!("hook {name}: {moment}{of}{subject} {what} after {took_ms} ms");
        let told = EventMsg::BackgroundEvent(BackgroundEvent {
            message,
            is_final: true,
            session_id: None,
        });
        channel.report(ToolEvent::Other(Box::new(told))).await;
        match (ran, hook.on_failure) {
            (HookOutcome::Allowed, _) => Ok(()),
            (HookOutcome::Refused { reason }, _) => {
                let refusal = HookRefusal { hook: name, reason };
                Err(refusal.reported(moment, subject, channel).await)
            }
            (HookOutcome::Failed { why }, OnFailure::Refuse) => {
                let refusal = HookRefusal {
                    reason: format!("the hook failed, and its on_failure is \"refuse\": {why}"),
                    hook: name,
                };
                Err(refusal.reported(moment, subject, channel).await)
            }
            (HookOutcome::Failed { why }, OnFailure::Allow) => {
                let warning = format!("hook {name} ({moment}) failed and was passed over: {why}");
                channel.report(ToolEvent::HookWarning(warning)).await;
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests;
