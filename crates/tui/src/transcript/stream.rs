//! An answer that grows.

use crate::cells::{AnswerCell, CellBody, NoticeCell};
use crate::markdown::stable_part;

/// The text of one message, of which a part was already made cells.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AnswerStream {
    text: String,
    /// Bytes of the text that are cells.
    settled: usize,
    /// The code block that the rest begins in.
    fence: String,
    /// The rest goes on in the middle of a block.
    is_cut: bool,
    /// The model speaks anew: what it has said so far, as long as it only repeats what is
    /// settled.
    again: Option<String>,
}

impl AnswerStream {
    pub fn add(&mut self, delta: &str) {
        match &mut self.again {
            Some(again) => again.push_str(delta),
            None => self.text.push_str(delta),
        }
    }

    /// Takes the whole text so far, which may be another one than was told before.
    pub fn replace(&mut self, whole: &str) {
        if whole.starts_with(&self.text[..self.settled]) {
            whole.clone_into(&mut self.text);
            self.again = None;
        } else {
            self.again = Some(whole.to_owned());
        }
    }

    /// Returns the cells of what will not change any more.
    pub fn settle(&mut self) -> Vec<CellBody> {
        let mut cells = Vec::new();
        self.compare(&mut cells);
        if self.again.is_none() {
            let part = stable_part(&self.fence, &self.text[self.settled..]);
            if part.length > 0 {
                cells.push(self.cell(part.length));
                self.fence = part.fence;
                self.is_cut = part.is_cut;
            }
        }
        cells
    }

    /// Returns the cells of the rest. The last text is what counts.
    pub fn finish(mut self, whole: &str) -> Vec<CellBody> {
        let mut cells = Vec::new();
        self.replace(whole);
        self.compare(&mut cells);
        if let Some(again) = self.again.take() {
            // A shorter text than was shown.
            self.start_over(&mut cells, again);
        }
        if !self.text[self.settled..].trim().is_empty() {
            cells.push(self.cell(self.text.len() - self.settled));
        }
        cells
    }

    /// Returns the whole text, as far as it was told.
    pub fn said(&self) -> String {
        self.again.clone().unwrap_or_else(|| self.text.clone())
    }

    /// Returns what is not settled, as Markdown.
    pub fn rest(&self) -> AnswerCell {
        AnswerCell {
            source: match &self.again {
                Some(_) => String::new(),
                None => self.text[self.settled..].to_owned(),
            },
            fence: self.fence.clone(),
            continues: self.is_cut,
            begins: self.settled == 0,
        }
    }

    fn cell(&mut self, length: usize) -> CellBody {
        let end = self.settled + length;
        let cell = AnswerCell {
            source: self.text[self.settled..end].to_owned(),
            fence: std::mem::take(&mut self.fence),
            continues: self.is_cut,
            begins: self.settled == 0,
        };
        self.settled = end;
        CellBody::Answer(cell)
    }

    /// Finds out whether the model, which speaks anew, says something else.
    fn compare(&mut self, cells: &mut Vec<CellBody>) {
        let Some(again) = self.again.take() else {
            return;
        };
        let settled = &self.text[..self.settled];
        if again.starts_with(settled) {
            self.text = again;
        } else if settled.starts_with(&again) {
            self.again = Some(again);
        } else {
            self.start_over(cells, again);
        }
    }

    fn start_over(&mut self, cells: &mut Vec<CellBody>, text: String) {
        let notice = NoticeCell::info("the answer above was broken off; it begins again");
        cells.push(CellBody::Notice(notice));
        *self = Self {
            text,
            ..Self::default()
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sources(cells: &[CellBody]) -> Vec<String> {
        cells.iter().map(CellBody::source).collect()
    }

    proptest::proptest! {
        #[test]
        fn however_a_text_comes_it_is_shown_once_and_in_order(
            parts in proptest::collection::vec(
                (proptest::sample::select(PARTS), proptest::bool::ANY, proptest::bool::ANY),
                0..60,
            ),
        ) {
            let mut stream = AnswerStream::default();
            let (mut text, mut cells) = (String::new(), Vec::new());
            for (part, settles, comes_whole) in parts {
                text.push_str(part);
                if comes_whole {
                    stream.replace(&text);
                } else {
                    stream.add(part);
                }
                if settles {
                    cells.extend(stream.settle());
                }
            }
            cells.extend(stream.finish(&text));
            let shown: String = sources(&cells).concat();
            proptest::prop_assert_eq!(shown.trim_end(), text.trim_end());
        }
    }

    const PARTS: &[&str] = &[
        "word ",
        "\n",
        "\n\n",
        "```rust\n",
        "```\n",
        "- item\n",
        "1. one\n",
        "# Head\n",
        "> said\n",
        "| a | b |\n|---|---|\n",
        "é👩\u{200d}💻 ",
        "*",
        "`code`",
        "    indented\n",
        "<b>",
        "[x](y)",
    ];

    #[test]
    fn what_is_settled_is_told_once() {
        let mut stream = AnswerStream::default();
        stream.add("one\n\ntw");
        assert_eq!(sources(&stream.settle()), ["one\n\n"]);
        assert_eq!(stream.rest().source, "tw");
        stream.add("o");
        assert!(stream.settle().is_empty());
        assert_eq!(sources(&stream.finish("one\n\ntwo")), ["two"]);
    }

    #[test]
    fn a_broken_answer_that_is_told_again_is_shown_once() {
        let mut stream = AnswerStream::default();
        stream.add("one\n\ntw");
        stream.settle();
        stream.replace("");
        stream.add("one");
        assert!(stream.settle().is_empty());
        assert_eq!(stream.rest().source, "");
        stream.add("\n\ntwo");
        assert_eq!(sources(&stream.finish("one\n\ntwo")), ["two"]);
    }

    #[test]
    fn another_answer_says_so_and_begins_again() {
        let mut stream = AnswerStream::default();
        stream.add("one\n\ntw");
        stream.settle();
        stream.replace("");
        stream.add("uno");
        let cells = stream.settle();
        assert!(matches!(cells[..], [CellBody::Notice(_)]));
        assert_eq!(stream.rest().source, "uno");
        assert_eq!(sources(&stream.finish("uno")), ["uno"]);
        let mut shorter = AnswerStream::default();
        shorter.add("one\n\ntwo");
        shorter.settle();
        assert_eq!(sources(&shorter.finish("on"))[1..], ["on"]);
    }
}
