//! Whoever waits for a call: told how far it is, asked when only a person can decide.

use std::sync::atomic::{AtomicU32, Ordering};

use rmcp::model::{
    ClientCapabilities, ClientResult, ElicitRequest, ElicitRequestParams, ElicitationAction,
    ProgressNotificationParam, ProgressToken, ServerRequest,
};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;
use troupe_protocol::discard;

/// The client behind one call.
#[derive(Debug)]
pub struct CallingClient {
    context: RequestContext<RoleServer>,
    token: Option<ProgressToken>,
    /// How often it was told; the number must grow.
    told: AtomicU32,
}

/// A question to the person behind a client.
#[derive(Debug, Clone, PartialEq)]
pub struct QuestionForm {
    pub message: String,
    /// A flat object of JSON Schema.
    pub schema: Value,
}

/// What came of a question.
#[derive(Debug, Clone, PartialEq)]
pub enum FormReply {
    Filled(Map<String, Value>),
    Declined,
    /// Closed without a choice, withdrawn, or never shown.
    Dismissed,
}

impl CallingClient {
    pub(super) fn new(context: RequestContext<RoleServer>) -> Self {
        Self {
            token: context.meta.get_progress_token(),
            context,
            told: AtomicU32::new(0),
        }
    }

    /// Cancelled when the client no longer wants the call, or is gone.
    pub fn cancelled(&self) -> &CancellationToken {
        &self.context.ct
    }

    /// Tells whether the client wants to hear how far the call is.
    pub fn wants_progress(&self) -> bool {
        self.token.is_some()
    }

    /// Tells what happens now. Returns when the client's transport has taken it.
    pub async fn progress(&self, message: String) {
        let Some(token) = self.token.clone() else {
            return;
        };
        let number = self.told.fetch_add(1, Ordering::Relaxed) + 1;
        let param = ProgressNotificationParam::new(token, f64::from(number)).with_message(message);
        // A client that is gone misses nothing.
        discard!(
            self.context.peer.notify_progress(param).await,
            "a progress message was dropped: nobody listens"
        );
    }

    /// Tells whether the client can show a form to a person.
    pub fn can_be_asked(&self) -> bool {
        let capabilities = self.context.client_capabilities();
        capabilities.as_ref().is_some_and(shows_forms)
    }

    /// Asks the person behind the client. Dropping it withdraws the question.
    pub async fn ask(&self, form: QuestionForm) -> FormReply {
        let Ok(requested_schema) = serde_json::from_value(form.schema) else {
            return FormReply::Dismissed;
        };
        let params = ElicitRequestParams::FormElicitationParams {
            meta: None,
            message: form.message,
            requested_schema,
        };
        let request = ServerRequest::ElicitRequest(ElicitRequest::new(params));
        match self.context.peer.send_request(request).await {
            Ok(ClientResult::ElicitResult(result)) => match (result.action, result.content) {
                (ElicitationAction::Accept, Some(Value::Object(fields))) => {
                    FormReply::Filled(fields)
                }
                (ElicitationAction::Accept, _) => FormReply::Filled(Map::new()),
                (ElicitationAction::Decline, _) => FormReply::Declined,
                // A choice that this version does not know is none.
                (_, _) => FormReply::Dismissed,
            },
            Ok(_) | Err(_) => FormReply::Dismissed,
        }
    }
}

/// A client that says nothing about the kinds of questions shows forms: they are the older kind.
fn shows_forms(capabilities: &ClientCapabilities) -> bool {
    let Some(elicitation) = &capabilities.elicitation else {
        return false;
    };
    elicitation.form.is_some() || elicitation.url.is_none()
}
