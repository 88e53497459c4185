//! What the server offers: the tools and the transcripts, over a [`SessionPool`].

use async_trait::async_trait;
use serde::Serialize;
use serde_json::{Map, Value};
use troupe_mcp::serve::{
    CallingClient, NoSuchTool, OfferAnswer, ResourcePage, ResourceReadError, ResourceText,
    ServerIntroduction, ServerOffer, TemplateCard, ToolCard,
};

use super::answers::TextSummary;
use super::error::SessionToolError;
use super::tools::{self, SessionToolCall};
use super::transcript;
use crate::headless::HeadlessPolicy;
use crate::session_pool::SessionPool;

const INSTRUCTIONS: &str = "Troupe runs coding agents on this machine. Start one with \
    troupe_sessions_spawn and fetch its result with troupe_sessions_wait, or talk to one with \
    troupe_sessions_prompt. Sessions are kept: troupe_sessions_list finds earlier ones, and a \
    prompt goes on with them. Agents can have children; troupe_agents_tree shows them all. The \
    whole conversation of a session is the resource troupe://sessions/{id}/transcript.";

/// Sessions as tools.
#[derive(Debug)]
pub struct SessionTools {
    pub(super) house: SessionPool,
    pub(super) headless: HeadlessPolicy,
    version: String,
}

impl SessionTools {
    /// `headless` answers for clients that cannot ask anybody.
    pub fn new(house: SessionPool, headless: HeadlessPolicy, version: impl Into<String>) -> Self {
        Self {
            house,
            headless,
            version: version.into(),
        }
    }

    async fn run(
        &self,
        call: SessionToolCall,
        caller: &CallingClient,
    ) -> Result<OfferAnswer, SessionToolError> {
        Ok(match call {
            SessionToolCall::Spawn(arguments) => {
                finished_answer(self.spawn(*arguments, caller).await?)
            }
            SessionToolCall::Prompt(arguments) => {
                finished_answer(self.prompt(arguments, caller).await?)
            }
            SessionToolCall::Wait(arguments) => {
                finished_answer(self.wait(arguments, caller).await?)
            }
            SessionToolCall::List(arguments) => finished_answer(self.list(arguments).await?),
            SessionToolCall::Get(arguments) => finished_answer(self.get(&arguments).await?),
            SessionToolCall::Cancel(arguments) => finished_answer(self.cancel(arguments).await?),
            SessionToolCall::Task(arguments) => finished_answer(self.task(&arguments).await?),
            SessionToolCall::Tasks(arguments) => finished_answer(self.tasks(&arguments).await?),
            SessionToolCall::Tree(arguments) => finished_answer(self.tree(&arguments).await?),
        })
    }
}

fn finished_answer(answer: impl Serialize + TextSummary) -> OfferAnswer {
    let text = answer.in_words();
    let value = serde_json::to_value(answer).expect("answers have no keys that are not text");
    OfferAnswer::Done {
        value: Some(value),
        text,
    }
}

#[async_trait]
impl ServerOffer for SessionTools {
    fn introduction(&self) -> ServerIntroduction {
        ServerIntroduction {
            name: "troupe".to_owned(),
            title: "Troupe".to_owned(),
            version: self.version.clone(),
            instructions: INSTRUCTIONS.to_owned(),
        }
    }

    fn tools(&self) -> Vec<ToolCard> {
        tools::cards()
    }

    async fn call(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        caller: &CallingClient,
    ) -> Result<OfferAnswer, NoSuchTool> {
        let answer = match SessionToolCall::read(tool, arguments).ok_or(NoSuchTool)? {
            Ok(call) => self.run(call, caller).await,
            Err(trouble) => Err(trouble),
        };
        Ok(answer.unwrap_or_else(|trouble| OfferAnswer::Failed {
            message: trouble.to_string(),
        }))
    }

    async fn resources(&self, cursor: Option<&str>) -> Result<ResourcePage, ResourceReadError> {
        let store = self.house.store().map_err(ResourceReadError::Failed)?;
        transcript::list(&*store, cursor).await
    }

    fn templates(&self) -> Vec<TemplateCard> {
        vec![transcript::TEMPLATE]
    }

    async fn read(&self, uri: &str) -> Result<ResourceText, ResourceReadError> {
        let store = self.house.store().map_err(ResourceReadError::Failed)?;
        transcript::read(&*store, uri).await
    }
}
