//! What a session was told to be: by who opened it, by its configuration, by its turns.

use serde_json::Value;
use troupe_protocol::input::is_blank;
use troupe_protocol::op::{ConfigureSession, ForkPoint};
use troupe_protocol::policy::Personality;
use troupe_protocol::rollout::SessionMeta;
use troupe_protocol::session::{TurnContext, TurnOverrides};

use super::models::effective_effort;
use crate::context::{self, SettingNote};
use crate::deps::{InstructionSettings, TaskTerms, WindowSettings};

#[derive(Debug)]
pub(super) struct SessionSettings {
    pub meta: SessionMeta,
    pub terms: TaskTerms,
    pub instructions: InstructionSettings,
    pub window: WindowSettings,
    /// The settings of the tasks to come.
    pub context: TurnContext,
    /// The shape of answer that a client asked for in its last turn.
    pub asked_shape: Option<Value>,
    /// The model is told the developer's instructions again, because others came in between.
    pub reinstructs: bool,
    pub prompt_cache_key: String,
}

impl SessionSettings {
    /// Takes the settings of the tasks to come.
    pub(super) fn set_context(&mut self, context: TurnContext) {
        let before = self.developer_instructions(&self.context);
        self.reinstructs |= before != self.developer_instructions(&context);
        self.context = context;
    }

    /// Returns what the model is told as a developer; nothing of a text that says nothing.
    pub(super) fn developer_instructions<'a>(
        &'a self,
        context: &'a TurnContext,
    ) -> Option<&'a str> {
        let own = context.developer_instructions.as_deref();
        let opened_with = self.meta.developer_instructions.as_deref();
        own.or(opened_with).filter(|text| !is_blank(text))
    }

    pub(super) fn base_instructions(&self) -> Option<&str> {
        let own = self.meta.base_instructions.as_deref();
        own.or(self.instructions.base.as_deref())
    }

    /// Returns the manner that stands in the place for it in the instructions.
    pub(super) fn filled_personality(&self, context: &TurnContext) -> Personality {
        match context.personality {
            Some(Personality::None) => Personality::None,
            _ => self.meta.personality.unwrap_or(Personality::None),
        }
    }

    /// Returns the note by which the model is told of a manner that its instructions do not have.
    pub(super) fn manner_note(&self, context: &TurnContext) -> SettingNote {
        let filled = if context::has_place_for_personality(self.base_instructions()) {
            self.filled_personality(context)
        } else {
            Personality::None
        };
        SettingNote::manner(context.personality.unwrap_or(Personality::None), filled)
    }

    /// Returns the conversation's name if it shares its cache key with another.
    pub(super) fn own_name(&self) -> Option<String> {
        let own = self.meta.id.to_string();
        (own != self.prompt_cache_key).then_some(own)
    }

    pub(super) fn fork_request(&self, point: ForkPoint) -> ConfigureSession {
        let context = self.context.clone();
        ConfigureSession {
            overrides: TurnOverrides {
                collaboration_mode: Some(context.mode_choice()),
                plan_writes: Some(context.plan_writes),
                effort: Some(effective_effort(&context).into()),
                cwd: Some(context.cwd),
                approval_policy: Some(context.approval_policy),
                sandbox_policy: Some(context.sandbox_policy),
                model: Some(context.model),
                summary: Some(context.summary),
                personality: context.personality,
                developer_instructions: context.developer_instructions,
            },
            model_provider: Some(self.meta.model_provider.clone()),
            base_instructions: self.meta.base_instructions.clone(),
            developer_instructions: self.meta.developer_instructions.clone(),
            fork: Some(point),
            ..ConfigureSession::default()
        }
    }
}
