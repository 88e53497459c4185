//! `apply_patch`: edits files, all of them or none.

use std::sync::{Arc, LazyLock};

use async_trait::async_trait;
use serde::Deserialize;
use troupe_protocol::tool::ToolSpec;

use crate::arguments;
use crate::call::{Call, ToolInput};
use crate::edit::Editor;
use crate::patch;
use crate::tool::{Concurrency, Tool, ToolOutput};

pub(crate) const NAME: &str = "apply_patch";

/// The form in which providers without freeform tools send the patch.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    input: String,
}

static SPEC: LazyLock<ToolSpec> = LazyLock::new(|| ToolSpec::Freeform {
    name: NAME.to_owned(),
    description: patch::DESCRIPTION.to_owned(),
    grammar: patch::GRAMMAR.to_owned(),
});

#[derive(Debug)]
pub(crate) struct ApplyPatch {
    editor: Arc<Editor>,
}

impl ApplyPatch {
    pub(crate) fn new(editor: Arc<Editor>) -> Self {
        Self { editor }
    }
}

#[async_trait]
impl Tool for ApplyPatch {
    fn spec(&self) -> &ToolSpec {
        &SPEC
    }

    fn concurrency(&self) -> Concurrency {
        Concurrency::Exclusive
    }

    async fn call(&self, call: Call) -> ToolOutput {
        let body = match &call.input {
            ToolInput::Text(body) => body.clone(),
            ToolInput::Json(_) => match arguments::parse(&call, &SPEC).await {
                Ok(Arguments { input }) => input,
                Err(output) => return output,
            },
        };
        let cwd = call.context.cwd.clone();
        self.editor.apply(&call, NAME, body, cwd).await
    }
}
