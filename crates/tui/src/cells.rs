//! What a transcript consists of. A cell keeps its source and is laid out for each width anew;
//! one file for each kind.

mod agent_call;
mod agent_news;
mod answer;
mod callback;
mod command;
mod notice;
mod patch;
mod plan;
mod question;
mod reasoning;
mod steps;
mod tool;
mod user;

use crate::text::TextRow;

pub use agent_call::{CallWords, call_words};
pub use agent_news::AgentNewsCell;
pub use answer::AnswerCell;
pub use callback::CallbackCell;
pub use command::{CommandCell, command_line, head_rows, output_rows};
pub use notice::{NoticeCell, NoticeLevel};
pub use patch::{PatchCell, counted, diff_rows};
pub use plan::PlanCell;
pub use question::QuestionCell;
pub use reasoning::{ReasoningCell, headline_of as reasoning_headline};
pub use steps::StepsCell;
pub use tool::{ToolCell, arguments_text as tool_arguments};
pub use user::UserCell;

/// How much of a cell is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CellFold {
    Folded,
    Whole,
}

/// One finished piece of a conversation.
#[derive(Debug, Clone, PartialEq)]
pub enum CellBody {
    User(UserCell),
    Answer(AnswerCell),
    Reasoning(ReasoningCell),
    Command(CommandCell),
    Patch(PatchCell),
    Tool(ToolCell),
    Steps(StepsCell),
    Plan(PlanCell),
    Notice(NoticeCell),
    AgentNews(AgentNewsCell),
    Callback(CallbackCell),
    Question(QuestionCell),
}

impl CellBody {
    pub fn rows(&self, columns: usize, fold: CellFold) -> Vec<TextRow> {
        match self {
            Self::User(cell) => cell.rows(columns),
            Self::Answer(cell) => cell.rows(columns),
            Self::Reasoning(cell) => cell.rows(columns, fold),
            Self::Command(cell) => cell.rows(columns, fold),
            Self::Patch(cell) => cell.rows(columns, fold),
            Self::Tool(cell) => cell.rows(columns, fold),
            Self::Steps(cell) => cell.rows(columns),
            Self::Plan(cell) => cell.rows(columns),
            Self::Notice(cell) => cell.rows(columns),
            Self::AgentNews(cell) => cell.rows(columns),
            Self::Callback(cell) => cell.rows(columns, fold),
            Self::Question(cell) => cell.rows(columns),
        }
    }

    /// Returns what is copied of it: the source, without marks.
    pub fn source(&self) -> String {
        match self {
            Self::User(cell) => cell.text.clone(),
            Self::Answer(cell) => cell.source.clone(),
            Self::Reasoning(cell) => cell.text.clone(),
            Self::Command(cell) => cell.source(),
            Self::Patch(cell) => cell.source(),
            Self::Tool(cell) => cell.source(),
            Self::Steps(cell) => cell.source(),
            Self::Plan(cell) => cell.text.clone(),
            Self::Notice(cell) => cell.text.clone(),
            Self::AgentNews(cell) => cell.text.clone(),
            Self::Callback(cell) => cell.text.clone(),
            Self::Question(cell) => cell.text.clone(),
        }
    }

    /// Returns the word that stands before it where there are no marks and no colours.
    pub fn label(&self) -> &'static str {
        match self {
            Self::User(_) => "You",
            Self::Answer(_) => "Answer",
            Self::Reasoning(_) => "Thinking",
            Self::Command(_) => "Command",
            Self::Patch(_) => "Edit",
            Self::Tool(_) => "Tool",
            Self::Steps(_) => "Plan",
            Self::Plan(_) => "Proposed plan",
            Self::Notice(cell) => cell.level.label(),
            Self::AgentNews(_) => "Agents",
            Self::Callback(_) => "Result",
            Self::Question(_) => "Question",
        }
    }

    /// Tells whether it stands right below a cell of the same kind, without an empty row.
    pub fn joins(&self, above: &Self) -> bool {
        match (above, self) {
            (_, Self::Answer(cell)) => cell.continues,
            (Self::AgentNews(_), Self::AgentNews(_)) | (Self::Tool(_), Self::Tool(_)) => true,
            _ => false,
        }
    }
}
