//! The plain sink, for screen readers and terminals that can do nothing: lines are added, and
//! the line that is being written is the only one that changes.

use crate::text::append;
use crate::text::text_width;

/// What stands in the last line.
#[derive(Debug, Clone, Default)]
pub struct PlainSink {
    line: String,
}

impl PlainSink {
    /// Adds lines above the one that is being written.
    pub fn paint(&mut self, history: &[String], line: &str, out: &mut String) {
        if history.is_empty() && self.line == line {
            return;
        }
        if !history.is_empty() {
            self.wipe(out);
            for text in history {
                out.push_str(text);
                out.push_str("\r\n");
            }
        }
        // A letter more at the end is only that: a screen reader says it once.
        if let Some(more) = line
            .strip_prefix(self.line.as_str())
            .filter(|_| history.is_empty())
        {
            out.push_str(more);
        } else {
            self.wipe(out);
            out.push_str(line);
        }
        line.clone_into(&mut self.line);
    }

    pub fn leave(&mut self, out: &mut String) {
        self.wipe(out);
    }

    fn wipe(&mut self, out: &mut String) {
        if !self.line.is_empty() {
            let spaces = " ".repeat(text_width(&self.line));
            append(out, format_args!("\r{spaces}\r"));
            self.line.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_added_and_letters_too() {
        let mut sink = PlainSink::default();
        let mut out = String::new();
        sink.paint(&["Answer: hello".to_owned()], "> a", &mut out);
        sink.paint(&[], "> ab", &mut out);
        sink.paint(&["Note: x".to_owned()], "> ab", &mut out);
        sink.paint(&[], "> ", &mut out);
        assert_eq!(
            out,
            "Answer: hello\r\n> ab\r    \rNote: x\r\n> ab\r    \r> "
        );
        assert!(!out.contains('\x1b'));
    }
}
