//! What the server offers: the tools and the transcripts, over a [`House`].

use async_trait::async_trait;
use serde::Serialize;
use serde_json::{Map, Value};
use troupe_mcp::serve::{
    Answer, Caller, Introduction, NoSuchTool, Offer, ReadError, ResourcePage, ResourceText,
    TemplateCard, ToolCard,
};

use super::answers::InWords;
use super::tools::{self, Call};
use super::transcript;
use super::trouble::Trouble;
use crate::headless::Headless;
use crate::house::House;

const INSTRUCTIONS: &str = "Troupe runs coding agents on this machine. Start one with \
    troupe_sessions_spawn and fetch its result with troupe_sessions_wait, or talk to one with \
    troupe_sessions_prompt. Sessions are kept: troupe_sessions_list finds earlier ones, and a \
    prompt goes on with them. Agents can have children; troupe_agents_tree shows them all. The \
    whole conversation of a session is the resource troupe://sessions/{id}/transcript.";

/// Sessions as tools.
#[derive(Debug)]
pub struct Orchestra {
    pub(super) house: House,
    pub(super) headless: Headless,
    version: String,
}

impl Orchestra {
    /// `headless` answers for clients that cannot ask anybody.
    pub fn new(house: House, headless: Headless, version: impl Into<String>) -> Self {
        Self {
            house,
            headless,
            version: version.into(),
        }
    }

    async fn run(&self, call: Call, caller: &Caller) -> Result<Answer, Trouble> {
        Ok(match call {
            Call::Spawn(arguments) => told(self.spawn(*arguments, caller).await?),
            Call::Prompt(arguments) => told(self.prompt(arguments, caller).await?),
            Call::Wait(arguments) => told(self.wait(arguments, caller).await?),
            Call::List(arguments) => told(self.list(arguments).await?),
            Call::Get(arguments) => told(self.get(&arguments).await?),
            Call::Cancel(arguments) => told(self.cancel(arguments).await?),
            Call::Task(arguments) => told(self.task(&arguments).await?),
            Call::Tasks(arguments) => told(self.tasks(&arguments).await?),
            Call::Tree(arguments) => told(self.tree(&arguments).await?),
        })
    }
}

fn told(answer: impl Serialize + InWords) -> Answer {
    let text = answer.in_words();
    let value = serde_json::to_value(answer).expect("answers have no keys that are not text");
    Answer::Done {
        value: Some(value),
        text,
    }
}

#[async_trait]
impl Offer for Orchestra {
    fn introduction(&self) -> Introduction {
        Introduction {
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
        caller: &Caller,
    ) -> Result<Answer, NoSuchTool> {
        let answer = match Call::read(tool, arguments).ok_or(NoSuchTool)? {
            Ok(call) => self.run(call, caller).await,
            Err(trouble) => Err(trouble),
        };
        Ok(answer.unwrap_or_else(|trouble| Answer::Failed {
            message: trouble.to_string(),
        }))
    }

    async fn resources(&self, cursor: Option<&str>) -> Result<ResourcePage, ReadError> {
        let store = self.house.store().map_err(ReadError::Failed)?;
        transcript::list(&*store, cursor).await
    }

    fn templates(&self) -> Vec<TemplateCard> {
        vec![transcript::TEMPLATE]
    }

    async fn read(&self, uri: &str) -> Result<ResourceText, ReadError> {
        let store = self.house.store().map_err(ReadError::Failed)?;
        transcript::read(&*store, uri).await
    }
}
