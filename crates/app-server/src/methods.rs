//! Every method, one line each.

use serde_json::Value;
use serde_json::value::RawValue;

use super::call::{Handling, MethodCall};
use super::{
    account, catalogue, commands, files, git, reviews, search, servers, settings, threads, trees,
    turns, usage,
};

pub(super) struct MethodEntry {
    pub name: &'static str,
    pub stability: MethodStability,
    /// Parameters that may still change.
    experimental_fields: &'static [&'static str],
    pub handle: fn(MethodCall) -> Handling,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MethodStability {
    Stable,
    /// For clients that said that they can live with changes.
    Experimental,
}

const METHODS: &[MethodEntry] = &[
    stable("thread/start", threads::start).with_experimental_fields(&[
        "permissions",
        "dynamicTools",
        "environments",
        "experimentalRawEvents",
        "historyMode",
        "multiAgentMode",
        "projectId",
        "runtimeWorkspaceRoots",
    ]),
    stable("thread/resume", threads::resume).with_experimental_fields(&[
        "excludeTurns",
        "history",
        "initialTurnsPage",
        "path",
        "permissions",
        "runtimeWorkspaceRoots",
    ]),
    stable("thread/fork", threads::fork).with_experimental_fields(&[
        "beforeTurnId",
        "excludeTurns",
        "path",
        "permissions",
        "runtimeWorkspaceRoots",
    ]),
    stable("thread/list", threads::list).with_experimental_fields(&[
        "ancestorThreadId",
        "parentThreadId",
        "projectId",
    ]),
    stable("thread/loaded/list", threads::loaded),
    stable("thread/read", threads::read),
    stable("thread/archive", threads::archive),
    stable("thread/unarchive", threads::unarchive),
    stable("thread/delete", threads::delete),
    stable("thread/name/set", threads::set_name),
    stable("thread/note/set", threads::set_note),
    stable("thread/inject_items", threads::inject_items),
    stable("thread/compact/start", threads::compact),
    stable("thread/rollback", threads::roll_back),
    stable("thread/unsubscribe", threads::unsubscribe),
    stable("turn/start", turns::start).with_experimental_fields(&[
        "additionalContext",
        "collaborationMode",
        "environments",
        "multiAgentMode",
        "permissions",
        "responsesapiClientMetadata",
        "runtimeWorkspaceRoots",
    ]),
    stable("turn/steer", turns::steer)
        .with_experimental_fields(&["additionalContext", "responsesapiClientMetadata"]),
    stable("turn/interrupt", turns::interrupt),
    stable("review/start", reviews::start),
    stable("model/list", catalogue::models),
    stable(
        "modelProvider/capabilities/read",
        catalogue::provider_capabilities,
    ),
    stable("skills/list", catalogue::skills),
    stable("mcpServerStatus/list", catalogue::servers),
    stable("mcpServer/resource/read", servers::read_resource),
    stable("mcpServer/tool/call", servers::call_tool),
    stable("config/mcpServer/reload", servers::reload),
    experimental("collaborationMode/list", catalogue::collaboration_modes),
    stable("config/read", settings::read),
    stable("config/value/write", settings::write_value),
    stable("config/batchWrite", settings::write_batch),
    stable("account/read", account::read),
    stable("account/rateLimits/read", account::rate_limits),
    stable("account/usage/read", usage::read),
    stable("getAuthStatus", account::auth_status),
    stable("fs/readFile", files::read),
    stable("fs/writeFile", files::write),
    stable("fs/createDirectory", files::create_directory),
    stable("fs/getMetadata", files::metadata),
    stable("fs/readDirectory", files::read_directory),
    stable("fs/remove", files::remove),
    stable("fs/copy", files::copy),
    stable("fs/watch", files::watch),
    stable("fs/unwatch", files::unwatch),
    stable("fuzzyFileSearch", search::search),
    experimental("fuzzyFileSearch/sessionStart", search::start_session),
    experimental("fuzzyFileSearch/sessionUpdate", search::update_session),
    experimental("fuzzyFileSearch/sessionStop", search::stop_session),
    stable("gitDiffToRemote", git::diff_to_remote),
    stable("command/exec", commands::exec).with_experimental_fields(&["permissionProfile"]),
    stable("command/exec/write", commands::write),
    stable("command/exec/resize", commands::resize),
    stable("command/exec/terminate", commands::terminate),
    stable("tree/list", trees::list),
    stable("tree/read", trees::read),
    stable("agent/spawn", trees::spawn),
    stable("agent/send", trees::send),
    stable("agent/wait", trees::wait),
    stable("agent/result", trees::result),
    stable("agent/note/set", trees::set_note),
    stable("agent/stop", trees::stop),
];

pub(super) fn find(name: &str) -> Option<&'static MethodEntry> {
    METHODS.iter().find(|method| method.name == name)
}

const fn stable(name: &'static str, handle: fn(MethodCall) -> Handling) -> MethodEntry {
    MethodEntry {
        name,
        stability: MethodStability::Stable,
        experimental_fields: &[],
        handle,
    }
}

const fn experimental(name: &'static str, handle: fn(MethodCall) -> Handling) -> MethodEntry {
    MethodEntry {
        stability: MethodStability::Experimental,
        ..stable(name, handle)
    }
}

impl MethodEntry {
    /// Names the parameters that may still change.
    const fn with_experimental_fields(self, experimental_fields: &'static [&'static str]) -> Self {
        Self {
            experimental_fields,
            ..self
        }
    }

    /// Returns a parameter that may still change and that was given.
    pub(super) fn experimental_field(&self, params: Option<&RawValue>) -> Option<&'static str> {
        if self.experimental_fields.is_empty() {
            return None;
        }
        let given: Value = serde_json::from_str(params?.get()).ok()?;
        let is_given = |field: &&&str| given.get(**field).is_some_and(|value| !value.is_null());
        self.experimental_fields.iter().find(is_given).copied()
    }
}
