//! How a request and its answer look to a provider: bytes out, events in. Pure.

pub(crate) mod chat;
pub(crate) mod fault;
mod items;
pub(crate) mod messages;
mod overflow;
pub(crate) mod pieces;
pub(crate) mod responses;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::ModelError;
use crate::event::ModelEvent;
use crate::request::ModelRequest;
use crate::sse::SseEvent;
use pieces::BodyPieces;

/// The protocol that a provider speaks, as it is named in the configuration.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum WireApi {
    #[default]
    Responses,
    Chat,
    Messages,
}

/// A protocol with the abilities that a request must respect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProviderWire {
    Responses {
        /// Tools that take free text; without them they are offered as functions.
        freeform: FreeformOffer,
        /// The provider keeps responses, and a request may continue from one.
        stateful: bool,
        output_tokens_max: Option<u64>,
    },
    Chat {
        output_tokens_max: Option<OutputBound>,
    },
    Messages {
        /// The configured bound of one answer, which this wire must be told.
        output_tokens_max: Option<u64>,
    },
}

/// The configured bound of one answer, and the field that the provider knows it by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OutputBound {
    pub field: &'static str,
    pub tokens: u64,
}

/// How a provider is offered the tools that take text instead of JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FreeformOffer {
    Native,
    AsFunction,
}

/// Names one cached encoding of a history item or tool list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WireEncoding {
    Responses,
    ResponsesAsFunctions,
    Chat,
    /// The images of a tool's answer, which Chat carries in a message of their own.
    ChatImages,
    Messages,
}

impl WireEncoding {
    pub(crate) const COUNT: usize = 5;
}

impl ProviderWire {
    /// Returns the path below the provider's base URL.
    pub(crate) fn path(self) -> &'static str {
        match self {
            Self::Responses { .. } => "/responses",
            Self::Chat { .. } => "/chat/completions",
            Self::Messages { .. } => "/messages",
        }
    }

    pub(crate) fn body(self, request: &ModelRequest) -> BodyPieces {
        match self {
            Self::Responses {
                freeform,
                stateful,
                output_tokens_max,
            } => responses::body(request, freeform, stateful, output_tokens_max),
            Self::Chat { output_tokens_max } => chat::body(request, output_tokens_max),
            Self::Messages { output_tokens_max } => messages::body(request, output_tokens_max),
        }
    }

    pub(crate) fn decoder(self, request: &ModelRequest) -> WireDecoder {
        match self {
            Self::Responses { freeform, .. } => WireDecoder::Responses(
                responses::decode::ResponsesDecoder::new(freeform, request.tools.clone()),
            ),
            Self::Chat { .. } => {
                WireDecoder::Chat(chat::decode::ChatDecoder::new(request.tools.clone()))
            }
            Self::Messages { .. } => WireDecoder::Messages(messages::decode::MessagesDecoder::new(
                request.tools.clone(),
            )),
        }
    }
}

/// Turns the events of one response into ours.
#[derive(Debug)]
pub(crate) enum WireDecoder {
    Responses(responses::decode::ResponsesDecoder),
    Chat(chat::decode::ChatDecoder),
    Messages(messages::decode::MessagesDecoder),
}

impl WireDecoder {
    pub(crate) fn event(
        &mut self,
        event: SseEvent<'_>,
        out: &mut Vec<ModelEvent>,
    ) -> Result<(), ModelError> {
        match self {
            Self::Responses(decoder) => decoder.event(event, out),
            Self::Chat(decoder) => decoder.event(event, out),
            Self::Messages(decoder) => decoder.event(event, out),
        }
    }

    /// Returns how much is kept of calls that nobody was told of yet.
    pub(crate) fn held_bytes(&self) -> usize {
        match self {
            // Their arguments come whole.
            Self::Responses(_) => 0,
            Self::Chat(decoder) => decoder.held_bytes(),
            Self::Messages(decoder) => decoder.held_bytes(),
        }
    }

    /// The server closed the stream; an answer that is not complete by now is broken.
    pub(crate) fn finish(&mut self, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        match self {
            Self::Responses(_) => Err(fault::closed_early()),
            Self::Chat(decoder) => decoder.finish(out),
            Self::Messages(decoder) => decoder.finish(out),
        }
    }
}
