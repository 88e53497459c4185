//! One provider over HTTP: send, read events, and begin again when it breaks.
//!
//! ```text
//!           ┌────────────── Waiting ◄──────────────┐
//!           ▼                                      │ judged: again
//! Connecting ──► Reading ──► Draining ──► Ended    │
//!      └───────────┴── failed ─────────────────────┴─► Ended
//! ```
//!
//! The states belong to the stream, not to a task: when it is dropped the connection goes
//! with it, whatever it was doing.

use std::error::Error as _;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use futures_util::{FutureExt, stream};
use http::{HeaderMap, HeaderValue, header};
use jiff::Timestamp;
use tokio::time::timeout;
use tracing::Instrument as _;
use troupe_protocol::catalogue::ModelEntry;
use troupe_protocol::discard;
use troupe_protocol::text::error_chain;

use crate::answer::AnswerParser;
use crate::catalogue;
use crate::error::{ModelError, ModelErrorKind};
use crate::event::ModelEvent;
use crate::limits::{
    CONNECT_TIMEOUT_MS, DRAIN_TIMEOUT_MS, ERROR_BODY_BYTES_MAX, KEEP_ALIVE_PATIENCE,
    RESPONSE_BYTES_MAX, SECRET_BYTES_MIN,
};
use crate::listing;
use crate::model::{LanguageModel, ModelStream};
use crate::provider::ProviderConfig;
use crate::rate_limits;
use crate::request::ModelRequest;
use crate::retry::{AttemptStage, RetryCounters, RetryJitter, RetryVerdict, parse_retry_after_ms};
use crate::sse::SseError;
use crate::wire::ProviderWire;
use crate::wire::fault::{ProviderComplaint, capped};
use crate::wire::pieces::BodyPieces;

/// Names the conversation to servers whose request body has no field for it. The name is
/// our own: `x-conversation-id` makes llama.cpp finish an answer whose reader has gone.
pub const CONVERSATION_HEADER: &str = "x-troupe-conversation-id";

/// A configured provider.
pub(crate) struct HttpModel {
    endpoint: Arc<ProviderEndpoint>,
    /// What the server last said of its models: the agents of a tree ask it once.
    listed: Mutex<Option<Vec<ModelEntry>>>,
}

/// What all responses of a provider share.
pub(crate) struct ProviderEndpoint {
    pub id: String,
    pub url: reqwest::Url,
    pub headers: HeaderMap,
    pub wire: ProviderWire,
    pub request_retries_max: u32,
    pub stream_retries_max: u32,
    pub idle_timeout: Duration,
    pub jitter: RetryJitter,
    /// What to look at when the server refuses the key.
    pub key_hint: String,
    /// Made with the first request: TLS roots are not read by runs that ask nothing.
    pub client: OnceLock<reqwest::Client>,
    /// A request was answered since the last connection broke, so there may be a kept one.
    pub has_kept: AtomicBool,
}

impl HttpModel {
    pub(crate) fn new(endpoint: ProviderEndpoint) -> Self {
        Self {
            endpoint: Arc::new(endpoint),
            listed: Mutex::new(None),
        }
    }
}

impl LanguageModel for HttpModel {
    fn provider_id(&self) -> &str {
        &self.endpoint.id
    }

    fn models(&self) -> BoxFuture<'_, Result<Vec<ModelEntry>, ModelError>> {
        Box::pin(async {
            let models = self.endpoint.models().await?;
            let mut listed = self.listed.lock().unwrap_or_else(PoisonError::into_inner);
            *listed = Some(models.clone());
            Ok(models)
        })
    }

    fn model_mismatch(&self, model: &str) -> Option<String> {
        if self.endpoint.is_makers_own() {
            return catalogue::maker_mismatch(&self.endpoint.id, model);
        }
        // Behind another address there may be a gateway to everybody, which knows what it has.
        let listed = self.listed_models()?;
        listing::unlisted(&self.endpoint, &listed, model)
    }

    fn is_catalogued(&self) -> bool {
        self.endpoint.is_makers_own()
    }

    fn listed_models(&self) -> Option<Vec<ModelEntry>> {
        let listed = self.listed.lock().unwrap_or_else(PoisonError::into_inner);
        listed.clone()
    }

    fn open(&self, request: ModelRequest) -> ModelStream {
        let exchange = HttpExchange::new(self.endpoint.clone(), request);
        ModelStream::new(stream::unfold(exchange, |mut exchange| async move {
            let span = exchange.span.clone();
            let batch = exchange.next_batch().instrument(span).await?;
            Some((batch, exchange))
        }))
    }
}

impl fmt::Debug for HttpModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpModel")
            .field("id", &self.endpoint.id)
            .field("server", &self.endpoint.server())
            .finish_non_exhaustive()
    }
}

impl ProviderEndpoint {
    /// Tells whether this is the maker of models itself, at its own address.
    fn is_makers_own(&self) -> bool {
        let own = ProviderConfig::built_in().get(&self.id);
        let own = own.filter(|_| catalogue::is_maker(&self.id));
        own.is_some_and(|own| own.base_url.starts_with(&self.server()))
    }

    /// Returns scheme, host and port: the part of the URL that holds no secret.
    pub(crate) fn server(&self) -> String {
        self.url.origin().ascii_serialization()
    }

    /// Takes keys out of a text from outside: some servers repeat what they were sent.
    pub(crate) fn without_secrets(&self, mut text: String) -> String {
        let sensitive = self.headers.values().filter(|value| value.is_sensitive());
        for secret in sensitive.filter_map(|value| value.to_str().ok()) {
            let secret = secret.strip_prefix("Bearer ").unwrap_or(secret);
            // A short value is no secret, and may be a word of the text.
            if secret.len() >= SECRET_BYTES_MIN && text.contains(secret) {
                text = text.replace(secret, "[secret]");
            }
        }
        text
    }

    pub(crate) fn client(&self) -> Result<&reqwest::Client, ModelError> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        let client = build_client(&self.url).map_err(|error| {
            ModelError::new(
                ModelErrorKind::BadRequest,
                format!("no HTTP client for {}: {}", self.server(), causes(error)),
            )
        })?;
        Ok(self.client.get_or_init(|| client))
    }

    /// Tells once whether a connection may have been kept that is now known to be gone.
    fn take_kept(&self) -> bool {
        self.has_kept.swap(false, Ordering::Relaxed)
    }
}

fn build_client(url: &reqwest::Url) -> Result<reqwest::Client, reqwest::Error> {
    let builder = reqwest::Client::builder()
        .connect_timeout(Duration::from_millis(CONNECT_TIMEOUT_MS))
        .tcp_nodelay(true)
        // A redirect would take the key to another server.
        .redirect(reqwest::redirect::Policy::none())
        // A compressed stream arrives in larger lumps than its events.
        .no_gzip();
    if url.scheme() != "http" {
        return builder.build();
    }
    // Without TLS neither its roots nor the choice of protocol is needed.
    let builder = builder.http1_only().tls_certs_only([]);
    if is_loopback(url) {
        builder.no_proxy().build()
    } else {
        builder.build()
    }
}

/// Tells whether a server is one of this machine.
fn is_loopback(url: &reqwest::Url) -> bool {
    match url.host_str() {
        Some("localhost") => true,
        Some(host) => host
            .trim_matches(['[', ']'])
            .parse::<std::net::IpAddr>()
            .is_ok_and(|address| address.is_loopback()),
        None => false,
    }
}

/// Tells whether nobody listens at the address.
fn was_refused(error: &reqwest::Error) -> bool {
    let mut cause = error.source();
    while let Some(error) = cause {
        let io = error.downcast_ref::<std::io::Error>();
        if io.is_some_and(|error| error.kind() == std::io::ErrorKind::ConnectionRefused) {
            return true;
        }
        cause = error.source();
    }
    false
}

/// One response with all its attempts.
struct HttpExchange {
    endpoint: Arc<ProviderEndpoint>,
    request: ModelRequest,
    pieces: BodyPieces,
    retries: RetryCounters,
    phase: ExchangePhase,
    span: tracing::Span,
}

enum ExchangePhase {
    Connecting,
    Reading(Box<StreamedAnswer>),
    Waiting(Duration),
    /// The answer is complete; the rest is read so that the connection can be used again.
    Draining(Box<StreamedAnswer>),
    Ended,
}

impl ExchangePhase {
    /// Returns what the diagnostic log calls it.
    fn name(&self) -> &'static str {
        match self {
            Self::Connecting => "connecting",
            Self::Reading(_) => "reading",
            Self::Waiting(_) => "waiting",
            Self::Draining(_) => "draining",
            Self::Ended => "ended",
        }
    }
}

impl HttpExchange {
    fn new(endpoint: Arc<ProviderEndpoint>, request: ModelRequest) -> Self {
        let span = tracing::info_span!("request", provider = endpoint.id, model = request.model);
        Self {
            span,
            pieces: endpoint.wire.body(&request),
            retries: RetryCounters::new(
                endpoint.request_retries_max,
                endpoint.stream_retries_max,
                endpoint.jitter,
            ),
            phase: ExchangePhase::Connecting,
            endpoint,
            request,
        }
    }

    async fn next_batch(&mut self) -> Option<Vec<ModelEvent>> {
        loop {
            match &mut self.phase {
                ExchangePhase::Connecting => match self.connect().await {
                    Ok((reading, events)) => {
                        self.retries.connected();
                        self.enter(ExchangePhase::Reading(Box::new(reading)));
                        if !events.is_empty() {
                            return Some(events);
                        }
                    }
                    Err(FailedAttempt { stage, error }) => {
                        return Some(vec![self.judge(stage, error)]);
                    }
                },
                ExchangePhase::Reading(reading) => {
                    let mut events = Vec::new();
                    if let Err(error) = reading.read(&mut events).await {
                        events.push(self.judge(AttemptStage::Stream, error));
                        return Some(events);
                    }
                    if events.last().is_some_and(ModelEvent::is_final) {
                        self.drain();
                    }
                    if !events.is_empty() {
                        return Some(events);
                    }
                }
                ExchangePhase::Waiting(delay) => {
                    tokio::time::sleep(*delay).await;
                    self.enter(ExchangePhase::Connecting);
                }
                ExchangePhase::Draining(reading) => {
                    let limit = Duration::from_millis(DRAIN_TIMEOUT_MS);
                    // Either way the response is over: an unread rest costs a reconnect.
                    discard!(
                        timeout(limit, reading.response.chunk()).await,
                        "the rest of a response did not come within its timeout"
                    );
                    self.enter(ExchangePhase::Ended);
                }
                ExchangePhase::Ended => return None,
            }
        }
    }

    fn enter(&mut self, phase: ExchangePhase) {
        tracing::debug!(
            from = self.phase.name(),
            to = phase.name(),
            "the request changes"
        );
        self.phase = phase;
    }

    /// Sends the request and checks what kind of answer begins.
    async fn connect(&self) -> Result<(StreamedAnswer, Vec<ModelEvent>), FailedAttempt> {
        let endpoint = &self.endpoint;
        let mut headers = endpoint.headers.clone();
        if let Some(value) = self.conversation() {
            headers.insert(CONVERSATION_HEADER, value);
        }
        let client = endpoint.client()?;
        let post = || {
            client
                .post(endpoint.url.clone())
                .headers(headers.clone())
                .body(reqwest::Body::wrap(self.pieces.body()))
                .send()
        };
        let sending = async {
            match post().await {
                // The server closed a kept connection at the moment it was used again. That is
                // no failure of the server's, so it is neither told nor counted. On a fresh
                // connection it is one: the request may have been taken.
                Err(error) if was_closed_unused(&error) && endpoint.take_kept() => post().await,
                answer => answer,
            }
        };
        let response = match timeout(endpoint.idle_timeout, sending).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) if was_closed_unused(&error) => {
                return Err(FailedAttempt {
                    stage: AttemptStage::Stream,
                    error: broken(self.at_server(&format!(
                        "the connection broke before the answer began: {}",
                        causes(error)
                    ))),
                });
            }
            Ok(Err(error)) if was_refused(&error) && is_loopback(&endpoint.url) => {
                return Err(self.not_running().into());
            }
            Ok(Err(error)) => return Err(self.unreachable(&causes(error)).into()),
            Err(_) => {
                let waited = endpoint.idle_timeout.as_millis();
                return Err(self
                    .unreachable(&format!("no answer within {waited} ms"))
                    .into());
            }
        };
        endpoint.has_kept.store(true, Ordering::Relaxed);
        if !response.status().is_success() {
            return Err(self.refused(response).await.into());
        }
        let events = rate_limits::from_headers(response.headers(), Timestamp::now())
            .map(ModelEvent::RateLimits)
            .into_iter()
            .collect();
        let response = self.expect_stream(response).await?;
        let reading = StreamedAnswer {
            response,
            idle_timeout: endpoint.idle_timeout,
            progress: Instant::now(),
            received: 0,
            answer: AnswerParser::new(endpoint.wire.decoder(&self.request)),
        };
        Ok((reading, events))
    }

    fn conversation(&self) -> Option<HeaderValue> {
        let own = self.request.conversation.as_deref();
        let name = match self.endpoint.wire {
            // The body has the key already.
            ProviderWire::Responses { .. } => own?,
            ProviderWire::Chat { .. } | ProviderWire::Messages { .. } => {
                own.or(self.request.prompt_cache_key.as_deref())?
            }
        };
        HeaderValue::from_str(name).ok()
    }

    fn unreachable(&self, cause: &str) -> ModelError {
        ModelError::new(ModelErrorKind::ConnectionFailed, self.at_server(cause))
    }

    /// Tells that a server of this machine does not run, and how it is started.
    fn not_running(&self) -> ModelError {
        let endpoint = &self.endpoint;
        let port = endpoint.url.port_or_known_default().unwrap_or_default();
        let start = match endpoint.id.as_str() {
            "ollama" => "start it with `ollama serve`".to_owned(),
            "llamacpp" => format!("start it with `llama-server -m MODEL.gguf --port {port}`"),
            "vllm" => format!("start it with `vllm serve MODEL --port {port}`"),
            _ => "start it".to_owned(),
        };
        let cause = format!(
            "the connection was refused, because the server does not run; {start}, or set base_url to where \
             it is"
        );
        ModelError::new(ModelErrorKind::NotRunning, self.at_server(&cause))
    }

    fn at_server(&self, cause: &str) -> String {
        format!(
            "{} at {}: {cause}",
            self.endpoint.id,
            self.endpoint.server()
        )
    }

    /// Turns an HTTP error into ours.
    async fn refused(&self, response: reqwest::Response) -> ModelError {
        let status = response.status();
        let asked = asked_delay_ms(response.headers());
        let body = read_capped(response, self.endpoint.idle_timeout).await;
        let mut error = ProviderComplaint::parse(&body).into_http_error(status.as_u16());
        error.retry_after_ms = asked.or(error.retry_after_ms);
        let hint = match error.kind {
            ModelErrorKind::Unauthorized => &self.endpoint.key_hint,
            _ => "",
        };
        error.message = format!("{}: {status}: {}{hint}", self.endpoint.id, error.message);
        error
    }

    /// A page or a plain object with status 200 comes from something that is not the API.
    async fn expect_stream(
        &self,
        response: reqwest::Response,
    ) -> Result<reqwest::Response, ModelError> {
        let content_type = response
            .headers()
            .get(header::CONTENT_TYPE)
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default()
            .to_owned();
        if !content_type.starts_with("text/html") && !content_type.starts_with("application/json") {
            return Ok(response);
        }
        let body = read_capped(response, self.endpoint.idle_timeout).await;
        let complaint = ProviderComplaint::parse(&body).into_http_error(400);
        Err(ModelError::new(
            complaint.kind,
            format!(
                "{} at {} answered with {content_type} instead of an event stream; check base_url: {complaint}",
                self.endpoint.id,
                self.endpoint.server(),
            ),
        ))
    }

    /// Decides about a failed attempt and enters the state that follows.
    fn judge(&mut self, stage: AttemptStage, mut error: ModelError) -> ModelEvent {
        error.message = self.endpoint.without_secrets(error.message);
        let kind = error.kind;
        match self.retries.judge(stage, &error) {
            RetryVerdict::Again {
                attempt,
                attempts_max,
                delay,
            } => {
                tracing::warn!(?kind, attempt, attempts_max, ?delay, "an attempt failed");
                self.enter(ExchangePhase::Waiting(delay));
                ModelEvent::Retrying {
                    attempt,
                    attempts_max,
                    delay_ms: u64::try_from(delay.as_millis()).unwrap_or(u64::MAX),
                    error,
                }
            }
            RetryVerdict::GiveUp(error) => {
                tracing::warn!(?kind, "the last attempt failed");
                self.enter(ExchangePhase::Ended);
                ModelEvent::Failed(error)
            }
        }
    }

    /// Ends the reading. Often the end of the body is here already: then the connection
    /// is free even if the caller does not ask again.
    fn drain(&mut self) {
        let phase = std::mem::replace(&mut self.phase, ExchangePhase::Ended);
        if let ExchangePhase::Reading(mut reading) = phase
            && reading.response.chunk().now_or_never().is_none()
        {
            self.enter(ExchangePhase::Draining(reading));
        }
    }
}

/// An attempt that came to no stream, and which counter it uses up.
struct FailedAttempt {
    stage: AttemptStage,
    error: ModelError,
}

impl From<ModelError> for FailedAttempt {
    fn from(error: ModelError) -> Self {
        Self {
            stage: AttemptStage::Request,
            error,
        }
    }
}

/// An answer that is being streamed.
struct StreamedAnswer {
    response: reqwest::Response,
    idle_timeout: Duration,
    /// When something came that is part of the answer.
    progress: Instant,
    /// Bytes so far.
    received: u64,
    answer: AnswerParser,
}

impl StreamedAnswer {
    /// Waits for one network read and decodes all that it completes. What was decoded
    /// before an error stays in `out`.
    async fn read(&mut self, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        let chunk = match timeout(self.idle_timeout, self.response.chunk()).await {
            Ok(Ok(chunk)) => chunk,
            Ok(Err(error)) => {
                return Err(broken(format!("the stream broke: {}", causes(error))));
            }
            Err(_) => {
                let waited = self.idle_timeout.as_millis();
                return Err(broken(format!("the stream was silent for {waited} ms")));
            }
        };
        self.received += chunk.as_ref().map_or(0, |chunk| chunk.len() as u64);
        if self.received > RESPONSE_BYTES_MAX {
            return Err(ModelError::new(
                ModelErrorKind::Incomplete,
                format!("the response is larger than {RESPONSE_BYTES_MAX} bytes"),
            ));
        }
        let decoded = out.len();
        match chunk {
            Some(chunk) => self.answer.feed(&chunk, out)?,
            None => return self.answer.finish(out),
        }
        self.expect_progress(out.len() > decoded)
    }

    /// Signs of life keep a stream open while the model thinks, but not for ever.
    fn expect_progress(&mut self, has_come: bool) -> Result<(), ModelError> {
        let patience = self.idle_timeout * KEEP_ALIVE_PATIENCE;
        if has_come {
            self.progress = Instant::now();
        } else if self.progress.elapsed() > patience {
            let waited = patience.as_millis();
            return Err(broken(format!(
                "the stream brought nothing but signs of life for {waited} ms"
            )));
        }
        Ok(())
    }
}

impl From<SseError> for ModelError {
    fn from(error: SseError) -> Self {
        broken(error.to_string())
    }
}

fn broken(message: String) -> ModelError {
    ModelError::new(ModelErrorKind::StreamDisconnected, message)
}

fn asked_delay_ms(headers: &HeaderMap) -> Option<u64> {
    let text = |name: &str| headers.get(name)?.to_str().ok();
    if let Some(ms) = text("retry-after-ms").and_then(|value| value.trim().parse().ok()) {
        return Some(ms);
    }
    parse_retry_after_ms(text("retry-after")?, Timestamp::now())
}

/// Reads the start of an error body. One that does not come says nothing: the status
/// stands for itself.
async fn read_capped(mut response: reqwest::Response, idle_timeout: Duration) -> String {
    let mut body = Vec::new();
    while body.len() < ERROR_BODY_BYTES_MAX {
        match timeout(idle_timeout, response.chunk()).await {
            Ok(Ok(Some(chunk))) => body.extend_from_slice(&chunk),
            Ok(Ok(None) | Err(_)) | Err(_) => break,
        }
    }
    body.truncate(ERROR_BODY_BYTES_MAX);
    String::from_utf8_lossy(&body).into_owned()
}

/// Reads a body that is short. What the caller waits for it is the caller's to bound.
pub(crate) async fn read_up_to(mut response: reqwest::Response, bytes_max: usize) -> String {
    let mut body = Vec::new();
    while let Ok(Some(chunk)) = response.chunk().await
        && body.len() < bytes_max
    {
        body.extend_from_slice(&chunk);
    }
    body.truncate(bytes_max);
    String::from_utf8_lossy(&body).into_owned()
}

/// Writes an error with its causes and without its URL, whose query may hold a key.
pub(crate) fn causes(error: reqwest::Error) -> String {
    capped(&error_chain(&error.without_url()))
}

/// Tells whether a connection that stood ended before anything of an answer came.
fn was_closed_unused(error: &reqwest::Error) -> bool {
    error.is_request() && !error.is_connect() && !error.is_timeout()
}
