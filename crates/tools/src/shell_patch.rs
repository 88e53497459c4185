//! Patches that a model sends through the shell instead of the tool made for them.
//!
//! Recognised are commands that do nothing else: `apply_patch BODY` as program and argument,
//! and scripts of one statement, `apply_patch` with a here-document or one quoted argument,
//! with at most one `cd DIR &&` in front. A patch alone in the place of a command is taken
//! too, since it can mean nothing else. Everything else runs as the shell command that it is.

use std::path::PathBuf;

use tree_sitter::Node;

use crate::safety::plain::command_words;
use crate::safety::script::{ShellScript, children, shell_script};

const NAMES: [&str; 2] = ["apply_patch", "applypatch"];
const BEGIN: &str = "*** Begin Patch";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShellPatch {
    /// The text of the patch, not parsed yet.
    pub body: String,
    /// The `cd` in front, to be resolved on the working directory of the call.
    pub workdir: Option<PathBuf>,
}

/// Recognises a command that does nothing but apply a patch.
pub fn detect(argv: &[String]) -> Option<ShellPatch> {
    match argv {
        [name, body] if NAMES.contains(&name.as_str()) => Some(ShellPatch::here(body)),
        [body] => bare(body),
        _ => in_script(shell_script(argv)?),
    }
}

impl ShellPatch {
    fn here(body: &str) -> Self {
        Self {
            body: body.to_owned(),
            workdir: None,
        }
    }
}

fn bare(text: &str) -> Option<ShellPatch> {
    let whole = text.trim_start().starts_with(BEGIN);
    whole.then(|| ShellPatch::here(text))
}

fn in_script(source: &str) -> Option<ShellPatch> {
    if let Some(patch) = bare(source) {
        return Some(patch);
    }
    // Most commands are none: they are not worth a tree.
    if !NAMES.iter().any(|name| source.contains(name)) {
        return None;
    }
    let script = ShellScript::parse(source).filter(ShellScript::is_sound)?;
    let [statement] = children(script.root())[..] else {
        return None;
    };
    if statement.kind() != "redirected_statement" {
        let (workdir, words) = call(&script, statement)?;
        let [body] = <[String; 1]>::try_from(words).ok()?;
        return Some(ShellPatch { body, workdir });
    }
    let [command, redirect] = children(statement)[..] else {
        return None;
    };
    let (workdir, words) = call(&script, command)?;
    let body = here_document(&script, redirect)?.to_owned();
    words.is_empty().then_some(ShellPatch { body, workdir })
}

/// The arguments of `apply_patch`, and the directory of a `cd DIR &&` in front of it.
fn call(script: &ShellScript<'_>, node: Node<'_>) -> Option<(Option<PathBuf>, Vec<String>)> {
    let (workdir, command) = match (node.kind(), &children(node)[..]) {
        ("command", _) => (None, node),
        ("list", [cd, and, command]) if and.kind() == "&&" => {
            let [name, directory] = <[String; 2]>::try_from(command_words(script, *cd)?).ok()?;
            (name == "cd").then_some(())?;
            (Some(PathBuf::from(directory)), *command)
        }
        _ => return None,
    };
    let mut words = command_words(script, command)?;
    let is_patch = words
        .first()
        .is_some_and(|name| NAMES.contains(&name.as_str()));
    is_patch.then(|| (workdir, words.split_off(1)))
}

/// The text between the delimiters, which may not be followed by anything on their line.
fn here_document<'s>(script: &ShellScript<'s>, redirect: Node<'_>) -> Option<&'s str> {
    let parts = children(redirect);
    let kinds: Vec<&str> = parts.iter().map(Node::kind).collect();
    let alone = kinds == ["<<", "heredoc_start", "heredoc_body", "heredoc_end"];
    alone.then(|| script.text(parts[2]))
}

#[cfg(test)]
mod tests;
