//! A call with the hooks around it.

use std::borrow::Cow;
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Value, json};
use tokio::sync::oneshot;
use troupe_protocol::approval::{ReviewDecision, UserInputRequest, UserInputResponse};
use troupe_protocol::history::{ContentItem, ToolOutputBody};

use super::{HookEvent, HookRefusal, HookSet, ToolAnswer, ToolCalled};
use crate::blocking::NEVER_RUN_TEXT;
use crate::call::{ApprovalQuestion, CallChannel, ToolEvent, ToolInput, ToolInvocation};
use crate::item;
use crate::limits::HOOK_TOOL_OUTPUT_BYTES_MAX;
use crate::tool::{Tool, ToolOutput};

/// Runs a call if the hooks let it, and tells them what came of it. `run` runs the tool.
pub(crate) async fn around<F: Future<Output = ToolOutput>>(
    hooks: &Arc<HookSet>,
    tool: &dyn Tool,
    call: ToolInvocation,
    run: impl FnOnce(ToolInvocation) -> F,
) -> ToolOutput {
    let told = call.clone();
    let name = tool.spec().name();
    let before = hooks.before(tool, &told);
    let allowed = tokio::select! {
        allowed = before => allowed,
        // Dropping what asks the hooks ends the one that runs.
        () = told.cancel.cancelled() => {
            return item::failed(&told, name, NEVER_RUN_TEXT.to_owned()).await;
        }
    };
    if let Err(HookRefusal { hook, reason }) = allowed {
        let text = format!("the call was refused by the user's hook {hook}: {reason}");
        return item::failed(&told, name, text).await;
    }
    let channel = HookedChannel {
        hooks: Arc::clone(hooks),
        tool: name.to_owned(),
        call: call.clone(),
    };
    let output = run(ToolInvocation {
        channel: Arc::new(channel),
        ..call
    })
    .await;
    let objection = tokio::select! {
        after = hooks.after(name, &told, &output) => after.err(),
        () = told.cancel.cancelled() => None,
    };
    match objection {
        Some(objection) => with_objection(output, &objection),
        None => output,
    }
}

impl HookSet {
    async fn before(&self, tool: &dyn Tool, call: &ToolInvocation) -> Result<(), HookRefusal> {
        let name = tool.spec().name();
        let channel = &*call.channel;
        let event = || ToolCalled::new(name, call);
        if !self.settings.before_tool.is_empty() {
            let hooks = &self.settings.before_tool;
            let event = HookEvent::BeforeTool { tool: event() };
            self.consult(hooks, name, event, &call.context, channel)
                .await?;
        }
        if tool.makes_agents() && !self.settings.on_spawn.is_empty() {
            let hooks = &self.settings.on_spawn;
            let event = HookEvent::OnSpawn { tool: event() };
            self.consult(hooks, name, event, &call.context, channel)
                .await?;
        }
        Ok(())
    }

    async fn after(
        &self,
        name: &str,
        call: &ToolInvocation,
        output: &ToolOutput,
    ) -> Result<(), HookRefusal> {
        if self.settings.after_tool.is_empty() {
            return Ok(());
        }
        let text = output_text(&output.body);
        let end = text.floor_char_boundary(HOOK_TOOL_OUTPUT_BYTES_MAX);
        let event = HookEvent::AfterTool {
            tool: ToolCalled::new(name, call),
            output: ToolAnswer {
                success: output.success,
                text: &text[..end],
                is_cut: end < text.len(),
            },
        };
        let hooks = &self.settings.after_tool;
        self.consult(hooks, name, event, &call.context, &*call.channel)
            .await
    }

    async fn on_approval(
        &self,
        name: &str,
        call: &ToolInvocation,
        ask: &ApprovalQuestion,
    ) -> Result<(), HookRefusal> {
        if self.settings.on_approval.is_empty() {
            return Ok(());
        }
        let request = match ask {
            ApprovalQuestion::Exec(request) => json!(request),
            ApprovalQuestion::Patch(request) => json!(request),
        };
        let event = HookEvent::OnApproval {
            tool: ToolCalled::new(name, call),
            request,
        };
        let hooks = &self.settings.on_approval;
        self.consult(hooks, name, event, &call.context, &*call.channel)
            .await
    }
}

impl<'a> ToolCalled<'a> {
    fn new(name: &'a str, call: &'a ToolInvocation) -> Self {
        let text = || Value::String(call.input.as_str().to_owned());
        let input = match &call.input {
            ToolInput::Json(json) => serde_json::from_str(json).unwrap_or_else(|_| text()),
            ToolInput::Text(_) => text(),
        };
        Self {
            name,
            call_id: call.id.as_str(),
            input,
        }
    }
}

fn output_text(body: &ToolOutputBody) -> Cow<'_, str> {
    match body {
        ToolOutputBody::Text(text) => Cow::Borrowed(text),
        ToolOutputBody::Parts(parts) => {
            let texts: Vec<&str> = parts.iter().filter_map(ContentItem::text).collect();
            Cow::Owned(texts.join("\n"))
        }
    }
}

/// The tool has run: all that is left is to say what is wrong with that.
fn with_objection(mut output: ToolOutput, objection: &HookRefusal) -> ToolOutput {
    let HookRefusal { hook, reason } = objection;
    let note = format!("The user's hook {hook} objects to this: {reason}");
    match &mut output.body {
        ToolOutputBody::Text(text) => {
            text.push_str("\n\n");
            text.push_str(&note);
        }
        ToolOutputBody::Parts(parts) => parts.push(ContentItem::InputText { text: note }),
    }
    output
}

/// Lets hooks have a word before a person is asked.
#[derive(Debug)]
struct HookedChannel {
    hooks: Arc<HookSet>,
    tool: String,
    /// With the channel to the session.
    call: ToolInvocation,
}

impl HookedChannel {
    /// Returns the word of the hooks, if they do not leave it to a person.
    async fn hooked(&self, ask: &ApprovalQuestion) -> Result<(), ReviewDecision> {
        let Err(HookRefusal { hook, reason }) =
            self.hooks.on_approval(&self.tool, &self.call, ask).await
        else {
            return Ok(());
        };
        let warning = format!("hook {hook} refused what you would have been asked: {reason}");
        self.call.channel.report(ToolEvent::Warning(warning)).await;
        Err(ReviewDecision::Denied)
    }
}

#[async_trait]
impl CallChannel for HookedChannel {
    async fn report(&self, event: ToolEvent) {
        self.call.channel.report(event).await;
    }

    async fn ask(&self, ask: ApprovalQuestion) -> ReviewDecision {
        match self.hooked(&ask).await {
            Ok(()) => self.call.channel.ask(ask).await,
            Err(denied) => denied,
        }
    }

    async fn ask_unless_settled(
        &self,
        ask: ApprovalQuestion,
        settled: oneshot::Receiver<ReviewDecision>,
    ) -> ReviewDecision {
        match self.hooked(&ask).await {
            Ok(()) => self.call.channel.ask_unless_settled(ask, settled).await,
            Err(denied) => denied,
        }
    }

    async fn question(&self, request: UserInputRequest) -> Option<UserInputResponse> {
        self.call.channel.question(request).await
    }
}
