//! Finding the lines of a chunk in a file: exactly if possible, else with differences
//! forgiven that models make when they copy.

use std::borrow::Cow;
use std::fmt;

use crate::text::FileLine;

/// What had to be forgiven for lines to be equal; each step forgives the former too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum MatchTolerance {
    Nothing,
    TrailingBlanks,
    OuterBlanks,
    Typography,
}

impl fmt::Display for MatchTolerance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Nothing => "exactly",
            Self::TrailingBlanks => "without regard to blanks at line ends",
            Self::OuterBlanks => "without regard to indentation",
            Self::Typography => {
                "without regard to indentation and to typographic quotes, dashes and spaces"
            }
        })
    }
}

/// From the strictest comparison on. Each looks through the whole range before the next
/// one is tried: an exact match far away is likelier meant than a similar one nearby.
pub const PASSES: [MatchTolerance; 4] = [
    MatchTolerance::Nothing,
    MatchTolerance::TrailingBlanks,
    MatchTolerance::OuterBlanks,
    MatchTolerance::Typography,
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChunkMatch {
    /// Index of the first matching line.
    pub at: usize,
    pub forgiven: MatchTolerance,
    /// The next place that matches equally well.
    pub other: Option<usize>,
}

/// Finds `pattern`, which has at least one line, in the lines from `from` on.
pub fn find(lines: &[FileLine<'_>], pattern: &[&str], from: usize) -> Option<ChunkMatch> {
    PASSES.into_iter().find_map(|forgiven| {
        let scan = scan(lines, pattern, from, forgiven);
        scan.first.map(|at| ChunkMatch {
            at,
            forgiven,
            other: scan.second,
        })
    })
}

/// The longest beginning of `pattern` that occurs anywhere: where, and how many lines.
/// It tells the writer of a patch how far it was right.
pub fn nearest(lines: &[FileLine<'_>], pattern: &[&str]) -> Option<(usize, usize)> {
    let scan = scan(lines, pattern, 0, MatchTolerance::Typography);
    (scan.longest > 0).then_some((scan.longest_at, scan.longest))
}

#[derive(Debug, Default)]
struct MatchScan {
    first: Option<usize>,
    second: Option<usize>,
    longest: usize,
    longest_at: usize,
}

/// Knuth–Morris–Pratt over lines, because files of equal lines would make the obvious
/// search quadratic.
fn scan(
    lines: &[FileLine<'_>],
    pattern: &[&str],
    from: usize,
    forgiven: MatchTolerance,
) -> MatchScan {
    let pattern: Vec<Cow<'_, str>> = pattern.iter().map(|line| key(line, forgiven)).collect();
    let borders = borders(&pattern);
    let mut scan = MatchScan::default();
    let mut matched = 0;
    for (index, line) in lines.iter().enumerate().skip(from) {
        let line = key(line.text, forgiven);
        while matched > 0 && (matched == pattern.len() || pattern[matched] != line) {
            matched = borders[matched - 1];
        }
        if pattern[matched] == line {
            matched += 1;
        }
        if matched > scan.longest {
            scan.longest = matched;
            scan.longest_at = index + 1 - matched;
        }
        if matched == pattern.len() {
            let at = index + 1 - matched;
            if scan.first.is_some() {
                scan.second = Some(at);
                break;
            }
            scan.first = Some(at);
        }
    }
    scan
}

/// For each beginning of the pattern, the length of its longest proper end that is also a
/// beginning.
fn borders(pattern: &[Cow<'_, str>]) -> Vec<usize> {
    let mut borders = vec![0; pattern.len()];
    let mut length = 0;
    for index in 1..pattern.len() {
        while length > 0 && pattern[length] != pattern[index] {
            length = borders[length - 1];
        }
        if pattern[length] == pattern[index] {
            length += 1;
        }
        borders[index] = length;
    }
    borders
}

fn key(line: &str, forgiven: MatchTolerance) -> Cow<'_, str> {
    match forgiven {
        MatchTolerance::Nothing => Cow::Borrowed(line),
        MatchTolerance::TrailingBlanks => Cow::Borrowed(line.trim_end()),
        MatchTolerance::OuterBlanks => Cow::Borrowed(line.trim()),
        MatchTolerance::Typography => {
            let line = line.trim();
            if line.is_ascii() {
                Cow::Borrowed(line)
            } else {
                Cow::Owned(line.chars().map(plain).collect())
            }
        }
    }
}

/// The key on a keyboard for a character that typography has several of.
fn plain(c: char) -> char {
    match c {
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        '\u{2018}'..='\u{201b}' => '\'',
        '\u{201c}'..='\u{201f}' => '"',
        '\u{a0}' | '\u{2002}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => ' ',
        other => other,
    }
}

#[cfg(test)]
mod tests;
