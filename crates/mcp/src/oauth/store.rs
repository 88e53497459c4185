//! Where the tokens of logins are: a file each, which only its owner can read, in a directory of
//! the home. Commands of agents do not see the home, and no token is in an environment.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use rmcp::transport::auth::{
    AuthError, CredentialRefreshGuard, CredentialStore, StoredCredentials,
};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use tempfile::NamedTempFile;

/// Others than the owner may do something with the file.
const OTHERS: u32 = 0o077;

/// The logins of a home.
#[derive(Debug, Clone)]
pub struct McpLoginStore {
    directory: PathBuf,
}

/// The file of one login, whether or not it is there.
#[derive(Debug, Clone)]
pub(crate) struct StoredLoginFile {
    path: PathBuf,
    server: String,
    url: String,
}

/// What a file says. Name and address are for whoever looks into it.
#[derive(Serialize, Deserialize)]
struct StoredLogin {
    server: String,
    url: String,
    credentials: StoredCredentials,
}

impl McpLoginStore {
    pub fn in_home(home: &Path) -> Self {
        Self {
            directory: home.join("mcp_logins"),
        }
    }

    /// Returns the login at a server.
    pub(crate) fn login(&self, server: &str, url: &str) -> StoredLoginFile {
        let digest = Sha256::digest(format!("{server}\n{url}"));
        let (mark, _) = digest.split_at(8);
        let mark = mark
            .iter()
            .fold(0, |mark, byte| mark << 8 | u64::from(*byte));
        StoredLoginFile {
            path: self.directory.join(format!("{mark:016x}.json")),
            server: server.to_owned(),
            url: url.to_owned(),
        }
    }

    /// Tells whether somebody has logged in there.
    pub fn has(&self, server: &str, url: &str) -> bool {
        self.login(server, url).is_there()
    }

    /// Returns the file of a login.
    pub fn path(&self, server: &str, url: &str) -> PathBuf {
        self.login(server, url).path
    }

    /// Forgets all logins under a name, whatever address the configuration has for it now.
    /// Returns how many there were.
    pub fn forget(&self, server: &str) -> io::Result<usize> {
        let entries = match fs::read_dir(&self.directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
            read => read?,
        };
        let mut forgotten = 0;
        for entry in entries {
            let path = entry?.path();
            if path.extension().is_none_or(|ending| ending != "json") {
                continue;
            }
            let login: Option<StoredLogin> = serde_json::from_slice(&fs::read(&path)?).ok();
            if login.is_some_and(|login| login.server == server) {
                fs::remove_file(&path)?;
                forgotten += 1;
            }
        }
        Ok(forgotten)
    }
}

impl StoredLoginFile {
    pub(crate) fn is_there(&self) -> bool {
        self.path.exists()
    }

    fn read(&self) -> Result<Option<StoredCredentials>, String> {
        let shown = self.path.display();
        let unreadable = |error: io::Error| format!("{shown} cannot be read: {error}");
        let mut file = match File::open(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened.map_err(unreadable)?,
        };
        let mode = file.metadata().map_err(unreadable)?.permissions().mode();
        if mode & OTHERS != 0 {
            return Err(format!("others can read {shown}; run: chmod 600 {shown}"));
        }
        let mut text = String::new();
        file.read_to_string(&mut text).map_err(unreadable)?;
        // An error of the reader could quote a token.
        let login: StoredLogin = serde_json::from_str(&text).map_err(|_| {
            let server = &self.server;
            format!("{shown} is not a stored login; log in again: troupe mcp login {server}")
        })?;
        Ok(Some(login.credentials))
    }

    fn write(&self, credentials: StoredCredentials) -> Result<(), String> {
        let login = StoredLogin {
            server: self.server.clone(),
            url: self.url.clone(),
            credentials,
        };
        let text = serde_json::to_vec_pretty(&login).map_err(|error| error.to_string())?;
        let written = || -> io::Result<()> {
            let directory = self.made_directory()?;
            // Its mode is 0600 from the beginning.
            let mut beside = NamedTempFile::new_in(directory)?;
            beside.write_all(&text)?;
            beside.as_file().sync_all()?;
            beside.persist(&self.path).map_err(|error| error.error)?;
            File::open(directory)?.sync_all()
        };
        written().map_err(|error| format!("cannot write {}: {error}", self.path.display()))
    }

    fn remove(&self) -> Result<(), String> {
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(format!("cannot delete {}: {error}", self.path.display()))
            }
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Waits until no other process of ours renews this login. Many servers take a token for
    /// renewal once only.
    fn lock(&self) -> Result<File, String> {
        let path = self.path.with_extension("lock");
        let locked = || -> io::Result<File> {
            self.made_directory()?;
            let mut options = OpenOptions::new();
            options.create(true).write(true).truncate(false).mode(0o600);
            let file = options.open(&path)?;
            file.lock()?;
            Ok(file)
        };
        locked().map_err(|error| format!("cannot lock {}: {error}", path.display()))
    }

    fn made_directory(&self) -> io::Result<&Path> {
        let directory = self.path.parent().ok_or(io::ErrorKind::InvalidInput)?;
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(directory)?;
        Ok(directory)
    }

    /// Does something with the file where nothing else waits for it.
    async fn aside<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Self) -> Result<T, String> + Send + 'static,
    ) -> Result<T, AuthError> {
        let login = self.clone();
        let done = tokio::task::spawn_blocking(move || work(&login)).await;
        let done = done.unwrap_or_else(|_| Err("the engine is ending".to_owned()));
        done.map_err(AuthError::CredentialStoreError)
    }
}

#[async_trait]
impl CredentialStore for StoredLoginFile {
    async fn load(&self) -> Result<Option<StoredCredentials>, AuthError> {
        self.aside(Self::read).await
    }

    async fn save(&self, credentials: StoredCredentials) -> Result<(), AuthError> {
        self.aside(|login| login.write(credentials)).await
    }

    async fn clear(&self) -> Result<(), AuthError> {
        self.aside(Self::remove).await
    }

    async fn acquire_refresh_guard(&self) -> Result<Option<CredentialRefreshGuard>, AuthError> {
        let lock = self.aside(Self::lock).await?;
        Ok(Some(CredentialRefreshGuard::new(lock)))
    }
}

#[cfg(test)]
mod tests;
