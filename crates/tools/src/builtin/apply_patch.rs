//! `apply_patch`: edits files, all of them or none.

use std::sync::{Arc, LazyLock};

use async_trait::async_trait;
use serde::Deserialize;
use troupe_protocol::tool::ToolSpec;

use crate::arguments;
use crate::call::{ToolInput, ToolInvocation};
use crate::edit::PatchEditor;
use crate::tool::{Tool, ToolConcurrency, ToolOutput};

pub(crate) const NAME: &str = "apply_patch";

/// The form in which providers without freeform tools send the patch.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ApplyPatchInput {
    input: String,
}

static SPEC: LazyLock<ToolSpec> = LazyLock::new(|| ToolSpec::Freeform {
    name: NAME.to_owned(),
    description: troupe_patch::DESCRIPTION.to_owned(),
    grammar: troupe_patch::GRAMMAR.to_owned(),
});

#[derive(Debug)]
pub(crate) struct ApplyPatch {
    editor: Arc<PatchEditor>,
}

impl ApplyPatch {
    pub(crate) fn new(editor: Arc<PatchEditor>) -> Self {
        Self { editor }
    }
}

#[async_trait]
impl Tool for ApplyPatch {
    fn spec(&self) -> &ToolSpec {
        &SPEC
    }

    fn concurrency(&self) -> ToolConcurrency {
        ToolConcurrency::Exclusive
    }

    async fn call(&self, call: ToolInvocation) -> ToolOutput {
        let body = match &call.input {
            ToolInput::Text(body) => body.clone(),
            ToolInput::Json(_) => match arguments::parse(&call, &SPEC).await {
                Ok(ApplyPatchInput { input }) => input,
                Err(output) => return output,
            },
        };
        let cwd = call.context.cwd.clone();
        self.editor.apply(&call, NAME, body, cwd).await
    }
}
