//! Whether a model has got stuck: it says the same again and again, and would until its window or
//! our patience is full.
//!
//! Two signs, each long enough that nobody means it: the end of the text is one short passage over
//! and over, or the last words are few and none of them is new.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::error::{ModelError, ModelErrorKind};
use crate::event::ModelEvent;
use crate::limits::{
    REPEATED_BYTES, REPEATED_PASSAGE_BYTES_MAX, REPEATED_STEP_BYTES, REPEATED_VOCABULARY_MAX,
    REPEATED_WORDS, WORDS_KNOWN_MAX,
};

/// What an answer has said, as far as it takes to see that it says nothing new.
#[derive(Debug, Default)]
pub(crate) struct RepetitionDetector {
    /// The end of the text.
    end: Vec<u8>,
    /// Bytes that came since the end was looked at.
    unseen: usize,
    /// The words so far, by their hashes.
    known: HashSet<u64>,
    /// The word that is being said.
    word: Option<DefaultHasher>,
    /// Words since the last new one.
    stale: usize,
    /// The different ones among them.
    vocabulary: HashSet<u64>,
}

impl RepetitionDetector {
    /// Takes what came, and tells whether it is time to stop.
    pub(crate) fn feed_events(&mut self, events: &[ModelEvent]) -> Result<(), ModelError> {
        for event in events {
            let said = match event {
                ModelEvent::TextDelta { delta, .. }
                | ModelEvent::ReasoningSummaryDelta { delta, .. }
                | ModelEvent::ReasoningTextDelta { delta, .. } => delta,
                ModelEvent::Created { .. }
                | ModelEvent::ItemStarted { .. }
                | ModelEvent::ReasoningSummaryPart { .. }
                | ModelEvent::ItemDone { .. }
                | ModelEvent::RateLimits(_)
                | ModelEvent::Paused
                | ModelEvent::Retrying { .. }
                | ModelEvent::Completed { .. }
                | ModelEvent::Failed(_) => continue,
            };
            self.feed_words(said);
            self.passages(said)?;
        }
        if self.stale >= REPEATED_WORDS {
            let count = self.vocabulary.len();
            return Err(repetition_error(&format!(
                "its last {REPEATED_WORDS} words are {count} words, over and over"
            )));
        }
        Ok(())
    }

    fn feed_words(&mut self, said: &str) {
        for c in said.chars() {
            if c.is_alphanumeric() {
                c.hash(self.word.get_or_insert_default());
            } else if let Some(word) = self.word.take() {
                self.end_word(word.finish());
            }
        }
    }

    fn end_word(&mut self, word: u64) {
        let is_new = self.known.len() < WORDS_KNOWN_MAX && self.known.insert(word);
        self.vocabulary.insert(word);
        if is_new || self.vocabulary.len() > REPEATED_VOCABULARY_MAX {
            self.stale = 0;
            self.vocabulary.clear();
        } else {
            self.stale += 1;
        }
    }

    fn passages(&mut self, said: &str) -> Result<(), ModelError> {
        self.end.extend_from_slice(said.as_bytes());
        self.unseen += said.len();
        if self.end.len() < REPEATED_BYTES || self.unseen < REPEATED_STEP_BYTES {
            return Ok(());
        }
        self.unseen = 0;
        let cut = self.end.len() - REPEATED_BYTES;
        self.end.drain(..cut);
        let passage = period(&self.end);
        if passage > REPEATED_PASSAGE_BYTES_MAX {
            return Ok(());
        }
        Err(repetition_error(&format!(
            "its last {REPEATED_BYTES} bytes are one passage of {passage} bytes, over and over"
        )))
    }
}

/// Returns the length of the shortest passage that the whole text repeats; that of the text if it
/// repeats none.
fn period(text: &[u8]) -> usize {
    // How much of its own beginning the text ends with, at each place.
    let mut borders = vec![0; text.len()];
    for at in 1..text.len() {
        let mut border = borders[at - 1];
        while border > 0 && text[at] != text[border] {
            border = borders[border - 1];
        }
        if text[at] == text[border] {
            border += 1;
        }
        borders[at] = border;
    }
    text.len() - borders.last().copied().unwrap_or_default()
}

fn repetition_error(how: &str) -> ModelError {
    ModelError::new(
        ModelErrorKind::Repeating,
        format!(
            "the model repeats itself and was stopped: {how}; ask again in other words, or choose \
             another model"
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(pieces: impl IntoIterator<Item = String>) -> Result<(), ModelError> {
        let mut repetition = RepetitionDetector::default();
        pieces.into_iter().try_for_each(|delta| {
            let item_id = "item".to_owned();
            repetition.feed_events(&[ModelEvent::TextDelta { item_id, delta }])
        })
    }

    #[test]
    fn a_passage_that_never_ends_is_noticed() {
        for passage in ["\n", "x", "I will look at the file again. ", "再び見ます。"] {
            let error = heard((0..20_000).map(|_| passage.to_owned())).unwrap_err();
            assert_eq!(error.kind, ModelErrorKind::Repeating, "{passage:?}");
        }
    }

    #[test]
    fn few_words_in_any_order_are_noticed() {
        let words = ["yes", "no", "perhaps", "so", "then", "but", "wait"];
        let mut state = 7_u64;
        let said = (0..20_000).map(|_| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            format!("{} ", words[(state >> 33) as usize % words.len()])
        });
        let error = heard(said).unwrap_err();
        assert!(error.message.contains("7 words"), "{error}");
    }

    #[test]
    fn long_answers_and_what_was_asked_for_go_on() {
        // A long list, a table, a rule across the page, a word a thousand times.
        heard((0..50_000).map(|n| format!("line {n} of the list\n"))).unwrap();
        let rows = (0..5_000).map(|n| format!("| {} | {} | ok |\n", n % 97, n % 89));
        heard(rows).unwrap();
        heard((0..1_000).map(|_| "hello\n".to_owned())).unwrap();
        heard(["=".repeat(4_000)]).unwrap();
    }

    #[test]
    fn a_text_has_the_period_of_its_passage() {
        assert_eq!(period(b"abcabcab"), 3);
        assert_eq!(period(b"aaaa"), 1);
        assert_eq!(period(b"abcd"), 4);
    }
}
