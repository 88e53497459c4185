//! The text of a role file, understood. Pure but for the schema that it may point to.
//!
//! There is one way through: whatever is not understood is a [`Fault`], and no part of a
//! faulty file is used.

use serde_json::Value;
use serde_saphyr::Spanned;
use troupe_engine::schema::Schema;

use super::document::{Block, Document, split};
use super::error::{Fault, Problem, SchemaProblem};
use super::front_matter::{self, AgentName, FrontMatter, fault_at};
use super::limits::LIST_ENTRIES_MAX;
use super::name::Name;
use super::precedence::Choice;
use super::role::{Origin, Persona, Role, RoleDialect};
use super::tool_policy::{Pattern, ToolPolicy};

/// How the parser gets the text behind `output_schema: FILE`.
pub(super) type ReadSchema<'a> = &'a mut dyn FnMut(&str) -> Result<Vec<u8>, SchemaProblem>;

/// Reads a role.
pub(super) fn parse(
    name: Name,
    origin: Origin,
    text: &[u8],
    read_schema: ReadSchema<'_>,
) -> Result<Role, Fault> {
    let text = std::str::from_utf8(text).map_err(|error| not_text(text, error.valid_up_to()))?;
    let Document {
        front_matter,
        prompt,
        prompt_line,
        blocks,
    } = split(text)?;
    let front_matter = front_matter::read(front_matter)?;
    let FrontMatter {
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
        return Err(Fault::at_line(prompt_line, Problem::NoPrompt));
    }
    Ok(Role {
        name,
        origin,
        dialect: RoleDialect::Own,
        description: filled(description)?,
        choice: Choice {
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

pub(super) fn not_text(bytes: &[u8], valid_up_to: usize) -> Fault {
    let valid = String::from_utf8_lossy(&bytes[..valid_up_to]);
    let (before, last) = valid.rsplit_once('\n').unwrap_or(("", &valid));
    let breaks = before.matches('\n').count() + usize::from(valid.contains('\n'));
    Fault {
        line: breaks as u64 + 1,
        column: last.chars().count() as u64 + 1,
        problem: Problem::NotText,
    }
}

/// Returns a text without the space around it, and refuses one that is nothing else.
fn filled(text: Spanned<String>) -> Result<String, Fault> {
    match text.value.trim() {
        "" => Err(expected(&text, "text that is not empty")),
        trimmed => Ok(trimmed.to_owned()),
    }
}

fn patterns(list: Vec<Spanned<String>>) -> Result<Vec<Pattern>, Fault> {
    each(list, |entry| {
        Pattern::parse(&entry.value)
            .map_err(|problem| fault_at(entry.referenced, Problem::Pattern(problem)))
    })
}

fn each<A, B>(
    list: Vec<Spanned<A>>,
    read: impl Fn(Spanned<A>) -> Result<B, Fault>,
) -> Result<Vec<B>, Fault> {
    if let Some(first_over) = list.get(LIST_ENTRIES_MAX) {
        return Err(fault_at(first_over.referenced, Problem::LongList));
    }
    list.into_iter().map(read).collect()
}

fn schema_of(schema: Spanned<Value>, read: ReadSchema<'_>) -> Result<Value, Fault> {
    match schema.value {
        Value::Object(_) => match Schema::compile(&schema.value) {
            Ok(_) => Ok(schema.value),
            Err(error) => Err(fault_at(schema.referenced, Problem::OutputSchema(error))),
        },
        Value::String(path) => {
            let from_file = read(&path).and_then(|text| schema_in(&text));
            from_file
                .map_err(|problem| fault_at(schema.referenced, Problem::Schema { path, problem }))
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
    Schema::compile(&schema)?;
    Ok(schema)
}

/// Brings the declared personas and their blocks together; each needs the other.
fn personas(declared: Vec<AgentName>, mut blocks: Vec<Block<'_>>) -> Result<Vec<Persona>, Fault> {
    if let Some(first_over) = declared.get(LIST_ENTRIES_MAX) {
        return Err(fault_at(first_over.name.referenced, Problem::LongList));
    }
    let mut personas: Vec<Persona> = Vec::with_capacity(declared.len());
    for entry in declared {
        let place = entry.name.referenced;
        let fault = |problem| fault_at(place, problem);
        let name = Name::parse(&entry.name.value).map_err(|bad| fault(Problem::Name(bad)))?;
        if personas.iter().any(|other| other.name == name) {
            return Err(fault(Problem::PersonaTwice(name)));
        }
        let Some(at) = blocks.iter().position(|block| block.name == name) else {
            return Err(fault(Problem::NoBlock(name)));
        };
        let block = blocks.remove(at);
        if block.prompt.is_empty() {
            return Err(Fault::at_line(block.line, Problem::EmptyBlock(name)));
        }
        personas.push(Persona {
            name,
            description: entry.description.map(filled).transpose()?,
            choice: Choice {
                model: entry.model.map(filled).transpose()?,
                reasoning_effort: entry.reasoning_effort,
            },
            prompt: block.prompt.into(),
        });
    }
    match blocks.into_iter().next() {
        None => Ok(personas),
        Some(Block { name, line, .. }) => Err(Fault::at_line(line, Problem::NotDeclared(name))),
    }
}

fn expected<T>(found: &Spanned<T>, what: &str) -> Fault {
    fault_at(found.referenced, Problem::Expected(what.to_owned()))
}

#[cfg(test)]
mod tests;
