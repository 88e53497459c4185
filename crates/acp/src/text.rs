//! Texts that fit where they are shown.

/// Returns the end of a text, with a word on what is missing.
pub(crate) fn tail(text: &str, bytes_max: usize) -> String {
    if text.len() <= bytes_max {
        return text.to_owned();
    }
    let mut start = text.len() - bytes_max;
    while !text.is_char_boundary(start) {
        start += 1;
    }
    // From the beginning of a line, if there is one.
    let start = text[start..]
        .find('\n')
        .map_or(start, |newline| start + newline + 1);
    format!("… {start} bytes are not shown\n{}", &text[start..])
}

/// Keeps the end of a text that grows.
#[derive(Debug)]
pub(crate) struct OutputTail {
    text: String,
    bytes_max: usize,
}

impl OutputTail {
    pub(crate) fn new(bytes_max: usize) -> Self {
        Self {
            text: String::new(),
            bytes_max,
        }
    }

    pub(crate) fn push(&mut self, more: &str) {
        self.text.push_str(more);
        // Cut seldom, so that a piece costs its own bytes.
        if self.text.len() > 2 * self.bytes_max {
            let mut start = self.text.len() - self.bytes_max;
            while !self.text.is_char_boundary(start) {
                start += 1;
            }
            self.text.drain(..start);
        }
    }

    pub(crate) fn as_str(&self) -> &str {
        let mut start = self.text.len().saturating_sub(self.bytes_max);
        while !self.text.is_char_boundary(start) {
            start += 1;
        }
        &self.text[start..]
    }
}

#[cfg(test)]
mod tests {
    use super::{OutputTail, tail};

    #[test]
    fn a_long_text_is_cut_at_a_line() {
        assert_eq!(tail("one\ntwo", 10), "one\ntwo");
        assert_eq!(tail("one\ntwo\nthree", 8), "… 8 bytes are not shown\nthree");
        assert_eq!(tail("äöü", 3), "… 4 bytes are not shown\nü");
    }

    #[test]
    fn a_tail_keeps_the_end() {
        let mut tail = OutputTail::new(4);
        for piece in ["ab", "cdef", "ä", "gh", "ijkl"] {
            tail.push(piece);
        }
        assert_eq!(tail.as_str(), "ijkl");
    }
}
