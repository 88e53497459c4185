//! The port: a model is asked with a request and answers with a stream of events.

use std::fmt;
use std::pin::Pin;

use futures_core::Stream;
use futures_util::future::BoxFuture;
use futures_util::{StreamExt, stream};
use troupe_protocol::catalogue::ModelEntry;

use crate::error::{ModelError, ModelErrorKind};
use crate::event::ModelEvent;
use crate::request::ModelRequest;

/// Something that answers requests: a provider, a tape, a script.
pub trait LanguageModel: Send + Sync + fmt::Debug {
    /// Returns the name under which the provider is configured.
    fn provider_id(&self) -> &str;

    /// Asks which models there are to choose from. One answer or one failure: nothing is
    /// tried again.
    fn models(&self) -> BoxFuture<'_, Result<Vec<ModelEntry>, ModelError>> {
        let error = ModelError::new(
            ModelErrorKind::BadRequest,
            format!("{} cannot tell which models it has", self.provider_id()),
        );
        Box::pin(async move { Err(error) })
    }

    /// Returns which models it said that there are when it was asked last, if it ever was.
    fn listed_models(&self) -> Option<Vec<ModelEntry>> {
        None
    }

    /// Returns why it hardly has a model: that is somebody else's own, or is not in its list.
    fn model_mismatch(&self, _model: &str) -> Option<String> {
        None
    }

    /// Tells whether the built-in catalogue speaks for what it has. Under a known name, another
    /// server may have a model with a smaller window.
    fn is_catalogued(&self) -> bool {
        true
    }

    /// Starts one response. Nothing happens before the first [`ModelStream::next_batch`].
    fn open(&self, request: ModelRequest) -> ModelStream;
}

/// One response on its way. It owns the connection: dropping it closes that at once.
pub struct ModelStream {
    batches: Pin<Box<dyn Stream<Item = Vec<ModelEvent>> + Send>>,
}

impl ModelStream {
    /// Makes a stream of batches. The last event must be final
    /// ([`ModelEvent::is_final`]), and nothing may follow it.
    pub fn new(batches: impl Stream<Item = Vec<ModelEvent>> + Send + 'static) -> Self {
        Self {
            batches: Box::pin(batches),
        }
    }

    /// Makes a stream that consists of one failure.
    pub fn failed(error: ModelError) -> Self {
        Self::new(stream::iter([vec![ModelEvent::Failed(error)]]))
    }

    /// Returns what one network read brought, and `None` after the final event.
    ///
    /// Safe to cancel: a call that was dropped before it was ready loses nothing, because
    /// the work under way belongs to the stream and not to the call.
    pub async fn next_batch(&mut self) -> Option<Vec<ModelEvent>> {
        self.batches.next().await
    }
}

impl ModelStream {
    /// Lets go of a response whose final event was taken. The end of the server's answer is
    /// read in the background, so that the connection can carry the next request; a server
    /// that does not come to an end within [`DRAIN_TIMEOUT_MS`](crate::limits) loses it.
    pub fn release(mut self) {
        tokio::spawn(async move { while self.next_batch().await.is_some() {} });
    }
}

impl fmt::Debug for ModelStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ModelStream").finish_non_exhaustive()
    }
}
