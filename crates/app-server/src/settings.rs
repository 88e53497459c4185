//! `config/*`: every effective value, and who decided it; and changes to the user's own.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use troupe_transport::rpc::RpcError;

use super::call::{Handling, MethodCall};
use super::connection::AppConnection;
use super::host_services::{
    EffectiveSetting, HostServices, SettingEdit, SettingMerge, SettingSource, SettingsChange,
    WriteRefusal,
};
use super::wire::config::{
    ConfigBatchWriteParams, ConfigEdit, ConfigLayer, ConfigLayerSource, ConfigOrigin,
    ConfigReadParams, ConfigReadResponse, ConfigValueWriteParams, ConfigWriteResponse,
    MergeStrategy, OverriddenMetadata, WriteStatus,
};

pub(super) fn read(call: MethodCall) -> Handling {
    call.answer(
        |client: AppConnection, params: ConfigReadParams| async move {
            let office = client.app().host_services();
            let settings = office.settings(params.cwd.as_deref());
            let settings = settings.map_err(RpcError::invalid_request)?;
            let origins = settings.iter().filter_map(|setting| {
                let origin = origin(office, &setting.source)?;
                Some((setting.key.join("."), origin))
            });
            Ok(ConfigReadResponse {
                config: nested(&settings),
                origins: origins.collect(),
                layers: params.include_layers.then(|| layers(office, &settings)),
            })
        },
    )
}

pub(super) fn write_value(call: MethodCall) -> Handling {
    call.answer(
        |client: AppConnection, params: ConfigValueWriteParams| async move {
            let edit = ConfigEdit {
                key_path: params.key_path,
                value: params.value,
                merge_strategy: params.merge_strategy,
            };
            let change = SettingsChange {
                edits: vec![edit.into()],
                file: params.file_path,
                expected_version: params.expected_version,
            };
            apply_change(&client, change).await
        },
    )
}

pub(super) fn write_batch(call: MethodCall) -> Handling {
    call.answer(
        |client: AppConnection, params: ConfigBatchWriteParams| async move {
            let change = SettingsChange {
                edits: params.edits.into_iter().map(Into::into).collect(),
                file: params.file_path,
                expected_version: params.expected_version,
            };
            apply_change(&client, change).await
        },
    )
}

async fn apply_change(
    client: &AppConnection,
    change: SettingsChange,
) -> Result<ConfigWriteResponse, RpcError> {
    let office = client.app().host_services();
    let written = office.change_settings(change).await.map_err(refused)?;
    let overridden = written.overridden.and_then(|overridden| {
        let overriding_layer = origin(office, &overridden.by)?;
        Some(OverriddenMetadata {
            message: format!(
                "{} was written, but another layer decides it",
                overridden.key
            ),
            overriding_layer,
            effective_value: overridden.effective,
        })
    });
    Ok(ConfigWriteResponse {
        status: match overridden {
            Some(_) => WriteStatus::OkOverridden,
            None => WriteStatus::Ok,
        },
        version: written.version,
        file_path: written.file,
        overridden_metadata: overridden,
    })
}

impl From<ConfigEdit> for SettingEdit {
    fn from(edit: ConfigEdit) -> Self {
        Self {
            key: edit.key_path,
            value: edit.value,
            merge: match edit.merge_strategy {
                MergeStrategy::Replace => SettingMerge::Replace,
                MergeStrategy::Upsert => SettingMerge::Upsert,
            },
        }
    }
}

/// Clients branch on the code in the data.
fn refused(refusal: WriteRefusal) -> RpcError {
    let code = match refusal {
        WriteRefusal::ReadOnly(_) => "configLayerReadonly",
        WriteRefusal::Conflict(_) => "configVersionConflict",
        WriteRefusal::UnknownKey(_) => "configSchemaUnknownKey",
        WriteRefusal::Invalid(_) => "configValidationError",
        WriteRefusal::Failed(message) => return RpcError::internal(message),
    };
    RpcError {
        data: Some(json!({"config_write_error_code": code})),
        ..RpcError::invalid_request(refusal.to_string())
    }
}

fn layers(office: &dyn HostServices, settings: &[EffectiveSetting]) -> Vec<ConfigLayer> {
    let mut by_source: BTreeMap<&SettingSource, Vec<EffectiveSetting>> = BTreeMap::new();
    for setting in settings {
        let layer = by_source.entry(&setting.source).or_default();
        layer.push(setting.clone());
    }
    let layers = by_source.iter().rev().filter_map(|(source, settings)| {
        let ConfigOrigin { name, version } = origin(office, source)?;
        Some(ConfigLayer {
            name,
            version,
            config: nested(settings),
        })
    });
    layers.collect()
}

/// Returns the source as clients know it; what is built in is none.
fn origin(office: &dyn HostServices, source: &SettingSource) -> Option<ConfigOrigin> {
    let version = match source {
        SettingSource::User { file }
        | SettingSource::Project { file }
        | SettingSource::Profile { file } => office.version(file),
        // What the program was started with stays as long as it runs.
        SettingSource::BuiltIn | SettingSource::CommandLine => String::new(),
    };
    let name = match source {
        SettingSource::BuiltIn => return None,
        SettingSource::User { file } => ConfigLayerSource::User { file: file.clone() },
        SettingSource::Project { file } => ConfigLayerSource::Project {
            dot_codex_folder: file.parent().unwrap_or(file).to_owned(),
        },
        SettingSource::Profile { file } => ConfigLayerSource::Profile { file: file.clone() },
        SettingSource::CommandLine => ConfigLayerSource::SessionFlags,
    };
    Some(ConfigOrigin { name, version })
}

/// Returns settings as the table that they were written in.
fn nested(settings: &[EffectiveSetting]) -> Value {
    let mut root = Map::new();
    for EffectiveSetting { key, value, .. } in settings {
        let Some((last, tables)) = key.split_last() else {
            continue;
        };
        let mut table = Some(&mut root);
        for name in tables {
            let inner = table.map(|table| table.entry(name).or_insert_with(|| Map::new().into()));
            table = inner.and_then(Value::as_object_mut);
        }
        if let Some(table) = table {
            table.insert(last.clone(), value.clone());
        }
    }
    Value::Object(root)
}
