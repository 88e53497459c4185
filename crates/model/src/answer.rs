//! One answer, from the bytes of its body to events, whatever pieces they come in.

use crate::error::ModelError;
use crate::event::ModelEvent;
use crate::provider::ProviderConfig;
use crate::quota::ResponseQuota;
use crate::repetition::RepetitionDetector;
use crate::request::ModelRequest;
use crate::sse::{SseEvent, SseParser};
use crate::wire::WireDecoder;

impl ProviderConfig {
    /// Decodes the body of an answer as such a provider sends it, in the pieces in which it
    /// came: the events, and what was wrong in the end.
    pub fn decode<'a>(
        &self,
        request: &ModelRequest,
        pieces: impl IntoIterator<Item = &'a [u8]>,
    ) -> (Vec<ModelEvent>, Option<ModelError>) {
        let mut answer = AnswerParser::new(self.wire().decoder(request));
        let mut events = Vec::new();
        let mut pieces = pieces.into_iter();
        let fed = pieces.try_for_each(|piece| answer.feed(piece, &mut events));
        let ended = fed.and_then(|()| answer.finish(&mut events));
        (events, ended.err())
    }
}

#[derive(Debug)]
pub(crate) struct AnswerParser {
    parser: SseParser,
    decoder: WireDecoder,
    quota: ResponseQuota,
    repetition: RepetitionDetector,
    /// What was told so far, in bytes of its contents: whoever hears it keeps it.
    told: usize,
}

impl AnswerParser {
    pub(crate) fn new(decoder: WireDecoder) -> Self {
        Self {
            parser: SseParser::new(),
            decoder,
            quota: ResponseQuota::new(),
            repetition: RepetitionDetector::default(),
            told: 0,
        }
    }

    /// Decodes all that a piece completes. What was decoded before an error stays in `out`.
    pub(crate) fn feed(
        &mut self,
        piece: &[u8],
        out: &mut Vec<ModelEvent>,
    ) -> Result<(), ModelError> {
        let before = out.len();
        let Self {
            parser, decoder, ..
        } = self;
        parser.feed(piece, &mut |event: SseEvent<'_>| take(decoder, event, out))?;
        self.count(&out[before..])
    }

    /// Cuts an answer that holds too much, or says nothing new. One that is complete holds nothing
    /// any longer.
    fn count(&mut self, events: &[ModelEvent]) -> Result<(), ModelError> {
        if events.last().is_some_and(ModelEvent::is_final) {
            return Ok(());
        }
        let contents = events.iter().map(ModelEvent::content_bytes);
        self.told += contents.sum::<usize>();
        let untold = self.parser.held_bytes() + self.decoder.held_bytes();
        self.quota.hold(self.told + untold)?;
        self.repetition.feed_events(events)
    }

    /// Takes the end of the body.
    pub(crate) fn finish(&mut self, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        let Self {
            parser, decoder, ..
        } = self;
        parser.finish(&mut |event: SseEvent<'_>| take(decoder, event, out))?;
        if out.last().is_some_and(ModelEvent::is_final) {
            return Ok(());
        }
        decoder.finish(out)
    }
}

fn take(
    decoder: &mut WireDecoder,
    event: SseEvent<'_>,
    out: &mut Vec<ModelEvent>,
) -> Result<(), ModelError> {
    // Nothing counts after the end of the response.
    if out.last().is_some_and(ModelEvent::is_final) {
        return Ok(());
    }
    decoder.event(event, out)
}
