//! What there is to choose from: `model/list`, `skills/list`, `collaborationMode/list`,
//! `mcpServerStatus/list`.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use troupe_protocol::catalogue::ModelEntry;
use troupe_protocol::event::{self, SkillsEntry};
use troupe_protocol::mcp::{self, McpOffer};
use troupe_protocol::policy::ReasoningEffort as Effort;
use troupe_protocol::{EventMsg, Op};
use troupe_transport::rpc::RpcError;

use super::call::{Handling, MethodCall};
use super::connection::AppConnection;
use super::threads::{open_thread, refused};
use super::wire::Empty;
use super::wire::catalogue::{
    CollaborationModeEntry, CollaborationModeListResponse, EffortOption, InputModality,
    McpAuthStatus, McpServerStatus, McpServerStatusListParams, McpServerStatusListResponse, Model,
    ModelListParams, ModelListResponse, ModelProviderCapabilitiesResponse, SkillErrorInfo,
    SkillMetadata, SkillScope, SkillsListEntry, SkillsListParams, SkillsListResponse,
};
use super::wire::policy::ReasoningEffort;

pub(super) fn models(call: MethodCall) -> Handling {
    call.answer(
        |client: AppConnection, params: ModelListParams| async move {
            let models = client.app().host_services().models();
            let models = models.into_iter().map(model).collect();
            let (data, next_cursor) = page(models, params.cursor.as_deref(), params.limit)?;
            Ok(ModelListResponse { data, next_cursor })
        },
    )
}

/// Tools are offered by plain names, and nothing is generated or searched by providers.
pub(super) fn provider_capabilities(call: MethodCall) -> Handling {
    call.answer(|_, _: Empty| async move {
        Ok(ModelProviderCapabilitiesResponse {
            namespace_tools: false,
            image_generation: false,
            web_search: false,
        })
    })
}

pub(super) fn collaboration_modes(call: MethodCall) -> Handling {
    call.answer(|_, _: Empty| async move {
        let mode = |name: &str, mode: &str| CollaborationModeEntry {
            name: name.to_owned(),
            mode: mode.to_owned(),
            model: None,
            reasoning_effort: None,
        };
        Ok(CollaborationModeListResponse {
            data: vec![mode("Plan", "plan"), mode("Default", "default")],
        })
    })
}

pub(super) fn skills(call: MethodCall) -> Handling {
    call.answer(
        |client: AppConnection, params: SkillsListParams| async move {
            let cwds = match params.cwds {
                cwds if cwds.is_empty() => vec![None],
                cwds => cwds.into_iter().map(Some).collect(),
            };
            let mut data = Vec::new();
            for cwd in cwds {
                let found = client
                    .app()
                    .host_services()
                    .skills(cwd, params.force_reload);
                let found = found.await.map_err(RpcError::invalid_request)?;
                data.push(skills_entry(found));
            }
            Ok(SkillsListResponse { data })
        },
    )
}

pub(super) fn servers(call: MethodCall) -> Handling {
    call.answer(
        |client: AppConnection, params: McpServerStatusListParams| async move {
            let offer = match &params.thread_id {
                None => client.app().host_services().servers().await,
                Some(id) => {
                    let thread = open_thread(&client, id).await?;
                    let offered = |msg: &EventMsg| match msg {
                        EventMsg::McpListToolsResponse(offer) => Some((**offer).clone()),
                        _ => None,
                    };
                    let asked = thread.ask(Op::ListMcpTools, offered).await;
                    asked.map_err(refused)?
                }
            };
            let servers = server_statuses(offer);
            let (data, next_cursor) = page(servers, params.cursor.as_deref(), params.limit)?;
            Ok(McpServerStatusListResponse { data, next_cursor })
        },
    )
}

/// Cuts a list that does not change. A cursor is the number of what came before.
fn page<T>(
    mut all: Vec<T>,
    cursor: Option<&str>,
    limit: Option<u32>,
) -> Result<(Vec<T>, Option<String>), RpcError> {
    let start = match cursor.map(str::parse) {
        None => 0,
        Some(Ok(start)) if start <= all.len() => start,
        Some(_) => {
            let message = "invalid cursor; take nextCursor of the answer before";
            return Err(RpcError::invalid_request(message));
        }
    };
    let mut rows = all.split_off(start);
    let limit = limit.map_or(usize::MAX, |limit| limit.max(1) as usize);
    let next = (rows.len() > limit).then(|| (start + limit).to_string());
    rows.truncate(limit);
    Ok((rows, next))
}

fn model(entry: ModelEntry) -> Model {
    let window = entry.context_window;
    let effort = |effort: &Effort| EffortOption {
        reasoning_effort: ReasoningEffort(*effort),
        description: String::new(),
    };
    let mut input_modalities = vec![InputModality::Text];
    if entry.images == Some(true) {
        input_modalities.push(InputModality::Image);
    }
    Model {
        id: entry.model.clone(),
        display_name: entry.model.clone(),
        description: window.map_or_else(String::new, |tokens| format!("{tokens} tokens of input")),
        hidden: false,
        supported_reasoning_efforts: entry.efforts.iter().map(effort).collect(),
        default_reasoning_effort: ReasoningEffort(entry.default_effort.unwrap_or(Effort::None)),
        input_modalities,
        supports_personality: true,
        is_default: entry.is_default,
        model: entry.model,
    }
}

fn skills_entry(entry: SkillsEntry) -> SkillsListEntry {
    let skill = |skill: event::SkillSummary| SkillMetadata {
        name: skill.name,
        description: skill.description,
        short_description: skill.short_description,
        path: skill.path,
        scope: match skill.scope {
            event::SkillScope::Repo => SkillScope::Repo,
            event::SkillScope::User => SkillScope::User,
            event::SkillScope::System => SkillScope::System,
        },
        enabled: true,
    };
    let error = |error: event::SkillError| SkillErrorInfo {
        path: error.path,
        message: error.message,
    };
    SkillsListEntry {
        cwd: entry.cwd,
        skills: entry.skills.into_iter().map(skill).collect(),
        errors: entry.errors.into_iter().map(error).collect(),
    }
}

fn server_statuses(offer: McpOffer) -> Vec<McpServerStatus> {
    let mut servers = BTreeMap::new();
    for (name, status) in offer.auth_statuses {
        server(&mut servers, &name).auth_status = match status {
            mcp::McpAuthStatus::Unsupported => McpAuthStatus::Unsupported,
            mcp::McpAuthStatus::BearerToken => McpAuthStatus::BearerToken,
            mcp::McpAuthStatus::OAuth => McpAuthStatus::OAuth,
        };
    }
    for tool in offer.tools.into_values() {
        let described = described(&tool);
        let server = server(&mut servers, &tool.server);
        server.tools.insert(tool.name, described);
    }
    for (name, resources) in offer.resources {
        server(&mut servers, &name).resources = resources;
    }
    for (name, templates) in offer.resource_templates {
        server(&mut servers, &name).resource_templates = templates;
    }
    for (name, why) in offer.failures {
        server(&mut servers, &name).error = Some(why);
    }
    servers.into_values().collect()
}

fn server<'a>(
    servers: &'a mut BTreeMap<String, McpServerStatus>,
    name: &str,
) -> &'a mut McpServerStatus {
    let new = || McpServerStatus {
        name: name.to_owned(),
        tools: BTreeMap::new(),
        resources: Vec::new(),
        resource_templates: Vec::new(),
        auth_status: McpAuthStatus::Unsupported,
        error: None,
    };
    servers.entry(name.to_owned()).or_insert_with(new)
}

fn described(tool: &mcp::McpTool) -> Value {
    json!({
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        "inputSchema": tool.input_schema,
        "annotations": tool.annotations,
    })
}
