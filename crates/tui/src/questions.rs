//! Questions that wait for a person, of any depth: one queue, answered without taking keys that
//! were meant for something else.

mod form;

use troupe_protocol::approval::{
    AgentLabel, Answer, ExecApprovalRequest, PatchApprovalRequest, ReviewDecision,
    UserInputRequest, UserInputResponse,
};
use troupe_protocol::mcp::ElicitationRequest;
use troupe_protocol::op::ElicitationDecision;
use troupe_protocol::{EventMsg, Op};

use crate::cells::{QuestionCell, command_line, counted};

/// What is asked.
#[derive(Debug, Clone, PartialEq)]
pub enum QuestionBody {
    Command(Box<ExecApprovalRequest>),
    Patch(Box<PatchApprovalRequest>),
    Input(Box<UserInputRequest>),
    Elicitation(Box<ElicitationRequest>),
}

#[derive(Debug, Clone, PartialEq)]
pub struct PendingQuestion {
    pub id: String,
    pub body: QuestionBody,
    pub since_ms: i64,
    /// Everything that a person has to read before answering.
    text: String,
    /// What was answered already, of several questions in one.
    answers: UserInputResponse,
}

impl QuestionBody {
    fn in_full(&self) -> String {
        match self {
            Self::Command(request) => request.in_full(),
            Self::Patch(request) => request.in_full(),
            Self::Input(request) => request.in_full(),
            Self::Elicitation(request) => form::in_full(request),
        }
    }
}

impl PendingQuestion {
    pub fn asker(&self) -> Option<&AgentLabel> {
        match &self.body {
            QuestionBody::Command(request) => request.agent.as_ref(),
            QuestionBody::Patch(request) => request.agent.as_ref(),
            QuestionBody::Input(request) => request.agent.as_ref(),
            QuestionBody::Elicitation(request) => request.agent.as_ref(),
        }
    }

    pub fn asker_name(&self) -> &str {
        let path = self.asker().map_or("root", |label| label.path.as_str());
        path.rsplit('/').next().unwrap_or(path)
    }

    /// Returns the question in one line, for the band.
    pub fn line(&self) -> String {
        match &self.body {
            QuestionBody::Command(request) => {
                let outside = if request.outside_sandbox {
                    " outside the sandbox"
                } else {
                    ""
                };
                format!("run{outside} {}", command_line(&request.command))
            }
            QuestionBody::Patch(request) => {
                let counts = request.changes.values().map(counted);
                let (added, removed) =
                    counts.fold((0, 0), |sum, count| (sum.0 + count.0, sum.1 + count.1));
                let mut paths = request
                    .changes
                    .keys()
                    .map(|path| path.display().to_string());
                let first = paths.next().unwrap_or_default();
                let more = match paths.count() {
                    0 => String::new(),
                    count => format!(" and {count} more"),
                };
                format!("edit {first}{more} +{added} -{removed}")
            }
            QuestionBody::Input(_) => {
                let question = self.open_question();
                question
                    .map(|question| question.question.clone())
                    .unwrap_or_default()
            }
            QuestionBody::Elicitation(request) => {
                format!(
                    "{} asks: {}",
                    request.server_name,
                    form::message(&request.request)
                )
            }
        }
    }

    /// Returns everything that a person has to read before answering.
    pub fn in_full(&self) -> &str {
        &self.text
    }

    /// Returns the first question of several that has no answer yet.
    pub fn open_question(&self) -> Option<&troupe_protocol::approval::Question> {
        let QuestionBody::Input(request) = &self.body else {
            return None;
        };
        let is_open = |question: &&troupe_protocol::approval::Question| {
            !self.answers.answers.contains_key(&question.id)
        };
        request.questions.iter().find(is_open)
    }

    /// Returns the options that can be chosen by number.
    pub fn options(&self) -> Vec<String> {
        let options = self
            .open_question()
            .and_then(|question| question.options.as_ref());
        options
            .into_iter()
            .flatten()
            .map(|option| option.label.clone())
            .collect()
    }

    /// Tells whether the answer is, or can be, a text.
    pub fn takes_text(&self) -> bool {
        match &self.body {
            QuestionBody::Command(_) | QuestionBody::Patch(_) => false,
            QuestionBody::Input(_) => self
                .open_question()
                .is_some_and(|question| question.is_other || question.options.is_none()),
            QuestionBody::Elicitation(request) => form::takes_text(&request.request),
        }
    }

    /// Tells whether a decision is one that can be given.
    pub fn offers(&self, decision: ReviewDecision) -> bool {
        match &self.body {
            QuestionBody::Command(request) => {
                let has_rule = !request.proposed_rules.is_empty();
                request.offers(decision) && (decision != ReviewDecision::ApprovedAlways || has_rule)
            }
            QuestionBody::Patch(_) => decision != ReviewDecision::ApprovedAlways,
            QuestionBody::Input(_) => decision == ReviewDecision::Denied,
            QuestionBody::Elicitation(request) => match decision {
                ReviewDecision::Approved => !form::takes_text(&request.request),
                ReviewDecision::Denied | ReviewDecision::Abort => true,
                ReviewDecision::ApprovedForSession | ReviewDecision::ApprovedAlways => false,
            },
        }
    }

    /// Tells whether a yes lets something be done that has to be read first.
    pub fn needs_reading(&self) -> bool {
        match &self.body {
            QuestionBody::Command(_) | QuestionBody::Patch(_) | QuestionBody::Elicitation(_) => {
                true
            }
            QuestionBody::Input(_) => false,
        }
    }

    /// Tells whether another question is the same thing again.
    fn is_same(&self, other: &Self) -> bool {
        match (&self.body, &other.body) {
            (QuestionBody::Command(a), QuestionBody::Command(b)) => {
                (&a.command, &a.cwd, a.outside_sandbox) == (&b.command, &b.cwd, b.outside_sandbox)
            }
            (QuestionBody::Patch(a), QuestionBody::Patch(b)) => a.changes == b.changes,
            _ => false,
        }
    }

    fn decide(&self, decision: ReviewDecision) -> Op {
        let id = self.id.clone();
        match &self.body {
            QuestionBody::Command(_) => Op::ExecApproval { id, decision },
            QuestionBody::Patch(_) => Op::PatchApproval { id, decision },
            // Without any answer the model is told that none was given.
            QuestionBody::Input(_) => Op::UserInputAnswer {
                id,
                response: self.answers.clone(),
            },
            QuestionBody::Elicitation(request) => {
                let agreed = decision == ReviewDecision::Approved;
                Op::ResolveElicitation {
                    server_name: request.server_name.clone(),
                    request_id: id,
                    decision: match decision {
                        ReviewDecision::Approved
                        | ReviewDecision::ApprovedForSession
                        | ReviewDecision::ApprovedAlways => ElicitationDecision::Accept,
                        ReviewDecision::Denied => ElicitationDecision::Decline,
                        ReviewDecision::Abort => ElicitationDecision::Cancel,
                    },
                    content: agreed.then(|| serde_json::json!({})),
                }
            }
        }
    }
}

/// The queue. The first question is the one that the band shows.
#[derive(Debug, Clone, Default)]
pub struct QuestionQueue {
    pending: Vec<PendingQuestion>,
    /// Answered here; the event that says so is still to come.
    answered: Vec<String>,
    /// When the first one came to stand in the band.
    standing_since_ms: i64,
}

impl QuestionQueue {
    pub fn pending(&self) -> &[PendingQuestion] {
        &self.pending
    }

    pub fn first(&self) -> Option<&PendingQuestion> {
        self.pending.first()
    }

    pub fn standing_since_ms(&self) -> i64 {
        self.standing_since_ms
    }

    /// Returns how many others ask the same as the first.
    pub fn same_as_first(&self) -> usize {
        let Some(first) = self.first() else { return 0 };
        self.pending[1..]
            .iter()
            .filter(|other| first.is_same(other))
            .count()
    }

    pub fn asks(&self, agent: troupe_protocol::AgentId) -> bool {
        let asker = |question: &PendingQuestion| {
            question
                .asker()
                .map_or(troupe_protocol::AgentId::ROOT, |label| label.agent_id)
        };
        self.pending.iter().any(|question| asker(question) == agent)
    }

    /// Brings a question to the front.
    pub fn bring_forward(&mut self, id: &str) {
        if let Some(at) = self.pending.iter().position(|question| question.id == id) {
            let question = self.pending.remove(at);
            self.pending.insert(0, question);
        }
    }

    /// Puts the first question behind the others.
    pub fn rotate(&mut self, now_ms: i64) {
        if self.pending.len() > 1 {
            self.pending.rotate_left(1);
            self.standing_since_ms = now_ms;
        }
    }

    /// Takes an event in; returns what the conversation shows of a question that was settled.
    pub fn take(&mut self, msg: &EventMsg, now_ms: i64) -> Option<QuestionCell> {
        let (id, body) = match msg {
            EventMsg::ExecApprovalRequest(request) => (
                &request.call_id,
                QuestionBody::Command(Box::new(request.clone())),
            ),
            EventMsg::ApplyPatchApprovalRequest(request) => (
                &request.call_id,
                QuestionBody::Patch(Box::new(request.clone())),
            ),
            EventMsg::RequestUserInput(request) => (
                &request.call_id,
                QuestionBody::Input(Box::new(request.clone())),
            ),
            EventMsg::ElicitationRequest(request) => (
                &request.id,
                QuestionBody::Elicitation(Box::new(request.clone())),
            ),
            EventMsg::ApprovalResolved { call_id, decision } => {
                return self.settle(call_id.as_str(), *decision, now_ms);
            }
            EventMsg::UserInputResolved { call_id, response } => {
                let decision = match response {
                    Some(_) => ReviewDecision::Approved,
                    None => ReviewDecision::Abort,
                };
                return self.settle(call_id.as_str(), decision, now_ms);
            }
            EventMsg::ElicitationResolved { id, decision } => {
                let decision = match decision {
                    ElicitationDecision::Accept => ReviewDecision::Approved,
                    ElicitationDecision::Decline => ReviewDecision::Denied,
                    ElicitationDecision::Cancel => ReviewDecision::Abort,
                };
                return self.settle(id.as_str(), decision, now_ms);
            }
            // What was open when the process ended is withdrawn.
            EventMsg::SessionConfigured(_) => {
                self.pending.clear();
                return None;
            }
            _ => return None,
        };
        if self.pending.is_empty() {
            self.standing_since_ms = now_ms;
        }
        self.pending.retain(|question| question.id != id.as_str());
        self.pending.push(PendingQuestion {
            id: id.as_str().to_owned(),
            text: body.in_full(),
            body,
            since_ms: now_ms,
            answers: UserInputResponse::default(),
        });
        None
    }

    /// Answers a question by its id. It goes when the session says that it is settled.
    pub fn decide(&mut self, id: &str, decision: ReviewDecision) -> Option<Op> {
        let question = self.pending.iter().find(|question| question.id == id)?;
        if !question.offers(decision) || self.answered.iter().any(|answered| answered == id) {
            return None;
        }
        self.answered.push(id.to_owned());
        Some(question.decide(decision))
    }

    /// Answers the first question and all that ask the same.
    pub fn decide_all(&mut self, decision: ReviewDecision) -> Vec<Op> {
        let Some(first) = self.pending.first().cloned() else {
            return Vec::new();
        };
        let same = self
            .pending
            .iter()
            .filter(|question| first.is_same(question) || **question == first);
        let ids: Vec<String> = same.map(|question| question.id.clone()).collect();
        ids.iter()
            .filter_map(|id| self.decide(id, decision))
            .collect()
    }

    /// Answers the first question with an option, by its number from 0, or with a text. `None`
    /// while other parts of the question are open.
    pub fn say(&mut self, answer: SpokenAnswer) -> Option<Op> {
        let question = self.pending.first_mut()?;
        if self.answered.contains(&question.id) {
            return None;
        }
        let op = match &question.body {
            QuestionBody::Command(_) | QuestionBody::Patch(_) => return None,
            QuestionBody::Input(_) => {
                let open = question.open_question()?.clone();
                let said = match answer {
                    SpokenAnswer::Option(number) => Answer {
                        selected: vec![open.options?.get(number)?.value.clone()],
                        other: None,
                    },
                    SpokenAnswer::Text(text) => Answer {
                        selected: Vec::new(),
                        other: Some(text),
                    },
                };
                question.answers.answers.insert(open.id, said);
                if question.open_question().is_some() {
                    return None;
                }
                question.decide(ReviewDecision::Approved)
            }
            QuestionBody::Elicitation(request) => {
                let SpokenAnswer::Text(text) = answer else {
                    return None;
                };
                Op::ResolveElicitation {
                    server_name: request.server_name.clone(),
                    request_id: question.id.clone(),
                    decision: ElicitationDecision::Accept,
                    content: Some(form::filled(&request.request, &text)?),
                }
            }
        };
        self.answered.push(question.id.clone());
        Some(op)
    }

    fn settle(&mut self, id: &str, decision: ReviewDecision, now_ms: i64) -> Option<QuestionCell> {
        let at = self.pending.iter().position(|question| question.id == id)?;
        let question = self.pending.remove(at);
        if at == 0 {
            self.standing_since_ms = now_ms;
        }
        let mine = self.answered.iter().position(|answered| answered == id);
        let who = match mine {
            Some(at) => {
                self.answered.remove(at);
                "you"
            }
            None => "somebody else",
        };
        let (line, asker) = (question.line(), question.asker_name());
        let (text, agreed) = match decision {
            ReviewDecision::Approved if matches!(question.body, QuestionBody::Input(_)) => {
                (format!("{who} answered {asker}: {line}"), true)
            }
            ReviewDecision::Approved => (format!("{who} allowed {asker}: {line}"), true),
            ReviewDecision::ApprovedForSession => (
                format!("{who} allowed {asker}, for this session: {line}"),
                true,
            ),
            ReviewDecision::ApprovedAlways => {
                (format!("{who} allowed {asker}, with a rule: {line}"), true)
            }
            ReviewDecision::Denied => (format!("{who} refused {asker}: {line}"), false),
            ReviewDecision::Abort if mine.is_some() => (
                format!("you refused {asker} and ended its task: {line}"),
                false,
            ),
            ReviewDecision::Abort => (format!("withdrawn: {asker}: {line}"), false),
        };
        Some(QuestionCell { text, agreed })
    }
}

/// An answer that is no yes and no no.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SpokenAnswer {
    /// From 0.
    Option(usize),
    Text(String),
}
