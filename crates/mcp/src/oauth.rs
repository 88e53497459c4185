//! Logins at servers that want OAuth: authorization code with PKCE, by a browser that comes back
//! to a port of this machine.
//!
//! ```text
//! begin ──► what the server says of its logins ──► register, unless a client is known ──► address
//! person: opens the address, agrees            ──► 127.0.0.1:PORT/callback?code&state
//! finish ──► code + verifier ──► tokens ──► [`McpLoginStore`]
//! later  ──► authorized() ──► the SDK sends the token, and has it renewed before it expires
//! ```
//!
//! The SDK speaks the protocol. Here is who waits for the browser, where the tokens are, and what
//! people are told. A login belongs to a name *and* an address, so that no other server that
//! takes the name over is sent its token.

mod callback;
mod store;

use rmcp::transport::auth::{
    AuthError, AuthorizationManager, AuthorizationMetadataSource, AuthorizationRequest,
    AuthorizationSession,
};
use tokio::time::timeout;

use crate::config::{ServerConfig, ServerEndpoint};
use crate::limits::{LOGIN_TIME_MAX, OAUTH_ERROR_CHARS_MAX};
use callback::CallbackListener;
pub use store::McpLoginStore;
pub(crate) use store::StoredLoginFile;

/// Under which name servers show us to whoever agrees.
const CLIENT_NAME: &str = "Troupe";

/// What a person wants of a login beside the server's name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct McpLoginOptions {
    /// A client that the server knows already; one is registered if absent.
    pub client_id: Option<String>,
    /// What is asked for; what the server names if empty.
    pub scopes: Vec<String>,
    /// The port that the browser comes back to; any free one if absent.
    pub port: Option<u16>,
}

/// A login that waits for the person.
pub struct PendingMcpLogin {
    server: String,
    session: AuthorizationSession,
    listener: CallbackListener,
}

impl std::fmt::Debug for PendingMcpLogin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The address carries the state of the login.
        f.debug_struct("PendingMcpLogin")
            .field("server", &self.server)
            .finish_non_exhaustive()
    }
}

/// Why nobody is logged in.
#[derive(Debug, thiserror::Error)]
pub enum McpLoginError {
    #[error("{0} is a program that is started; only servers with a url have logins")]
    NotByAddress(String),
    #[error(
        "{server} is reached with the token in {variable}; remove bearer_token_env_var to log in \
         instead"
    )]
    HasToken { server: String, variable: String },
    #[error("port {port} of this machine cannot be used: {error}")]
    NoPort { port: u16, error: std::io::Error },
    #[error("{server} did not say how to log in: {error}")]
    NoLogins { server: String, error: String },
    #[error(
        "{server} takes no new clients: {error}\nRegister one there that comes back to \
         http://127.0.0.1:PORT/callback, then: troupe mcp login {server} --client-id ID --port PORT"
    )]
    NotRegistered { server: String, error: String },
    #[error("the login at {server} was refused: {error}")]
    Refused { server: String, error: String },
    #[error("nobody came back from the browser within {} minutes", LOGIN_TIME_MAX.as_secs() / 60)]
    TimedOut,
    #[error("the port of this machine no longer listens: {0}")]
    NotListening(std::io::Error),
    #[error("{0}")]
    NotStored(String),
}

impl PendingMcpLogin {
    /// Asks the server how one logs in, and makes the address that a person opens.
    pub async fn begin(
        server: &str,
        config: &ServerConfig,
        options: McpLoginOptions,
        store: &McpLoginStore,
    ) -> Result<Self, McpLoginError> {
        let url = match &config.door {
            ServerEndpoint::Stdio { .. } => {
                return Err(McpLoginError::NotByAddress(server.to_owned()));
            }
            ServerEndpoint::Http {
                bearer_token_env_var: Some(variable),
                ..
            } => {
                return Err(McpLoginError::HasToken {
                    server: server.to_owned(),
                    variable: variable.clone(),
                });
            }
            ServerEndpoint::Http { url, .. } => url,
        };
        let port = options.port.unwrap_or(0);
        let listener = CallbackListener::bind(port)
            .await
            .map_err(|error| McpLoginError::NoPort { port, error })?;
        let no_logins = |error: AuthError| McpLoginError::NoLogins {
            server: server.to_owned(),
            error: shown(&error),
        };
        let mut manager = manager(url).await.map_err(no_logins)?;
        manager.set_credential_store(store.login(server, url));
        let found = manager.resolve_metadata().await.map_err(no_logins)?;
        let is_guessed = found.source == AuthorizationMetadataSource::LegacyEndpointFallback;
        manager.set_metadata(found.metadata);
        let mut request = AuthorizationRequest::new(listener.redirect_address())
            .with_client_name(CLIENT_NAME)
            .with_scopes(options.scopes);
        if let Some(id) = options.client_id {
            request = request.with_preregistered_client(id);
        }
        let session = AuthorizationSession::new(manager, request).await;
        let session = session.map_err(|(_, error)| match error {
            AuthError::RegistrationFailed(_) if !is_guessed => McpLoginError::NotRegistered {
                server: server.to_owned(),
                error: shown(&error),
            },
            error => no_logins(error),
        })?;
        Ok(Self {
            server: server.to_owned(),
            session,
            listener,
        })
    }

    /// Returns the address that a person opens in a browser.
    pub fn address(&self) -> &str {
        self.session.get_authorization_url()
    }

    /// Waits for the browser, or for the address that it ended at if somebody pastes that:
    /// a browser on another machine does not find this one. Then the tokens are stored.
    pub async fn finish(
        self,
        pasted: impl Future<Output = String> + Send,
    ) -> Result<(), McpLoginError> {
        let state = callback::state_of(self.address());
        let answer = async {
            tokio::select! {
                came = self.listener.next(state.as_deref()) => came,
                address = pasted => Ok(callback::pasted(&address)),
            }
        };
        let answered = timeout(LOGIN_TIME_MAX, answer)
            .await
            .map_err(|_| McpLoginError::TimedOut)?
            .map_err(McpLoginError::NotListening)?;
        let (address, browser) = answered.into_parts();
        let stored = match address {
            Ok(address) => self
                .session
                .handle_callback_url(&address)
                .await
                .map(drop)
                .map_err(|error| match error {
                    AuthError::CredentialStoreError(problem) => McpLoginError::NotStored(problem),
                    error => self.refused(shown(&error)),
                }),
            Err(refusal) => Err(self.refused(refusal)),
        };
        let told = match &stored {
            Ok(()) => format!(
                "Troupe is logged in to {}. You can close this page.",
                self.server
            ),
            Err(error) => format!("Troupe is not logged in: {error}"),
        };
        if let Some(browser) = browser {
            browser.tell(&told).await;
        }
        stored
    }

    fn refused(&self, error: String) -> McpLoginError {
        McpLoginError::Refused {
            server: self.server.clone(),
            error,
        }
    }
}

/// Returns what sends and renews the tokens of a login; none if nobody is logged in there.
pub(crate) async fn authorized(
    login: StoredLoginFile,
    url: &str,
) -> Result<Option<AuthorizationManager>, AuthError> {
    if !login.is_there() {
        return Ok(None);
    }
    let mut manager = manager(url).await?;
    manager.set_credential_store(login);
    let is_logged_in = manager.initialize_from_store().await?;
    Ok(is_logged_in.then_some(manager))
}

/// Addresses of a private network are let through: companies have their servers there, and it is
/// the user who named this one.
async fn manager(url: &str) -> Result<AuthorizationManager, AuthError> {
    AuthorizationManager::new_allowing_private_addresses(url).await
}

/// Returns an error as a person reads it. Servers write part of it.
pub(crate) fn shown(error: &AuthError) -> String {
    let text = match error {
        AuthError::RegistrationFailed(reason) => {
            let reason = reason.trim_start_matches("Dynamic registration failed: ");
            reason
                .trim_start_matches("Registration failed: ")
                .to_owned()
        }
        AuthError::AuthorizationFailed(reason)
        | AuthError::TokenExchangeFailed(reason)
        | AuthError::TokenRefreshFailed(reason)
        | AuthError::CredentialStoreError(reason) => reason.clone(),
        // Its causes are lines of their own.
        AuthError::MetadataError(reason) => {
            let parts = reason.split("Caused by:").map(str::trim);
            parts.collect::<Vec<_>>().join(": ")
        }
        AuthError::HttpError(error) => crate::plain::chain(error),
        other => other.to_string(),
    };
    bounded(&text)
}

fn bounded(text: &str) -> String {
    let plain = |letter: char| if letter.is_control() { ' ' } else { letter };
    text.chars()
        .take(OAUTH_ERROR_CHARS_MAX)
        .map(plain)
        .collect()
}
