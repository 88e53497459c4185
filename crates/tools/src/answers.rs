//! Whether answers fit the questions they are for.

use troupe_protocol::approval::{Answer, Question, UserInputResponse};

use crate::limits::ANSWER_BYTES_MAX;

/// Finds what a model could not make sense of. Questions may be left unanswered.
///
/// # Errors
///
/// Names the first answer that does not fit, and what would.
pub fn check_answers(questions: &[Question], response: &UserInputResponse) -> Result<(), String> {
    for (id, answer) in &response.answers {
        let Some(question) = questions.iter().find(|question| question.id == *id) else {
            let ids: Vec<&str> = questions
                .iter()
                .map(|question| question.id.as_str())
                .collect();
            return Err(format!(
                "there is no question {id:?}; the questions are: {}",
                ids.join(", ")
            ));
        };
        check_answer(question, answer).map_err(|problem| format!("the answer {id:?} {problem}"))?;
    }
    Ok(())
}

fn check_answer(question: &Question, answer: &Answer) -> Result<(), String> {
    let options = question.options.as_deref().unwrap_or_default();
    if answer.selected.len() > 1 {
        return Err("selects several options, which exclude each other".to_owned());
    }
    for selected in &answer.selected {
        if options.is_empty() {
            return Err(
                "selects an option of a question that has none; answer in other".to_owned(),
            );
        }
        if !options.iter().any(|option| option.value == *selected) {
            let values: Vec<&str> = options.iter().map(|option| option.value.as_str()).collect();
            return Err(format!(
                "selects {selected:?}; the options are: {}",
                values.join(", ")
            ));
        }
    }
    let Some(other) = &answer.other else {
        return Ok(());
    };
    if !options.is_empty() && !question.is_other {
        return Err("has a text, and the question offers only its options".to_owned());
    }
    if other.len() > ANSWER_BYTES_MAX {
        return Err(format!(
            "has {} bytes; at most {ANSWER_BYTES_MAX} are passed on",
            other.len()
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
