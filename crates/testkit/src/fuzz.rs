//! Hostile bytes for everything that reads what others wrote.
//!
//! ```text
//! corpus ─► pool ─► mutated ─► Target::run ─► shape ─ new? ─► pool
//!                                  └ panics, takes too long or too much memory: a failure
//! ```
//!
//! A [`Target`] is one function over bytes. It panics when a promise is broken, such as that
//! a text cut into any pieces means the same as the whole. The same functions are run by
//! `cargo xtask fuzz` on any toolchain ([`campaign`]) and by `cargo fuzz`, which sees what code
//! an input reaches, in `fuzz/`. Without that, what a target *says* about an input (its
//! [`Shape`]) tells which inputs are worth being changed further.
//!
//! Deliberately absent: shrinking. An input that fails is small enough to be read, and is
//! written beside the corpus, where a fixed one belongs.

pub mod campaign;
mod mutate;
mod pieces;
mod targets;

pub use targets::TARGETS;

/// One reader under fire.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    pub name: &'static str,
    pub run: fn(&[u8]) -> Shape,
    /// Words of the format, which blind changes would hardly hit upon.
    pub words: &'static [&'static str],
}

/// What came of an input, roughly: two inputs of one shape went the same way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Shape(u64);

impl Shape {
    /// The shape of a text without its numbers and quoted parts, which differ for ever.
    fn of(text: &str) -> Self {
        use std::hash::{DefaultHasher, Hash as _, Hasher as _};
        let mut hasher = DefaultHasher::new();
        let plain = text.chars().filter(char::is_ascii_alphabetic);
        let plain: String = plain.take(200).collect();
        plain.hash(&mut hasher);
        Self(hasher.finish())
    }
}

/// Returns the target of this name.
pub fn target(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}
