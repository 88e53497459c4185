//! The types that a message may have, and the one that was probably meant.

use std::fmt;
use std::iter;

use serde::de::value::MapDeserializer;
use serde::de::{self, DeserializeOwned};

use crate::refusal::shortened;

const SHOWN_TYPE_BYTES_MAX: usize = 64;

/// Returns what to say about `kind` if no variant of `B` is called so.
pub(super) fn unknown_type<B: DeserializeOwned>(kind: String) -> Option<String> {
    let known = known_types::<B>();
    if known.contains(&kind.as_str()) {
        return None;
    }
    let kind = shortened(kind, SHOWN_TYPE_BYTES_MAX);
    Some(match nearest(&kind, known) {
        Some(near) => format!("unknown type `{kind}`; did you mean `{near}`?"),
        None => format!("unknown type `{kind}`; known types: {}", known.join(", ")),
    })
}

/// Returns the list that serde itself compares a tag with, so that it cannot differ from
/// what is accepted.
fn known_types<B: DeserializeOwned>() -> &'static [&'static str] {
    let untyped = iter::once(("type", ""));
    match B::deserialize(MapDeserializer::<_, Expected>::new(untyped)) {
        Ok(_) => &[],
        Err(Expected(names)) => names,
    }
}

/// An error that remembers nothing but the names that would have been right.
#[derive(Debug)]
struct Expected(&'static [&'static str]);

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.join(", ").fmt(f)
    }
}

impl std::error::Error for Expected {}

impl de::Error for Expected {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self(&[])
    }

    fn unknown_variant(_: &str, expected: &'static [&'static str]) -> Self {
        Self(expected)
    }
}

/// Returns the known name that takes the fewest edits, if they are few.
fn nearest(name: &str, known: &[&'static str]) -> Option<&'static str> {
    let edits_max = (name.chars().count() / 3).max(1);
    known
        .iter()
        .map(|candidate| (edits(name, candidate), *candidate))
        .filter(|(edits, _)| *edits <= edits_max)
        .min()
        .map(|(_, candidate)| candidate)
}

/// Returns how many characters must be added, removed or changed to make `a` of `b`.
fn edits(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.chars().count()).collect();
    for (above, from) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = above + 1;
        for (left, to) in b.chars().enumerate() {
            let change = diagonal + usize::from(from != to);
            diagonal = row[left + 1];
            row[left + 1] = change.min(diagonal + 1).min(row[left] + 1);
        }
    }
    row[b.chars().count()]
}
