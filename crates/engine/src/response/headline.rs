//! The headline of the model's reasoning, as it writes it.

use crate::limits::HEADLINE_BYTES_MAX;

/// The first words in bold of the newest part of a reasoning's summary.
#[derive(Debug, Default)]
pub(super) struct ReasoningHeadline {
    /// The part that is known to have one, as item and part.
    of: Option<(usize, usize)>,
    /// Found, and not asked for yet.
    fresh: Option<String>,
}

impl ReasoningHeadline {
    /// Looks at a part whose text has grown by `delta`. Once one is found, later deltas of
    /// the part cost nothing.
    pub(super) fn look(&mut self, part: (usize, usize), text: &str, delta: &str) {
        if self.of != Some(part)
            && delta.contains('*')
            && let Some(bold) = first_bold(text)
        {
            self.of = Some(part);
            self.fresh = Some(bold.to_owned());
        }
    }

    pub(super) fn take(&mut self) -> Option<String> {
        self.fresh.take()
    }

    /// Forgets where it was found: the text is written anew.
    pub(super) fn restart(&mut self) {
        self.of = None;
    }
}

fn first_bold(text: &str) -> Option<&str> {
    let beginning = &text[..text.floor_char_boundary(HEADLINE_BYTES_MAX)];
    let (_, rest) = beginning.split_once("**")?;
    let (bold, _) = rest.split_once("**")?;
    Some(bold.trim()).filter(|bold| !bold.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(deltas: &[&str], expected: &[&str]) {
        let mut headline = ReasoningHeadline::default();
        let mut text = String::new();
        let mut found = Vec::new();
        for delta in deltas {
            text.push_str(delta);
            headline.look((0, 0), &text, delta);
            found.extend(headline.take());
        }
        assert_eq!(found, expected);
    }

    #[test]
    fn the_first_bold_words_are_told_once_they_are_whole() {
        check(
            &["**Reading", " the code*", "*\n\nI see **that**"],
            &["Reading the code"],
        );
        check(&["no headline", " here"], &[]);
        check(&["****", "**"], &[]);
        check(&[&"*".repeat(100_000)], &[]);
    }

    #[test]
    fn each_part_has_its_own() {
        let mut headline = ReasoningHeadline::default();
        headline.look((0, 0), "**One**", "**One**");
        headline.look((0, 1), "**Two**", "**Two**");
        assert_eq!(headline.take().as_deref(), Some("Two"));
        assert_eq!(headline.take(), None);
    }
}
