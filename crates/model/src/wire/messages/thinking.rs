//! How hard to think, in the words of each generation of models.
//!
//! | catalogue says | no effort asked for | effort `none` | any other |
//! |---|---|---|---|
//! | `adaptive` | thinks as it likes | told not to, where it can be | named: the nearest that it knows, rather less than more |
//! | `budget` | does not think | does not think | a number of tokens |
//! | nothing | is not told | is not told | adaptive, named |
//!
//! `minimal` is this wire's `low`, `ultra` its `max`.

use serde_json::{Value, json};
use troupe_protocol::policy::{ReasoningEffort, ReasoningSummary};

use crate::catalogue::{self, ModelInfo};
use crate::request::ModelRequest;

/// What a request says about it.
#[derive(Debug, Default, PartialEq)]
pub(super) struct ThinkingFields {
    pub thinking: Option<Value>,
    pub effort: Option<&'static str>,
}

/// The least budget that the provider takes, and what is left for the answer.
const BUDGET_TOKENS_MIN: u64 = 1_024;

impl ThinkingFields {
    pub(super) fn of(request: &ModelRequest, output_tokens_max: u64) -> Self {
        let model = catalogue::lookup(&request.model);
        let style = model.map_or(catalogue::ThinkingStyle::Named, |model| model.thinking);
        match (style, model, request.effort) {
            (catalogue::ThinkingStyle::Adaptive, Some(model), effort) => {
                Self::adaptive(model, effort, request.summary)
            }
            (_, _, None | Some(ReasoningEffort::None)) => Self::default(),
            (catalogue::ThinkingStyle::Budget, _, Some(effort)) => {
                Self::budget(effort, output_tokens_max)
            }
            (_, _, Some(effort)) => Self {
                thinking: Some(adaptive(request.summary)),
                effort: Some(name(effort)),
            },
        }
    }

    fn adaptive(
        model: &ModelInfo,
        effort: Option<ReasoningEffort>,
        summary: ReasoningSummary,
    ) -> Self {
        let effort = effort.and_then(|effort| nearest(effort, &model.efforts));
        match effort {
            Some(ReasoningEffort::None) => Self {
                thinking: Some(json!({ "type": "disabled" })),
                effort: None,
            },
            effort => Self {
                thinking: Some(adaptive(summary)),
                effort: effort.map(name),
            },
        }
    }

    fn budget(effort: ReasoningEffort, output_tokens_max: u64) -> Self {
        let room = output_tokens_max.saturating_sub(BUDGET_TOKENS_MIN);
        let tokens = budget_tokens(effort).min(room);
        if tokens < BUDGET_TOKENS_MIN {
            return Self::default();
        }
        Self {
            thinking: Some(json!({ "type": "enabled", "budget_tokens": tokens })),
            effort: None,
        }
    }
}

/// The newest models keep their thinking to themselves unless asked to show it.
fn adaptive(summary: ReasoningSummary) -> Value {
    let display = match summary {
        ReasoningSummary::None => "omitted",
        ReasoningSummary::Auto | ReasoningSummary::Concise | ReasoningSummary::Detailed => {
            "summarized"
        }
    };
    json!({ "type": "adaptive", "display": display })
}

/// Returns the highest known effort that is not above the one asked for, else the lowest.
fn nearest(effort: ReasoningEffort, known: &[ReasoningEffort]) -> Option<ReasoningEffort> {
    let height = |effort: &ReasoningEffort| *effort as u8;
    let not_above = known.iter().filter(|it| height(it) <= height(&effort));
    let best = match effort {
        // Who asks for a little does not ask for none.
        ReasoningEffort::Minimal => None,
        _ => not_above.max_by_key(|it| height(it)),
    };
    let lowest = || {
        let thinking = known.iter().filter(|it| **it != ReasoningEffort::None);
        thinking.min_by_key(|it| height(it))
    };
    best.or_else(lowest).copied()
}

fn name(effort: ReasoningEffort) -> &'static str {
    match effort {
        ReasoningEffort::None | ReasoningEffort::Minimal | ReasoningEffort::Low => "low",
        ReasoningEffort::Medium => "medium",
        ReasoningEffort::High => "high",
        ReasoningEffort::Xhigh => "xhigh",
        ReasoningEffort::Max | ReasoningEffort::Ultra => "max",
    }
}

fn budget_tokens(effort: ReasoningEffort) -> u64 {
    match effort {
        ReasoningEffort::None => 0,
        ReasoningEffort::Minimal => BUDGET_TOKENS_MIN,
        ReasoningEffort::Low => 4_096,
        ReasoningEffort::Medium => 10_240,
        ReasoningEffort::High => 20_480,
        ReasoningEffort::Xhigh => 32_768,
        ReasoningEffort::Max | ReasoningEffort::Ultra => 49_152,
    }
}
