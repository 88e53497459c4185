//! Models without a provider: one that plays a screenplay, and tapes of what others answered.
//!
//! A screenplay gives the same answers, deltas and faults on every run. It is played by a real
//! HTTP server ([`MockServer`]); in process that is asked over loopback by the ordinary provider
//! ([`ScriptedModel`]), so that the wire is always real. [`cassette`] records the answers of any
//! model and replays them.
//!
//! ```text
//! request ─► request.rs (what was asked) ─► screenplay.rs (which turn) ─► responses.rs, chat.rs
//! or messages.rs (its bytes, all at once) ─► timed_bytes.rs (sent with pauses, cuts and stalls)
//! ```
//!
//! # The screenplay
//!
//! TOML. A conversation (the request's `prompt_cache_key`) takes the first `[[scene]]`
//! whose `when` is found in the user's text; each request plays the scene's next turn.
//!
//! ```
//! # use troupe_mock_model::Screenplay;
//! let screenplay: Screenplay = r#"
//! [[scene]]
//! when = "(?i)list"
//!
//! [[scene.turn]]
//! steps = [
//!     { think = "I should look first." },
//!     { call = "shell_command", arguments = { command = "ls" } },
//! ]
//!
//! [[scene.turn]]
//! expect = "Cargo.toml"
//! steps = [{ say = "There is: {{last_output}}" }]
//! "#.parse()?;
//! # Ok::<(), troupe_mock_model::ScreenplayError>(())
//! ```
//!
//! `docs/screenplay.md` lists every key.
//!
//! Deliberately absent: decoding of answers and retries (the provider does both, as for any other
//! server), and judging what a client asked beyond a turn's `expect`.

pub mod cassette;
mod chat;
pub mod limits;
mod messages;
mod request;
mod responses;
mod screenplay;
mod server;
mod timed_bytes;

pub use screenplay::{Screenplay, ScreenplayError};
pub use server::{MockServer, RecordedRequest};

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use troupe_model::catalogue::SCRIPTED_MODEL;
use troupe_model::{
    ConnectError, LanguageModel, ModelRequest, ModelStream, ProviderConfig, RetryJitter, WireApi,
};

/// A screenplay, its server and the provider that asks it. Dropping it ends the server.
#[derive(Debug)]
pub struct ScriptedModel {
    server: MockServer,
    model: Arc<dyn LanguageModel>,
}

impl ScriptedModel {
    pub async fn start(screenplay: Screenplay) -> io::Result<Self> {
        let server =
            MockServer::start(screenplay, SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).await?;
        let model = server
            .connect(WireApi::Responses)
            .map_err(io::Error::other)?;
        Ok(Self { server, model })
    }

    pub fn server(&self) -> &MockServer {
        &self.server
    }
}

impl LanguageModel for ScriptedModel {
    fn provider_id(&self) -> &str {
        self.model.provider_id()
    }

    fn open(&self, request: ModelRequest) -> ModelStream {
        self.model.open(request)
    }
}

impl MockServer {
    /// Returns the configuration of a provider that asks this server.
    pub fn provider(&self, wire_api: WireApi) -> ProviderConfig {
        ProviderConfig {
            base_url: self.base_url(),
            wire_api,
            ..ProviderConfig::default()
        }
    }

    /// Makes a model that asks this server, with delays that are the same on every run.
    pub fn connect(&self, wire_api: WireApi) -> Result<Arc<dyn LanguageModel>, ConnectError> {
        self.provider(wire_api)
            .connect_with(SCRIPTED_MODEL, None, RetryJitter::Seeded(0))
    }
}
