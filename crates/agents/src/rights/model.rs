//! Which model a child thinks with, and how hard.

use troupe_protocol::policy::ReasoningEffort;

use crate::roles::{
    AgentRole, ModelPreference, Persona, PreferenceSource, ResolvedPreference, RoleDialect,
    RoleOrigin,
};
use crate::tree_access::{ModelChoice, SpawnRequest, TreeError};

#[derive(Debug, PartialEq, Eq)]
pub(super) struct ChosenModel {
    pub model: String,
    pub reasoning_effort: Option<ReasoningEffort>,
}

pub(super) fn settle(
    role: &AgentRole,
    persona: Option<&Persona>,
    request: &SpawnRequest,
    models: Option<&[ModelChoice]>,
    why: &mut Vec<String>,
) -> Result<ChosenModel, TreeError> {
    let own = request.turn.model.as_str();
    let call = ModelPreference {
        model: request.model.clone(),
        reasoning_effort: request.reasoning_effort,
    };
    let levels = role.precedence(&call, persona);
    let mut model = levels.model(own);
    if role.dialect == RoleDialect::ClaudeCode && model.source == PreferenceSource::Role {
        model = borrowed(request.tool, model.value, own, models, why)?;
    }
    let known = find(request.tool, &model.value, own, models)?;
    if let PreferenceSource::Persona | PreferenceSource::Role = model.source {
        why.push(format!("model {}: {}", model.value, model.source));
    }
    let effort = levels.reasoning_effort(request.turn.reasoning_effort);
    let taken = effort.value.filter(|&effort| takes(known, effort));
    match (effort.value, effort.source) {
        // The roles of the program itself, and those of another program, fit every model.
        (Some(asked), PreferenceSource::Role)
            if taken.is_none()
                && (role.origin == RoleOrigin::Embedded
                    || role.dialect == RoleDialect::ClaudeCode) =>
        {
            why.push(format!(
                "reasoning effort is the model's own: {} does not take {}, which the role has",
                model.value,
                asked.as_str()
            ));
        }
        (
            Some(asked),
            PreferenceSource::Call | PreferenceSource::Persona | PreferenceSource::Role,
        ) if taken.is_none() => {
            return Err(TreeError::UnsupportedEffort {
                model: model.value,
                effort: asked.as_str(),
                known: efforts(known).map(ReasoningEffort::as_str).collect(),
            });
        }
        (Some(asked), PreferenceSource::Inherited) if taken.is_none() => why.push(format!(
            "reasoning effort is the model's own: {} does not take {}, which this turn has",
            model.value,
            asked.as_str()
        )),
        (Some(asked), source @ (PreferenceSource::Persona | PreferenceSource::Role)) => {
            why.push(format!("reasoning effort {}: {source}", asked.as_str()));
        }
        (Some(_), PreferenceSource::Call | PreferenceSource::Inherited) | (None, _) => {}
    }
    Ok(ChosenModel {
        model: model.value,
        reasoning_effort: taken,
    })
}

/// Returns the model that a role of Claude Code names. It says which one of a family (`sonnet`), or
/// names one that this provider may not have: then it is the parent's.
fn borrowed(
    tool: &'static str,
    named: String,
    own: &str,
    models: Option<&[ModelChoice]>,
    why: &mut Vec<String>,
) -> Result<ResolvedPreference<String>, TreeError> {
    let models = models.ok_or(TreeError::ModelsLoading { tool })?;
    let is_family = |known: &&ModelChoice| known.name.split('-').any(|part| part == named);
    let exact = models.iter().find(|known| known.name == named);
    let found = exact.or_else(|| models.iter().find(is_family));
    Ok(if let Some(model) = found {
        ResolvedPreference {
            value: model.name.clone(),
            source: PreferenceSource::Role,
        }
    } else {
        why.push(format!(
            "model {own}: inherited, because this provider has no {named}, which the role names"
        ));
        ResolvedPreference {
            value: own.to_owned(),
            source: PreferenceSource::Inherited,
        }
    })
}

/// Finds a model in the list. The turn's own is good without being listed: it works.
fn find<'a>(
    tool: &'static str,
    model: &str,
    own: &str,
    models: Option<&'a [ModelChoice]>,
) -> Result<Option<&'a ModelChoice>, TreeError> {
    let found = models.and_then(|models| models.iter().find(|known| known.name == model));
    if found.is_some() || model == own {
        return Ok(found);
    }
    let models = models.ok_or(TreeError::ModelsLoading { tool })?;
    let mut known: Vec<String> = models.iter().map(|known| known.name.clone()).collect();
    if !known.iter().any(|name| name == own) {
        known.push(own.to_owned());
    }
    Err(TreeError::UnknownModel {
        tool,
        model: model.to_owned(),
        known,
    })
}

/// A model of which nobody knows the efforts may take any.
fn takes(model: Option<&ModelChoice>, effort: ReasoningEffort) -> bool {
    let mut known = efforts(model).peekable();
    known.peek().is_none() || known.any(|one| one == effort)
}

fn efforts(model: Option<&ModelChoice>) -> impl Iterator<Item = ReasoningEffort> + '_ {
    model
        .into_iter()
        .flat_map(|model| model.efforts.iter().copied())
}
