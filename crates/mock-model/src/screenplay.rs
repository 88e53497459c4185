//! The screenplay as people write it, checked and turned into what is played.

use std::collections::BTreeMap;
use std::str::FromStr;
use std::time::Duration;

use regex::Regex;
use serde::Deserialize;
use troupe_protocol::usage::TokenUsage;

/// A checked screenplay.
#[derive(Debug, Clone)]
pub struct Screenplay {
    pub(crate) scenes: Vec<Scene>,
    /// What the list of models tells; without any, all that the catalogue knows.
    pub(crate) models: Vec<ScreenplayModel>,
}

/// A model of the list, as vLLM tells of it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ScreenplayModel {
    pub id: String,
    pub context_window: Option<u64>,
}

#[derive(Debug, Clone)]
pub(crate) struct Scene {
    pub when: Option<Regex>,
    pub turns: Vec<SceneTurn>,
}

/// The answer to one request.
#[derive(Debug, Clone)]
pub(crate) struct SceneTurn {
    pub expect: Option<Regex>,
    pub answer: ScriptedAnswer,
    pub headers: BTreeMap<String, String>,
}

#[derive(Debug, Clone)]
pub(crate) enum ScriptedAnswer {
    /// An HTTP error instead of a response.
    Status(StatusAnswer),
    Stream(StreamAnswer),
}

#[derive(Debug, Clone)]
pub(crate) struct StatusAnswer {
    pub status: u16,
    pub code: Option<String>,
    pub message: String,
    pub retry_after: Option<String>,
    pub pause: Duration,
}

#[derive(Debug, Clone)]
pub(crate) struct StreamAnswer {
    pub steps: Vec<ScriptedStep>,
    pub end: ScriptedEnd,
    pub usage: TokenUsage,
    pub response_id: Option<String>,
    /// The stream is written in pieces of this size, wherever that cuts.
    pub chunk_bytes: Option<usize>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ScriptedStep {
    Say {
        text: String,
        split: TextSplit,
        pace: Duration,
        /// The deltas come, the end of the message does not.
        unfinished: bool,
    },
    Think {
        text: String,
    },
    Call {
        name: String,
        arguments: String,
        call_id: Option<String>,
    },
    Custom {
        name: String,
        input: String,
        call_id: Option<String>,
    },
    Pause(Duration),
    /// An event whose data is this text.
    Malformed(String),
    /// The end of the last item, once more.
    Repeat,
}

/// How a message is cut into deltas.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum TextSplit {
    Words,
    Chunks(usize),
    /// The text itself, so many times.
    Times(usize),
}

/// How a response ends.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ScriptedEnd {
    Completed,
    /// Nothing more is sent, and the connection stays open.
    Stall,
    /// The connection is closed.
    Drop,
    Incomplete(String),
    Failed {
        code: String,
        message: String,
    },
}

/// Why a screenplay cannot be played.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScreenplayError {
    #[error("screenplay is not valid TOML for a screenplay: {0}")]
    Toml(String),
    #[error("screenplay has no [[scene]]")]
    Empty,
    #[error("screenplay, scene {scene}: when: {error}")]
    When { scene: usize, error: String },
    #[error("screenplay, scene {scene}, turn {turn}: {error}")]
    Turn {
        scene: usize,
        turn: usize,
        error: String,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawScreenplay {
    #[serde(default)]
    scene: Vec<RawScene>,
    #[serde(default)]
    model: Vec<ScreenplayModel>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawScene {
    when: Option<String>,
    #[serde(default)]
    turn: Vec<RawTurn>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawTurn {
    expect: Option<String>,
    #[serde(default)]
    steps: Vec<RawStep>,
    #[serde(default)]
    usage: RawUsage,
    response_id: Option<String>,
    chunk_bytes: Option<usize>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(default, deny_unknown_fields)]
struct RawUsage {
    input: u64,
    cached: u64,
    cache_write: u64,
    output: u64,
    reasoning: u64,
}

impl Default for RawUsage {
    fn default() -> Self {
        Self {
            input: 100,
            cached: 0,
            cache_write: 0,
            output: 20,
            reasoning: 0,
        }
    }
}

/// Exactly one of the first ten fields says what the step is; the rest belong to it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawStep {
    say: Option<String>,
    think: Option<String>,
    call: Option<String>,
    custom: Option<String>,
    pause_ms: Option<u64>,
    malformed: Option<String>,
    repeat: Option<bool>,
    end: Option<RawEnd>,
    incomplete: Option<String>,
    status: Option<u16>,

    chunks: Option<usize>,
    deltas: Option<usize>,
    pace_ms: Option<u64>,
    unfinished: Option<bool>,
    arguments: Option<toml::Value>,
    input: Option<String>,
    call_id: Option<String>,
    code: Option<String>,
    message: Option<String>,
    retry_after: Option<toml::Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum RawEnd {
    Stall,
    Drop,
    Failed,
}

enum CheckedStep {
    Step(ScriptedStep),
    End(ScriptedEnd),
}

impl FromStr for Screenplay {
    type Err = ScreenplayError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let raw: RawScreenplay =
            toml::from_str(text).map_err(|error| ScreenplayError::Toml(error.to_string()))?;
        if raw.scene.is_empty() {
            return Err(ScreenplayError::Empty);
        }
        let scenes = raw.scene.into_iter().enumerate();
        let scenes = scenes.map(|(index, scene)| scene.check(index + 1));
        Ok(Self {
            scenes: scenes.collect::<Result<_, _>>()?,
            models: raw.model,
        })
    }
}

impl RawScene {
    fn check(self, scene: usize) -> Result<Scene, ScreenplayError> {
        let when = self.when.as_deref().map(Regex::new).transpose();
        let when = when.map_err(|error| ScreenplayError::When {
            scene,
            error: error.to_string(),
        })?;
        let turns = self.turn.into_iter().enumerate().map(|(index, turn)| {
            turn.check().map_err(|error| ScreenplayError::Turn {
                scene,
                turn: index + 1,
                error,
            })
        });
        Ok(Scene {
            when,
            turns: turns.collect::<Result<_, _>>()?,
        })
    }
}

impl RawTurn {
    fn check(self) -> Result<SceneTurn, String> {
        let expect = self.expect.as_deref().map(Regex::new).transpose();
        let expect = expect.map_err(|error| format!("expect: {error}"))?;
        for (name, value) in &self.headers {
            let name_is_good = name.parse::<http::HeaderName>().is_ok();
            if !name_is_good || http::HeaderValue::from_str(value).is_err() {
                return Err(format!("header {name:?} is not one"));
            }
        }
        if self.chunk_bytes == Some(0) {
            return Err("chunk_bytes must be at least 1".to_owned());
        }
        let headers = self.headers.clone();
        let answer = if self.steps.iter().any(|step| step.status.is_some()) {
            ScriptedAnswer::Status(status_answer(self.steps)?)
        } else {
            ScriptedAnswer::Stream(self.stream_answer()?)
        };
        Ok(SceneTurn {
            expect,
            answer,
            headers,
        })
    }

    fn stream_answer(self) -> Result<StreamAnswer, String> {
        let mut steps = Vec::new();
        let mut end = ScriptedEnd::Completed;
        for (index, step) in self.steps.into_iter().enumerate() {
            if end != ScriptedEnd::Completed {
                return Err("steps after the end of the response are never played".to_owned());
            }
            let step = step
                .check()
                .map_err(|error| format!("step {}: {error}", index + 1))?;
            match step {
                CheckedStep::Step(step) => steps.push(step),
                CheckedStep::End(it) => end = it,
            }
        }
        let usage = self.usage;
        Ok(StreamAnswer {
            steps,
            end,
            usage: TokenUsage {
                input_tokens: usage.input,
                cached_input_tokens: usage.cached,
                cache_write_input_tokens: usage.cache_write,
                output_tokens: usage.output,
                reasoning_output_tokens: usage.reasoning,
                total_tokens: usage.input + usage.output,
            },
            response_id: self.response_id,
            chunk_bytes: self.chunk_bytes,
        })
    }
}

/// A turn with a status has that one step, and perhaps a pause before it.
fn status_answer(steps: Vec<RawStep>) -> Result<StatusAnswer, String> {
    let mut pause = Duration::ZERO;
    let mut answer = None;
    for step in steps {
        match (step.status, step.pause_ms, &answer) {
            (None, Some(pause_ms), None) => pause += Duration::from_millis(pause_ms),
            (Some(status), None, None) if (400..600).contains(&status) => {
                answer = Some(StatusAnswer {
                    status,
                    message: step
                        .message
                        .unwrap_or_else(|| format!("scripted status {status}")),
                    code: step.code,
                    retry_after: step.retry_after.map(|value| match value {
                        toml::Value::String(text) => text,
                        other => other.to_string(),
                    }),
                    pause: Duration::ZERO,
                });
            }
            (Some(status), _, None) => return Err(format!("status {status} is not 400 to 599")),
            _ => return Err("a status stands alone, after pauses at most".to_owned()),
        }
    }
    let answer = answer.ok_or("a status is missing")?;
    Ok(StatusAnswer { pause, ..answer })
}

impl RawStep {
    fn check(self) -> Result<CheckedStep, String> {
        self.check_kind()?;
        if let Some(reason) = self.incomplete {
            return Ok(CheckedStep::End(ScriptedEnd::Incomplete(reason)));
        }
        if let Some(end) = self.end {
            return Ok(CheckedStep::End(match end {
                RawEnd::Stall => ScriptedEnd::Stall,
                RawEnd::Drop => ScriptedEnd::Drop,
                RawEnd::Failed => ScriptedEnd::Failed {
                    code: self.code.unwrap_or_else(|| "server_error".to_owned()),
                    message: self
                        .message
                        .unwrap_or_else(|| "scripted failure".to_owned()),
                },
            }));
        }
        self.check_step().map(CheckedStep::Step)
    }

    fn check_step(self) -> Result<ScriptedStep, String> {
        let call_id = self.call_id;
        if let Some(text) = self.say {
            let split = match (self.chunks, self.deltas) {
                (None, None) => TextSplit::Words,
                (Some(chunks @ 1..), None) => TextSplit::Chunks(chunks),
                (None, Some(deltas @ 1..)) => TextSplit::Times(deltas),
                _ => return Err("give chunks or deltas, at least 1".to_owned()),
            };
            let pace = Duration::from_millis(self.pace_ms.unwrap_or(0));
            return Ok(ScriptedStep::Say {
                text,
                split,
                pace,
                unfinished: self.unfinished.unwrap_or(false),
            });
        }
        if let Some(name) = self.call {
            let arguments = arguments(self.arguments)?;
            return Ok(ScriptedStep::Call {
                name,
                arguments,
                call_id,
            });
        }
        if let Some(name) = self.custom {
            let input = self.input.unwrap_or_default();
            return Ok(ScriptedStep::Custom {
                name,
                input,
                call_id,
            });
        }
        Ok(match (self.think, self.pause_ms, self.malformed) {
            (Some(text), _, _) => ScriptedStep::Think { text },
            (_, Some(pause_ms), _) => ScriptedStep::Pause(Duration::from_millis(pause_ms)),
            (_, _, Some(data)) => ScriptedStep::Malformed(data),
            (None, None, None) => ScriptedStep::Repeat,
        })
    }

    /// One kind per step, and only the fields that belong to it.
    fn check_kind(&self) -> Result<(), String> {
        const KINDS: &str =
            "say, think, call, custom, pause_ms, malformed, repeat, end, incomplete or status";
        let kinds = [
            ("say", self.say.is_some()),
            ("think", self.think.is_some()),
            ("call", self.call.is_some()),
            ("custom", self.custom.is_some()),
            ("pause_ms", self.pause_ms.is_some()),
            ("malformed", self.malformed.is_some()),
            ("repeat", self.repeat == Some(true)),
            ("end", self.end.is_some()),
            ("incomplete", self.incomplete.is_some()),
        ];
        let mut given = kinds
            .iter()
            .filter(|(_, given)| *given)
            .map(|(kind, _)| *kind);
        let (Some(kind), None) = (given.next(), given.next()) else {
            return Err(format!("a step is exactly one of {KINDS}"));
        };
        let extras = [
            ("chunks", self.chunks.is_some(), &["say"][..]),
            ("deltas", self.deltas.is_some(), &["say"]),
            ("pace_ms", self.pace_ms.is_some(), &["say"]),
            ("unfinished", self.unfinished.is_some(), &["say"]),
            ("arguments", self.arguments.is_some(), &["call"]),
            ("input", self.input.is_some(), &["custom"]),
            ("call_id", self.call_id.is_some(), &["call", "custom"]),
            ("code", self.code.is_some(), &["end"]),
            ("message", self.message.is_some(), &["end"]),
            ("retry_after", self.retry_after.is_some(), &[]),
        ];
        for (extra, given, owners) in extras {
            if given && !owners.contains(&kind) {
                return Err(format!("{extra} does not belong to {kind}"));
            }
        }
        Ok(())
    }
}

/// A table is written as JSON; text is taken as it is, so that it may be broken JSON.
fn arguments(value: Option<toml::Value>) -> Result<String, String> {
    match value {
        None => Ok("{}".to_owned()),
        Some(toml::Value::String(text)) => Ok(text),
        Some(table @ toml::Value::Table(_)) => {
            serde_json::to_string(&table).map_err(|error| format!("arguments: {error}"))
        }
        Some(_) => Err("arguments must be a table, or text that is sent as it is".to_owned()),
    }
}

#[cfg(test)]
mod tests;
