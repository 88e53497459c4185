//! The server that plays screenplays: Responses, Chat Completions and Anthropic Messages over
//! HTTP/1.1.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::body::Body;
use axum::extract::{ConnectInfo, DefaultBodyLimit, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::serve::ListenerExt;
use bytes::Bytes;
use http::{HeaderMap, StatusCode, Uri, header};
use serde_json::json;
use sha2::{Digest, Sha256};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};
use troupe_model::{CONVERSATION_HEADER, WireApi, catalogue};

use crate::limits::{
    CONVERSATIONS_MAX, QUOTE_BYTES_MAX, RECORDED_BYTES_MAX, RECORDED_MAX, REQUEST_BYTES_MAX,
};
use crate::request::ScriptedRequest;
use crate::screenplay::{SceneTurn, Screenplay, ScriptedAnswer, StatusAnswer, StreamAnswer};
use crate::timed_bytes::{TimedPlayback, TimedSegment};
use crate::{chat, messages, responses};

/// A screenplay being played. Dropping it stops the server and ends every stream.
pub struct MockServer {
    addr: SocketAddr,
    stage: Arc<ScreenplayStage>,
    serving: JoinHandle<io::Result<()>>,
    stop: DropGuard,
}

/// A request as the server got it.
#[derive(Debug, Clone)]
pub struct RecordedRequest {
    /// The client's end of the connection.
    pub client: SocketAddr,
    pub path: String,
    pub query: Option<String>,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl MockServer {
    /// Listens on `addr` (port 0 takes any free one) and plays to everyone who asks.
    pub async fn start(screenplay: Screenplay, addr: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind(addr).await?;
        let addr = listener.local_addr()?;
        let stop = CancellationToken::new();
        let stage = Arc::new(ScreenplayStage {
            screenplay,
            state: Mutex::default(),
            abandoned: Arc::new(watch::Sender::new(0)),
            stop: stop.clone(),
        });
        let listener = listener.tap_io(|stream| {
            // Only latency is lost if the socket does not take it.
            let _ = stream.set_nodelay(true);
        });
        let stopped = stop.clone().cancelled_owned();
        let service = router(stage.clone()).into_make_service_with_connect_info::<SocketAddr>();
        let serve = axum::serve(listener, service).with_graceful_shutdown(stopped);
        Ok(Self {
            addr,
            stage,
            serving: tokio::spawn(serve.into_future()),
            stop: stop.drop_guard(),
        })
    }

    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Returns what to configure as a provider's `base_url`.
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.addr)
    }

    /// Returns the newest requests, oldest first.
    pub fn requests(&self) -> Vec<RecordedRequest> {
        self.stage.state().recorded.iter().cloned().collect()
    }

    /// Returns how many requests came so far.
    pub fn request_count(&self) -> usize {
        self.stage.state().requests
    }

    /// Returns the bytes of all bodies that came so far.
    pub fn request_bytes(&self) -> u64 {
        self.stage.state().request_bytes
    }

    /// Waits until so many clients have left before the end of their stream.
    pub async fn abandoned(&self, count: usize) {
        let mut abandoned = self.stage.abandoned.subscribe();
        abandoned
            .wait_for(|seen| *seen >= count)
            .await
            .expect("the stage that counts lives as long as the server");
    }

    /// Stops listening, ends every stream and waits until all connections are closed.
    pub async fn shutdown(self) -> io::Result<()> {
        drop(self.stop);
        match self.serving.await {
            Ok(result) => result,
            Err(error) => Err(io::Error::other(error)),
        }
    }

    /// Waits until the server ends by itself, which it does only when it fails.
    pub async fn run(self) -> io::Result<()> {
        let Self { serving, stop, .. } = self;
        let result = serving.await;
        drop(stop);
        match result {
            Ok(result) => result,
            Err(error) => Err(io::Error::other(error)),
        }
    }
}

impl fmt::Debug for MockServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MockServer")
            .field("addr", &self.addr)
            .finish_non_exhaustive()
    }
}

fn router(stage: Arc<ScreenplayStage>) -> Router {
    let plays = |wire: WireApi| {
        post(
            move |stage: State<Arc<ScreenplayStage>>, client, uri, headers, body| async move {
                play(stage, wire, client, uri, headers, body).await
            },
        )
    };
    Router::new()
        .route("/responses", plays(WireApi::Responses))
        .route("/v1/responses", plays(WireApi::Responses))
        .route("/chat/completions", plays(WireApi::Chat))
        .route("/v1/chat/completions", plays(WireApi::Chat))
        .route("/messages", plays(WireApi::Messages))
        .route("/v1/messages", plays(WireApi::Messages))
        .route("/v1/models", get(models))
        .fallback(|uri: Uri| async move {
            let message = format!("the scripted server has no {}", uri.path());
            error(StatusCode::NOT_FOUND, Some("not_found"), &message)
        })
        .layer(DefaultBodyLimit::max(REQUEST_BYTES_MAX))
        .with_state(stage)
}

async fn models(State(stage): State<Arc<ScreenplayStage>>) -> Response {
    let entry = |id: &str, window: Option<u64>| json!({ "id": id, "object": "model", "owned_by": "troupe", "max_model_len": window });
    let models = &stage.screenplay.models;
    let data: Vec<_> = match &models[..] {
        // It plays any model.
        [] => {
            let known = catalogue::models()
                .iter()
                .map(|info| entry(&info.slug, None));
            known.collect()
        }
        listed => listed
            .iter()
            .map(|model| entry(&model.id, model.context_window))
            .collect(),
    };
    axum::Json(json!({ "object": "list", "data": data })).into_response()
}

async fn play(
    State(stage): State<Arc<ScreenplayStage>>,
    wire: WireApi,
    ConnectInfo(client): ConnectInfo<SocketAddr>,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    stage.record(RecordedRequest {
        client,
        path: uri.path().to_owned(),
        query: uri.query().map(str::to_owned),
        headers: headers.clone(),
        body: body.clone(),
    });
    let mut asked = match ScriptedRequest::parse(&body) {
        Ok(asked) => asked,
        Err(message) => return refuse(wire, StatusCode::BAD_REQUEST, None, &message),
    };
    if let Some(name) = headers.get(CONVERSATION_HEADER)
        && let Ok(name) = name.to_str()
    {
        asked.conversation = Some(name.to_owned());
    }
    let (turn, number) = match stage.next_turn(&asked) {
        Ok(found) => found,
        Err(refusal) => {
            return refuse(
                wire,
                StatusCode::BAD_REQUEST,
                Some(refusal.code),
                &refusal.message,
            );
        }
    };
    let mut response = match &turn.answer {
        ScriptedAnswer::Status(answer) => stage.status(answer, wire).await,
        ScriptedAnswer::Stream(answer) => {
            stage.stream(answer, wire, ResponseNames::new(answer, asked, number))
        }
    };
    for (name, value) in &turn.headers {
        let pair = name
            .parse::<http::HeaderName>()
            .ok()
            .zip(value.parse().ok());
        let (name, value) = pair.expect("headers were checked with the screenplay");
        response.headers_mut().insert(name, value);
    }
    response
}

/// What all connections share.
struct ScreenplayStage {
    screenplay: Screenplay,
    state: Mutex<StageState>,
    abandoned: Arc<watch::Sender<usize>>,
    stop: CancellationToken,
}

#[derive(Default)]
struct StageState {
    conversations: HashMap<String, SceneProgress>,
    requests: usize,
    request_bytes: u64,
    recorded: VecDeque<RecordedRequest>,
    recorded_bytes: usize,
}

#[derive(Clone, Copy)]
struct SceneProgress {
    scene: usize,
    turns_played: usize,
}

/// Why a request gets no turn.
struct TurnRefusal {
    code: &'static str,
    message: String,
}

impl ScreenplayStage {
    fn state(&self) -> std::sync::MutexGuard<'_, StageState> {
        // Nothing in there can be half done when a holder panics.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn record(&self, request: RecordedRequest) {
        let mut state = self.state();
        state.requests += 1;
        state.request_bytes += request.body.len() as u64;
        state.recorded_bytes += request.body.len();
        state.recorded.push_back(request);
        while state.recorded.len() > RECORDED_MAX || state.recorded_bytes > RECORDED_BYTES_MAX {
            let Some(oldest) = state.recorded.pop_front() else {
                break;
            };
            state.recorded_bytes -= oldest.body.len();
        }
    }

    /// Finds the turn that answers a request, with its number, and counts it as played.
    fn next_turn(&self, asked: &ScriptedRequest) -> Result<(&SceneTurn, usize), TurnRefusal> {
        let key = asked.conversation.clone().unwrap_or_default();
        let mut state = self.state();
        let mut progress = match state.conversations.get(&key) {
            Some(progress) => *progress,
            None if state.conversations.len() >= CONVERSATIONS_MAX => {
                return Err(TurnRefusal {
                    code: "too_many_conversations",
                    message: format!(
                        "the scripted server keeps at most {CONVERSATIONS_MAX} conversations"
                    ),
                });
            }
            None => SceneProgress {
                scene: self.choose_scene(asked)?,
                turns_played: 0,
            },
        };
        let scene = &self.screenplay.scenes[progress.scene];
        let (scene_number, number) = (progress.scene + 1, progress.turns_played + 1);
        let Some(turn) = scene.turns.get(progress.turns_played) else {
            return Err(TurnRefusal {
                code: "screenplay_over",
                message: format!(
                    "screenplay is over: scene {scene_number} has {} turns and turn {number} was asked for",
                    scene.turns.len(),
                ),
            });
        };
        if let Some(expected) = turn.expect.as_ref().filter(|it| !it.is_match(&asked.news)) {
            return Err(TurnRefusal {
                code: "screenplay_mismatch",
                message: format!(
                    "screenplay, scene {scene_number}, turn {number}: expected /{expected}/ in the last input, which is: {}",
                    shortened(&asked.news),
                ),
            });
        }
        progress.turns_played = number;
        state.conversations.insert(key, progress);
        Ok((turn, number))
    }

    /// Chooses the scene of a new conversation.
    fn choose_scene(&self, asked: &ScriptedRequest) -> Result<usize, TurnRefusal> {
        let fits = |when: &Option<regex::Regex>| match when {
            Some(when) => when.is_match(&asked.user_text),
            None => true,
        };
        let scene = self.screenplay.scenes.iter().position(|it| fits(&it.when));
        scene.ok_or_else(|| TurnRefusal {
            code: "screenplay_no_scene",
            message: format!(
                "screenplay has no scene for a conversation that begins with: {}",
                shortened(&asked.user_text),
            ),
        })
    }

    async fn status(&self, answer: &StatusAnswer, wire: WireApi) -> Response {
        tokio::select! {
            () = tokio::time::sleep(answer.pause) => {}
            () = self.stop.cancelled() => {}
        }
        let status = StatusCode::from_u16(answer.status)
            .expect("the status was checked with the screenplay");
        let mut response = refuse(wire, status, answer.code.as_deref(), &answer.message);
        let retry_after = answer.retry_after.as_ref().and_then(|it| it.parse().ok());
        if let Some(value) = retry_after {
            response.headers_mut().insert(header::RETRY_AFTER, value);
        }
        response
    }

    fn stream(&self, answer: &StreamAnswer, wire: WireApi, names: ResponseNames) -> Response {
        let segments: Vec<TimedSegment> = match wire {
            WireApi::Responses => responses::render(answer, &names),
            WireApi::Chat => chat::render(answer, &names),
            WireApi::Messages => messages::render(answer, &names),
        };
        let playback = TimedPlayback::new(
            segments,
            answer.chunk_bytes,
            self.stop.clone(),
            self.abandoned.clone(),
        );
        let headers = [
            (header::CONTENT_TYPE, "text/event-stream"),
            (header::CACHE_CONTROL, "no-cache"),
        ];
        (headers, Body::from_stream(playback.into_stream())).into_response()
    }
}

/// The ids of one response, and what its texts refer to.
pub(crate) struct ResponseNames {
    pub response_id: String,
    stem: String,
    outputs: Vec<String>,
}

impl ResponseNames {
    /// Ids follow from the request, so that a run repeats them, and differ between
    /// conversations, so that they can serve as bookmarks.
    fn new(answer: &StreamAnswer, asked: ScriptedRequest, turn: usize) -> Self {
        let mut hash = Sha256::new();
        hash.update(asked.conversation.as_deref().unwrap_or_default());
        hash.update([0]);
        hash.update(asked.items.to_le_bytes());
        hash.update(turn.to_le_bytes());
        let digest = hash.finalize();
        let head = u32::from_be_bytes(std::array::from_fn(|index| digest[index]));
        let stem = format!("{head:08x}");
        Self {
            response_id: answer
                .response_id
                .clone()
                .unwrap_or_else(|| format!("resp_{stem}")),
            stem,
            outputs: asked.outputs,
        }
    }

    pub(crate) fn item_id(&self, prefix: &str, index: usize) -> String {
        format!("{prefix}_{}_{index}", self.stem)
    }

    pub(crate) fn call_id(&self, given: Option<&str>, index: usize) -> String {
        given.map_or_else(|| self.item_id("call", index), str::to_owned)
    }

    /// Fills in `{{last_output}}` and `{{output.N.FIELD}}`. What is not there stays as it is
    /// written, so that whoever reads the answer sees what was meant.
    pub(crate) fn fill(&self, text: &str) -> String {
        let last = self.outputs.last().map_or("", String::as_str);
        let text = text.replace("{{last_output}}", last);
        let mut filled = String::with_capacity(text.len());
        let mut rest = text.as_str();
        while let Some(start) = rest.find(FIELD_OPEN) {
            let (before, tagged) = rest.split_at(start);
            let end = tagged.find("}}").map_or(tagged.len(), |end| end + 2);
            let (tag, after) = tagged.split_at(end);
            filled.push_str(before);
            match self.field(tag) {
                Some(value) => filled.push_str(&value),
                None => filled.push_str(tag),
            }
            rest = after;
        }
        filled.push_str(rest);
        filled
    }

    /// Returns a field of the N-th answer, counted from 1, if that is a JSON object with text
    /// under this name.
    fn field(&self, tag: &str) -> Option<String> {
        let path = tag.strip_prefix(FIELD_OPEN)?.strip_suffix("}}")?;
        let (number, field) = path.split_once('.')?;
        let index = number.parse::<usize>().ok()?.checked_sub(1)?;
        let answer: serde_json::Value = serde_json::from_str(self.outputs.get(index)?).ok()?;
        Some(answer.get(field)?.as_str()?.to_owned())
    }
}

/// How a field of an earlier answer begins.
const FIELD_OPEN: &str = "{{output.";

fn refuse(wire: WireApi, status: StatusCode, code: Option<&str>, message: &str) -> Response {
    match wire {
        WireApi::Responses | WireApi::Chat => error(status, code, message),
        WireApi::Messages => {
            let body = messages::error(code.unwrap_or(messages::error_kind(status)), message);
            (status, axum::Json(body)).into_response()
        }
    }
}

fn error(status: StatusCode, code: Option<&str>, message: &str) -> Response {
    let kind = if status.is_server_error() {
        "server_error"
    } else {
        "invalid_request_error"
    };
    let body = json!({ "error": { "message": message, "type": kind, "code": code } });
    (status, axum::Json(body)).into_response()
}

/// Returns a text as an error message quotes it.
fn shortened(text: &str) -> String {
    if text.len() <= QUOTE_BYTES_MAX {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(QUOTE_BYTES_MAX);
    format!("{}… ({} bytes)", &text[..end], text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_refer_to_answers_of_tools() {
        let names = ResponseNames {
            response_id: String::new(),
            stem: String::new(),
            outputs: vec![r#"{"id":"a"}"#.into(), r#"{"id":"b"}"#.into(), "no".into()],
        };
        let check = |text, expected: &str| assert_eq!(names.fill(text), expected);
        check("{{last_output}}!", "no!");
        check("{{output.2.id}} {{output.1.id}}", "b a");
        check(
            "{{output.4.id}} {{output.0.id}}",
            "{{output.4.id}} {{output.0.id}}",
        );
        check(
            "{{output.1.other}} {{output.3.id}}",
            "{{output.1.other}} {{output.3.id}}",
        );
        check("{{output.1", "{{output.1");
    }
}
