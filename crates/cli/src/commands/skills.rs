//! `troupe skills`: instructions for certain kinds of work.

use std::fs;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use serde_json::json;
use troupe_engine::skills::{Skill, SkillCatalogue, SkillLibrary, parse};
use troupe_protocol::event::{SkillError, SkillScope};

use crate::arguments::{ConfigOverrides, LayerSelection};
use crate::commands::{print, tell};
use crate::failure::{CommandExit, CommandFailure, Outcome};
use crate::home::{TroupeHome, here};
use crate::layers::ConfigSource;
use crate::settings::Settings;

#[derive(Debug, Args)]
#[command(
    after_help = "A skill is a directory with a file SKILL.md: YAML with `name` and `description` between two
lines `---`, then instructions. Looked for in .troupe/skills, .agents/skills, .codex/skills and
.claude/skills of this directory and those above it up to the project's root, then in
$TROUPE_HOME/skills, ~/.agents/skills and ~/.claude/skills, then in /etc/troupe/skills. The first one
of a name counts.

A prompt uses a skill by `$name`; the model uses one by itself when its description fits.

Examples:
  troupe skills list
  troupe skills show ship
  troupe skills check .agents/skills/ship/SKILL.md
  troupe exec 'release this with $ship'"
)]
pub struct SkillsArguments {
    #[command(subcommand)]
    action: SkillsAction,
}

#[derive(Debug, Subcommand)]
enum SkillsAction {
    /// List the skills that can be used here, and the files that cannot.
    #[command(
        after_help = "Examples:\n  troupe skills list\n  troupe skills list --json | jq -r .name"
    )]
    List {
        /// One JSON object per skill and per broken file.
        #[arg(long)]
        json: bool,
    },
    /// Print what a skill says of itself, and its instructions.
    #[command(after_help = "Examples:\n  troupe skills show ship")]
    Show { name: String },
    /// Check skills; exits with 1 if one cannot be used.
    #[command(
        after_help = "Examples:\n  troupe skills check                     every skill that is looked for from here\n  troupe skills check skills/*/SKILL.md   these files, wherever they lie"
    )]
    Check { files: Vec<PathBuf> },
}

pub fn run(
    arguments: SkillsArguments,
    overrides: ConfigOverrides,
    layers: LayerSelection,
) -> Outcome {
    if let SkillsAction::Check { files } = &arguments.action
        && !files.is_empty()
    {
        return check(files);
    }
    let source = ConfigSource {
        home: TroupeHome::find()?,
        overrides,
        layers,
        flags: Vec::new(),
    };
    let cwd = here()?;
    let settings = Settings::read(&source.load(&cwd)?.config)?;
    let markers = &settings.conversation.project_root_markers;
    let skills = SkillLibrary::new(source.home.skill_places());
    let catalogue = skills.catalogue_blocking(&cwd, markers);
    match arguments.action {
        SkillsAction::List { json: true } => list_json(&catalogue),
        SkillsAction::List { json: false } => list(&catalogue),
        SkillsAction::Show { name } => show(&catalogue, &name),
        SkillsAction::Check { .. } => check_all(&catalogue),
    }
}

fn list(catalogue: &SkillCatalogue) -> Outcome {
    let SkillCatalogue {
        skills,
        shadowed,
        errors,
    } = catalogue;
    if skills.is_empty() && errors.is_empty() {
        tell("there are no skills here; `troupe skills --help` says where they are looked for");
    }
    let names = skills.iter().map(|skill| skill.name.chars().count());
    let width = names.max().unwrap_or_default();
    for skill in skills {
        let description = skill.short_description.as_ref();
        let description = description.unwrap_or(&skill.description);
        let (name, scope) = (&skill.name, scope(skill.scope));
        print(&format!("{name:width$}  {scope:6}  {description}\n"))?;
    }
    for skill in shadowed {
        let hidden = &skill.name;
        tell(&format!(
            "hidden: {} has the name {hidden}, which a nearer skill has too",
            skill.path.display()
        ));
    }
    report(errors);
    Ok(CommandExit::Success)
}

fn list_json(catalogue: &SkillCatalogue) -> Outcome {
    let skill = |skill: &Skill, hidden: bool| {
        json!({
            "name": skill.name,
            "description": skill.description,
            "short_description": skill.short_description,
            "scope": skill.scope,
            "path": skill.path,
            "hidden": hidden,
        })
    };
    let skills = catalogue.skills.iter().map(|one| skill(one, false));
    let shadowed = catalogue.shadowed.iter().map(|one| skill(one, true));
    let errors = catalogue.errors.iter();
    let errors = errors.map(|error| json!({ "path": error.path, "error": error.message }));
    let lines = skills.chain(shadowed).chain(errors);
    let lines = lines.flat_map(|line| [line.to_string(), "\n".to_owned()]);
    print(&lines.collect::<String>())?;
    Ok(CommandExit::Success)
}

fn show(catalogue: &SkillCatalogue, name: &str) -> Outcome {
    let Some(skill) = catalogue.find(name) else {
        let known: Vec<&str> = catalogue
            .skills
            .iter()
            .map(|one| one.name.as_str())
            .collect();
        let known = match known.as_slice() {
            [] => "there are none here".to_owned(),
            known => format!("there are: {}", known.join(", ")),
        };
        return Err(CommandFailure::usage(format!(
            "there is no skill {name}; {known}"
        )));
    };
    let text = fs::read_to_string(&skill.path).map_err(CommandFailure::failed)?;
    let (_, body) = parse(&text, &skill.name).map_err(CommandFailure::failed)?;
    let Skill {
        name,
        description,
        path,
        ..
    } = skill;
    print(&format!(
        "name         {name}\ndescription  {description}\nscope        {}\nfile         {}\n\n{}\n",
        scope(skill.scope),
        path.display(),
        clean(body)
    ))?;
    Ok(CommandExit::Success)
}

fn check_all(catalogue: &SkillCatalogue) -> Outcome {
    report(&catalogue.errors);
    let (usable, broken) = (catalogue.skills.len(), catalogue.errors.len());
    let noun = if usable == 1 { "skill" } else { "skills" };
    print(&format!("{usable} {noun} can be used, {broken} cannot\n"))?;
    Ok(verdict(broken))
}

fn check(files: &[PathBuf]) -> Outcome {
    let mut broken = Vec::new();
    for path in files {
        match problem(path) {
            None => print(&format!("{}: ok\n", path.display()))?,
            Some(message) => broken.push(SkillError {
                path: path.clone(),
                message,
            }),
        }
    }
    report(&broken);
    Ok(verdict(broken.len()))
}

fn problem(path: &Path) -> Option<String> {
    if path.file_name() != Some("SKILL.md".as_ref()) {
        return Some("is not found by anybody: a skill's file is called SKILL.md".to_owned());
    }
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) => return Some(format!("cannot be read: {error}")),
    };
    let directory = path.canonicalize().ok();
    let directory = directory.as_deref().and_then(Path::parent);
    let name = directory.and_then(Path::file_name).unwrap_or_default();
    let problem = parse(&text, &name.to_string_lossy()).err();
    problem.map(|problem| problem.to_string())
}

fn report(errors: &[SkillError]) {
    for SkillError { path, message } in errors {
        tell(&clean(&format!("broken: {} {message}", path.display())));
    }
}

fn verdict(broken: usize) -> CommandExit {
    match broken {
        0 => CommandExit::Success,
        _ => CommandExit::Failed,
    }
}

fn scope(scope: SkillScope) -> &'static str {
    match scope {
        SkillScope::Repo => "repo",
        SkillScope::User => "user",
        SkillScope::System => "system",
    }
}

/// A skill of a project is somebody else's text: it must not drive the terminal. (Names and
/// descriptions have no such characters.)
fn clean(text: &str) -> String {
    let safe = |letter: &char| !letter.is_control() || matches!(letter, '\n' | '\t');
    text.chars().filter(safe).collect()
}
