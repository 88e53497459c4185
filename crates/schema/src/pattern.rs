//! Patterns. Schemas write those of JavaScript; ours say the same with other letters.
//!
//! What cannot be said is refused: looking around and back-references, which cost time
//! without bound, and classes by Unicode property.

use std::iter::Peekable;
use std::str::Chars;

use regex::RegexBuilder;

use super::TextPattern;
use super::problem::SchemaDefect;
use crate::limits::PATTERN_BYTES_MAX;

const DIGIT: &str = "0-9";
const WORD: &str = "0-9A-Za-z_";
const SPACE: &str = r"\t\n\x0B\x0C\r \u{A0}\u{1680}\u{2000}-\u{200A}\u{2028}\u{2029}\u{202F}\u{205F}\u{3000}\u{FEFF}";
const LINE_END: &str = r"\n\r\u{2028}\u{2029}";

impl TextPattern {
    pub(super) fn compile(written: &str) -> Result<Self, SchemaDefect> {
        let refused = |why: &str| SchemaDefect::Pattern {
            pattern: written.to_owned(),
            why: why.to_owned(),
        };
        let ours = translated(written).map_err(refused)?;
        let regex = RegexBuilder::new(&ours)
            .size_limit(PATTERN_BYTES_MAX)
            .dfa_size_limit(PATTERN_BYTES_MAX)
            .build()
            .map_err(|error| match error {
                regex::Error::CompiledTooBig(_) => SchemaDefect::large_pattern(written),
                error => refused(&last_line(&error.to_string())),
            })?;
        Ok(Self {
            written: written.to_owned(),
            regex,
        })
    }

    pub(super) fn fits(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }
}

/// Errors of the library draw the pattern first; the sentence is at the end.
fn last_line(error: &str) -> String {
    let last = error.lines().last().unwrap_or(error).trim();
    last.strip_prefix("error: ").unwrap_or(last).to_owned()
}

/// Where in a pattern a character stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PatternContext {
    Pattern,
    Class,
}

/// Writes a pattern of JavaScript as one of ours.
fn translated(written: &str) -> Result<String, &'static str> {
    let mut ours = String::with_capacity(written.len());
    let mut within = PatternContext::Pattern;
    let mut rest = written.chars().peekable();
    while let Some(character) = rest.next() {
        match (within, character) {
            (_, '\\') => escape(&mut ours, within, &mut rest)?,
            (PatternContext::Pattern, '[') => {
                within = PatternContext::Class;
                open_class(&mut ours, &mut rest)?;
            }
            (PatternContext::Pattern, '.') => ours.push_str(&class("^", LINE_END)),
            (PatternContext::Class, ']') => {
                within = PatternContext::Pattern;
                ours.push(']');
            }
            // In ours these open a class in a class, or begin an operator between classes.
            (PatternContext::Class, '[' | '&' | '~') => ours.extend(['\\', character]),
            (PatternContext::Class, '-') if rest.peek() == Some(&'-') => {
                return Err("write `\\-` for one of two `-` in a class");
            }
            (_, other) => ours.push(other),
        }
    }
    Ok(ours)
}

fn open_class(ours: &mut String, rest: &mut Peekable<Chars<'_>>) -> Result<(), &'static str> {
    ours.push('[');
    if let Some(negation) = rest.next_if_eq(&'^') {
        ours.push(negation);
    }
    match rest.peek() {
        Some(']') => Err("a class must not be empty"),
        _ => Ok(()),
    }
}

fn escape(
    ours: &mut String,
    within: PatternContext,
    rest: &mut Peekable<Chars<'_>>,
) -> Result<(), &'static str> {
    let Some(letter) = rest.next() else {
        return Err("it ends with `\\`");
    };
    match letter {
        'd' => ours.push_str(&class("", DIGIT)),
        'D' => ours.push_str(&class("^", DIGIT)),
        'w' => ours.push_str(&class("", WORD)),
        'W' => ours.push_str(&class("^", WORD)),
        's' => ours.push_str(&class("", SPACE)),
        'S' => ours.push_str(&class("^", SPACE)),
        'b' if within == PatternContext::Pattern => ours.push_str(r"(?-u:\b)"),
        'B' if within == PatternContext::Pattern => ours.push_str(r"(?-u:\B)"),
        // Which of them are known depends on how the library was built.
        'p' | 'P' => return Err("name the characters of a class, not a property of them"),
        other => ours.extend(['\\', other]),
    }
    Ok(())
}

fn class(negation: &str, of: &str) -> String {
    format!("[{negation}{of}]")
}
