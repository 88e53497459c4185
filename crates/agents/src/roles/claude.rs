//! Agents of Claude Code (`.claude/agents/*.md`), read as roles. Pure.
//!
//! | their tool | what the role is allowed here |
//! |---|---|
//! | `Read`, `Grep`, `Glob`, `LS`, `NotebookRead` | the tools that read; without any that writes, commands too, in a read-only sandbox |
//! | `Edit`, `MultiEdit`, `Write`, `NotebookEdit` | `apply_patch`, and the tools that read |
//! | `Bash`, `BashOutput`, `KillShell` | commands |
//! | `Task`, `Agent` | the tools of the tree |
//! | `TodoWrite`, `AskUserQuestion` | `update_plan`, `request_user_input` |
//! | `mcp__SERVER__TOOL` | the same |
//!
//! Their front matter is YAML that need not be valid: descriptions with colons are common. So it is
//! read line by line. What narrows there narrows here or refuses the file; what would only grant is
//! left out, and what is left out is noted for people.

use std::collections::BTreeMap;

use troupe_config::nearest;
use troupe_protocol::policy::ReasoningEffort;

use super::document::{FRONT_MATTER_OFFSET, RoleDocument, split};
use super::error::{RoleFault, RoleProblem};
use super::known_names::own_tools;
use super::limits::LIST_ENTRIES_MAX;
use super::name::RoleName;
use super::precedence::ModelPreference;
use super::role::{AgentRole, RoleDialect, RoleOrigin};
use super::tool_policy::{ToolPattern, ToolPolicy};
use crate::rights::program::TREE_TOOLS;

const READING: &[&str] = &[
    "read_file",
    "list_dir",
    "grep_files",
    "find_files",
    "view_image",
];

const COMMANDS: &[&str] = &["shell_command", "exec_command", "write_stdin"];

/// The keys that count here.
const KEYS: [&str; 8] = [
    "name",
    "description",
    "tools",
    "disallowedTools",
    "permissionMode",
    "model",
    "effort",
    "mcpServers",
];

/// Keys of theirs that mean nothing here.
const KEYS_WITHOUT_EFFECT: [&str; 9] = [
    "background",
    "color",
    "hooks",
    "initialPrompt",
    "isolation",
    "maxTurns",
    "memory",
    "skills",
    "version",
];

/// What a tool of theirs is here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Counterpart {
    Reading,
    Editing,
    Commands,
    Tree,
    Same(&'static [&'static str]),
    /// There is none.
    Absent,
}

const COUNTERPARTS: [(&str, Counterpart); 32] = [
    ("Read", Counterpart::Reading),
    ("Grep", Counterpart::Reading),
    ("Glob", Counterpart::Reading),
    ("LS", Counterpart::Reading),
    ("NotebookRead", Counterpart::Reading),
    ("Edit", Counterpart::Editing),
    ("MultiEdit", Counterpart::Editing),
    ("Write", Counterpart::Editing),
    ("NotebookEdit", Counterpart::Editing),
    ("Bash", Counterpart::Commands),
    ("BashOutput", Counterpart::Commands),
    ("KillBash", Counterpart::Commands),
    ("KillShell", Counterpart::Commands),
    ("Task", Counterpart::Tree),
    ("Agent", Counterpart::Tree),
    ("TodoWrite", Counterpart::Same(&["update_plan"])),
    ("TodoRead", Counterpart::Same(&["update_plan"])),
    ("TaskCreate", Counterpart::Same(&["update_plan"])),
    ("TaskUpdate", Counterpart::Same(&["update_plan"])),
    ("TaskList", Counterpart::Same(&["update_plan"])),
    ("TaskGet", Counterpart::Same(&["update_plan"])),
    (
        "AskUserQuestion",
        Counterpart::Same(&["request_user_input"]),
    ),
    (
        "ListMcpResourcesTool",
        Counterpart::Same(&["list_mcp_resources"]),
    ),
    (
        "ReadMcpResourceTool",
        Counterpart::Same(&["read_mcp_resource"]),
    ),
    ("WebFetch", Counterpart::Absent),
    ("WebSearch", Counterpart::Absent),
    ("Skill", Counterpart::Absent),
    ("SlashCommand", Counterpart::Absent),
    ("EnterPlanMode", Counterpart::Absent),
    ("ExitPlanMode", Counterpart::Absent),
    ("ToolSearch", Counterpart::Absent),
    ("LSP", Counterpart::Absent),
];

/// Reads a file of theirs as a role of this name.
pub(super) fn parse(
    name: RoleName,
    origin: RoleOrigin,
    text: &str,
) -> Result<AgentRole, RoleFault> {
    let RoleDocument {
        front_matter,
        prompt,
        prompt_line,
        blocks: _,
    } = split(text)?;
    let mut fields = Fields::read(front_matter)?;
    fields.take("name");
    let description = fields.take("description");
    let description = description.filter(|field| !field.text().is_empty());
    let description = description.ok_or_else(|| missing("description"))?.text();
    if prompt.is_empty() {
        return Err(RoleFault::at_line(prompt_line, RoleProblem::NoPrompt));
    }
    let mut notes = Vec::new();
    let allowed = fields.take("tools").map(|it| it.list()).transpose()?;
    let denied = fields.take("disallowedTools");
    let denied = denied.map(|it| it.list()).transpose()?;
    let mut tools = Tools::default();
    if let Some(allowed) = allowed {
        tools.allow(&allowed, &mut notes)?;
    }
    tools.deny(&denied.unwrap_or_default(), &mut notes)?;
    let is_planner = match fields.take("permissionMode").map(|field| field.text()) {
        None => false,
        Some(mode) if mode == "plan" => true,
        Some(mode) => {
            if mode != "default" {
                notes.push(format!("permissionMode {mode} grants nothing here"));
            }
            false
        }
    };
    let choice = ModelPreference {
        model: fields.take("model").map(|field| field.text()),
        reasoning_effort: fields.take("effort").map(effort).transpose()?,
    };
    let mcp_servers = fields.take("mcpServers").map(|it| it.list()).transpose()?;
    fields.refuse_slips()?;
    let ignored: Vec<&str> = fields.0.keys().map(String::as_str).collect();
    if !ignored.is_empty() {
        notes.push(format!("of no effect here: {}", ignored.join(", ")));
    }
    Ok(AgentRole {
        name,
        origin,
        dialect: RoleDialect::ClaudeCode,
        description,
        choice: ModelPreference {
            model: choice.model.filter(|it| it != "inherit" && !it.is_empty()),
            ..choice
        },
        read_only: is_planner || tools.only_reads,
        tools: ToolPolicy {
            allow: tools.allow,
            deny: tools.deny,
        },
        approvals: None,
        messages: None,
        output_schema: None,
        mcp_servers: mcp_servers.map(|it| it.into_iter().map(|entry| entry.name).collect()),
        backend: None,
        prompt: prompt.into(),
        personas: Vec::new(),
        notes,
    })
}

/// Returns the name that the front matter gives, which need not be that of the file.
pub(super) fn name_in(text: &str) -> Option<String> {
    let document = split(text).ok()?;
    let mut fields = Fields::read(document.front_matter).ok()?;
    let name = fields.take("name")?.text();
    (!name.is_empty()).then_some(name)
}

#[derive(Debug, Default)]
struct Tools {
    allow: Option<Vec<ToolPattern>>,
    deny: Vec<ToolPattern>,
    only_reads: bool,
}

impl Tools {
    /// Only what is named, and has a counterpart, is allowed.
    fn allow(&mut self, named: &[Entry], notes: &mut Vec<String>) -> Result<(), RoleFault> {
        let mut found = Vec::new();
        let mut patterns = Vec::new();
        for entry in named {
            // A part of a tool cannot be given, and all of it would be more.
            if entry.is_part {
                let name = &entry.name;
                notes.push(format!(
                    "{name}(…) is left out: a tool is allowed whole or not"
                ));
                continue;
            }
            match entry.meaning(notes)? {
                None => {}
                Some(Meaning::Pattern(pattern)) => patterns.push(pattern),
                Some(Meaning::Counterpart(counterpart)) => found.push(counterpart),
            }
        }
        let has = |wanted| found.contains(&wanted);
        let writes = has(Counterpart::Editing) || has(Counterpart::Commands);
        self.only_reads = has(Counterpart::Reading) && !writes;
        let mut names = Vec::new();
        for counterpart in &found {
            names.extend(tools_of(*counterpart));
        }
        if self.only_reads {
            names.extend(COMMANDS);
        } else if has(Counterpart::Editing) {
            names.extend(READING);
        }
        patterns.extend(names.into_iter().map(exact));
        self.allow = Some(without_twins(patterns));
        Ok(())
    }

    /// What is denied there is denied here, or the file is refused.
    fn deny(&mut self, named: &[Entry], notes: &mut Vec<String>) -> Result<(), RoleFault> {
        let mut patterns = Vec::new();
        for entry in named {
            if entry.is_part {
                let text = format!(
                    "the name of a whole tool in disallowedTools, found a part of {}; \
                     `troupe rules` holds single commands",
                    entry.name
                );
                return Err(RoleFault::at_line(entry.line, RoleProblem::Expected(text)));
            }
            match entry.meaning(notes)? {
                None => {}
                Some(Meaning::Pattern(pattern)) => patterns.push(pattern),
                Some(Meaning::Counterpart(counterpart)) => {
                    patterns.extend(tools_of(counterpart).iter().map(|name| exact(name)));
                }
            }
        }
        self.deny = without_twins(patterns);
        Ok(())
    }
}

fn tools_of(counterpart: Counterpart) -> &'static [&'static str] {
    match counterpart {
        Counterpart::Reading => READING,
        Counterpart::Editing => &["apply_patch"],
        Counterpart::Commands => COMMANDS,
        Counterpart::Tree => &TREE_TOOLS,
        Counterpart::Same(tools) => tools,
        Counterpart::Absent => &[],
    }
}

fn exact(name: &str) -> ToolPattern {
    ToolPattern::parse(name).expect("the names of our own tools are patterns")
}

fn without_twins(patterns: Vec<ToolPattern>) -> Vec<ToolPattern> {
    let mut kept: Vec<ToolPattern> = Vec::new();
    for pattern in patterns {
        if !kept.contains(&pattern) {
            kept.push(pattern);
        }
    }
    kept
}

/// An entry of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    name: String,
    /// It has a pattern in parentheses, such as `Bash(git:*)`.
    is_part: bool,
    line: u64,
}

#[derive(Debug)]
enum Meaning {
    Counterpart(Counterpart),
    Pattern(ToolPattern),
}

impl Entry {
    /// Returns what a tool is here; `None`, with a note, if it is not there. A slip is refused.
    fn meaning(&self, notes: &mut Vec<String>) -> Result<Option<Meaning>, RoleFault> {
        let name = self.name.as_str();
        let fault = |problem| RoleFault::at_line(self.line, problem);
        if let Some(server) = name.strip_prefix("mcp__") {
            let whole = if server.contains("__") {
                name.to_owned()
            } else {
                format!("{name}__*")
            };
            let pattern =
                ToolPattern::parse(&whole).map_err(|bad| fault(RoleProblem::Pattern(bad)))?;
            return Ok(Some(Meaning::Pattern(pattern)));
        }
        let known = COUNTERPARTS.iter().find(|(theirs, _)| *theirs == name);
        if let Some((_, counterpart)) = known {
            if *counterpart == Counterpart::Absent {
                notes.push(format!("{name} is not there"));
                return Ok(None);
            }
            return Ok(Some(Meaning::Counterpart(*counterpart)));
        }
        if own_tools().any(|own| own == name) {
            return Ok(Some(Meaning::Pattern(exact(name))));
        }
        let theirs = COUNTERPARTS.iter().map(|(theirs, _)| *theirs);
        if let Some(near) = nearest(name, own_tools().chain(theirs)) {
            Err(fault(RoleProblem::Expected(format!(
                "the name of a tool, found `{name}` (did you mean `{near}`?)"
            ))))
        } else {
            notes.push(format!("{name} is not there"));
            Ok(None)
        }
    }
}

fn effort(field: Field) -> Result<ReasoningEffort, RoleFault> {
    let text = field.text();
    serde_json::from_value(text.clone().into()).map_err(|_| {
        let problem = format!("a reasoning effort such as low, medium or high, found `{text}`");
        RoleFault::at_line(field.line, RoleProblem::Expected(problem))
    })
}

fn missing(key: &'static str) -> RoleFault {
    RoleFault::at_line(1, RoleProblem::MissingKey(key))
}

/// The keys of a front matter, each with its lines.
#[derive(Debug, Default)]
struct Fields(BTreeMap<String, Field>);

#[derive(Debug)]
struct Field {
    line: u64,
    /// What follows the colon, and the lines that belong to it.
    lines: Vec<String>,
}

impl Fields {
    fn read(front_matter: &str) -> Result<Self, RoleFault> {
        let mut fields = BTreeMap::new();
        let mut current: Option<(String, Field)> = None;
        for (text, line) in front_matter.lines().zip(1 + FRONT_MATTER_OFFSET..) {
            let text = text.trim_end();
            if let Some((key, value)) = key_of(text) {
                if fields.contains_key(key) || current.as_ref().is_some_and(|it| it.0 == key) {
                    let problem = RoleProblem::DuplicateKey(key.to_owned());
                    return Err(RoleFault::at_line(line, problem));
                }
                let lines = vec![value.trim().to_owned()];
                fields.extend(current.replace((key.to_owned(), Field { line, lines })));
            } else if let Some((_, field)) = &mut current {
                field.lines.push(text.trim().to_owned());
            } else if !text.trim().is_empty() && !text.starts_with('#') {
                let problem = RoleProblem::Expected("a key, as in `description: …`".to_owned());
                return Err(RoleFault::at_line(line, problem));
            }
        }
        fields.extend(current);
        Ok(Self(fields))
    }

    fn take(&mut self, key: &str) -> Option<Field> {
        self.0.remove(key)
    }

    /// Refuses what is left and close to a key that counts: it would look like a lock.
    fn refuse_slips(&self) -> Result<(), RoleFault> {
        let left = self.0.iter();
        let mut unknown = left.filter(|(key, _)| !KEYS_WITHOUT_EFFECT.contains(&key.as_str()));
        let is_slip = |key: &str| nearest(key, KEYS).is_some();
        match unknown.find(|(key, _)| is_slip(key)) {
            None => Ok(()),
            Some((key, field)) => Err(RoleFault::at_line(
                field.line,
                RoleProblem::UnknownKey {
                    key: key.clone(),
                    expected: KEYS.to_vec(),
                },
            )),
        }
    }
}

/// Reads the beginning of a field. What is indented, or has blanks before its colon, goes on with
/// the one before.
fn key_of(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.split_once(':')?;
    let is_key = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-';
    let is_named = key.starts_with(|letter: char| letter.is_ascii_alphabetic());
    let is_apart = value.is_empty() || value.starts_with([' ', '\t']);
    (is_named && is_apart && key.chars().all(is_key)).then_some((key, value))
}

impl Field {
    fn text(&self) -> String {
        let block = |line: &&String| line.starts_with(['|', '>']);
        let from = usize::from(self.lines.first().as_ref().is_some_and(block));
        let text = self.lines[from..].join("\n");
        unquoted(text.trim()).to_owned()
    }

    /// Reads names between commas, in brackets or with a dash each. Nothing is not a list: it
    /// would look like a lock.
    fn list(&self) -> Result<Vec<Entry>, RoleFault> {
        let mut entries = Vec::new();
        for (text, line) in self.lines.iter().zip(self.line..) {
            let text = text.strip_prefix("- ").unwrap_or(text);
            let text = text.strip_prefix('[').unwrap_or(text);
            let text = text.strip_suffix(']').unwrap_or(text);
            for word in apart(text) {
                let word = unquoted(word.trim());
                if word.is_empty() || word.starts_with('#') {
                    continue;
                }
                let (name, pattern) = match word.split_once('(') {
                    Some((name, pattern)) => (name.trim(), Some(pattern)),
                    None => (word, None),
                };
                entries.push(Entry {
                    name: name.to_owned(),
                    is_part: pattern.is_some_and(|it| it.trim_end_matches(')') != "*"),
                    line,
                });
            }
        }
        let is_empty_list = self.lines.iter().any(|line| line == "[]");
        if entries.is_empty() && !is_empty_list {
            let problem =
                RoleProblem::Expected("names of tools; leave the key out for all".to_owned());
            return Err(RoleFault::at_line(self.line, problem));
        }
        match entries.get(LIST_ENTRIES_MAX) {
            Some(over) => Err(RoleFault::at_line(over.line, RoleProblem::LongList)),
            None => Ok(entries),
        }
    }
}

/// Splits at commas that stand outside of parentheses.
fn apart(text: &str) -> Vec<&str> {
    let mut depth = 0_u32;
    let is_end = |letter: char| {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        letter == ',' && depth == 0
    };
    text.split(is_end).collect()
}

fn unquoted(text: &str) -> &str {
    let inside = |quote: char| text.strip_prefix(quote)?.strip_suffix(quote);
    inside('"').or_else(|| inside('\'')).unwrap_or(text)
}

#[cfg(test)]
mod tests;
