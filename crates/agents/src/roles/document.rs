//! The parts of a role file: front matter, prompt, and the blocks of personas. Pure.

use super::error::{RoleFault, RoleProblem};
use super::name::RoleName;

/// A role file, taken apart but not read yet.
#[derive(Debug)]
pub(super) struct RoleDocument<'a> {
    /// The YAML; it begins in line 2.
    pub front_matter: &'a str,
    pub prompt: &'a str,
    /// Counted from 1.
    pub prompt_line: u64,
    pub blocks: Vec<PersonaBlock<'a>>,
}

/// What follows a line `<!-- agent_name: NAME -->`.
#[derive(Debug)]
pub(super) struct PersonaBlock<'a> {
    pub name: RoleName,
    pub line: u64,
    pub prompt: &'a str,
}

/// The line number of the front matter's first line, less one.
pub(super) const FRONT_MATTER_OFFSET: u64 = 1;

const FENCE: &str = "---";

/// Takes a role file apart.
pub(super) fn split(text: &str) -> Result<RoleDocument<'_>, RoleFault> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lines = DocumentLines::of(text);
    match lines.next() {
        Some(first) if first.is_fence() => {}
        _ => return Err(RoleFault::at_line(1, RoleProblem::NoFrontMatter)),
    }
    let begin = lines.at;
    let Some(fence) = lines.find(DocumentLine::is_fence) else {
        return Err(RoleFault::at_line(1, RoleProblem::Unclosed));
    };
    let front_matter = &text[begin..fence.at];
    one_document(front_matter)?;
    let prompt_line = lines.number + 1;
    let body = lines.at;

    let mut markers: Vec<(DocumentLine<'_>, RoleName, usize)> = Vec::new();
    while let Some(line) = lines.next() {
        let name = match marker(line.text) {
            None => continue,
            Some(Err(problem)) => return Err(RoleFault::at_line(line.number, problem)),
            Some(Ok(name)) => name,
        };
        if markers.iter().any(|(_, other, _)| *other == name) {
            return Err(RoleFault::at_line(
                line.number,
                RoleProblem::BlockTwice(name),
            ));
        }
        markers.push((line, name, lines.at));
    }
    let prompt_end = markers.first().map_or(text.len(), |(line, ..)| line.at);
    let ends: Vec<usize> = markers.iter().skip(1).map(|(line, ..)| line.at).collect();
    let ends = ends.into_iter().chain([text.len()]);
    let blocks = markers
        .into_iter()
        .zip(ends)
        .map(|((line, name, begin), end)| PersonaBlock {
            name,
            line: line.number,
            prompt: text[begin..end].trim(),
        })
        .collect();
    Ok(RoleDocument {
        front_matter,
        prompt: text[body..prompt_end].trim(),
        prompt_line,
        blocks,
    })
}

/// Refuses what would let the YAML end before the front matter does: a parser may stop there
/// without a look at the rest, and a lock in the rest would be none. A lone carriage return
/// is a line break to YAML and to hardly anybody else.
fn one_document(front_matter: &str) -> Result<(), RoleFault> {
    for line in DocumentLines::of(front_matter) {
        let text = line.text.trim_end_matches('\n');
        let text = text.strip_suffix('\r').unwrap_or(text);
        let marks = ["...", FENCE].iter().any(|mark| {
            let rest = text.strip_prefix(mark);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t']))
        });
        let problem = if marks {
            RoleProblem::Unsupported("further documents")
        } else if text.contains('\r') {
            RoleProblem::Unsupported("carriage returns inside a line")
        } else {
            continue;
        };
        return Err(RoleFault::at_line(
            line.number + FRONT_MATTER_OFFSET,
            problem,
        ));
    }
    Ok(())
}

/// Reads `<!-- agent_name: NAME -->`, which begins a line. `None` for any other text, an
/// error for what only looks like it: taken for text, it would put the persona's words into
/// the prompt of all.
fn marker(line: &str) -> Option<Result<RoleName, RoleProblem>> {
    const KEY: &str = "agent_name";
    let inside = line.trim_start().strip_prefix("<!--")?.trim_start();
    let key = inside.get(..KEY.len())?;
    if !key.eq_ignore_ascii_case(KEY) {
        return None;
    }
    let rest = &inside[KEY.len()..];
    // `agent_names` and the like are ordinary comments.
    if rest.starts_with(|next: char| next.is_alphanumeric() || next == '_') {
        return None;
    }
    let is_exact = key == KEY && line.starts_with("<!--");
    let name = Some(rest).filter(|_| is_exact);
    let name = name
        .map(str::trim_end)
        .and_then(|rest| rest.strip_suffix("-->"))
        .and_then(|rest| rest.trim_start().strip_prefix(':'));
    Some(match name {
        None => Err(RoleProblem::Marker),
        Some(name) => RoleName::parse(name.trim()).map_err(RoleProblem::Name),
    })
}

/// Lines with their numbers and places.
struct DocumentLines<'a> {
    text: &'a str,
    at: usize,
    number: u64,
}

#[derive(Clone, Copy)]
struct DocumentLine<'a> {
    text: &'a str,
    at: usize,
    number: u64,
}

impl DocumentLine<'_> {
    fn is_fence(&self) -> bool {
        self.text.trim_end() == FENCE
    }
}

impl<'a> DocumentLines<'a> {
    fn of(text: &'a str) -> Self {
        Self {
            text,
            at: 0,
            number: 0,
        }
    }
}

impl<'a> Iterator for DocumentLines<'a> {
    type Item = DocumentLine<'a>;

    fn next(&mut self) -> Option<DocumentLine<'a>> {
        let text = self.text[self.at..].split_inclusive('\n').next()?;
        let at = self.at;
        self.at += text.len();
        self.number += 1;
        Some(DocumentLine {
            text,
            at,
            number: self.number,
        })
    }
}
