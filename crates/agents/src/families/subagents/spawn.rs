//! `subagent_spawn`: a child with a prompt and no history.

use std::sync::LazyLock;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use troupe_protocol::input::is_blank;
use troupe_protocol::tool::ToolSpec;
use troupe_tools::{Call, Concurrency, Tool, ToolOutput, arguments};

use crate::desk::{Desk, Trouble};
use crate::families::face;

use super::birth::{self, Wish};
use super::metadata;

const NAME: &str = "subagent_spawn";

static SPEC: LazyLock<ToolSpec> = LazyLock::new(|| {
    arguments::function::<Arguments>(
        NAME,
        "Starts a child agent on a prompt of its own and returns at once with its agent_id. The \
         child sees your files but not this conversation: write down the goal, the files it may \
         change, how to check the work and what to report. Children work side by side; give them \
         disjoint files. When a child ends, `subagent_await` returns its last message, and if you \
         do not wait you are told in a message. With status `queued` it starts when a slot is \
         free. `effective` and `why` in the result say what it got of what you asked for.",
    )
});

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The task: the first message of the child.
    prompt: String,
    /// Only if the task needs another model than yours.
    model: Option<String>,
    /// A short name for lists.
    label: Option<String>,
    /// Another agent program that does it, by its name in the configuration.
    #[serde(alias = "agenticTool")]
    backend: Option<String>,
    /// `read-only`, `workspace-write` or `danger-full-access`; never more than you have.
    sandbox_mode: Option<String>,
}

#[derive(Debug)]
pub(super) struct Spawn {
    desk: Desk,
}

impl Spawn {
    pub(super) fn new(desk: Desk) -> Self {
        Self { desk }
    }

    async fn spawn(
        &self,
        call: &Call,
        arguments: Arguments,
    ) -> Result<Map<String, Value>, Trouble> {
        let request = birth::request(NAME, &call.context, wish(arguments)?);
        let spawned = self.desk.spawn(request).await?;
        Ok(metadata::newborn(&spawned))
    }
}

#[async_trait]
impl Tool for Spawn {
    fn spec(&self) -> &ToolSpec {
        &SPEC
    }

    fn makes_agents(&self) -> bool {
        true
    }

    fn concurrency(&self) -> Concurrency {
        Concurrency::Shared
    }

    async fn call(&self, call: Call) -> ToolOutput {
        let call = &call;
        face::run(call, &SPEC, async |arguments| {
            face::answer(self.spawn(call, arguments).await)
        })
        .await
    }
}

fn wish(arguments: Arguments) -> Result<Wish, Trouble> {
    if is_blank(&arguments.prompt) {
        let problem = "prompt must not be empty; say what the child is to do";
        return Err(Trouble::Invalid(problem.to_owned()));
    }
    Ok(Wish {
        prompt: Some(arguments.prompt),
        model: arguments.model,
        backend: arguments.backend,
        label: metadata::label(arguments.label),
        sandbox: birth::sandbox(arguments.sandbox_mode.as_deref())?,
    })
}
