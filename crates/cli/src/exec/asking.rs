//! Questions to the person at the terminal: commands and patches to approve, and what models
//! want to know, of every agent of the tree. One is shown at a time, whole; the others wait.
//!
//! ```text
//! event that asks ─► queue ─► page on the screen ─► a typed line ─► submission
//!                      └ answered elsewhere, or its task ended: dropped
//! ```

use std::collections::VecDeque;

use troupe_protocol::approval::{
    Answer, ExecApprovalRequest, PatchApprovalRequest, Question, ReviewDecision, UserInputRequest,
    UserInputResponse,
};
use troupe_protocol::{CallId, EventMsg, Op, PendingQuestion};

/// What is open, the oldest first.
#[derive(Debug, Default)]
pub struct QuestionQueue {
    open: VecDeque<OpenQuestion>,
    /// Which of them is on the screen.
    on_screen: Option<CallId>,
}

#[derive(Debug)]
struct OpenQuestion {
    asked: PendingQuestion,
    matter: QuestionBody,
}

#[derive(Debug)]
enum QuestionBody {
    Approval {
        title: &'static str,
        page: String,
        choices: Vec<ApprovalChoice>,
        /// The person said no and types why.
        is_explained: bool,
    },
    /// Questions of a model are asked one after the other.
    Questions {
        questions: Vec<Question>,
        given: UserInputResponse,
        next: usize,
    },
}

/// What a person may type for an approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ApprovalChoice {
    Yes,
    ForSession,
    Always,
    No,
    NoBecause,
}

impl ApprovalChoice {
    const ALL: [Self; 5] = [
        Self::Yes,
        Self::ForSession,
        Self::Always,
        Self::No,
        Self::NoBecause,
    ];

    fn key(self) -> &'static str {
        match self {
            Self::Yes => "y",
            Self::ForSession => "s",
            Self::Always => "a",
            Self::No => "n",
            Self::NoBecause => "w",
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::ForSession => "yes, for this session",
            Self::Always => "always",
            Self::No => "no",
            Self::NoBecause => "no, and say why",
        }
    }

    fn decision(self) -> ReviewDecision {
        match self {
            Self::Yes => ReviewDecision::Approved,
            Self::ForSession => ReviewDecision::ApprovedForSession,
            Self::Always => ReviewDecision::ApprovedAlways,
            Self::No | Self::NoBecause => ReviewDecision::Denied,
        }
    }

    /// Reads the key, or the word itself.
    fn read(line: &str, choices: &[Self]) -> Option<Self> {
        let line = line.trim().to_lowercase();
        let is_meant = |choice: &&Self| line == choice.key() || line == choice.words();
        choices.iter().find(is_meant).copied()
    }
}

/// What a typed line comes to.
#[derive(Debug, PartialEq)]
pub enum LineOutcome {
    /// Something more is to be typed; this is said before.
    More(String),
    /// The question is answered.
    Answered {
        op: Box<Op>,
        /// What the agent is told besides.
        explanation: Option<RefusalExplanation>,
    },
    /// Nothing is open that a line could be for.
    Unasked,
}

/// Why a person said no.
#[derive(Debug, PartialEq)]
pub struct RefusalExplanation {
    /// The path of the agent; absent for the root.
    pub agent: Option<String>,
    pub text: String,
}

impl QuestionQueue {
    /// Takes in an event. Returns whether it is a question that will be put here.
    pub fn hear(&mut self, msg: &EventMsg) -> bool {
        if let Some(settled) = PendingQuestion::settled_by(msg) {
            self.drop_question(settled);
        }
        let question = match PendingQuestion::of(msg) {
            Some(PendingQuestion::Command(request)) => command(request),
            Some(PendingQuestion::Patch(request)) => patch(request),
            Some(PendingQuestion::UserInput(request)) => questions(request),
            // A form has no page here.
            Some(PendingQuestion::Elicitation(_)) | None => return false,
        };
        self.open.push_back(question);
        true
    }

    pub fn is_asking(&self) -> bool {
        !self.open.is_empty()
    }

    /// Returns what is to be put on the screen, once for each question.
    pub fn page(&mut self) -> Option<String> {
        let first = self.open.front()?;
        if self.on_screen.as_ref() == Some(first.asked.id()) {
            return None;
        }
        self.on_screen = Some(first.asked.id().clone());
        Some(first.page())
    }

    /// Takes in a line for the question on the screen; `None` is the end of the input, which
    /// refuses.
    pub fn take(&mut self, line: Option<&str>) -> LineOutcome {
        let Some(first) = self.open.front_mut() else {
            return LineOutcome::Unasked;
        };
        let outcome = first.take(line);
        if let LineOutcome::Answered { .. } = outcome {
            self.open.pop_front();
            self.on_screen = None;
        }
        outcome
    }

    fn drop_question(&mut self, call_id: &CallId) {
        self.open.retain(|question| question.asked.id() != call_id);
        if self.on_screen.as_ref() == Some(call_id) {
            self.on_screen = None;
        }
    }
}

fn command(request: ExecApprovalRequest) -> OpenQuestion {
    let is_offered =
        |choice: &ApprovalChoice| request.available_decisions.contains(&choice.decision());
    OpenQuestion {
        matter: QuestionBody::Approval {
            title: "asks to run a command",
            page: request.in_full(),
            choices: ApprovalChoice::ALL.into_iter().filter(is_offered).collect(),
            is_explained: false,
        },
        asked: PendingQuestion::Command(request),
    }
}

fn patch(request: PatchApprovalRequest) -> OpenQuestion {
    OpenQuestion {
        matter: QuestionBody::Approval {
            title: "asks to change files",
            page: request.in_full(),
            choices: vec![
                ApprovalChoice::Yes,
                ApprovalChoice::ForSession,
                ApprovalChoice::No,
                ApprovalChoice::NoBecause,
            ],
            is_explained: false,
        },
        asked: PendingQuestion::Patch(request),
    }
}

fn questions(request: UserInputRequest) -> OpenQuestion {
    OpenQuestion {
        matter: QuestionBody::Questions {
            questions: request.questions.clone(),
            given: UserInputResponse::default(),
            next: 0,
        },
        asked: PendingQuestion::UserInput(request),
    }
}

impl OpenQuestion {
    fn page(&self) -> String {
        let who = self.asked.agent().map_or("the agent", |agent| &agent.path);
        match &self.matter {
            QuestionBody::Approval {
                title,
                page,
                choices,
                ..
            } => {
                let page = indented(page);
                format!("{who} {title}\n{page}{}", offer(choices))
            }
            QuestionBody::Questions {
                questions, next, ..
            } => match questions.get(*next) {
                Some(question) => format!("{who} asks\n{}", question_page(question)),
                None => format!("{who} asks nothing; press Enter\n"),
            },
        }
    }

    fn take(&mut self, line: Option<&str>) -> LineOutcome {
        let path = self.asked.agent().map(|agent| agent.path.clone());
        match &mut self.matter {
            QuestionBody::Approval {
                choices,
                is_explained,
                ..
            } => {
                if *is_explained {
                    let text = line.unwrap_or_default().trim().to_owned();
                    let explanation = RefusalExplanation { agent: path, text };
                    let op = self.asked.deny();
                    return answered(op, Some(explanation).filter(|it| !it.text.is_empty()));
                }
                let chosen = match line {
                    Some(line) => ApprovalChoice::read(line, choices),
                    None => Some(ApprovalChoice::No),
                };
                match chosen {
                    None => LineOutcome::More(offer(choices)),
                    Some(ApprovalChoice::NoBecause) => {
                        *is_explained = true;
                        LineOutcome::More("why? the agent reads it: ".to_owned())
                    }
                    Some(choice) => answered(self.asked.decide(choice.decision()), None),
                }
            }
            QuestionBody::Questions {
                questions,
                given,
                next,
            } => {
                if let Some(question) = questions.get(*next) {
                    match read_answer(question, line.unwrap_or_default().trim()) {
                        Ok(Some(answer)) => {
                            given.answers.insert(question.id.clone(), answer);
                        }
                        Ok(None) => {}
                        Err(again) => return LineOutcome::More(again),
                    }
                }
                *next += 1;
                match questions.get(*next) {
                    Some(question) => LineOutcome::More(question_page(question)),
                    None => answered(self.asked.answer(std::mem::take(given)), None),
                }
            }
        }
    }
}

fn answered(op: Op, explanation: Option<RefusalExplanation>) -> LineOutcome {
    LineOutcome::Answered {
        op: Box::new(op),
        explanation,
    }
}

/// Returns the line that says what may be typed.
fn offer(choices: &[ApprovalChoice]) -> String {
    let words = choices
        .iter()
        .map(|choice| format!("[{}] {}", choice.key(), choice.words()));
    format!("  {} > ", words.collect::<Vec<_>>().join("  "))
}

fn question_page(question: &Question) -> String {
    let mut page = format!("  {}\n", question.question);
    let options = question.options.as_deref().unwrap_or_default();
    for (option, number) in options.iter().zip(1..) {
        let line = match option.description.as_str() {
            "" => format!("  [{number}] {}\n", option.label),
            description => format!("  [{number}] {}: {description}\n", option.label),
        };
        page.push_str(&line);
    }
    page.push_str(match (options.is_empty(), question.is_other) {
        (true, _) => "  your answer (empty: none) > ",
        (false, true) => "  a number or your own words (empty: none) > ",
        (false, false) => "  a number (empty: none) > ",
    });
    page
}

/// Reads an answer; none if nothing was typed. What cannot be meant is asked for again.
fn read_answer(question: &Question, line: &str) -> Result<Option<Answer>, String> {
    if line.is_empty() {
        return Ok(None);
    }
    let options = question.options.as_deref().unwrap_or_default();
    let by_number = line
        .parse::<usize>()
        .ok()
        .and_then(|number| options.get(number.checked_sub(1)?));
    let is_named = |line: &str| {
        let named = |it: &&_| is_option(it, line);
        options.iter().find(named)
    };
    if let Some(option) = by_number.or_else(|| is_named(line)) {
        return Ok(Some(Answer {
            selected: vec![option.value.clone()],
            other: None,
        }));
    }
    if options.is_empty() || question.is_other {
        return Ok(Some(Answer {
            selected: Vec::new(),
            other: Some(line.to_owned()),
        }));
    }
    Err(format!("  a number from 1 to {} > ", options.len()))
}

fn is_option(option: &troupe_protocol::approval::QuestionOption, line: &str) -> bool {
    line == option.value || line.eq_ignore_ascii_case(&option.label)
}

fn indented(text: &str) -> String {
    let lines = text.lines().flat_map(|line| ["  ", line, "\n"]);
    lines.collect()
}

#[cfg(test)]
mod tests;
