//! Changes to the user's configuration that a client asks for: tried first, then written.

use troupe_app_server::{
    EffectiveSetting, OverriddenSetting, SettingMerge, SettingsChange, SettingsWriteResult,
    WriteRefusal,
};
use troupe_config::{Config, KeyPath, ValueLayer, check_key};

use super::Wiring;
use super::host_services::setting;
use crate::config_file::{ConfigFileEditor, TableMerge, set};
use crate::failure::CommandFailure;
use crate::settings::{self, Settings};

impl Wiring {
    /// Changes the user's file, all of it or nothing. Blocks on the disk.
    pub(super) fn change_settings(
        &self,
        change: &SettingsChange,
    ) -> Result<SettingsWriteResult, WriteRefusal> {
        let path = self.source.home.config_file();
        if let Some(other) = change.file.as_ref().filter(|file| **file != path) {
            let (other, path) = (other.display(), path.display());
            let message = format!("{other} is not written from here; only {path} is");
            return Err(WriteRefusal::ReadOnly(message));
        }
        let keys = keys(change)?;
        let mut file = ConfigFileEditor::take(&path).map_err(failed)?;
        let is_other = |expected: &&String| **expected != file.version();
        if change
            .expected_version
            .as_ref()
            .is_some_and(|it| is_other(&it))
        {
            let message = format!("{} was changed meanwhile; read it again", path.display());
            return Err(WriteRefusal::Conflict(message));
        }
        let mut document = file.document().map_err(invalid)?;
        for (key, edit) in keys.iter().zip(&change.edits) {
            let merge = match edit.merge {
                SettingMerge::Replace => TableMerge::Replace,
                SettingMerge::Upsert => TableMerge::Upsert,
            };
            set(&mut document, key, &edit.value, merge).map_err(WriteRefusal::Invalid)?;
        }
        let config = self
            .checked_config(&document.to_string())
            .map_err(invalid)?;
        file.write(&document).map_err(failed)?;
        self.outdate();
        Ok(SettingsWriteResult {
            version: file.version(),
            overridden: keys.iter().find_map(|key| overridden(&config, key)),
            file: path,
        })
    }

    /// Reads the configuration that this text would make of the user's file, with everything
    /// that a session would be refused for.
    fn checked_config(&self, text: &str) -> Result<Config, CommandFailure> {
        let loaded = self.source.load_trying(&self.here.cwd, Some(text))?;
        Settings::read(&loaded.config)?;
        Ok(loaded.config)
    }
}

/// Returns the keys of a change, if there are such.
fn keys(change: &SettingsChange) -> Result<Vec<KeyPath>, WriteRefusal> {
    let schema = settings::schema();
    let key = |text: &str| {
        let key = KeyPath::parse(text).ok_or_else(|| {
            WriteRefusal::Invalid(format!(
                "{text:?} is not a dotted key; a part that holds dots is quoted"
            ))
        })?;
        let known = check_key(&schema, &key);
        known.map_err(|unknown| WriteRefusal::UnknownKey(unknown.to_string()))?;
        Ok(key)
    };
    change.edits.iter().map(|edit| key(&edit.key)).collect()
}

/// Returns the value at or below a key that a stronger layer decides.
fn overridden(config: &Config, key: &KeyPath) -> Option<OverriddenSetting> {
    let settings = config.settings();
    let (found, entry) = settings.iter().find(|(found, entry)| {
        found.parts().starts_with(key.parts()) && entry.origin.layer > ValueLayer::User
    })?;
    let EffectiveSetting { value, source, .. } = setting(found, entry);
    Some(OverriddenSetting {
        key: found.to_string(),
        effective: value,
        by: source,
    })
}

fn invalid(failure: CommandFailure) -> WriteRefusal {
    WriteRefusal::Invalid(failure.to_string())
}

fn failed(failure: CommandFailure) -> WriteRefusal {
    WriteRefusal::Failed(failure.to_string())
}
