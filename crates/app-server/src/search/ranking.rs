//! Which paths fit a query best.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::path::PathBuf;

use nucleo_matcher::pattern::{CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};

use super::paths::FoundPath;
use crate::limits::{SEARCH_QUERY_CHARS_MAX, SEARCH_RESULTS_MAX};
use crate::wire::search::{FuzzyFileSearchMatchType as Kind, FuzzyFileSearchResult};

/// The best few of the paths that were considered.
pub(super) struct PathRanking {
    pattern: Pattern,
    matcher: Matcher,
    /// The worst is at the top.
    best: BinaryHeap<Reverse<PathCandidate>>,
    characters: Vec<char>,
}

/// Ordered by the score; of equals the shorter path is better, then the one that sorts first.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct PathCandidate {
    score: u32,
    length: Reverse<usize>,
    path: Reverse<Box<str>>,
    root: Reverse<usize>,
    is_directory: bool,
}

impl PathRanking {
    pub(super) fn new(query: &str) -> Self {
        let query: String = query.chars().take(SEARCH_QUERY_CHARS_MAX).collect();
        Self {
            pattern: Pattern::parse(&query, CaseMatching::Smart, Normalization::Smart),
            matcher: Matcher::new(Config::DEFAULT.match_paths()),
            best: BinaryHeap::new(),
            characters: Vec::new(),
        }
    }

    /// Tells whether nothing is looked for. Nothing is found then.
    pub(super) fn is_empty(&self) -> bool {
        self.pattern.atoms.is_empty()
    }

    pub(super) fn consider(&mut self, found: &FoundPath) {
        let text = Utf32Str::new(&found.path, &mut self.characters);
        let Some(score) = self.pattern.score(text, &mut self.matcher) else {
            return;
        };
        let candidate = Reverse(PathCandidate {
            score,
            length: Reverse(found.path.len()),
            path: Reverse(found.path.clone()),
            root: Reverse(found.root),
            is_directory: found.kind == Kind::Directory,
        });
        if self.best.len() < SEARCH_RESULTS_MAX {
            self.best.push(candidate);
        } else if let Some(mut worst) = self.best.peek_mut()
            && candidate < *worst
        {
            *worst = candidate;
        }
    }

    /// Returns the best, the very best first.
    pub(super) fn results(mut self, roots: &[PathBuf]) -> Vec<FuzzyFileSearchResult> {
        let best = std::mem::take(&mut self.best).into_sorted_vec();
        let results = best.into_iter().filter_map(|Reverse(candidate)| {
            let path = candidate.path.0;
            let mut indices = Vec::new();
            let text = Utf32Str::new(&path, &mut self.characters);
            self.pattern
                .indices(text, &mut self.matcher, &mut indices)?;
            indices.sort_unstable();
            indices.dedup();
            let name = path.rsplit('/').next().unwrap_or_default();
            Some(FuzzyFileSearchResult {
                root: roots.get(candidate.root.0)?.clone(),
                file_name: name.to_owned(),
                path: path.into(),
                match_type: if candidate.is_directory {
                    Kind::Directory
                } else {
                    Kind::File
                },
                score: candidate.score,
                indices: Some(indices),
            })
        });
        results.collect()
    }
}

#[cfg(test)]
mod tests;
