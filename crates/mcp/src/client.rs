//! What a server may ask of us and tell us.

use std::sync::Arc;

use rmcp::ErrorData;
use rmcp::handler::client::ClientHandler;
use rmcp::model::{
    ClientCapabilities, ClientConfig, CustomRequest, CustomResult, ElicitRequestParams,
    ElicitResult, ElicitationAction, ElicitationCapability, ErrorCode, FormElicitationCapability,
    Implementation, ProgressNotificationParam, ProtocolVersion, UrlElicitationCapability,
};
use rmcp::service::{InboundStreamOrigin, NotificationContext, RequestContext, RoleClient};
use serde_json::Value;
use tokio::sync::{Notify, broadcast};
use troupe_protocol::discard;
use troupe_protocol::mcp::ElicitationResponse;
use troupe_protocol::op::ElicitationDecision;

use crate::calls::InFlightCalls;
use crate::limits::PROGRESS_QUEUE_MAX;

/// Our end of a connection.
#[derive(Debug)]
pub(crate) struct McpClient {
    server: String,
    pub calls: InFlightCalls,
    /// Progress of all calls; each picks its own.
    pub progress: broadcast::Sender<ProgressNotificationParam>,
    /// The server's tools are no longer what they were.
    changed: Arc<Notify>,
}

impl McpClient {
    pub(crate) fn new(server: &str, changed: Arc<Notify>) -> Self {
        Self {
            server: server.to_owned(),
            calls: InFlightCalls::default(),
            progress: broadcast::Sender::new(PROGRESS_QUEUE_MAX),
            changed,
        }
    }

    /// Asks on behalf of the call that the question is about. Without one nobody is asked: a
    /// server has no business with the user on its own.
    async fn elicit(
        &self,
        request: Value,
        context: &RequestContext<RoleClient>,
    ) -> ElicitationResponse {
        let request_id = match context.extensions.get::<InboundStreamOrigin>() {
            Some(InboundStreamOrigin::OutboundRequest(id)) => Some(id),
            Some(InboundStreamOrigin::Unassociated) | None => None,
        };
        match self.calls.asker(request_id) {
            Some(asker) => tokio::select! {
                response = asker.elicit(&self.server, request) => response,
                () = context.ct.cancelled() => {
                    ElicitationResponse::without_content(ElicitationDecision::Cancel)
                }
            },
            None => ElicitationResponse::without_content(ElicitationDecision::Decline),
        }
    }
}

impl ClientHandler for McpClient {
    fn get_info(&self) -> ClientConfig {
        let elicitation = ElicitationCapability::new()
            .with_form(FormElicitationCapability::new())
            .with_url(UrlElicitationCapability::new());
        let mut capabilities = ClientCapabilities::default();
        capabilities.elicitation = Some(elicitation);
        let ourselves = Implementation::new("troupe", env!("CARGO_PKG_VERSION"));
        // The newest revision has no greeting; asking for it in one is a mistake that strict
        // servers point out.
        ClientConfig::new(capabilities, ourselves)
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let request = serde_json::to_value(request).map_err(internal)?;
        let response = self.elicit(without_meta(request), &context).await;
        let mut result = ElicitResult::new(action(response.decision));
        result.content = response.content;
        Ok(result)
    }

    /// Questions with a form that the SDK has no type for come here.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleClient>,
    ) -> Result<CustomResult, ErrorData> {
        if request.method != "elicitation/create" {
            let code = ErrorCode::METHOD_NOT_FOUND;
            return Err(ErrorData::new(code, request.method, None));
        }
        let params = request.params.unwrap_or_default();
        let response = self.elicit(without_meta(params), &context).await;
        let mut result = ElicitResult::new(action(response.decision));
        result.content = response.content;
        let result = serde_json::to_value(result).map_err(internal)?;
        Ok(CustomResult(result))
    }

    async fn on_progress(
        &self,
        params: ProgressNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        // Nobody listens while no call runs.
        discard!(
            self.progress.send(params),
            "a progress message was dropped: nobody listens"
        );
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changed.notify_one();
    }
}

fn action(decision: ElicitationDecision) -> ElicitationAction {
    match decision {
        ElicitationDecision::Accept => ElicitationAction::Accept,
        ElicitationDecision::Decline => ElicitationAction::Decline,
        ElicitationDecision::Cancel => ElicitationAction::Cancel,
    }
}

/// Leaves out what is between the two programs.
fn without_meta(mut request: Value) -> Value {
    if let Some(fields) = request.as_object_mut() {
        fields.remove("_meta");
        // Older servers know forms only, and do not say so.
        fields.entry("mode").or_insert_with(|| "form".into());
    }
    request
}

fn internal(error: serde_json::Error) -> ErrorData {
    ErrorData::internal_error(error.to_string(), None)
}
