//! By how much a request was too long, out of the sentences in which servers say it.

use crate::error::ContextOverflow;

/// What stands before a number of tokens.
const WINDOW_WORDS: [&str; 5] = [
    "maximum context length is ",
    "available context size (",
    "context window of ",
    " tokens > ",
    "n_ctx",
];
const SENT_WORDS: [&str; 8] = [
    "resulted in ",
    "you requested ",
    "you passed ",
    "contains at least ",
    "prompt contains ",
    "prompt is too long: ",
    "request (",
    "n_prompt_tokens",
];

/// Reads both numbers, or the window alone.
pub(super) fn read(message: &str) -> Option<ContextOverflow> {
    let message = message.to_ascii_lowercase();
    let find = |words: &[&str]| words.iter().find_map(|it| number_after(&message, it));
    Some(ContextOverflow {
        window: find(&WINDOW_WORDS)?,
        sent: find(&SENT_WORDS),
    })
}

/// Reads `4096`, or `4,096`; behind the name of a field also `: 4096` or `=4096`.
fn number_after(message: &str, words: &str) -> Option<u64> {
    let (_, after) = message.split_once(words)?;
    let after = after.trim_start_matches([' ', '=', ':', '"']);
    let is_part = |letter: &char| letter.is_ascii_digit() || *letter == ',';
    let digits: String = after.chars().take_while(is_part).collect();
    let digits = digits.trim_end_matches(',').replace(',', "");
    digits.parse().ok().filter(|number| *number > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(message: &str, sent: Option<u64>, window: u64) {
        assert_eq!(read(message), Some(ContextOverflow { sent, window }));
    }

    #[test]
    fn the_sentences_of_servers_are_read() {
        check(
            "This model's maximum context length is 8192 tokens. However, your messages resulted \
             in 9001 tokens. Please reduce the length of the messages.",
            Some(9_001),
            8_192,
        );
        check(
            "This model's maximum context length is 4,096 tokens. However, you requested 5,000 \
             tokens (4,000 in the messages, 1,000 in the completion).",
            Some(5_000),
            4_096,
        );
        check(
            "prompt is too long: 210054 tokens > 200000 maximum",
            Some(210_054),
            200_000,
        );
        check(
            "request (5120 tokens) exceeds the available context size (4096 tokens), try \
             increasing it",
            Some(5_120),
            4_096,
        );
        check(
            "the request exceeds the available context size, try increasing it: n_prompt_tokens \
             30831, n_ctx 8192",
            Some(30_831),
            8_192,
        );
        check("the maximum context length is 4096 tokens", None, 4_096);
    }

    #[test]
    fn what_is_not_said_is_not_made_up() {
        assert_eq!(
            read("Your input exceeds the context window of this model."),
            None
        );
        assert_eq!(read("context length exceeded"), None);
    }
}
