//! TLS for those who listen beyond this machine.

use std::path::Path;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

/// A certificate with its key, read and checked.
#[derive(Clone)]
pub struct Tls {
    config: Arc<ServerConfig>,
}

impl std::fmt::Debug for Tls {
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
    #[error("certificate and key do not go together: {0}")]
    Unusable(#[from] rustls::Error),
}

impl Tls {
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
        let key = PrivateKeyDer::from_pem_file(key).map_err(|error| TlsError::Key {
            path: key.display().to_string(),
            problem: error.to_string(),
        })?;
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
    pub(crate) fn acceptor(&self, protocols: &[&[u8]]) -> TlsAcceptor {
        let mut config = ServerConfig::clone(&self.config);
        config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
        TlsAcceptor::from(Arc::new(config))
    }
}
