//! The other side of the protocol: what this program offers to clients of the Model Context
//! Protocol.
//!
//! ```text
//! stdin, stdout ─ serve_stream ─┐              ┌─ tools, resources, templates
//!                               ├─► Handler ─► Offer
//! requests ───── HttpServer ────┘      │       └─ call ◄─► Caller: progress, questions, cancel
//!                                      └ the only place that speaks the SDK's types
//! ```
//!
//! An [`ServerOffer`] says what there is and does it; it sees no type of the SDK. While it works on a
//! call it has a [`CallingClient`], through whom it tells how far it is and asks the person behind the
//! client.
//!
//! Deliberately absent: what the tools mean, listening on addresses and who may come in (that is
//! `server`), prompts, completion, logging, sampling, subscriptions and tasks. Revision
//! 2026-07-28 has no sessions and no questions inside a call; we speak the ones before it.

mod caller;
mod handler;
mod http;

use std::fmt::Debug;
use std::sync::Arc;

use async_trait::async_trait;
use rmcp::serve_server;
use serde_json::{Map, Value};
use tokio::io::{AsyncRead, AsyncWrite};
use troupe_protocol::discard;

pub use caller::{CallingClient, FormReply, QuestionForm};
use handler::OfferHandler;
pub use http::HttpServer;

/// What a server is there for.
#[async_trait]
pub trait ServerOffer: Debug + Send + Sync + 'static {
    fn introduction(&self) -> ServerIntroduction;

    fn tools(&self) -> Vec<ToolCard>;

    /// Runs a tool. What it could not do is an answer too, for the model to read.
    async fn call(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        caller: &CallingClient,
    ) -> Result<OfferAnswer, NoSuchTool>;

    async fn resources(&self, cursor: Option<&str>) -> Result<ResourcePage, ResourceReadError>;

    fn templates(&self) -> Vec<TemplateCard>;

    async fn read(&self, uri: &str) -> Result<ResourceText, ResourceReadError>;
}

/// Who answers, and what a client should know before it asks.
#[derive(Debug, Clone)]
pub struct ServerIntroduction {
    pub name: String,
    pub title: String,
    pub version: String,
    pub instructions: String,
}

/// A tool as clients and their models read it. Schemas are objects of JSON Schema.
#[derive(Debug, Clone)]
pub struct ToolCard {
    pub name: &'static str,
    pub title: &'static str,
    pub description: &'static str,
    pub input: Map<String, Value>,
    /// Absent: the answer has no structured part.
    pub output: Option<Map<String, Value>>,
    pub hints: ToolEffect,
}

/// What a tool does to the world, so that a client knows when to ask its user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolEffect {
    /// Looks and changes nothing.
    Reads,
    /// Sets something to work that may change files and reach further than this machine.
    Works,
    /// Ends what runs; once more ends nothing more.
    Stops,
}

/// What a call came to.
#[derive(Debug, Clone, PartialEq)]
pub enum OfferAnswer {
    Done {
        /// The structured part; an object, as the output schema says.
        value: Option<Value>,
        /// The same in short, for people and for clients that read text only.
        text: String,
    },
    /// Says what is wrong and what to do.
    Failed { message: String },
}

/// There is no tool of this name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoSuchTool;

#[derive(Debug, Clone, Default)]
pub struct ResourcePage {
    pub resources: Vec<ResourceCard>,
    /// Asks for the next page.
    pub next: Option<String>,
}

#[derive(Debug, Clone)]
pub struct ResourceCard {
    pub uri: String,
    pub name: String,
    pub title: Option<String>,
    pub description: Option<String>,
    pub mime_type: &'static str,
}

#[derive(Debug, Clone)]
pub struct TemplateCard {
    pub uri_template: &'static str,
    pub name: &'static str,
    pub title: &'static str,
    pub description: &'static str,
    pub mime_type: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceText {
    pub mime_type: &'static str,
    pub text: String,
}

/// Why there is nothing to read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ResourceReadError {
    #[error("{0}")]
    NotFound(String),
    #[error("{0}")]
    Invalid(String),
    #[error("{0}")]
    Failed(String),
}

/// Serves one client that writes and reads lines, until it closes its end.
pub async fn serve_stream(
    offer: Arc<dyn ServerOffer>,
    read: impl AsyncRead + Send + Unpin + 'static,
    write: impl AsyncWrite + Send + Unpin + 'static,
) {
    let handler = OfferHandler::new(offer);
    // A client that goes away before it has introduced itself wanted nothing.
    if let Ok(running) = serve_server(handler, (read, write)).await {
        // Why the loop ended is the client's affair; there is nobody left to tell.
        discard!(running.waiting().await, "a connection ended by an error");
    }
}
