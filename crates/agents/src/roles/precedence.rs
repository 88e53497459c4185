//! Whose word counts for model and effort: the call's, the persona's, the role's, or that of
//! the turn that spawns. Pure, and each answer says why it is so.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::Serialize;
use troupe_protocol::policy::ReasoningEffort;

use super::name::RoleName;
use super::role::{AgentRole, RoleDialect};

/// What one level says. Nothing, usually.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ModelPreference {
    pub model: Option<String>,
    pub reasoning_effort: Option<ReasoningEffort>,
}

/// What the user's configuration says of roles, over what their files say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TypeChoices(BTreeMap<String, ModelPreference>);

impl TypeChoices {
    /// Returns what the configuration says of a role.
    pub fn of(&self, role: &AgentRole) -> Option<&ModelPreference> {
        let is_it = |name: &str| RoleName::parse(name).is_ok_and(|name| name == role.name);
        let mut choices = self.0.iter();
        choices.find_map(|(name, choice)| is_it(name).then_some(choice))
    }

    /// Returns a role as the configuration has it.
    pub fn applied_to(&self, role: Arc<AgentRole>) -> Arc<AgentRole> {
        let Some(choice) = self.of(&role) else {
            return role;
        };
        let own = &role.choice;
        // A model that the user names is meant as it stands.
        let dialect = match choice.model {
            Some(_) => RoleDialect::Own,
            None => role.dialect,
        };
        let choice = ModelPreference {
            model: choice.model.clone().or_else(|| own.model.clone()),
            reasoning_effort: choice.reasoning_effort.or(own.reasoning_effort),
        };
        Arc::new(AgentRole {
            dialect,
            choice,
            ..AgentRole::clone(&role)
        })
    }

    /// Returns the models that are named.
    pub(crate) fn models(&self) -> impl Iterator<Item = &str> {
        self.0.values().filter_map(|choice| choice.model.as_deref())
    }
}

impl FromIterator<(String, ModelPreference)> for TypeChoices {
    fn from_iter<I: IntoIterator<Item = (String, ModelPreference)>>(choices: I) -> Self {
        Self(choices.into_iter().collect())
    }
}

/// Who decided. Earlier ones win.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PreferenceSource {
    Call,
    Persona,
    Role,
    Inherited,
}

impl fmt::Display for PreferenceSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Call => "asked for in the call",
            Self::Persona => "set by the persona",
            Self::Role => "set by the role",
            Self::Inherited => "inherited",
        })
    }
}

/// A value, and who decided it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ResolvedPreference<T> {
    pub value: T,
    pub source: PreferenceSource,
}

/// The levels above what is inherited.
#[derive(Debug, Clone, Copy, Default)]
pub struct ModelPrecedence<'a> {
    pub call: Option<&'a ModelPreference>,
    pub persona: Option<&'a ModelPreference>,
    pub role: Option<&'a ModelPreference>,
}

impl ModelPrecedence<'_> {
    pub fn model(&self, inherited: &str) -> ResolvedPreference<String> {
        self.first(|choice| choice.model.clone())
            .unwrap_or_else(|| ResolvedPreference {
                value: inherited.to_owned(),
                source: PreferenceSource::Inherited,
            })
    }

    /// `None` leaves the choice to the model.
    pub fn reasoning_effort(
        &self,
        inherited: Option<ReasoningEffort>,
    ) -> ResolvedPreference<Option<ReasoningEffort>> {
        // Decided apart from the model: whether the two go together is checked by whoever
        // knows the models, with both sources at hand.
        self.first(|choice| choice.reasoning_effort.map(Some))
            .unwrap_or(ResolvedPreference {
                value: inherited,
                source: PreferenceSource::Inherited,
            })
    }

    fn first<T>(
        &self,
        said: impl Fn(&ModelPreference) -> Option<T>,
    ) -> Option<ResolvedPreference<T>> {
        let levels = [
            (self.call, PreferenceSource::Call),
            (self.persona, PreferenceSource::Persona),
            (self.role, PreferenceSource::Role),
        ];
        levels.into_iter().find_map(|(choice, source)| {
            let value = said(choice?)?;
            Some(ResolvedPreference { value, source })
        })
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use troupe_protocol::policy::ReasoningEffort::{self, High, Low, Medium, Minimal};

    use super::{ModelPrecedence, ModelPreference};

    fn says(model: &str, reasoning_effort: Option<ReasoningEffort>) -> ModelPreference {
        ModelPreference {
            model: Some(model.to_owned()).filter(|model| !model.is_empty()),
            reasoning_effort,
        }
    }

    /// Every combination of the three levels that speak and those that do not.
    fn matrix() -> String {
        let call = says("of-call", Some(High));
        let persona = says("of-persona", Some(Medium));
        let role = says("of-role", Some(Low));
        let line = |bits: u8| {
            let levels = ModelPrecedence {
                call: (bits & 4 != 0).then_some(&call),
                persona: (bits & 2 != 0).then_some(&persona),
                role: (bits & 1 != 0).then_some(&role),
            };
            let model = levels.model("of-parent");
            let effort = levels.reasoning_effort(Some(Minimal));
            assert_eq!(model.source, effort.source);
            let effort = effort.value.unwrap().as_str();
            format!("{bits:03b}: {} {effort} ({})\n", model.value, model.source)
        };
        (0..8).map(line).collect::<Vec<_>>().concat()
    }

    #[test]
    fn call_then_persona_then_role_then_inherited() {
        expect![[r#"
            000: of-parent minimal (inherited)
            001: of-role low (set by the role)
            010: of-persona medium (set by the persona)
            011: of-persona medium (set by the persona)
            100: of-call high (asked for in the call)
            101: of-call high (asked for in the call)
            110: of-call high (asked for in the call)
            111: of-call high (asked for in the call)
        "#]]
        .assert_eq(&matrix());
    }

    fn check(
        call: &ModelPreference,
        persona: &ModelPreference,
        role: &ModelPreference,
        expected: Expect,
    ) {
        let levels = ModelPrecedence {
            call: Some(call),
            persona: Some(persona),
            role: Some(role),
        };
        let model = serde_json::to_value(levels.model("parent")).unwrap();
        let effort = serde_json::to_value(levels.reasoning_effort(None)).unwrap();
        expected.assert_eq(&format!("{model}\n{effort}\n"));
    }

    #[test]
    fn each_field_is_decided_apart() {
        let nothing = ModelPreference::default();
        check(
            &says("fast", None),
            &says("", Some(High)),
            &says("deep", Some(Low)),
            expect![[r#"
                {"value":"fast","source":"call"}
                {"value":"high","source":"persona"}
            "#]],
        );
        check(
            &nothing,
            &nothing,
            &nothing,
            expect![[r#"
                {"value":"parent","source":"inherited"}
                {"value":null,"source":"inherited"}
            "#]],
        );
    }
}
