//! What the user said.

use troupe_protocol::input::UserInput;

use crate::text::wrap::{WrapMode, wrap_into};
use crate::text::{Indent, TextRow, TextSpan, TextStyle};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserCell {
    pub text: String,
    /// Images, skills and mentions that go with it, by name.
    pub attached: Vec<String>,
}

impl UserCell {
    pub fn of(content: &[UserInput]) -> Self {
        let mut cell = Self {
            text: String::new(),
            attached: Vec::new(),
        };
        for input in content {
            match input {
                UserInput::Text { text, .. } => {
                    if !cell.text.is_empty() {
                        cell.text.push('\n');
                    }
                    cell.text.push_str(text);
                }
                UserInput::Image { .. } => cell.attached.push("image".to_owned()),
                UserInput::LocalImage { path, .. } => {
                    cell.attached.push(format!("image {}", path.display()));
                }
                UserInput::Skill { name, .. } => cell.attached.push(format!("skill {name}")),
                UserInput::Mention { name, .. } => cell.attached.push(format!("app {name}")),
            }
        }
        cell
    }

    pub(super) fn rows(&self, columns: usize) -> Vec<TextRow> {
        let mut rows = Vec::new();
        let mut indent = Indent::mark("› ", TextStyle::BOLD);
        for line in self.text.trim_end().lines() {
            let span = [TextSpan::new(line, TextStyle::BOLD)];
            wrap_into(&mut rows, &span, &indent, columns, WrapMode::Words);
            indent.first.clone_from(&indent.rest);
        }
        for attached in &self.attached {
            let span = [TextSpan::new(format!("[{attached}]"), TextStyle::DIM)];
            wrap_into(&mut rows, &span, &indent, columns, WrapMode::Words);
        }
        rows
    }
}
