//! The text of a role file, understood. Pure but for the schema that it may point to.
//!
//! There is one way through: whatever is not understood is a [`RoleFault`], and no part of a
//! faulty file is used.

use serde_json::Value;
use serde_saphyr::Spanned;
use troupe_schema::AnswerSchema;

use super::document::{PersonaBlock, RoleDocument, split};
use super::error::{RoleFault, RoleProblem, SchemaProblem};
use super::front_matter::{self, AgentName, RoleFrontMatter, fault_at};
use super::limits::LIST_ENTRIES_MAX;
use super::name::RoleName;
use super::precedence::ModelPreference;
use super::role::{AgentRole, Persona, RoleDialect, RoleOrigin};
use super::tool_policy::{ToolPattern, ToolPolicy};

/// How the parser gets the text behind `output_schema: FILE`.
pub(super) type ReadSchema<'a> = &'a mut dyn FnMut(&str) -> Result<Vec<u8>, SchemaProblem>;

/// Reads a role.
pub(super) fn parse(
    name: RoleName,
    origin: RoleOrigin,
    text: &[u8],
    read_schema: ReadSchema<'_>,
) -> Result<AgentRole, RoleFault> {
    let text = std::str::from_utf8(text).map_err(|error| not_text(text, error.valid_up_to()))?;
    let RoleDocument {
        front_matter,
        prompt,
        prompt_line,
        blocks,
    } = split(text)?;
    let front_matter = front_matter::read(front_matter)?;
    let RoleFrontMatter {
        description,
        model,
        reasoning_effort,
        read_only,
        allow_list,
        deny_list,
        agent_names,
        approvals,
        messages,
        output_schema,
        mcp_servers,
        backend,
    } = front_matter;
    if prompt.is_empty() {
        return Err(RoleFault::at_line(prompt_line, RoleProblem::NoPrompt));
    }
    Ok(AgentRole {
        name,
        origin,
        dialect: RoleDialect::Own,
        description: filled(description)?,
        choice: ModelPreference {
            model: model.map(filled).transpose()?,
            reasoning_effort,
        },
        read_only: read_only.unwrap_or(false),
        tools: ToolPolicy {
            allow: allow_list.map(patterns).transpose()?,
            deny: deny_list.map_or_else(|| Ok(Vec::new()), patterns)?,
        },
        approvals,
        messages,
        output_schema: output_schema
            .map(|schema| schema_of(schema, read_schema))
            .transpose()?,
        mcp_servers: mcp_servers
            .map(|servers| each(servers, filled))
            .transpose()?,
        backend: backend.map(filled).transpose()?,
        prompt: prompt.into(),
        personas: personas(agent_names.unwrap_or_default(), blocks)?,
        notes: Vec::new(),
    })
}

pub(super) fn not_text(bytes: &[u8], valid_up_to: usize) -> RoleFault {
    let valid = String::from_utf8_lossy(&bytes[..valid_up_to]);
    let (before, last) = valid.rsplit_once('\n').unwrap_or(("", &valid));
    let breaks = before.matches('\n').count() + usize::from(valid.contains('\n'));
    RoleFault {
        line: breaks as u64 + 1,
        column: last.chars().count() as u64 + 1,
        problem: RoleProblem::NotText,
    }
}

/// Returns a text without the space around it, and refuses one that is nothing else.
fn filled(text: Spanned<String>) -> Result<String, RoleFault> {
    match text.value.trim() {
        "" => Err(expected(&text, "text that is not empty")),
        trimmed => Ok(trimmed.to_owned()),
    }
}

fn patterns(list: Vec<Spanned<String>>) -> Result<Vec<ToolPattern>, RoleFault> {
    each(list, |entry| {
        ToolPattern::parse(&entry.value)
            .map_err(|problem| fault_at(entry.referenced, RoleProblem::Pattern(problem)))
    })
}

fn each<A, B>(
    list: Vec<Spanned<A>>,
    read: impl Fn(Spanned<A>) -> Result<B, RoleFault>,
) -> Result<Vec<B>, RoleFault> {
    if let Some(first_over) = list.get(LIST_ENTRIES_MAX) {
        return Err(fault_at(first_over.referenced, RoleProblem::LongList));
    }
    list.into_iter().map(read).collect()
}

fn schema_of(schema: Spanned<Value>, read: ReadSchema<'_>) -> Result<Value, RoleFault> {
    match schema.value {
        Value::Object(_) => match AnswerSchema::compile(&schema.value) {
            Ok(_) => Ok(schema.value),
            Err(error) => Err(fault_at(
                schema.referenced,
                RoleProblem::OutputSchema(error),
            )),
        },
        Value::String(path) => {
            let from_file = read(&path).and_then(|text| schema_in(&text));
            from_file.map_err(|problem| {
                fault_at(schema.referenced, RoleProblem::Schema { path, problem })
            })
        }
        _ => Err(expected(
            &schema,
            "a JSON Schema (keys with values), or the path of a file that holds one",
        )),
    }
}

fn schema_in(text: &[u8]) -> Result<Value, SchemaProblem> {
    let schema: Value = serde_json::from_slice(text).map_err(|error| SchemaProblem::NotJson {
        line: error.line(),
        column: error.column(),
    })?;
    if !schema.is_object() {
        return Err(SchemaProblem::NotAnObject);
    }
    AnswerSchema::compile(&schema)?;
    Ok(schema)
}

/// Brings the declared personas and their blocks together; each needs the other.
fn personas(
    declared: Vec<AgentName>,
    mut blocks: Vec<PersonaBlock<'_>>,
) -> Result<Vec<Persona>, RoleFault> {
    if let Some(first_over) = declared.get(LIST_ENTRIES_MAX) {
        return Err(fault_at(first_over.name.referenced, RoleProblem::LongList));
    }
    let mut personas: Vec<Persona> = Vec::with_capacity(declared.len());
    for entry in declared {
        let place = entry.name.referenced;
        let fault = |problem| fault_at(place, problem);
        let name =
            RoleName::parse(&entry.name.value).map_err(|bad| fault(RoleProblem::Name(bad)))?;
        if personas.iter().any(|other| other.name == name) {
            return Err(fault(RoleProblem::PersonaTwice(name)));
        }
        let Some(at) = blocks.iter().position(|block| block.name == name) else {
            return Err(fault(RoleProblem::NoBlock(name)));
        };
        let block = blocks.remove(at);
        if block.prompt.is_empty() {
            return Err(RoleFault::at_line(
                block.line,
                RoleProblem::EmptyBlock(name),
            ));
        }
        personas.push(Persona {
            name,
            description: entry.description.map(filled).transpose()?,
            choice: ModelPreference {
                model: entry.model.map(filled).transpose()?,
                reasoning_effort: entry.reasoning_effort,
            },
            prompt: block.prompt.into(),
        });
    }
    match blocks.into_iter().next() {
        None => Ok(personas),
        Some(PersonaBlock { name, line, .. }) => {
            Err(RoleFault::at_line(line, RoleProblem::NotDeclared(name)))
        }
    }
}

fn expected<T>(found: &Spanned<T>, what: &str) -> RoleFault {
    fault_at(found.referenced, RoleProblem::Expected(what.to_owned()))
}

#[cfg(test)]
mod tests;
