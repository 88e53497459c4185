//! A stream of bytes, cut into lines of bounded length.

/// Cuts bytes into lines as they come.
#[derive(Debug)]
pub(crate) struct McpLineBuffer {
    /// The beginning of a line whose end has not come.
    open: Vec<u8>,
    bytes_max: usize,
}

/// A line that is longer than allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TooLong;

impl McpLineBuffer {
    pub(crate) fn new(bytes_max: usize) -> Self {
        Self {
            open: Vec::new(),
            bytes_max,
        }
    }

    /// Takes the next piece; returns the lines that it ends, without what ends them. Empty
    /// ones are left out.
    pub(crate) fn push(&mut self, mut piece: &[u8]) -> Result<Vec<Vec<u8>>, TooLong> {
        let mut lines = Vec::new();
        while let Some(end) = piece.iter().position(|byte| *byte == b'\n') {
            self.extend(&piece[..end])?;
            let mut line = std::mem::take(&mut self.open);
            if line.last() == Some(&b'\r') {
                line.pop();
            }
            if !line.is_empty() {
                lines.push(line);
            }
            piece = &piece[end + 1..];
        }
        self.extend(piece)?;
        Ok(lines)
    }

    fn extend(&mut self, bytes: &[u8]) -> Result<(), TooLong> {
        if self.open.len() + bytes.len() > self.bytes_max {
            return Err(TooLong);
        }
        self.open.extend_from_slice(bytes);
        Ok(())
    }
}

/// The end of what was written, for people.
#[derive(Debug, Default)]
pub(crate) struct StderrTail {
    bytes: Vec<u8>,
    bytes_max: usize,
}

impl StderrTail {
    pub(crate) fn new(bytes_max: usize) -> Self {
        Self {
            bytes: Vec::new(),
            bytes_max,
        }
    }

    pub(crate) fn push(&mut self, piece: &[u8]) {
        self.bytes.extend_from_slice(piece);
        let over = self.bytes.len().saturating_sub(self.bytes_max);
        self.bytes.drain(..over);
    }

    /// Returns what is there as text without control characters, none if it says nothing.
    pub(crate) fn text(&self) -> Option<String> {
        let text = String::from_utf8_lossy(&self.bytes);
        let clean = |character: char| match character {
            '\n' | '\t' => character,
            character if character.is_control() => ' ',
            character => character,
        };
        let text: String = text.chars().map(clean).collect();
        let text = text.trim();
        (!text.is_empty()).then(|| text.to_owned())
    }
}

#[cfg(test)]
mod tests;
