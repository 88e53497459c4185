//! The word that a client must know, where the operating system does not tell who connects.

use std::fmt;
use std::fs::{self, OpenOptions};
use std::hint::black_box;
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use sha2::{Digest as _, Sha256};
use troupe_protocol::link::{Secret, SecretDigest};
use uuid::Uuid;

use crate::limits::{TOKEN_BYTES_MAX, TOKEN_CHARS_MIN};

const FILE_MODE: u32 = 0o600;

/// How much of a digest is kept.
const DIGEST_BYTES: usize = 16;

/// A token. It is compared, and never shown.
#[derive(Clone)]
pub struct AccessToken(String);

impl fmt::Debug for AccessToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    #[error("the file is readable by others; make it yours alone with `chmod 600`")]
    Open,
    #[error("the file belongs to another user")]
    Foreign,
    #[error("the file holds no token of {TOKEN_CHARS_MIN} or more characters")]
    Short,
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl AccessToken {
    /// Returns a token that nobody can guess.
    pub fn random() -> Self {
        let half = || Uuid::new_v4().simple();
        Self(format!("{}{}", half(), half()))
    }

    /// Reads a token from a file that nobody else can read.
    pub fn read(path: &Path) -> Result<Self, TokenError> {
        let file = OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_CLOEXEC)
            .open(path)?;
        let metadata = file.metadata()?;
        // SAFETY: the call has no arguments and cannot fail.
        if metadata.uid() != unsafe { libc::geteuid() } {
            return Err(TokenError::Foreign);
        }
        if metadata.mode() & 0o077 != 0 {
            return Err(TokenError::Open);
        }
        let mut text = String::new();
        file.take(TOKEN_BYTES_MAX).read_to_string(&mut text)?;
        let text = text.trim();
        if text.chars().count() < TOKEN_CHARS_MIN {
            return Err(TokenError::Short);
        }
        Ok(Self(text.to_owned()))
    }

    /// Reads the token of a file, or makes both. Servers that share the file share the token,
    /// and a client that knows it keeps its way in when the server starts again.
    pub fn read_or_make(path: &Path) -> Result<Self, TokenError> {
        match Self::read(path) {
            Err(TokenError::Io(error)) if error.kind() == io::ErrorKind::NotFound => {}
            read => return read,
        }
        let token = Self::random();
        // Complete before it has its name, so that nobody reads half of it.
        let draft = path.with_extension(format!("{}", Uuid::new_v4().simple()));
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(FILE_MODE)
            .open(&draft)?;
        writeln!(file, "{}", token.0)?;
        let linked = fs::hard_link(&draft, path);
        fs::remove_file(&draft)?;
        match linked {
            Ok(()) => Ok(token),
            // Another server was faster.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Self::read(path),
            Err(error) => Err(error.into()),
        }
    }

    /// Takes a text for a token.
    pub(crate) fn of(secret: Secret) -> Self {
        Self(secret.0)
    }

    /// Returns what its holder is told.
    pub(crate) fn to_secret(&self) -> Secret {
        Secret(self.0.clone())
    }

    /// Returns what can be kept of it: who shows it again is known, and nobody can show it who
    /// has only read this. The holder's name makes it differ where secrets do not.
    pub(crate) fn digest(&self, holder: &str) -> SecretDigest {
        let mut hash = Sha256::new();
        hash.update(holder.as_bytes());
        hash.update([0]);
        hash.update(self.0.as_bytes());
        let digest = hash.finalize();
        let hex = digest
            .iter()
            .take(DIGEST_BYTES)
            .map(|byte| format!("{byte:02x}"));
        SecretDigest(hex.collect())
    }

    /// Tells whether a client knows the token, in a time that does not tell how much of it.
    pub fn is(&self, shown: &str) -> bool {
        let (own, shown) = (self.0.as_bytes(), shown.as_bytes());
        let pairs = own.iter().zip(shown);
        let difference = pairs.fold(0, |difference, (a, b)| black_box(difference | (a ^ b)));
        own.len() == shown.len() && difference == 0
    }

    /// Tells whether the value of an `Authorization` header shows the token.
    pub fn is_bearer(&self, header: &str) -> bool {
        let (scheme, shown) = header.split_once(' ').unwrap_or_default();
        scheme.eq_ignore_ascii_case("bearer") && self.is(shown.trim())
    }
}

#[cfg(test)]
mod tests;
