//! What the program does, as calls of a tool: it starts the program, tells it what was said,
//! shows its work and puts its questions, until it has something to say.

use std::sync::{Arc, LazyLock};

use async_trait::async_trait;
use serde_json::json;
use troupe_protocol::tool::{BACKEND_TOOL, ToolSpec};
use troupe_tools::{Tool, ToolConcurrency, ToolInvocation, ToolOutput};

use super::connection::AcpConnection;
use super::link::BackendLink;
use super::work::BackendWork;

pub(super) const NAME: &str = BACKEND_TOOL;

static SPEC: LazyLock<ToolSpec> = LazyLock::new(|| ToolSpec::Function {
    name: NAME.to_owned(),
    description: "Lets the external agent work.".to_owned(),
    parameters: json!({"type": "object", "properties": {}}).into(),
});

#[derive(Debug)]
pub(super) struct AcpTool {
    link: Arc<BackendLink>,
}

impl AcpTool {
    pub(super) fn new(link: Arc<BackendLink>) -> Self {
        Self { link }
    }

    /// Returns the program, at work on what was said; none if it ended while what was cancelled
    /// came to rest. That is nothing that was asked for now: another one does it.
    async fn begin(&self, call: &ToolInvocation) -> Result<Option<Box<AcpConnection>>, String> {
        let mut companion = match self.link.take() {
            Some(companion) => companion,
            None => Box::new(self.link.start(&call.context).await?),
        };
        if companion.is_cancelled() && companion.drain_cancelled_prompt().await.is_err() {
            self.link.forget();
            return Ok(None);
        }
        if !companion.has_more() {
            // Without a prompt nothing would ever be heard.
            let prompt = self.link.take_prompt();
            let prompt = prompt.ok_or("there is nothing to tell it; send it a message")?;
            companion.prompt(prompt).await?;
        }
        Ok(Some(companion))
    }

    async fn work(&self, call: &ToolInvocation) -> ToolOutput {
        let begun = tokio::select! {
            begun = self.begin(call) => begun,
            // What was begun is dropped, and ends.
            () = call.cancel.cancelled() => return ToolOutput::failure("cancelled"),
        };
        let mut companion = match begun {
            Ok(Some(companion)) => companion,
            Ok(None) => return ToolOutput::success("the program had ended and is started anew"),
            Err(why) => {
                self.link.fail(&why);
                return ToolOutput::failure(why);
            }
        };
        let mut work = BackendWork::new(call, self.link.name());
        let outcome = tokio::select! {
            outcome = work.go_on(&mut companion) => outcome,
            () = call.cancel.cancelled() => {
                companion.cancel();
                Ok(())
            }
        };
        work.close().await;
        match outcome {
            Ok(()) => {
                self.link.give_back(companion);
                ToolOutput::success(work.summary())
            }
            Err(why) => {
                self.link.fail(&why);
                ToolOutput::failure(why)
            }
        }
    }
}

#[async_trait]
impl Tool for AcpTool {
    fn spec(&self) -> &ToolSpec {
        &SPEC
    }

    fn concurrency(&self) -> ToolConcurrency {
        ToolConcurrency::Exclusive
    }

    async fn call(&self, call: ToolInvocation) -> ToolOutput {
        self.work(&call).await
    }
}
