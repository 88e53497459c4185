//! Turns requests of the SDK into questions to an [`ServerOffer`], and its answers into results.

use std::borrow::Cow;
use std::sync::Arc;

use rmcp::ErrorData;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ProtocolVersion, ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, Resource,
    ResourceContents, ResourceTemplate, ServerCapabilities, ServerConfig, Tool, ToolAnnotations,
};
use rmcp::service::{RequestContext, RoleServer};
use tokio::sync::OwnedSemaphorePermit;

use super::{
    CallingClient, OfferAnswer, ResourceCard, ResourceReadError, ServerIntroduction, ServerOffer,
    TemplateCard, ToolCard, ToolEffect,
};

/// One client's end of the SDK.
#[derive(Debug)]
pub(super) struct OfferHandler {
    offer: Arc<dyn ServerOffer>,
    /// Held as long as the client has its session, where there is a bound on them.
    _place: Option<OwnedSemaphorePermit>,
}

impl OfferHandler {
    pub(super) fn new(offer: Arc<dyn ServerOffer>) -> Self {
        Self {
            offer,
            _place: None,
        }
    }

    pub(super) fn in_place(offer: Arc<dyn ServerOffer>, place: OwnedSemaphorePermit) -> Self {
        Self {
            offer,
            _place: Some(place),
        }
    }
}

impl ServerHandler for OfferHandler {
    fn get_info(&self) -> ServerConfig {
        let ServerIntroduction {
            name,
            title,
            version,
            instructions,
        } = self.offer.introduction();
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_resources()
            .build();
        let mut info = ServerConfig::new(capabilities);
        info.server_info = Implementation::new(name, version).with_title(title);
        info.instructions = Some(instructions);
        info
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(ProtocolVersion::known_up_to(&ProtocolVersion::V_2025_11_25))
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = self.offer.tools().into_iter().map(tool);
        Ok(ListToolsResult::with_all_items(tools.collect()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        let mut tools = self.offer.tools().into_iter();
        tools.find(|card| card.name == name).map(tool)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = request.arguments.unwrap_or_default();
        let caller = CallingClient::new(context);
        let Ok(answer) = self.offer.call(&request.name, arguments, &caller).await else {
            let known: Vec<&str> = self.offer.tools().iter().map(|card| card.name).collect();
            let message = format!(
                "there is no tool {}; there are {}",
                request.name,
                known.join(", ")
            );
            return Err(ErrorData::invalid_params(message, None));
        };
        Ok(result(answer).into())
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let cursor = request.and_then(|request| request.cursor);
        let page = self.offer.resources(cursor.as_deref()).await;
        let page = page.map_err(refused)?;
        let resources = page.resources.into_iter().map(resource).collect();
        let mut result = ListResourcesResult::with_all_items(resources);
        result.next_cursor = page.next;
        Ok(result)
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let templates = self.offer.templates().into_iter().map(template);
        let templates = templates.collect();
        Ok(ListResourceTemplatesResult::with_all_items(templates))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let read = self.offer.read(&request.uri).await.map_err(refused)?;
        let contents =
            ResourceContents::text(read.text, request.uri).with_mime_type(read.mime_type);
        Ok(ReadResourceResult::new(vec![contents]).into())
    }
}

fn tool(card: ToolCard) -> Tool {
    let mut tool = Tool::new(card.name, card.description, Arc::new(card.input))
        .with_title(card.title)
        .with_annotations(annotations(card.hints));
    tool.output_schema = card.output.map(Arc::new);
    tool
}

fn annotations(hints: ToolEffect) -> ToolAnnotations {
    let told = ToolAnnotations::new();
    match hints {
        ToolEffect::Reads => told
            .read_only(true)
            .destructive(false)
            .idempotent(true)
            .open_world(false),
        ToolEffect::Works => told
            .read_only(false)
            .destructive(true)
            .idempotent(false)
            .open_world(true),
        ToolEffect::Stops => told
            .read_only(false)
            .destructive(true)
            .idempotent(true)
            .open_world(false),
    }
}

fn result(answer: OfferAnswer) -> CallToolResult {
    match answer {
        OfferAnswer::Done { value, text } => {
            let mut result = CallToolResult::success(vec![ContentBlock::text(text)]);
            result.structured_content = value;
            result
        }
        OfferAnswer::Failed { message } => CallToolResult::error(vec![ContentBlock::text(message)]),
    }
}

fn resource(card: ResourceCard) -> Resource {
    let mut resource = Resource::new(card.uri, card.name).with_mime_type(card.mime_type);
    resource.title = card.title;
    resource.description = card.description;
    resource
}

fn template(card: TemplateCard) -> ResourceTemplate {
    ResourceTemplate::new(card.uri_template, card.name)
        .with_title(card.title)
        .with_description(card.description)
        .with_mime_type(card.mime_type)
}

fn refused(error: ResourceReadError) -> ErrorData {
    match error {
        ResourceReadError::NotFound(message) => ErrorData::resource_not_found(message, None),
        ResourceReadError::Invalid(message) => ErrorData::invalid_params(message, None),
        ResourceReadError::Failed(message) => ErrorData::internal_error(message, None),
    }
}
