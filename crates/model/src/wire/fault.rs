//! What a provider's complaint means. Every server words and places it in its own way.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::overflow;
use crate::error::{ContextOverflow, ModelError, ModelErrorKind};
use crate::limits::ERROR_TEXT_BYTES_MAX;
use crate::retry::parse_duration_ms;

/// A complaint as it was found in an error body or a failure event.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct ProviderComplaint {
    /// `code`, or `type` where there is no telling code.
    pub code: String,
    pub message: String,
    /// By how much a request was too long.
    pub overflow: Option<ContextOverflow>,
}

#[derive(Deserialize)]
struct ErrorFields<'a> {
    /// A number or text; llama.cpp repeats the HTTP status here.
    #[serde(borrow)]
    code: Option<&'a RawValue>,
    #[serde(borrow, rename = "type")]
    kind: Option<&'a RawValue>,
    message: Option<String>,
    /// llama.cpp, beside a message without them.
    n_prompt_tokens: Option<u64>,
    n_ctx: Option<u64>,
}

#[derive(Deserialize)]
struct ErrorEnvelope<'a> {
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

impl ProviderComplaint {
    /// Reads `{"error": {…}}`, `{"error": "text"}`, the fields without an envelope, or
    /// plain text.
    pub(crate) fn parse(body: &str) -> Self {
        let envelope = serde_json::from_str::<ErrorEnvelope<'_>>(body).ok();
        let inner = envelope
            .and_then(|envelope| envelope.error)
            .map_or(body, RawValue::get);
        if let Ok(text) = serde_json::from_str::<String>(inner) {
            return Self {
                message: text,
                ..Self::default()
            };
        }
        match serde_json::from_str::<ErrorFields<'_>>(inner) {
            Ok(fields) => {
                let code = fields.code.and_then(telling_code);
                let kind = fields.kind.and_then(telling_code);
                Self {
                    code: code.or(kind).unwrap_or_default().into_owned(),
                    overflow: fields.n_ctx.map(|window| ContextOverflow {
                        sent: fields.n_prompt_tokens,
                        window,
                    }),
                    message: fields.message.unwrap_or_else(|| inner.to_owned()),
                }
            }
            Err(_) => Self {
                message: body.trim().to_owned(),
                ..Self::default()
            },
        }
    }

    /// Turns a complaint that came instead of a response into an error.
    pub(crate) fn into_http_error(self, status: u16) -> ModelError {
        let kind = self
            .kind_by_content()
            .unwrap_or_else(|| kind_by_status(status));
        ModelError {
            http_status: Some(status),
            ..self.into_error(kind)
        }
    }

    /// Turns a complaint inside a response into an error; one that nobody knows is taken
    /// for a passing fault of the stream.
    pub(crate) fn into_stream_error(self) -> ModelError {
        let kind = self
            .kind_by_content()
            .unwrap_or(ModelErrorKind::StreamDisconnected);
        self.into_error(kind)
    }

    fn into_error(self, kind: ModelErrorKind) -> ModelError {
        let retry_after_ms = match kind {
            ModelErrorKind::RateLimited | ModelErrorKind::ServerOverloaded => {
                asked_delay_ms(&self.message)
            }
            _ => None,
        };
        let mut message = match (self.code.as_str(), self.message.as_str()) {
            ("", "") => "the server gave no reason".to_owned(),
            ("", message) => message.to_owned(),
            (code, "") => code.to_owned(),
            (code, message) => format!("{message} ({code})"),
        };
        let overflow = match kind {
            ModelErrorKind::ContextWindowExceeded => {
                let told = self
                    .overflow
                    .inspect(|told| message.push_str(&numbers(*told)));
                told.or_else(|| overflow::read(&self.message))
            }
            _ => None,
        };
        ModelError {
            retry_after_ms,
            overflow,
            ..ModelError::new(kind, capped(&message))
        }
    }

    fn kind_by_content(&self) -> Option<ModelErrorKind> {
        Some(match self.code.as_str() {
            "context_length_exceeded" | "exceed_context_size_error" => {
                ModelErrorKind::ContextWindowExceeded
            }
            "insufficient_quota"
            | "billing_error"
            | "usage_limit_reached"
            | "usage_not_included"
            | "billing_hard_limit_reached" => ModelErrorKind::QuotaExceeded,
            "rate_limit_exceeded" | "rate_limit_error" => ModelErrorKind::RateLimited,
            "server_is_overloaded" | "slow_down" | "overloaded_error" => {
                ModelErrorKind::ServerOverloaded
            }
            "api_error" | "timeout_error" => ModelErrorKind::ServerError,
            "invalid_api_key" | "authentication_error" | "permission_error" => {
                ModelErrorKind::Unauthorized
            }
            "previous_response_not_found" => ModelErrorKind::PreviousResponseUnknown,
            code if PICTURE_CODES.contains(&code) => ModelErrorKind::PictureRefused,
            "invalid_prompt" | "bio_policy" | "cyber_policy" | "misalignment_policy_violation" => {
                ModelErrorKind::BadRequest
            }
            _ if speaks_of_context(&self.message) => ModelErrorKind::ContextWindowExceeded,
            _ if speaks_of_previous(&self.message) => ModelErrorKind::PreviousResponseUnknown,
            _ if speaks_of_picture(&self.message) => ModelErrorKind::PictureRefused,
            _ => return None,
        })
    }
}

/// The server ended its answer too soon.
pub(crate) fn closed_early() -> ModelError {
    ModelError::new(
        ModelErrorKind::StreamDisconnected,
        "the stream ended before the response was complete",
    )
}

/// The server sent something that the wire does not know.
pub(crate) fn malformed(what: &str, error: &serde_json::Error) -> ModelError {
    ModelError::new(
        ModelErrorKind::StreamDisconnected,
        capped(&format!("malformed event {what}: {error}")),
    )
}

/// The answer was cut for a reason that sending it again would meet again.
pub(crate) fn incomplete(reason: &str) -> ModelError {
    match reason {
        "max_output_tokens" | "length" | "max_tokens" => ModelError::new(
            ModelErrorKind::Incomplete,
            "the response was cut at the model's output limit",
        ),
        "content_filter" => ModelError::new(
            ModelErrorKind::Incomplete,
            "the response was stopped by the provider's content filter",
        ),
        "refusal" => ModelError::new(
            ModelErrorKind::Refused,
            "the model refused to answer; word the request differently, or take back the turns \
             that it objects to",
        ),
        "model_context_window_exceeded" => ModelError::new(
            ModelErrorKind::ContextWindowExceeded,
            "the answer did not fit into what was left of the model's context window",
        ),
        other => ModelError::new(
            ModelErrorKind::StreamDisconnected,
            capped(&format!("the response is incomplete: {other}")),
        ),
    }
}

/// Shortens a text from outside to what is shown of it.
pub(crate) fn capped(text: &str) -> String {
    if text.len() <= ERROR_TEXT_BYTES_MAX {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(ERROR_TEXT_BYTES_MAX);
    format!("{}… ({} bytes)", &text[..end], text.len())
}

fn kind_by_status(status: u16) -> ModelErrorKind {
    match status {
        401 | 403 => ModelErrorKind::Unauthorized,
        408 => ModelErrorKind::ConnectionFailed,
        429 => ModelErrorKind::RateLimited,
        503 | 529 => ModelErrorKind::ServerOverloaded,
        500.. => ModelErrorKind::ServerError,
        _ => ModelErrorKind::BadRequest,
    }
}

/// Returns a code unless it is a number, which only repeats the status.
fn telling_code(raw: &RawValue) -> Option<Cow<'_, str>> {
    let text: String = serde_json::from_str(raw.get()).ok()?;
    (!text.is_empty() && text.parse::<u32>().is_err()).then_some(Cow::Owned(text))
}

/// vLLM, Ollama and others say it only in words.
fn speaks_of_context(message: &str) -> bool {
    let message = message.to_ascii_lowercase();
    [
        "maximum context length",
        "exceeds the available context size",
        "context length exceeded",
        "exceeds the context window",
        "prompt is too long",
        "exceed context limit",
    ]
    .iter()
    .any(|words| message.contains(words))
}

/// Not every server that keeps responses has a code for one that it does not have.
fn speaks_of_previous(message: &str) -> bool {
    let message = message.to_ascii_lowercase();
    let names = [
        "previous response",
        "previous_response_id",
        "response with id",
    ];
    names.iter().any(|name| message.contains(name)) && message.contains("not found")
}

/// How the Responses API names what is wrong with a picture.
const PICTURE_CODES: [&str; 12] = [
    "invalid_image",
    "invalid_image_format",
    "invalid_base64_image",
    "invalid_image_url",
    "image_too_large",
    "image_too_small",
    "image_parse_error",
    "image_content_policy_violation",
    "image_file_too_large",
    "unsupported_image_media_type",
    "failed_to_download_image",
    "image_file_not_found",
];

/// Anthropic, and servers that fetch addresses themselves, say it only in words.
fn speaks_of_picture(message: &str) -> bool {
    let message = message.to_ascii_lowercase();
    [
        "could not process image",
        "unable to download the file",
        "error while downloading",
        "timeout while downloading",
        "failed to download image",
        "failed to fetch image",
        "failed to load image",
        "invalid image",
        "invalid_image",
        "image.source",
    ]
    .iter()
    .any(|words| message.contains(words))
}

/// Writes the numbers that a server told beside its message.
fn numbers(overflow: ContextOverflow) -> String {
    let window = overflow.window;
    match overflow.sent {
        Some(sent) => format!("; the request has {sent} tokens, the window {window}"),
        None => format!("; the window has {window} tokens"),
    }
}

/// Reads "try again in 1.5s", "… in 20ms", "… in 3 seconds".
fn asked_delay_ms(message: &str) -> Option<u64> {
    let lower = message.to_ascii_lowercase();
    let (_, after) = lower.split_once("try again in ")?;
    parse_duration_ms(after)
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    #[track_caller]
    fn check_http(status: u16, body: &str, expected: Expect) {
        let error = ProviderComplaint::parse(body).into_http_error(status);
        let wait = error
            .retry_after_ms
            .map_or(String::new(), |ms| format!(" in {ms} ms"));
        expected.assert_eq(&format!("{:?}{wait}: {error}", error.kind));
    }

    #[test]
    fn codes_say_more_than_the_status() {
        check_http(
            400,
            r#"{"error":{"code":"context_length_exceeded","message":"too long","type":"invalid_request_error"}}"#,
            expect!["ContextWindowExceeded: too long (context_length_exceeded)"],
        );
        check_http(
            429,
            r#"{"error":{"code":"insufficient_quota","message":"no money"}}"#,
            expect!["QuotaExceeded: no money (insufficient_quota)"],
        );
        check_http(
            400,
            r#"{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error"}}"#,
            expect![
                "ContextWindowExceeded: the request exceeds the available context size (exceed_context_size_error)"
            ],
        );
        check_http(
            400,
            r#"{"object":"error","message":"This model's maximum context length is 4096 tokens.","type":"BadRequestError","code":400}"#,
            expect![
                "ContextWindowExceeded: This model's maximum context length is 4096 tokens. (BadRequestError)"
            ],
        );
    }

    #[test]
    fn the_status_decides_where_no_code_does() {
        check_http(401, "", expect!["Unauthorized: the server gave no reason"]);
        check_http(
            404,
            r#"{"error":"no such model"}"#,
            expect!["BadRequest: no such model"],
        );
        check_http(
            500,
            "<html>oops</html>",
            expect!["ServerError: <html>oops</html>"],
        );
        check_http(503, "{}", expect!["ServerOverloaded: {}"]);
        check_http(301, "moved", expect!["BadRequest: moved"]);
    }

    #[test]
    fn a_delay_in_words_is_read() {
        check_http(
            429,
            r#"{"error":{"code":"rate_limit_exceeded","message":"Please try again in 1.898s. Visit us"}}"#,
            expect![
                "RateLimited in 1898 ms: Please try again in 1.898s. Visit us (rate_limit_exceeded)"
            ],
        );
        check_http(
            429,
            r#"{"error":{"message":"try again in 20ms"}}"#,
            expect!["RateLimited in 20 ms: try again in 20ms"],
        );
        check_http(
            429,
            r#"{"error":{"message":"try again in 3 seconds"}}"#,
            expect!["RateLimited in 3000 ms: try again in 3 seconds"],
        );
        check_http(
            429,
            r#"{"error":{"message":"try again in a while"}}"#,
            expect!["RateLimited: try again in a while"],
        );
    }

    #[test]
    fn the_numbers_of_an_overflow_are_told() {
        check_http(
            400,
            r#"{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error","n_prompt_tokens":5120,"n_ctx":4096}}"#,
            expect![
                "ContextWindowExceeded: the request exceeds the available context size, try increasing it (exceed_context_size_error); the request has 5120 tokens, the window 4096"
            ],
        );
    }

    #[test]
    fn a_response_that_the_server_does_not_have_is_a_kind_of_its_own() {
        check_http(
            400,
            r#"{"error":{"code":"previous_response_not_found","message":"Previous response with id 'resp_1' not found.","param":"previous_response_id"}}"#,
            expect![
                "PreviousResponseUnknown: Previous response with id 'resp_1' not found. (previous_response_not_found)"
            ],
        );
        check_http(
            404,
            r#"{"error":{"code":404,"message":"Response with id 'resp_1' not found.","param":"response_id","type":"invalid_request_error"}}"#,
            expect![
                "PreviousResponseUnknown: Response with id 'resp_1' not found. (invalid_request_error)"
            ],
        );
        check_http(
            404,
            r#"{"error":{"message":"Previous response resp_1 was not found"}}"#,
            expect!["PreviousResponseUnknown: Previous response resp_1 was not found"],
        );
    }

    #[test]
    fn a_picture_that_the_server_cannot_use_is_a_kind_of_its_own() {
        check_http(
            400,
            r#"{"error":{"code":"invalid_image_url","message":"Error while downloading https://x.test/a.png.","type":"invalid_request_error"}}"#,
            expect![
                "PictureRefused: Error while downloading https://x.test/a.png. (invalid_image_url)"
            ],
        );
        check_http(
            400,
            r#"{"error":{"code":"invalid_value","message":"Timeout while downloading https://x.test/a.png.","param":"url","type":"invalid_request_error"}}"#,
            expect![
                "PictureRefused: Timeout while downloading https://x.test/a.png. (invalid_value)"
            ],
        );
        check_http(
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"Could not process image"}}"#,
            expect!["PictureRefused: Could not process image (invalid_request_error)"],
        );
    }

    #[test]
    fn long_texts_are_capped_between_characters() {
        let text = capped(&"ä".repeat(ERROR_TEXT_BYTES_MAX));
        assert!(text.starts_with("ää"));
        assert!(text.ends_with("… (2000 bytes)"));
        assert!(text.len() < ERROR_TEXT_BYTES_MAX + 32);
    }

    #[test]
    fn an_unknown_failure_of_a_stream_may_be_tried_again() {
        let error =
            ProviderComplaint::parse(r#"{"code":"weird","message":"hm"}"#).into_stream_error();
        assert_eq!(error.kind, ModelErrorKind::StreamDisconnected);
        assert!(error.is_retryable());
    }
}
