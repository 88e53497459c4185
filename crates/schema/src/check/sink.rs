//! The collector of validation errors: they are kept, or only counted.

use crate::ValueProblem;

/// What a walk has found so far. It ends when enough is known.
#[derive(Debug)]
pub(super) enum ProblemSink {
    Told {
        problems: Vec<ValueProblem>,
        limit: usize,
    },
    /// Only whether the value fits is asked; no text is made.
    Verdict { fits: bool },
}

impl ProblemSink {
    pub(super) fn telling(limit: usize) -> Self {
        Self::Told {
            problems: Vec::new(),
            limit: limit.max(1),
        }
    }

    pub(super) fn verdict() -> Self {
        Self::Verdict { fits: true }
    }

    /// Returns the sink for one of several alternatives: its first problem is enough, and it
    /// is not told if nobody asked for texts.
    pub(super) fn alternative(&self) -> Self {
        match self {
            Self::Told { .. } => Self::telling(1),
            Self::Verdict { .. } => Self::verdict(),
        }
    }

    pub(super) fn tell(&mut self, place: &str, text: impl FnOnce() -> String) {
        if self.is_full() {
            return;
        }
        match self {
            Self::Told { problems, .. } => problems.push(ValueProblem {
                place: place.to_owned(),
                text: text(),
            }),
            Self::Verdict { fits } => *fits = false,
        }
    }

    pub(super) fn fits(&self) -> bool {
        match self {
            Self::Told { problems, .. } => problems.is_empty(),
            Self::Verdict { fits } => *fits,
        }
    }

    /// Tells whether further problems would not be kept.
    pub(super) fn is_full(&self) -> bool {
        match self {
            Self::Told { problems, limit } => problems.len() >= *limit,
            Self::Verdict { fits } => !fits,
        }
    }

    pub(super) fn into_problems(self) -> Vec<ValueProblem> {
        match self {
            Self::Told { problems, .. } => problems,
            Self::Verdict { .. } => Vec::new(),
        }
    }
}
