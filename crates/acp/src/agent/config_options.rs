//! What an editor's user can choose for a session: mode, model, effort and approvals, by the names
//! that clients know them by. Pure.

use agent_client_protocol_schema::v1::{
    SessionConfigOption, SessionConfigOptionCategory, SessionConfigOptionValue,
    SessionConfigSelectOption,
};
use serde::de::DeserializeOwned;
use serde_json::Value;
use troupe_protocol::catalogue::ModelEntry;
use troupe_protocol::policy::{ApprovalPolicy, EffortChoice, ReasoningEffort};
use troupe_protocol::session::{TurnContext, TurnOverrides};

use super::modes;

const MODE: &str = "mode";
const MODEL: &str = "model";
const EFFORT: &str = "effort";
const APPROVALS: &str = "approvals";
const ALL: [&str; 4] = [MODE, MODEL, EFFORT, APPROVALS];

/// The effort that a model has by itself.
const MODELS_OWN: &str = "default";

const POLICIES: [ApprovalPolicy; 4] = [
    ApprovalPolicy::Untrusted,
    ApprovalPolicy::OnFailure,
    ApprovalPolicy::OnRequest,
    ApprovalPolicy::Never,
];

/// What there is to choose from, and what is chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SessionChoices {
    pub models: Vec<ModelEntry>,
    pub context: TurnContext,
}

impl SessionChoices {
    /// Returns all options, the most important first.
    pub(super) fn options(&self) -> Vec<SessionConfigOption> {
        let context = &self.context;
        let mut options = vec![
            SessionConfigOption::select(
                MODE,
                "Mode",
                modes::id(context.collaboration_mode),
                modes::choices(),
            )
            .category(SessionConfigOptionCategory::Mode),
            SessionConfigOption::select(MODEL, "Model", context.model.clone(), self.models())
                .category(SessionConfigOptionCategory::Model),
        ];
        let efforts = self.efforts(&context.model);
        if !efforts.is_empty() {
            let own = SessionConfigSelectOption::new(MODELS_OWN, "Default")
                .description("As much as the model thinks by itself".to_owned());
            let levels = efforts.iter().map(|effort| {
                SessionConfigSelectOption::new(effort.as_str(), capitalised(effort.as_str()))
            });
            let chosen = context.effort.map_or(MODELS_OWN, ReasoningEffort::as_str);
            let levels: Vec<SessionConfigSelectOption> = [own].into_iter().chain(levels).collect();
            options.push(
                SessionConfigOption::select(EFFORT, "Effort", chosen, levels)
                    .category(SessionConfigOptionCategory::ThoughtLevel),
            );
        }
        let policies = POLICIES.map(|policy| {
            let (name, about) = words_of(policy);
            SessionConfigSelectOption::new(id_of(policy), name).description(about.to_owned())
        });
        options.push(
            SessionConfigOption::select(
                APPROVALS,
                "Approvals",
                id_of(context.approval_policy),
                policies.to_vec(),
            )
            .description("When you are asked before something is done".to_owned())
            .category(SessionConfigOptionCategory::Other("_approvals".to_owned())),
        );
        options
    }

    /// Returns what a choice changes, or what could be chosen instead.
    pub(super) fn overrides(
        &self,
        option: &str,
        value: &SessionConfigOptionValue,
    ) -> Result<TurnOverrides, String> {
        let Some(value) = value.as_value_id() else {
            return Err(format!(
                "value: {option} takes one of its options by its id"
            ));
        };
        let value: &str = &value.0;
        let mut overrides = TurnOverrides::default();
        match option {
            MODE => {
                let mode =
                    modes::mode_of_id(value).map_err(|problem| format!("value: {problem}"))?;
                overrides.collaboration_mode = Some(mode.into());
            }
            MODEL => {
                if !self.models.iter().any(|entry| entry.model == value) {
                    return Err(unknown(
                        MODEL,
                        value,
                        self.models.iter().map(|it| &*it.model),
                    ));
                }
                overrides.model = Some(value.to_owned());
                // An effort that the model does not take would not be sent.
                let effort = self.context.effort;
                if effort.is_some_and(|effort| !self.efforts(value).contains(&effort)) {
                    overrides.effort = Some(EffortChoice::ModelsOwn);
                }
            }
            EFFORT => {
                let efforts = self.efforts(&self.context.model);
                let known = efforts.iter().map(|effort| effort.as_str());
                overrides.effort = Some(if value == MODELS_OWN {
                    EffortChoice::ModelsOwn
                } else {
                    let effort = efforts.iter().find(|effort| effort.as_str() == value);
                    let effort = effort.ok_or_else(|| {
                        unknown(EFFORT, value, [MODELS_OWN].into_iter().chain(known))
                    })?;
                    EffortChoice::Level(*effort)
                });
            }
            APPROVALS => {
                let policy: Option<ApprovalPolicy> = read(value);
                overrides.approval_policy = Some(policy.ok_or_else(|| {
                    unknown(APPROVALS, value, POLICIES.iter().map(|it| id_of(*it)))
                })?);
            }
            wanted => {
                let known = ALL.join(", ");
                return Err(format!(
                    "configId: there is no option {wanted:?}; known are {known}"
                ));
            }
        }
        Ok(overrides)
    }

    fn models(&self) -> Vec<SessionConfigSelectOption> {
        let current = &self.context.model;
        let is_listed = self.models.iter().any(|entry| entry.model == *current);
        let own = (!is_listed).then_some(current);
        let names = own
            .into_iter()
            .chain(self.models.iter().map(|it| &it.model));
        names
            .map(|name| SessionConfigSelectOption::new(name.clone(), name.clone()))
            .collect()
    }

    fn efforts(&self, model: &str) -> &[ReasoningEffort] {
        let entry = self.models.iter().find(|entry| entry.model == model);
        entry.map_or(&[], |entry| &entry.efforts)
    }
}

fn unknown<'a>(option: &str, wanted: &str, known: impl Iterator<Item = &'a str>) -> String {
    let known = known.collect::<Vec<_>>().join(", ");
    format!("value: {option} has no {wanted:?}; known are {known}")
}

fn id_of(policy: ApprovalPolicy) -> &'static str {
    match policy {
        ApprovalPolicy::Untrusted => "untrusted",
        ApprovalPolicy::OnFailure => "on-failure",
        ApprovalPolicy::OnRequest => "on-request",
        ApprovalPolicy::Never => "never",
    }
}

fn words_of(policy: ApprovalPolicy) -> (&'static str, &'static str) {
    match policy {
        ApprovalPolicy::Untrusted => ("Ask first", "Asks before all but commands known to be safe"),
        ApprovalPolicy::OnFailure => (
            "Ask after a failure",
            "Runs in the sandbox, and asks when the sandbox stopped it",
        ),
        ApprovalPolicy::OnRequest => (
            "Ask when needed",
            "Runs in the sandbox, and asks when it needs more",
        ),
        ApprovalPolicy::Never => (
            "Never ask",
            "Runs in the sandbox; what would need an answer is refused",
        ),
    }
}

fn read<T: DeserializeOwned>(value: &str) -> Option<T> {
    serde_json::from_value(Value::String(value.to_owned())).ok()
}

fn capitalised(word: &str) -> String {
    let mut letters = word.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

#[cfg(test)]
mod tests;
