//! The end of an agent's task, in one line.

use crate::text::{Ink, TextRow, TextStyle};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentNewsCell {
    pub text: String,
    pub ended_well: bool,
}

impl AgentNewsCell {
    /// Makes a cell of a message, which names its agent by role, session and call; `child` is
    /// what the agent is called here.
    pub fn of(message: &str, child: Option<&str>) -> Self {
        let first = message.lines().next().unwrap_or_default();
        let what = first.split_once("] ").or_else(|| first.split_once(") "));
        let text = match (child, what) {
            (Some(child), Some((_, what))) if first.starts_with("agent ") => {
                format!("{child} {what}")
            }
            _ => first.to_owned(),
        };
        let verb = match child {
            Some(child) => text.strip_prefix(child).unwrap_or(&text).trim_start(),
            None => &text,
        };
        let went_wrong = ["failed", "errored", "interrupted", "cancelled", "budget"];
        let ended_well = !went_wrong.iter().any(|word| verb.starts_with(word));
        Self { text, ended_well }
    }

    pub(super) fn rows(&self, columns: usize) -> Vec<TextRow> {
        let (mark, ink) = if self.ended_well {
            ("✓ ", Ink::Green)
        } else {
            ("✗ ", Ink::Red)
        };
        let row = TextRow::styled(mark, TextStyle::ink(ink)).with(&self.text, TextStyle::DIM);
        vec![row.ellipsis(columns)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_is_told_by_the_agents_name() {
        let told = |message: &str| AgentNewsCell::of(message, Some("finder"));
        let done = told("agent default (3f2a) [call_1] completed in 20s: count.sh counts");
        assert_eq!(done.text, "finder completed in 20s: count.sh counts");
        assert!(done.ended_well);
        let failed = told("agent default (3f2a) failed in 2s: no model");
        assert_eq!(failed.text, "finder failed in 2s: no model");
        assert!(!failed.ended_well);
    }
}
