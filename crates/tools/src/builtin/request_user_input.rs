//! `request_user_input`: a few questions to the user, and their answers.

use std::collections::HashSet;
use std::sync::LazyLock;
use std::time::Duration;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use troupe_protocol::approval::{Question, QuestionOption, UserInputRequest, UserInputResponse};
use troupe_protocol::tool::ToolSpec;

use crate::arguments;
use crate::call::ToolInvocation;
use crate::item;
use crate::limits::{
    QUESTION_CHARS_MAX, QUESTION_HEADER_CHARS_MAX, QUESTION_ID_CHARS_MAX, QUESTION_OPTIONS_MAX,
    QUESTION_OPTIONS_MIN, QUESTIONS_MAX,
};
use crate::tool::{Tool, ToolConcurrency, ToolOutput};

const NAME: &str = "request_user_input";

/// What the model is told when there are questions and no answers.
const NO_ANSWER: &str = "no answer was given; decide yourself, and say in your answer what you \
                         assumed";
const NOBODY: &str = "nobody is there who could answer; decide yourself, and say in your answer \
                      what you assumed";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RequestUserInputArguments {
    /// 1 to 3 questions. Prefer one, unless several independent decisions hold you up.
    #[schemars(length(min = 1, max = QUESTIONS_MAX))]
    questions: Vec<QuestionArgument>,
}

// The protocol's `Question`, strict. (No doc comment: the model would be sent it.)
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct QuestionArgument {
    /// Names the answer: `snake_case`, different for each question.
    id: String,
    /// A label of at most 12 characters.
    #[schemars(length(min = 1, max = QUESTION_HEADER_CHARS_MAX))]
    header: String,
    /// One sentence.
    question: String,
    /// 2 or 3 choices that exclude each other. Put the recommended one first, and end its label
    /// with "(Recommended)". Leave them out for a question that is answered in the user's own
    /// words; for an answer in their own words besides the choices, set `isOther` and add no
    /// choice for it.
    #[schemars(length(min = QUESTION_OPTIONS_MIN, max = QUESTION_OPTIONS_MAX))]
    options: Option<Vec<ChoiceArgument>>,
    /// Also lets the user answer in their own words, instead of choosing an option or besides it.
    #[serde(default, rename = "isOther")]
    is_other: bool,
}

// As `QuestionArgument`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ChoiceArgument {
    /// What you get as the answer: `snake_case`.
    value: String,
    /// What the user reads, 1 to 5 words.
    label: String,
    /// What choosing it means, in a short sentence.
    description: String,
}

static SPEC: LazyLock<ToolSpec> = LazyLock::new(|| {
    arguments::function::<RequestUserInputArguments>(
        NAME,
        "Asks the user and waits for the answers. Ask only what you cannot find out yourself and \
         what changes what you do next. Returns {answers: {id: {selected: [value], other?: \
         text}}}; a question that was not answered is left out, and if none was, reason says why.",
    )
});

#[derive(Debug)]
pub(crate) struct RequestUserInput {
    /// How long answers are waited for; none is for ever.
    time_max: Option<Duration>,
}

impl RequestUserInput {
    pub(crate) fn new(time_max: Option<Duration>) -> Self {
        Self { time_max }
    }
}

#[async_trait]
impl Tool for RequestUserInput {
    fn spec(&self) -> &ToolSpec {
        &SPEC
    }

    fn concurrency(&self) -> ToolConcurrency {
        ToolConcurrency::Shared
    }

    async fn call(&self, call: ToolInvocation) -> ToolOutput {
        let RequestUserInputArguments { questions } = match arguments::parse(&call, &SPEC).await {
            Ok(arguments) => arguments,
            Err(output) => return output,
        };
        let questions: Vec<Question> = questions.into_iter().map(Question::from).collect();
        if let Err(problem) = check(&questions) {
            let text = format!("{NAME}: {problem}");
            return item::failed(&call, NAME, text).await;
        }
        let request = UserInputRequest {
            call_id: call.id.clone(),
            turn_id: call.context.turn_id.clone(),
            questions,
            agent: None,
        };
        let response = tokio::select! {
            // A task that is stopped also withdraws the question; the model is told of the stop.
            biased;
            () = call.cancel.cancelled() => {
                return ToolOutput::failure("the question was withdrawn: the task was stopped");
            }
            response = call.channel.question(request) => response,
            time_max = expiry(self.time_max) => return timeout_output(time_max),
        };
        response_output(response.as_ref())
    }
}

/// Comes when the time is over, with how long that was.
async fn expiry(time_max: Option<Duration>) -> Duration {
    match time_max {
        Some(time_max) => {
            tokio::time::sleep(time_max).await;
            time_max
        }
        None => std::future::pending().await,
    }
}

fn timeout_output(time_max: Duration) -> ToolOutput {
    ToolOutput::failure(unanswered(&format!(
        "no answer came within {} s; decide yourself, and say in your answer what you assumed",
        time_max.as_secs()
    )))
}

/// Answers as they are always told, with why there are none.
fn unanswered(reason: &str) -> String {
    json!({"answers": {}, "reason": reason}).to_string()
}

fn response_output(response: Option<&UserInputResponse>) -> ToolOutput {
    match response {
        None => ToolOutput::failure(unanswered(NOBODY)),
        Some(response) if response.answers.is_empty() => ToolOutput::success(unanswered(NO_ANSWER)),
        Some(response) => ToolOutput::of(
            serde_json::to_string(response)
                .map_err(|error| format!("the answers cannot be told: {error}")),
        ),
    }
}

/// Finds what a user could not be shown, or not answer.
fn check(questions: &[Question]) -> Result<(), String> {
    if questions.is_empty() || questions.len() > QUESTIONS_MAX {
        return Err(format!(
            "there are {} questions; ask 1 to {QUESTIONS_MAX}",
            questions.len()
        ));
    }
    let mut ids = HashSet::new();
    for (index, question) in questions.iter().enumerate() {
        let problem = check_question(question).and_then(|()| {
            if ids.insert(question.id.as_str()) {
                Ok(())
            } else {
                Err(format!("id {:?} is taken; give each its own", question.id))
            }
        });
        problem.map_err(|problem| format!("questions[{index}].{problem}"))?;
    }
    Ok(())
}

fn check_question(question: &Question) -> Result<(), String> {
    if !is_snake_case(&question.id) {
        return Err(format!(
            "id {:?} is not snake_case; use a to z, 0 to 9 and _, beginning with a letter",
            question.id
        ));
    }
    check_length("id", &question.id, QUESTION_ID_CHARS_MAX)?;
    check_length("header", &question.header, QUESTION_HEADER_CHARS_MAX)?;
    check_length("question", &question.question, QUESTION_CHARS_MAX)?;
    match &question.options {
        Some(options) => check_options(options),
        None => Ok(()),
    }
}

fn check_options(options: &[QuestionOption]) -> Result<(), String> {
    if !(QUESTION_OPTIONS_MIN..=QUESTION_OPTIONS_MAX).contains(&options.len()) {
        return Err(format!(
            "options has {}; give {QUESTION_OPTIONS_MIN} or {QUESTION_OPTIONS_MAX}, or leave them \
             out for a free answer",
            options.len()
        ));
    }
    let mut values = HashSet::new();
    for (index, option) in options.iter().enumerate() {
        let problem = check_length("value", &option.value, QUESTION_ID_CHARS_MAX)
            .and_then(|()| check_length("label", &option.label, QUESTION_CHARS_MAX))
            .and_then(|()| check_length("description", &option.description, QUESTION_CHARS_MAX));
        problem.map_err(|problem| format!("options[{index}].{problem}"))?;
        if !values.insert(option.value.as_str()) {
            return Err(format!(
                "options[{index}].value {:?} is taken; give each its own",
                option.value
            ));
        }
    }
    Ok(())
}

/// A text of one line and not too long.
fn check_length(field: &str, text: &str, chars_max: usize) -> Result<(), String> {
    let chars = text.chars().count();
    if text.trim().is_empty() {
        Err(format!("{field} is empty"))
    } else if chars > chars_max {
        Err(format!(
            "{field} has {chars} characters; use at most {chars_max}"
        ))
    } else if text.contains(char::is_control) {
        Err(format!(
            "{field} has line breaks or other control characters; write one line"
        ))
    } else {
        Ok(())
    }
}

fn is_snake_case(text: &str) -> bool {
    let fits = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_');
    text.bytes().all(fits) && text.starts_with(|first: char| first.is_ascii_lowercase())
}

impl From<QuestionArgument> for Question {
    fn from(asked: QuestionArgument) -> Self {
        let options = asked.options;
        Self {
            id: asked.id,
            header: asked.header,
            question: asked.question,
            is_other: asked.is_other,
            options: options.map(|options| options.into_iter().map(QuestionOption::from).collect()),
        }
    }
}

impl From<ChoiceArgument> for QuestionOption {
    fn from(choice: ChoiceArgument) -> Self {
        Self {
            value: choice.value,
            label: choice.label,
            description: choice.description,
        }
    }
}

#[cfg(test)]
mod tests;
