//! The items of a rollout: what the model was told and what it said. Pure.

use serde_json::{Value, json};
use troupe_protocol::history::{ContentItem, ResponseItem, Role, ToolOutputBody};
use troupe_protocol::input::UserInput;
use troupe_protocol::{CallId, ContextFragment};

use crate::fields::{owned, text};
use crate::losses::{LossKind, LossReport};
use crate::passage::Passage;
use crate::pictures;

/// How messages begin that describe where Codex works. The session is told of its own.
const SURROUNDINGS: [&str; 21] = [
    "<environment_context>",
    "<environments_instructions>",
    "<user_instructions>",
    "# AGENTS.md instructions",
    "<skills_instructions>",
    "<plugins_instructions>",
    "<apps_instructions>",
    "<tools>",
    "<collaboration_mode>",
    "<multi_agent_mode>",
    "<realtime_conversation>",
    "<context_window>",
    "<context_window_guidance>",
    "<personality_spec>",
    "<model_switch>",
    "<current_time_reminder>",
    "<image_resize_notice>",
    "<rollout_budget>",
    "<recommended_plugins>",
    "<realtime_delegation>",
    "<guardian_sync_review>",
];

/// How messages begin that tell of something that happened; ours begin in the same way.
const NEWS: [ContextFragment; 3] = [
    ContextFragment::Aborted,
    ContextFragment::UserShell,
    ContextFragment::Skill,
];
const SUBAGENT_NEWS: &str = "<subagent_notification>";

const NO_PICTURE: &str = "[a picture that could not be taken over]";
const NO_CONTENT: &str = "[a part of this message could not be taken over]";

/// Returns what an item tells.
pub(super) fn read(item: &Value, losses: &mut LossReport) -> Vec<Passage> {
    let call_id = || owned(item, "call_id").or_else(|| owned(item, "id"));
    let call_id = || CallId(call_id().unwrap_or_default());
    let passage = match text(item, "type").unwrap_or_default() {
        "message" => return message(item, losses).into_iter().collect(),
        "reasoning" => return reasoning(item, losses).into_iter().collect(),
        "function_call" => Passage::Called(ResponseItem::FunctionCall {
            id: None,
            name: name(item),
            arguments: owned(item, "arguments").unwrap_or_default(),
            call_id: call_id(),
        }),
        "local_shell_call" => {
            let action = item.get("action").unwrap_or(&Value::Null);
            Passage::Called(ResponseItem::FunctionCall {
                id: None,
                name: "local_shell".to_owned(),
                arguments: json!({ "command": action.get("command") }).to_string(),
                call_id: call_id(),
            })
        }
        "custom_tool_call" => Passage::Called(ResponseItem::CustomToolCall {
            id: None,
            name: name(item),
            input: owned(item, "input").unwrap_or_default(),
            call_id: call_id(),
        }),
        "function_call_output" | "custom_tool_call_output" | "local_shell_call_output" => {
            // Which of the two kinds it is follows from its call.
            Passage::Answered(ResponseItem::FunctionCallOutput {
                call_id: call_id(),
                output: output(item.get("output").unwrap_or(&Value::Null), losses),
            })
        }
        "compaction" | "context_compaction" | "compaction_summary" => {
            losses.add(LossKind::SealedSummary);
            return Vec::new();
        }
        "agent_message" => {
            losses.add(LossKind::Child);
            return Vec::new();
        }
        "ghost_snapshot" | "compaction_trigger" | "additional_tools" | "other" => {
            return Vec::new();
        }
        kind if kind.ends_with("_call") || kind.ends_with("_output") => {
            losses.add(LossKind::ProviderTool);
            return Vec::new();
        }
        _ => {
            losses.add(LossKind::Content);
            return Vec::new();
        }
    };
    vec![passage]
}

/// Marks what the model was told by another agent than this one.
pub(super) fn note(words: &str) -> ResponseItem {
    let open = ContextFragment::Imported.opening();
    ResponseItem::user_text(format!("{open}\n{}\n</imported_note>", words.trim()))
}

fn name(item: &Value) -> String {
    let name = text(item, "name").unwrap_or_default();
    match text(item, "namespace") {
        Some(space) if !space.is_empty() => format!("{space}__{name}"),
        Some(_) | None => name.to_owned(),
    }
}

fn message(item: &Value, losses: &mut LossReport) -> Option<Passage> {
    let parts = item.get("content").and_then(Value::as_array);
    let parts = parts.map(Vec::as_slice).unwrap_or_default();
    match text(item, "role").unwrap_or_default() {
        "assistant" => {
            let words: String = parts.iter().filter_map(words_of).collect();
            (!words.is_empty()).then(|| Passage::Said(ResponseItem::assistant_text(words)))
        }
        "user" => user_message(parts, losses),
        _ => {
            losses.add(LossKind::Surroundings);
            None
        }
    }
}

fn words_of(part: &Value) -> Option<&str> {
    text(part, "text").or_else(|| text(part, "refusal"))
}

fn user_message(parts: &[Value], losses: &mut LossReport) -> Option<Passage> {
    let is_surroundings = |part: &&Value| {
        let words = words_of(part).unwrap_or_default().trim_start();
        SURROUNDINGS.iter().any(|tag| words.starts_with(tag))
    };
    let own: Vec<&Value> = parts.iter().filter(|part| !is_surroundings(part)).collect();
    if own.len() < parts.len() {
        losses.add(LossKind::Surroundings);
    }
    let first = own.iter().find_map(|part| words_of(part));
    if let Some(words) = first {
        if words.starts_with(SUBAGENT_NEWS) {
            return Some(Passage::Told(note(words)));
        }
        if NEWS.iter().any(|news| words.starts_with(news.opening())) {
            return Some(Passage::Told(ResponseItem::user_text(words)));
        }
    }
    let content = content(own, losses);
    if content.is_empty() {
        return None;
    }
    let shown = content.iter().map(shown).collect();
    let told = ResponseItem::Message {
        id: None,
        role: Role::User,
        content,
        metadata: None,
        said: false,
    };
    let told = told.marked_as_said();
    Some(Passage::Asked { shown, told })
}

fn shown(part: &ContentItem) -> UserInput {
    match part {
        ContentItem::InputImage { image_url, detail } => UserInput::Image {
            image_url: image_url.clone(),
            detail: *detail,
        },
        ContentItem::InputText { text } | ContentItem::OutputText { text } => {
            UserInput::text(text.clone())
        }
        ContentItem::Refusal { refusal } => UserInput::text(refusal.clone()),
    }
}

/// Returns the parts of a message or an answer that can go along, with marks for the others.
fn content<'a>(
    parts: impl IntoIterator<Item = &'a Value>,
    losses: &mut LossReport,
) -> Vec<ContentItem> {
    let parts = parts.into_iter().filter_map(|part| {
        let words = if text(part, "type") == Some("input_image") {
            let picture = text(part, "image_url").and_then(pictures::embedded);
            if let Some(address) = picture {
                return Some(ContentItem::InputImage {
                    image_url: address.to_owned(),
                    detail: None,
                });
            }
            losses.add(LossKind::Picture);
            NO_PICTURE
        } else if let Some(words) = words_of(part) {
            if is_picture_tag(words) {
                return None;
            }
            words
        } else {
            losses.add(LossKind::Content);
            NO_CONTENT
        };
        Some(ContentItem::InputText {
            text: words.to_owned(),
        })
    });
    parts.collect()
}

/// Codex puts these around each picture.
fn is_picture_tag(words: &str) -> bool {
    let words = words.trim();
    words == "</image>" || (words.starts_with("<image") && words.ends_with('>'))
}

/// Returns an answer: text, parts, or in old files an object that holds one of them.
fn output(output: &Value, losses: &mut LossReport) -> ToolOutputBody {
    match output {
        Value::String(text) => text.as_str().into(),
        Value::Array(parts) => {
            let parts = content(parts, losses);
            match &parts[..] {
                [ContentItem::InputText { text }] => text.as_str().into(),
                _ => ToolOutputBody::Parts(parts),
            }
        }
        Value::Object(fields) => match fields.get("content") {
            Some(Value::String(text)) => text.as_str().into(),
            _ => output.to_string().into(),
        },
        Value::Null => "".into(),
        other => other.to_string().into(),
    }
}

/// Returns what can be read of the model's thoughts.
fn reasoning(item: &Value, losses: &mut LossReport) -> Option<Passage> {
    if text(item, "encrypted_content").is_some_and(|sealed| !sealed.is_empty()) {
        losses.add(LossKind::SealedReasoning);
    }
    let texts = |key| {
        let parts = item.get(key).and_then(Value::as_array);
        let parts = parts.map(Vec::as_slice).unwrap_or_default();
        parts.iter().filter_map(words_of)
    };
    let words: Vec<&str> = texts("summary").chain(texts("content")).collect();
    (!words.is_empty()).then(|| Passage::Thought(words.join("\n\n")))
}
