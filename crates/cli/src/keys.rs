//! Keys of providers that a person stored with `troupe login`: a file of the home that only its
//! owner can read. Commands of agents do not see the home, and no key of it is in an environment.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use toml_edit::{DocumentMut, value};

use crate::config_file::ConfigFileEditor;
use crate::failure::CommandFailure;
use crate::home::TroupeHome;

/// Others than the owner may do something with the file.
const OTHERS: u32 = 0o077;

#[derive(Debug, Clone)]
pub struct KeyFile {
    path: PathBuf,
}

/// Why stored keys cannot be used. It quotes nothing of the file.
#[derive(Debug, thiserror::Error)]
pub enum KeyFileError {
    #[error("the keys in {} cannot be read: {error}", path.display())]
    Unreadable { path: PathBuf, error: io::Error },
    #[error(
        "others can read the keys in {0}; run: chmod 600 {0}",
        path.display()
    )]
    Exposed { path: PathBuf },
    #[error(
        "{} is not a list of lines PROVIDER = \"key\"; mend it, or delete it and store the keys \
         again with `troupe login PROVIDER`",
        path.display()
    )]
    NotUnderstood { path: PathBuf },
}

impl KeyFile {
    pub fn of(home: &TroupeHome) -> Self {
        Self {
            path: home.path().join("keys.toml"),
        }
    }

    /// Returns the key that is stored for a provider.
    pub fn get(&self, provider: &str) -> Result<Option<String>, KeyFileError> {
        let Some(text) = self.read()? else {
            return Ok(None);
        };
        let path = || self.path.clone();
        let keys: DocumentMut = text
            .parse()
            .map_err(|_| KeyFileError::NotUnderstood { path: path() })?;
        match keys.get(provider) {
            None => Ok(None),
            Some(key) => match key.as_str() {
                Some(key) => Ok(Some(key.to_owned())),
                None => Err(KeyFileError::NotUnderstood { path: path() }),
            },
        }
    }

    fn read(&self) -> Result<Option<String>, KeyFileError> {
        let unreadable = |error| KeyFileError::Unreadable {
            path: self.path.clone(),
            error,
        };
        let mut file = match File::open(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened.map_err(unreadable)?,
        };
        let mode = file.metadata().map_err(unreadable)?.permissions().mode();
        if mode & OTHERS != 0 {
            return Err(KeyFileError::Exposed {
                path: self.path.clone(),
            });
        }
        let mut text = String::new();
        file.read_to_string(&mut text).map_err(unreadable)?;
        Ok(Some(text))
    }

    /// Stores a key in the place of an older one.
    pub fn set(&self, provider: &str, key: &str) -> Result<(), CommandFailure> {
        self.change(|keys| {
            keys[provider] = value(key);
            true
        })
        .map(drop)
    }

    /// Forgets a key. Returns whether there was one.
    pub fn remove(&self, provider: &str) -> Result<bool, CommandFailure> {
        self.change(|keys| keys.remove(provider).is_some())
    }

    fn change(
        &self,
        change: impl FnOnce(&mut DocumentMut) -> bool,
    ) -> Result<bool, CommandFailure> {
        let mut file = ConfigFileEditor::take(&self.path)?;
        let not_understood = |_| KeyFileError::NotUnderstood {
            path: self.path.clone(),
        };
        let mut keys = file
            .text()
            .parse()
            .map_err(not_understood)
            .map_err(CommandFailure::failed)?;
        let changed = change(&mut keys);
        // Written beside it first, in a file that is only the owner's.
        file.write(&keys)?;
        if changed {
            let owned = fs::Permissions::from_mode(0o600);
            fs::set_permissions(&self.path, owned).map_err(|error| {
                CommandFailure::failed(KeyFileError::Unreadable {
                    path: self.path.clone(),
                    error,
                })
            })?;
        }
        Ok(changed)
    }

    pub fn path(&self) -> &std::path::Path {
        &self.path
    }
}
