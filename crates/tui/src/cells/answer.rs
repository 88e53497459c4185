//! A part of what the model said: some blocks of Markdown.

use crate::markdown::markdown_rows;
use crate::text::TextRow;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnswerCell {
    pub source: String,
    /// The line that opens the code block in which the source begins; empty for none.
    pub fence: String,
    /// It goes on where the cell above was cut.
    pub continues: bool,
    /// A message begins with it.
    pub begins: bool,
}

impl AnswerCell {
    pub fn whole(source: impl Into<String>) -> Self {
        Self {
            source: source.into(),
            fence: String::new(),
            continues: false,
            begins: true,
        }
    }

    pub(super) fn rows(&self, columns: usize) -> Vec<TextRow> {
        if self.fence.is_empty() {
            return markdown_rows(&self.source, columns);
        }
        markdown_rows(&format!("{}{}", self.fence, self.source), columns)
    }
}
