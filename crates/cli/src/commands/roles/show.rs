//! Roles as people and programs read them.

use std::sync::Arc;

use serde_json::{Value, json};
use troupe_agents::roles::{
    AgentRole, BrokenRole, ModelPreference, Persona, PreferenceSource, ResolvedPreference,
    ToolPattern, ToolPolicy,
};

/// Who has a say when the role has none.
const PARENT: &str = "the parent's";

/// One line per role.
pub fn table(roles: &[Arc<AgentRole>]) -> String {
    let widest = |text: &dyn Fn(&AgentRole) -> usize| roles.iter().map(|role| text(role)).max();
    let width = widest(&|role| role.name.as_str().len()).unwrap_or_default();
    let lines: Vec<String> = roles
        .iter()
        .map(|role| {
            let rights = if role.read_only { "read-only" } else { "" };
            let line = format!(
                "{:width$}  {:8}  {rights:9}  {}",
                role.name.as_str(),
                role.origin.as_str(),
                clean(&role.description).replace('\n', " ")
            );
            format!("{}\n", line.trim_end())
        })
        .collect();
    lines.concat()
}

/// One JSON object for programs, with the keys of a role file.
pub fn json_line(role: &AgentRole) -> String {
    let persona = |persona: &Persona| {
        json!({
            "name": persona.name,
            "description": persona.description,
            "model": persona.choice.model,
            "reasoning_effort": persona.choice.reasoning_effort,
        })
    };
    let object = json!({
        "name": role.name,
        "origin": role.origin.as_str(),
        "path": role.origin.path(),
        "description": role.description,
        "model": role.choice.model,
        "reasoning_effort": role.choice.reasoning_effort,
        "read_only": role.read_only,
        "allow_list": role.tools.allow,
        "deny_list": role.tools.deny,
        "agent_names": role.personas.iter().map(persona).collect::<Vec<Value>>(),
        "approvals": role.approvals,
        "output_schema": role.output_schema,
        "mcp_servers": role.mcp_servers,
        "messages": role.messages,
        "backend": role.backend,
        "notes": role.notes,
    });
    format!("{object}\n")
}

pub fn broken_json(broken: &BrokenRole) -> String {
    let object = json!({ "path": broken.path, "error": broken.error.to_string() });
    format!("{object}\n")
}

/// Every value of a role with where it comes from, then the prompt. `configured` is what the
/// configuration says over its file.
pub fn details(
    role: &AgentRole,
    persona: Option<&Persona>,
    configured: &ModelPreference,
) -> String {
    let own = role.origin.to_string();
    let of_persona = persona.map(|persona| format!("persona {} in {own}", persona.name));
    let of_persona = of_persona.as_deref().unwrap_or(&own);
    let of_configuration = format!("[agents.types.{}] of the configuration", role.name);
    let place = |source: PreferenceSource, is_configured: bool| match source {
        PreferenceSource::Call | PreferenceSource::Persona => of_persona,
        PreferenceSource::Role if is_configured => of_configuration.as_str(),
        PreferenceSource::Role => own.as_str(),
        PreferenceSource::Inherited => PARENT,
    };
    let no_call = ModelPreference::default();
    let levels = role.precedence(&no_call, persona);
    let model = levels.model("inherited");
    let ResolvedPreference { value, source } = levels.reasoning_effort(None);
    let effort = value.map_or("inherited", |effort| effort.as_str());

    let mut rows = RoleRows::default();
    let description = persona.and_then(|persona| persona.description.as_deref());
    match description {
        Some(description) => rows.add("description", description, of_persona),
        None => rows.add("description", &role.description, &own),
    }
    let has_model = configured.model.is_some();
    rows.add("model", &model.value, place(model.source, has_model));
    let has_effort = configured.reasoning_effort.is_some();
    rows.add("reasoning_effort", effort, place(source, has_effort));
    let or_parents = |value: Option<String>| match value {
        Some(value) => (value, own.as_str()),
        None => ("inherited".to_owned(), PARENT),
    };
    let sandbox = role.read_only.then(|| "read-only".to_owned());
    rows.add_pair("sandbox", or_parents(sandbox));
    rows.add_pair("tools", or_parents(tools(&role.tools)));
    let servers = role.mcp_servers.as_deref().map(listed);
    rows.add_pair("mcp_servers", or_parents(servers));
    match role.approvals {
        Some(approvals) => rows.add("approvals", &word(approvals), &own),
        None => rows.add("approvals", "not set", "the tool that spawns decides"),
    }
    match role.messages {
        Some(messages) => rows.add("messages", &word(messages), &own),
        None => rows.add("messages", "family", "default"),
    }
    if let Some(backend) = &role.backend {
        rows.add("backend", backend, &own);
    }
    if let Some(schema) = &role.output_schema {
        rows.add("output_schema", &schema.to_string(), &own);
    }
    for note in &role.notes {
        rows.add("note", note, &own);
    }
    for known in &role.personas {
        let description = known.description.as_deref().unwrap_or_default();
        rows.add(&format!("persona {}", known.name), description, &own);
    }
    format!("{}\n{}\n", rows.text(), clean(role.prompt(persona)))
}

/// `None` if the role has nothing to say about tools.
fn tools(policy: &ToolPolicy) -> Option<String> {
    let names = |patterns: &[ToolPattern]| {
        let names: Vec<String> = patterns.iter().map(ToString::to_string).collect();
        listed(&names)
    };
    match (&policy.allow, policy.deny.as_slice()) {
        (None, []) => None,
        (None, deny) => Some(format!("all but {}", names(deny))),
        (Some(allow), []) => Some(format!("only {}", names(allow))),
        (Some(allow), deny) => Some(format!("only {}; not {}", names(allow), names(deny))),
    }
}

fn listed(names: &[String]) -> String {
    if names.is_empty() {
        "none".to_owned()
    } else {
        names.join(", ")
    }
}

/// The word that stands in role files.
fn word(value: impl serde::Serialize) -> String {
    let value = serde_json::to_value(value).unwrap_or_default();
    value.as_str().unwrap_or_default().to_owned()
}

/// A role of a project is somebody else's text: it must not drive the terminal.
fn clean(text: &str) -> String {
    let safe = |letter: &char| !letter.is_control() || matches!(letter, '\n' | '\t');
    text.chars().filter(safe).collect()
}

/// Keys and values in columns, each with its origin.
#[derive(Default)]
struct RoleRows(Vec<(String, String, String)>);

impl RoleRows {
    fn add(&mut self, key: &str, value: &str, origin: &str) {
        let value = clean(value).replace('\n', " ");
        self.0.push((key.to_owned(), value, origin.to_owned()));
    }

    fn add_pair(&mut self, key: &str, (value, origin): (String, &str)) {
        self.add(key, &value, origin);
    }

    fn text(&self) -> String {
        let width = self.0.iter().map(|(key, ..)| key.len()).max();
        let width = width.unwrap_or_default();
        let line = |(key, value, origin): &(String, String, String)| {
            format!("{key:width$}  {value}  # {origin}\n")
        };
        self.0.iter().map(line).collect::<Vec<_>>().concat()
    }
}
