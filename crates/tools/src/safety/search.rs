//! The tolerant search: every command of a script that can be seen, wherever it hides.
//!
//! Every command of the tree counts, in substitutions, functions and broken parts too. Words
//! are decoded as far as they are literal. Commands that run others (`sudo`, `xargs`,
//! `trap`, …) are not understood option by option: each of their words may begin the command
//! that they run, and each argument with a blank may be a script. That finds once too much
//! for an odd argument, and cannot be fooled by an option that this module does not know.

mod words;

use tree_sitter::Node;

use super::limits::{SCRIPT_BYTES_MAX, SCRIPTS_MAX, SHELL_DEPTH_MAX, WORDS_MAX};
use super::script::{ShellScript, children, is_shell, program_name};
pub use words::Word;

/// Something that a script would do.
#[derive(Debug, Clone, Copy)]
pub enum ScriptFinding<'a> {
    /// Runs these words, as far as they are known.
    Command(&'a [Word]),
    /// Writes to this file by a redirection.
    Write(&'a str),
    /// Runs what it downloads.
    Download,
    /// Defines a function of this name that starts itself without end.
    Bomb(&'a str),
}

/// Judges a finding; what it returns ends the search.
pub type Judge<'j> = &'j mut dyn FnMut(ScriptFinding<'_>) -> Option<String>;

/// Searches a command as it will be executed.
pub fn in_command(argv: &[String], judge: Judge<'_>) -> Option<String> {
    let words: Vec<Word> = argv.iter().cloned().map(Some).collect();
    ScriptSearch { judge, scripts: 0 }.command(&words, 0)
}

/// Searches the text of a script.
pub fn in_script(source: &str, judge: Judge<'_>) -> Option<String> {
    ScriptSearch { judge, scripts: 0 }.script(source, 0)
}

struct ScriptSearch<'j> {
    judge: Judge<'j>,
    scripts: usize,
}

impl ScriptSearch<'_> {
    fn script(&mut self, source: &str, depth: usize) -> Option<String> {
        let bounded = depth <= SHELL_DEPTH_MAX && source.len() <= SCRIPT_BYTES_MAX;
        if !bounded || self.scripts == SCRIPTS_MAX {
            return None;
        }
        self.scripts += 1;
        // To the shell a continued line is one line, even within a word.
        let source = source.replace("\\\n", "");
        let script = ShellScript::parse(&source)?;
        // Not recursive: the tree may be as deep as the script is long.
        let mut cursor = script.root().walk();
        loop {
            if let Some(why) = self.node(&script, cursor.node(), depth) {
                return Some(why);
            }
            if cursor.goto_first_child() || cursor.goto_next_sibling() {
                continue;
            }
            loop {
                if !cursor.goto_parent() {
                    return None;
                }
                if cursor.goto_next_sibling() {
                    break;
                }
            }
        }
    }

    fn node(&mut self, script: &ShellScript<'_>, node: Node<'_>, depth: usize) -> Option<String> {
        match node.kind() {
            "command" => self.command(&words::of_command(script, node), depth),
            "file_redirect" => {
                let target = node.child_by_field_name("destination")?;
                (self.judge)(ScriptFinding::Write(
                    words::literal(script, target).as_deref()?,
                ))
            }
            "pipeline" => self.pipeline(script, node, depth),
            "heredoc_redirect" | "herestring_redirect" => self.fed(script, node, depth),
            "function_definition" => {
                let name = calls_itself_twice(script, node)?;
                (self.judge)(ScriptFinding::Bomb(name))
            }
            _ => None,
        }
    }

    fn command(&mut self, words: &[Word], depth: usize) -> Option<String> {
        let words = &words[..words.len().min(WORDS_MAX)];
        if let Some(why) = (self.judge)(ScriptFinding::Command(words)) {
            return Some(why);
        }
        let name = program_name(words.first()?.as_deref()?);
        if !runs_others(name) {
            return None;
        }
        for start in 1..words.len() {
            if let Some(why) = (self.judge)(ScriptFinding::Command(&words[start..])) {
                return Some(why);
            }
        }
        let arguments = words[1..].iter().flatten();
        let scripts = arguments.filter(|word| word.contains([' ', '\t', '\n', ';']));
        for script in scripts {
            let script = match name {
                "alias" => script
                    .split_once('=')
                    .map_or(script.as_str(), |(_, value)| value),
                _ => script,
            };
            if let Some(why) = self.script(script, depth + 1) {
                return Some(why);
            }
        }
        None
    }

    /// Text that a pipe brings to a shell.
    fn pipeline(
        &mut self,
        script: &ShellScript<'_>,
        node: Node<'_>,
        depth: usize,
    ) -> Option<String> {
        let commands: Vec<Vec<Word>> = children(node)
            .into_iter()
            .filter(|child| child.kind() == "command")
            .map(|child| words::of_command(script, child))
            .collect();
        let reader = commands.iter().position(|words| is_interpreter(words))?;
        for words in &commands[..reader] {
            let name = program_name(words.first()?.as_deref()?);
            match name {
                "curl" | "wget" | "fetch" => {
                    if let Some(why) = (self.judge)(ScriptFinding::Download) {
                        return Some(why);
                    }
                }
                "echo" | "printf" => {
                    for text in words[1..].iter().flatten() {
                        if let Some(why) = self.script(text, depth + 1) {
                            return Some(why);
                        }
                    }
                }
                _ => {}
            }
        }
        None
    }

    /// A here-document or here-string for a shell.
    fn fed(
        &mut self,
        script: &ShellScript<'_>,
        redirect: Node<'_>,
        depth: usize,
    ) -> Option<String> {
        let holder = redirect.parent()?;
        let command = match holder.kind() {
            "command" => holder,
            _ => holder.child_by_field_name("body")?,
        };
        if command.kind() != "command" || !is_interpreter(&words::of_command(script, command)) {
            return None;
        }
        let parts = children(redirect);
        let body = parts.iter().find(|part| part.kind() == "heredoc_body");
        let text = match body {
            Some(body) => script.text(*body).to_owned(),
            None => words::literal(script, *parts.last()?)?,
        };
        self.script(&text, depth + 1)
    }
}

/// Commands whose arguments are, or contain, other commands.
const RUN_OTHERS: &str = "\
    alias builtin busybox bwrap chroot chrt command coproc doas docker entr env eval exec \
    fakeroot fd find flock ionice ltrace nice nocorrect noglob nohup nsenter parallel podman \
    proot runuser script setpriv setsid ssh stdbuf strace su sudo systemd-run taskset time \
    timeout toybox trap unbuffer unshare watch xargs xvfb-run";

pub fn runs_others(name: &str) -> bool {
    is_shell(name) || RUN_OTHERS.split(' ').any(|other| other == name)
}

/// A shell that takes its script from its input, perhaps with the rights of another user.
fn is_interpreter(words: &[Word]) -> bool {
    let mut names = words.iter().flatten().map(|word| program_name(word));
    let first = names.next();
    let shell = match first {
        Some("sudo" | "env" | "doas") => names.find(|name| is_shell(name)),
        first => first.filter(|name| is_shell(name)),
    };
    shell.is_some()
}

/// The fork bomb, whatever its name.
fn calls_itself_twice<'s>(script: &ShellScript<'s>, node: Node<'_>) -> Option<&'s str> {
    let name = script.text(node.child_by_field_name("name")?);
    let body = script.text(node.child_by_field_name("body")?);
    let calls = body
        .split(|c: char| c.is_whitespace() || "{}|&;()".contains(c))
        .filter(|word| *word == name);
    let bomb = body.contains('|') && body.contains('&') && calls.count() > 1;
    bomb.then_some(name)
}
