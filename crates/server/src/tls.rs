//! TLS for those who listen beyond this machine.

use std::fs::File;
use std::io::BufReader;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

/// What a key file may not allow those who are neither its owner nor in its group.
const OTHERS_MODE: u32 = 0o007;

/// A certificate with its key, read and checked.
#[derive(Clone)]
pub struct TlsIdentity {
    config: Arc<ServerConfig>,
}

impl std::fmt::Debug for TlsIdentity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Tls")
    }
}

#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("no certificate in PEM form can be read from {path}: {problem}")]
    Certificate { path: String, problem: String },
    #[error("no private key in PEM form can be read from {path}: {problem}")]
    Key { path: String, problem: String },
    #[error(
        "the private key {path} can be read by others; make it yours alone with `chmod 600`, or \
         readable by one group with `chmod 640`"
    )]
    KeyOpen { path: String },
    #[error("certificate and key do not go together: {0}")]
    Unusable(#[from] rustls::Error),
}

impl TlsIdentity {
    /// Reads a chain of certificates, the server's first, and the key of the first.
    pub fn read(certificates: &Path, key: &Path) -> Result<Self, TlsError> {
        let unreadable = |problem: String| TlsError::Certificate {
            path: certificates.display().to_string(),
            problem,
        };
        let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_file_iter(certificates)
            .and_then(Iterator::collect)
            .map_err(|error| unreadable(error.to_string()))?;
        if chain.is_empty() {
            return Err(unreadable("there is none".to_owned()));
        }
        let key = read_key(key)?;
        let provider = Arc::new(aws_lc_rs::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(chain, key)?;
        Ok(Self {
            config: Arc::new(config),
        })
    }

    /// Returns what takes a connection over. `protocols` are those that a client may choose
    /// from, the best first.
    pub fn acceptor(&self, protocols: &[&[u8]]) -> TlsAcceptor {
        let mut config = ServerConfig::clone(&self.config);
        config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
        TlsAcceptor::from(Arc::new(config))
    }
}

/// Reads a key that not everybody can read. A group may, because system services are often
/// given keys so.
fn read_key(path: &Path) -> Result<PrivateKeyDer<'static>, TlsError> {
    let failed = |problem: String| TlsError::Key {
        path: path.display().to_string(),
        problem,
    };
    // The file that is looked at is the one that is read.
    let file = File::open(path).map_err(|error| failed(error.to_string()))?;
    let metadata = file.metadata().map_err(|error| failed(error.to_string()))?;
    if metadata.mode() & OTHERS_MODE != 0 {
        return Err(TlsError::KeyOpen {
            path: path.display().to_string(),
        });
    }
    PrivateKeyDer::from_pem_reader(BufReader::new(file)).map_err(|error| failed(error.to_string()))
}
