//! `config/read`: every effective value, and who decided it.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::call::{Call, Handling};
use super::connection::Connection;
use super::office::{Setting, SettingSource};
use super::wire::config::{
    ConfigLayer, ConfigLayerSource, ConfigOrigin, ConfigReadParams, ConfigReadResponse,
};
use crate::rpc::RpcError;

pub(super) fn read(call: Call) -> Handling {
    call.answer(|client: Connection, params: ConfigReadParams| async move {
        let office = client.app().office();
        let settings = office.settings(params.cwd.as_deref());
        let settings = settings.map_err(RpcError::invalid_request)?;
        let origins = settings.iter().filter_map(|setting| {
            let name = layer_source(&setting.source)?;
            Some((setting.key.join("."), ConfigOrigin { name }))
        });
        Ok(ConfigReadResponse {
            config: nested(&settings),
            origins: origins.collect(),
            layers: params.include_layers.then(|| layers(&settings)),
        })
    })
}

fn layers(settings: &[Setting]) -> Vec<ConfigLayer> {
    let mut by_source: BTreeMap<&SettingSource, Vec<Setting>> = BTreeMap::new();
    for setting in settings {
        let layer = by_source.entry(&setting.source).or_default();
        layer.push(setting.clone());
    }
    let layers = by_source.iter().rev().filter_map(|(source, settings)| {
        Some(ConfigLayer {
            name: layer_source(source)?,
            config: nested(settings),
        })
    });
    layers.collect()
}

/// Returns the source as clients know it; what is built in is none.
fn layer_source(source: &SettingSource) -> Option<ConfigLayerSource> {
    Some(match source {
        SettingSource::BuiltIn => return None,
        SettingSource::User { file } => ConfigLayerSource::User { file: file.clone() },
        SettingSource::Project { file } => ConfigLayerSource::Project {
            dot_codex_folder: file.parent().unwrap_or(file).to_owned(),
        },
        SettingSource::Profile { file } => ConfigLayerSource::Profile { file: file.clone() },
        SettingSource::CommandLine => ConfigLayerSource::SessionFlags,
    })
}

/// Returns settings as the table that they were written in.
fn nested(settings: &[Setting]) -> Value {
    let mut root = Map::new();
    for Setting { key, value, .. } in settings {
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
