//! The strict reading: scripts that are nothing but plain commands.
//!
//! Every node kind, every character of a bare word and every byte between two nodes must be
//! on a list. So a construct that the grammar does not know, or knows differently from the
//! shell that will run the script, is refused instead of misread.

use tree_sitter::Node;

use super::limits::{PLAIN_COMMANDS_MAX, PLAIN_DEPTH_MAX};
use super::script::{ShellScript, children};

/// The words of each command, or why the script is not plain.
pub fn plain_commands(source: &str) -> Result<Vec<Vec<String>>, String> {
    let script = ShellScript::parse(source).ok_or("the script is too long to be judged")?;
    if let Some(hidden) = source.chars().find(|&c| is_hidden(c)) {
        return Err(format!(
            "the script contains the invisible character U+{:04X}",
            u32::from(hidden)
        ));
    }
    if !script.is_sound() {
        return Err("the script cannot be parsed".to_owned());
    }
    // Behind a continued line, the parser takes the number of a redirection for a word.
    if source.contains("\\\n") && source.contains(['<', '>']) {
        return Err("a redirection in a continued line is not judged".to_owned());
    }
    let mut reader = PlainCommandReader {
        script: &script,
        commands: Vec::new(),
    };
    let root = script.root();
    reader.check_gap(0, root.start_byte(), NodeGap::Statements)?;
    reader.check_gap(root.end_byte(), source.len(), NodeGap::Statements)?;
    reader.statement(root, 0)?;
    if reader.commands.is_empty() {
        return Err("the script is empty".to_owned());
    }
    Ok(reader.commands)
}

/// Characters that a person who reads the command does not see, or that the shell may take
/// for something else than the parser does. Line ends and tabs are visible.
fn is_hidden(c: char) -> bool {
    let invisible = matches!(
        c,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}'
    );
    invisible || (c.is_control() && c != '\n' && c != '\t')
}

/// The words of one command of a script, if they are plain.
pub fn command_words(script: &ShellScript<'_>, node: Node<'_>) -> Option<Vec<String>> {
    let reader = PlainCommandReader {
        script,
        commands: Vec::new(),
    };
    (node.kind() == "command").then_some(())?;
    reader.command(node).ok()
}

struct PlainCommandReader<'s, 't> {
    script: &'t ShellScript<'s>,
    commands: Vec<Vec<String>>,
}

/// What may stand between two nodes besides blanks and continued lines.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NodeGap {
    /// Line ends.
    Statements,
    /// Nothing.
    Words,
    /// Not even blanks: the parts of one word.
    None,
}

impl<'t> PlainCommandReader<'_, 't> {
    fn statement(&mut self, node: Node<'t>, depth: usize) -> Result<(), String> {
        if depth > PLAIN_DEPTH_MAX {
            return Err("the script is nested too deeply".to_owned());
        }
        match node.kind() {
            "program" => self.joined(node, &[";", "\n"], depth),
            "list" => self.joined(node, &["&&", "||"], depth),
            "pipeline" => self.joined(node, &["|"], depth),
            "redirected_statement" => self.redirected(node, depth),
            "command" if self.commands.len() == PLAIN_COMMANDS_MAX => {
                Err("the script has too many commands to be judged".to_owned())
            }
            "command" => {
                let words = self.command(node)?;
                self.commands.push(words);
                Ok(())
            }
            kind => Err(refusal(kind)),
        }
    }

    fn joined(&mut self, node: Node<'t>, separators: &[&str], depth: usize) -> Result<(), String> {
        let children = children(node);
        self.check_gaps(node, &children, NodeGap::Statements)?;
        for child in children {
            if child.is_named() {
                self.statement(child, depth + 1)?;
            } else if !separators.contains(&child.kind()) {
                return Err(refusal(child.kind()));
            }
        }
        Ok(())
    }

    fn redirected(&mut self, node: Node<'t>, depth: usize) -> Result<(), String> {
        let children = children(node);
        self.check_gaps(node, &children, NodeGap::Words)?;
        for child in children {
            match child.kind() {
                "file_redirect" => self.redirect(child)?,
                _ => self.statement(child, depth + 1)?,
            }
        }
        Ok(())
    }

    /// Allows only what neither reads nor writes a file.
    fn redirect(&self, node: Node<'t>) -> Result<(), String> {
        let mut children = children(node);
        self.check_gaps(node, &children, NodeGap::Words)?;
        if let Some(first) = children.first()
            && first.kind() == "file_descriptor"
        {
            children.remove(0);
        }
        let [operator, target] = children[..] else {
            return Err("a redirection of this form is not judged".to_owned());
        };
        match (operator.kind(), self.script.text(target)) {
            (">" | ">>" | "&>" | "&>>" | "<", "/dev/null") | (">&", "1" | "2") => Ok(()),
            _ => Err("it redirects to or from a file".to_owned()),
        }
    }

    fn command(&self, node: Node<'t>) -> Result<Vec<String>, String> {
        let children = children(node);
        self.check_gaps(node, &children, NodeGap::Words)?;
        let mut words = Vec::with_capacity(children.len());
        for child in children {
            let word = match child.kind() {
                "command_name" => self.command_name(child)?,
                _ => self.word(child)?,
            };
            words.push(word);
        }
        Ok(words)
    }

    fn command_name(&self, node: Node<'t>) -> Result<String, String> {
        let [name] = children(node)[..] else {
            return Err("the name of the command is not plain".to_owned());
        };
        let name = self.word(name)?;
        if name.is_empty() || name.contains('=') {
            return Err("the name of the command is not plain".to_owned());
        }
        Ok(name)
    }

    fn word(&self, node: Node<'t>) -> Result<String, String> {
        let text = self.script.text(node);
        match node.kind() {
            "word" | "number" => bare_word(text),
            "raw_string" => single_quoted(text),
            "string" => double_quoted(text),
            "concatenation" => {
                let parts = children(node);
                self.check_gaps(node, &parts, NodeGap::None)?;
                parts.into_iter().map(|part| self.word(part)).collect()
            }
            kind => Err(refusal(kind)),
        }
    }

    fn check_gaps(
        &self,
        node: Node<'t>,
        children: &[Node<'t>],
        gap: NodeGap,
    ) -> Result<(), String> {
        let mut end = node.start_byte();
        for child in children {
            self.check_gap(end, child.start_byte(), gap)?;
            end = child.end_byte();
        }
        self.check_gap(end, node.end_byte(), gap)
    }

    fn check_gap(&self, start: usize, end: usize, gap: NodeGap) -> Result<(), String> {
        let text = self.script.source().get(start..end).unwrap_or("?");
        let blanks: &[char] = match gap {
            NodeGap::None => &[],
            NodeGap::Words => &[' ', '\t'],
            NodeGap::Statements => &[' ', '\t', '\n'],
        };
        // A continued line separates nothing by itself: to the shell it is not there.
        let joined = text.replace("\\\n", "");
        let rest = joined.replace(blanks, "");
        if !rest.is_empty() {
            return Err(format!("`{rest}` is not understood"));
        }
        if joined.is_empty() && !text.is_empty() {
            return Err("a word goes on after the end of its line".to_owned());
        }
        Ok(())
    }
}

fn refusal(kind: &str) -> String {
    let what = match kind {
        "&" => "it runs something in the background",
        "comment" => "it contains a comment",
        "simple_expansion" | "expansion" | "arithmetic_expansion" => "it uses a variable",
        "command_substitution" => "it runs a command to make an argument",
        "process_substitution" => "it runs a command behind a file name",
        "variable_assignment" | "variable_assignments" | "declaration_command" => {
            "it sets a variable"
        }
        "function_definition" => "it defines a function",
        "ansi_c_string" | "translated_string" => "it quotes in a way that can hide characters",
        "heredoc_redirect" | "herestring_redirect" => "it contains a here-document",
        "brace_expression" => "it contains a pattern that the shell expands",
        other => return format!("it contains a part of the kind `{other}`"),
    };
    what.to_owned()
}

/// A word without quotes: only characters that mean themselves in every shell.
fn bare_word(text: &str) -> Result<String, String> {
    let mut before = None;
    for c in text.chars() {
        let plain = match c {
            // At the start of a word, and after `:` and `=`, it is a home directory.
            '~' => before.is_some_and(char::is_alphanumeric),
            // At the start of a word some shells expand it to the path of a program.
            '=' => before.is_some(),
            c => c.is_alphanumeric() || "_-./,:+@%".contains(c),
        };
        if !plain {
            return Err(format!(
                "`{c}` outside of quotes may mean something to the shell"
            ));
        }
        before = Some(c);
    }
    Ok(text.to_owned())
}

fn single_quoted(text: &str) -> Result<String, String> {
    let inner = text
        .strip_prefix('\'')
        .and_then(|rest| rest.strip_suffix('\''));
    match inner {
        Some(inner) if !inner.contains('\'') => Ok(inner.to_owned()),
        _ => Err("its quotes are not understood".to_owned()),
    }
}

/// Text in double quotes, in which only a backslash is still special once expansions are
/// refused.
fn double_quoted(text: &str) -> Result<String, String> {
    let refused = || "its quotes are not understood".to_owned();
    let inner = text
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'))
        .ok_or_else(refused)?;
    let mut out = String::with_capacity(inner.len());
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        match c {
            '$' | '`' => return Err("it expands something in quotes".to_owned()),
            '"' => return Err(refused()),
            '\\' => match chars.next() {
                Some(escaped @ ('$' | '`' | '"' | '\\')) => out.push(escaped),
                Some('\n') => {}
                Some(other) => out.extend(['\\', other]),
                None => return Err(refused()),
            },
            other => out.push(other),
        }
    }
    Ok(out)
}
