//! What is not carried over, counted, so that a person can be told.

use std::collections::BTreeMap;

use crate::limits::BROKEN_LINES_TOLD_MAX;

/// A kind of thing that stays behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LossKind {
    /// Reasoning that only the provider can read, and only for the account that it was made for.
    SealedReasoning,
    /// A summary of what came before that only the provider can read.
    SealedSummary,
    /// The other agent's own instructions and surroundings; ours take their place.
    Surroundings,
    /// A picture that lies elsewhere, or is none.
    Picture,
    /// A document or another kind of content that no wire of ours has.
    Content,
    /// What a provider's own tool did: a search in the web, a generated picture.
    ProviderTool,
    /// What other agents of the same program did in conversations of their own.
    Child,
    /// An answer to a call that is not there.
    AnswerWithoutCall,
    /// A call without an answer; it is told as aborted.
    CallWithoutAnswer,
    /// The same once more.
    Duplicate,
    /// What was said on a branch that was left.
    LeftBranch,
    /// The beginning lies in the file of another conversation.
    EarlierFile,
}

impl LossKind {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::SealedReasoning => "sealed_reasoning",
            Self::SealedSummary => "sealed_summary",
            Self::Surroundings => "surroundings",
            Self::Picture => "picture",
            Self::Content => "content",
            Self::ProviderTool => "provider_tool",
            Self::Child => "child",
            Self::AnswerWithoutCall => "answer_without_call",
            Self::CallWithoutAnswer => "call_without_answer",
            Self::Duplicate => "duplicate",
            Self::LeftBranch => "left_branch",
            Self::EarlierFile => "earlier_file",
        }
    }

    /// Returns what a person is told.
    const fn words(self) -> &'static str {
        match self {
            Self::SealedReasoning => {
                "reasoning sealed for another account; what can be read of it is kept for you, and the model does not get it back"
            }
            Self::SealedSummary => {
                "a sealed summary of an earlier part; the model goes on from the messages that were kept beside it"
            }
            Self::Surroundings => {
                "a message with the other agent's instructions or surroundings; the session gets ours"
            }
            Self::Picture => "a picture that lies elsewhere or cannot be read; its place is marked",
            Self::Content => "a part of a kind that cannot be carried over",
            Self::ProviderTool => "a use of a provider's own tool, such as a web search",
            Self::Child => "a message of a sub-agent; what it answered is there",
            Self::AnswerWithoutCall => "an answer to a call that is not there",
            Self::CallWithoutAnswer => {
                "a call without an answer; the model is told that it was aborted"
            }
            Self::Duplicate => "a piece that was there twice",
            Self::LeftBranch => "a message on a branch that was left by going back",
            Self::EarlierFile => {
                "a beginning that lies in the file of the conversation which this one was forked from; import that one too"
            }
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LossReport {
    counts: BTreeMap<LossKind, u64>,
    broken: Vec<(usize, String)>,
    broken_more: u64,
}

impl LossReport {
    pub fn add(&mut self, loss: LossKind) {
        *self.counts.entry(loss).or_default() += 1;
    }

    /// Notes a line that could not be read.
    pub fn broken_line(&mut self, number: usize, why: impl Into<String>) {
        if self.broken.len() < BROKEN_LINES_TOLD_MAX {
            self.broken.push((number, why.into()));
        } else {
            self.broken_more += 1;
        }
    }

    pub fn counts(&self) -> impl Iterator<Item = (LossKind, u64)> {
        self.counts.iter().map(|(loss, count)| (*loss, *count))
    }

    /// The lines that are told one by one.
    pub fn broken_lines(&self) -> &[(usize, String)] {
        &self.broken
    }

    /// Returns a line for each thing that a person should know.
    pub fn report_lines(&self) -> Vec<String> {
        let counted = self
            .counts()
            .map(|(loss, count)| format!("{count} × {}", loss.words()));
        let broken = self
            .broken
            .iter()
            .map(|(number, why)| format!("line {number} is left out: {why}"));
        let more = (self.broken_more > 0)
            .then(|| format!("{} further lines are left out", self.broken_more));
        counted.chain(broken).chain(more).collect()
    }
}
