//! The model's own list of steps.

use troupe_protocol::command::{PlanStep, StepStatus};

use crate::text::wrap::{WrapMode, wrap_into};
use crate::text::{Indent, TextRow, TextSpan, TextStyle};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepsCell {
    pub explanation: Option<String>,
    pub steps: Vec<PlanStep>,
}

impl StepsCell {
    pub(super) fn rows(&self, columns: usize) -> Vec<TextRow> {
        let head = [
            TextSpan::new("Plan ", TextStyle::BOLD),
            TextSpan::new(
                self.explanation.as_deref().unwrap_or_default(),
                TextStyle::DIM,
            ),
        ];
        let mut rows = Vec::new();
        let bullet = Indent::mark("• ", TextStyle::DIM);
        wrap_into(&mut rows, &head, &bullet, columns, WrapMode::Words);
        for step in &self.steps {
            let (mark, style) = marked(step.status);
            let span = [TextSpan::new(&step.step, style)];
            let indent = Indent::mark(&format!("  {mark} "), TextStyle::DIM);
            wrap_into(&mut rows, &span, &indent, columns, WrapMode::Words);
        }
        rows
    }

    pub(super) fn source(&self) -> String {
        let lines = self
            .steps
            .iter()
            .map(|step| format!("- {} {}", marked(step.status).0, step.step));
        lines.collect::<Vec<_>>().join("\n")
    }
}

fn marked(status: StepStatus) -> (&'static str, TextStyle) {
    match status {
        StepStatus::Completed => ("[x]", TextStyle::DIM),
        StepStatus::InProgress => ("[>]", TextStyle::BOLD),
        StepStatus::Pending => ("[ ]", TextStyle::PLAIN),
    }
}
