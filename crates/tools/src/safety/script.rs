//! Shell scripts as syntax trees.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use tree_sitter::{Node, ParseOptions, Parser, Tree};

use super::limits::{PARSE_MS_MAX, SCRIPT_BYTES_MAX};

/// A parsed script. It may contain errors; whoever needs a sound tree asks.
#[derive(Debug)]
pub struct ShellScript<'s> {
    source: &'s str,
    tree: Tree,
}

impl<'s> ShellScript<'s> {
    /// `None` when the script is too long or too twisted to be parsed in bounded time.
    pub fn parse(source: &'s str) -> Option<Self> {
        if source.len() > SCRIPT_BYTES_MAX {
            return None;
        }
        let mut parser = Parser::new();
        parser
            .set_language(&tree_sitter_bash::LANGUAGE.into())
            .expect("the grammar is built for this version of the parser");
        let deadline = Instant::now() + Duration::from_millis(PARSE_MS_MAX);
        let mut give_up = |_: &_| {
            if Instant::now() < deadline {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
        };
        let options = ParseOptions::new().progress_callback(&mut give_up);
        let bytes = source.as_bytes();
        let mut read = |offset: usize, _| bytes.get(offset..).unwrap_or_default();
        let tree = parser.parse_with_options(&mut read, None, Some(options))?;
        Some(Self { source, tree })
    }

    pub fn root(&self) -> Node<'_> {
        self.tree.root_node()
    }

    pub fn is_sound(&self) -> bool {
        !self.root().has_error()
    }

    pub fn text(&self, node: Node<'_>) -> &'s str {
        // Nodes lie between characters, as the grammar reads characters.
        self.source.get(node.byte_range()).unwrap_or_default()
    }

    pub fn source(&self) -> &'s str {
        self.source
    }
}

/// All children, named or not.
pub fn children(node: Node<'_>) -> Vec<Node<'_>> {
    node.children(&mut node.walk()).collect()
}

const SHELLS: [&str; 5] = ["bash", "sh", "zsh", "dash", "ksh"];

/// The last part of a path to a program.
pub fn program_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

pub fn is_shell(program: &str) -> bool {
    SHELLS.contains(&program_name(program))
}

/// The script that a command gives to a shell of the system, if that is all it does.
pub fn shell_script(argv: &[String]) -> Option<&str> {
    let (program, arguments) = argv.split_first()?;
    if !is_shell(program) || !is_of_the_system(program) {
        return None;
    }
    match arguments {
        [flag, script] if matches!(flag.as_str(), "-c" | "-lc") => Some(script),
        [login, flag, script] if login == "-l" && flag == "-c" => Some(script),
        _ => None,
    }
}

/// A bare name, or a path into the directories of the system: not one of the work tree.
pub fn is_of_the_system(program: &str) -> bool {
    let name = program_name(program);
    ["", "/bin/", "/usr/bin/", "/usr/local/bin/"]
        .iter()
        .any(|directory| program.strip_prefix(directory) == Some(name))
}
