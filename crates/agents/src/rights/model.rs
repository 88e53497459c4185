//! Which model a child thinks with, and how hard.

use troupe_protocol::policy::ReasoningEffort;

use crate::desk::{ModelChoice, SpawnRequest, Trouble};
use crate::roles::{Choice, Origin, Persona, Resolved, Role, RoleDialect, Source};

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Chosen {
    pub model: String,
    pub reasoning_effort: Option<ReasoningEffort>,
}

pub(super) fn settle(
    role: &Role,
    persona: Option<&Persona>,
    request: &SpawnRequest,
    models: Option<&[ModelChoice]>,
    why: &mut Vec<String>,
) -> Result<Chosen, Trouble> {
    let own = request.turn.model.as_str();
    let call = Choice {
        model: request.model.clone(),
        reasoning_effort: request.reasoning_effort,
    };
    let levels = role.precedence(&call, persona);
    let mut model = levels.model(own);
    if role.dialect == RoleDialect::ClaudeCode && model.source == Source::Role {
        model = borrowed(request.tool, model.value, own, models, why)?;
    }
    let known = find(request.tool, &model.value, own, models)?;
    if let Source::Persona | Source::Role = model.source {
        why.push(format!("model {}: {}", model.value, model.source));
    }
    let effort = levels.reasoning_effort(request.turn.reasoning_effort);
    let taken = effort.value.filter(|&effort| takes(known, effort));
    match (effort.value, effort.source) {
        // The roles of the program itself, and those of another program, fit every model.
        (Some(asked), Source::Role)
            if taken.is_none()
                && (role.origin == Origin::Embedded || role.dialect == RoleDialect::ClaudeCode) =>
        {
            why.push(format!(
                "reasoning effort is the model's own: {} does not take {}, which the role has",
                model.value,
                asked.as_str()
            ));
        }
        (Some(asked), Source::Call | Source::Persona | Source::Role) if taken.is_none() => {
            return Err(Trouble::UnsupportedEffort {
                model: model.value,
                effort: asked.as_str(),
                known: efforts(known).map(ReasoningEffort::as_str).collect(),
            });
        }
        (Some(asked), Source::Inherited) if taken.is_none() => why.push(format!(
            "reasoning effort is the model's own: {} does not take {}, which this turn has",
            model.value,
            asked.as_str()
        )),
        (Some(asked), source @ (Source::Persona | Source::Role)) => {
            why.push(format!("reasoning effort {}: {source}", asked.as_str()));
        }
        (Some(_), Source::Call | Source::Inherited) | (None, _) => {}
    }
    Ok(Chosen {
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
) -> Result<Resolved<String>, Trouble> {
    let models = models.ok_or(Trouble::ModelsLoading { tool })?;
    let is_family = |known: &&ModelChoice| known.name.split('-').any(|part| part == named);
    let exact = models.iter().find(|known| known.name == named);
    let found = exact.or_else(|| models.iter().find(is_family));
    Ok(if let Some(model) = found {
        Resolved {
            value: model.name.clone(),
            source: Source::Role,
        }
    } else {
        why.push(format!(
            "model {own}: inherited, because this provider has no {named}, which the role names"
        ));
        Resolved {
            value: own.to_owned(),
            source: Source::Inherited,
        }
    })
}

/// Finds a model in the list. The turn's own is good without being listed: it works.
fn find<'a>(
    tool: &'static str,
    model: &str,
    own: &str,
    models: Option<&'a [ModelChoice]>,
) -> Result<Option<&'a ModelChoice>, Trouble> {
    let found = models.and_then(|models| models.iter().find(|known| known.name == model));
    if found.is_some() || model == own {
        return Ok(found);
    }
    let models = models.ok_or(Trouble::ModelsLoading { tool })?;
    let mut known: Vec<String> = models.iter().map(|known| known.name.clone()).collect();
    if !known.iter().any(|name| name == own) {
        known.push(own.to_owned());
    }
    Err(Trouble::UnknownModel {
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
