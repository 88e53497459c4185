//! One client: what it said of itself, what it follows, and its requests.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use serde::Serialize;
use serde_json::value::RawValue;
use tokio::sync::{Semaphore, mpsc};
use tokio::time::timeout;
use tokio_util::sync::{CancellationToken, DropGuard};
use tracing::Instrument as _;
use troupe_protocol::SessionId;
use troupe_protocol::discard;
use troupe_transport::rpc::{
    IncomingMessage, Outbox, PeerGone, RequestId, RpcDialect, RpcError, codes, decode,
};

use super::call::{MethodCall, MethodReply, parse};
use super::client_resources::ClientResources;
use super::methods::{self, MethodEntry, MethodStability};
use super::subscription::ThreadSubscription;
use super::thread_queues::ThreadQueues;
use super::unsupported_methods;
use super::wire::initialize::{ClientInfo, InitializeParams, InitializeResponse};
use super::wire::notification::ServerNotification;
use super::{AppServer, now_ms};
use crate::limits::{FINISH_MS_MAX, REQUESTS_MAX};

/// The version of the protocol that clients of the Codex family ask for in the user agent.
const COMPATIBLE_WITH: &str = "0.169.0";

/// A client's place at the server. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct AppConnection(Arc<AppConnectionInner>);

#[derive(Debug)]
struct AppConnectionInner {
    app: AppServer,
    number: u64,
    outbox: Outbox,
    client: OnceLock<ClientProfile>,
    lanes: ThreadQueues,
    subscriptions: Mutex<HashMap<SessionId, ThreadSubscription>>,
    belongings: ClientResources,
    places: Arc<Semaphore>,
    over: CancellationToken,
}

/// What a client said of itself.
#[derive(Debug)]
struct ClientProfile {
    info: ClientInfo,
    experimental: bool,
    unwanted: HashSet<String>,
}

/// Ends the work for a client that is gone.
#[derive(Debug)]
pub(super) struct ConnectionGuard {
    connection: AppConnection,
    _over: DropGuard,
}

impl Drop for ConnectionGuard {
    fn drop(&mut self) {
        self.connection.subscriptions().clear();
        self.connection.0.belongings.end();
    }
}

/// A notification as it is sent.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct EmittedNotification<'a> {
    #[serde(flatten)]
    notification: &'a ServerNotification,
    emitted_at_ms: i64,
}

impl AppConnection {
    /// Takes a client in. Returns its place, what keeps it, and what is to be written to it.
    pub(super) fn open(app: &AppServer) -> (Self, ConnectionGuard, mpsc::Receiver<Vec<u8>>) {
        let (outbox, written) = Outbox::new(RpcDialect::Bare);
        let over = CancellationToken::new();
        let connection = Self(Arc::new(AppConnectionInner {
            app: app.clone(),
            number: app.next_number(),
            outbox,
            client: OnceLock::new(),
            lanes: ThreadQueues::default(),
            subscriptions: Mutex::default(),
            belongings: ClientResources::default(),
            places: Arc::new(Semaphore::new(REQUESTS_MAX)),
            over: over.clone(),
        }));
        let presence = ConnectionGuard {
            connection: connection.clone(),
            _over: over.drop_guard(),
        };
        (connection, presence, written)
    }

    pub(super) fn app(&self) -> &AppServer {
        &self.0.app
    }

    pub(super) fn number(&self) -> u64 {
        self.0.number
    }

    pub(super) fn outbox(&self) -> &Outbox {
        &self.0.outbox
    }

    /// Tells the client something, unless it does not want to know.
    pub(super) async fn notify(&self, notification: &ServerNotification) -> Result<(), PeerGone> {
        if let ServerNotification::AccountRateLimitsUpdated(told) = notification {
            self.0.app.note_rate_limits(&told.rate_limits);
        }
        let wanted = |client: &ClientProfile| !client.unwanted.contains(notification.method());
        if !self.0.client.get().is_some_and(wanted) {
            return Ok(());
        }
        let emitted_at_ms = now_ms();
        self.0
            .outbox
            .send(&EmittedNotification {
                notification,
                emitted_at_ms,
            })
            .await
    }

    /// Tells this client something now, and all others when they come to it.
    pub(super) async fn announce(&self, notification: ServerNotification) {
        // One that is gone is not needed for the others.
        discard!(self.notify(&notification).await, "the client is gone");
        let news = self.0.app.news();
        news.publish(notification, Some(self.0.number));
    }

    /// Waits until the requests that came are done. Those that last longer end with the client.
    pub(super) async fn finish(&self) {
        let all = u32::try_from(REQUESTS_MAX).unwrap_or(u32::MAX);
        let done = self.0.places.acquire_many(all);
        let time = Duration::from_millis(FINISH_MS_MAX);
        discard!(timeout(time, done).await, "a wait ran into its timeout");
    }

    /// Returns the threads that the client follows.
    pub(super) fn subscriptions(&self) -> MutexGuard<'_, HashMap<SessionId, ThreadSubscription>> {
        let subscriptions = self.0.subscriptions.lock();
        subscriptions.unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn belongings(&self) -> &ClientResources {
        &self.0.belongings
    }

    /// Takes one message of the client. Waits only for the client itself to read.
    pub(super) async fn receive(&self, text: &[u8]) {
        match decode(text) {
            Ok(IncomingMessage::Request { id, method, params }) => {
                self.request(id, &method, params).await;
            }
            // `initialized` says nothing that the request before did not.
            Ok(IncomingMessage::Notification { .. }) => {}
            Ok(IncomingMessage::Response(response)) => {
                if let Err(never) = self.0.outbox.answered(response) {
                    let error = RpcError::invalid_request(never.to_string());
                    self.refuse(None, &error).await;
                }
            }
            Err(unreadable) => {
                self.refuse(unreadable.id.as_ref(), &unreadable.error).await;
            }
        }
    }

    /// Answers a message that was too long to be taken.
    pub(super) async fn too_long(&self, bytes_max: usize) {
        let message = format!("a message has at most {bytes_max} bytes");
        self.refuse(None, &RpcError::invalid_request(message)).await;
    }

    async fn request(&self, id: RequestId, method: &str, params: Option<Box<RawValue>>) {
        let admitted = match method {
            "initialize" => return self.initialize(id, params).await,
            _ => self.admit(method, params.as_deref()),
        };
        let method = match admitted {
            Ok(method) => method,
            Err(error) => return self.refuse(Some(&id), &error).await,
        };
        let Ok(place) = Arc::clone(&self.0.places).try_acquire_owned() else {
            let message = "Server overloaded; retry later.";
            let error = RpcError::new(codes::OVERLOADED, message);
            return self.refuse(Some(&id), &error).await;
        };
        let turn = match thread_of(params.as_deref()) {
            Some(thread) => Some(self.0.lanes.queue(&thread).await),
            None => None,
        };
        let call = MethodCall {
            connection: self.clone(),
            params,
            reply: MethodReply::new(self.0.outbox.clone(), id),
        };
        let over = self.0.over.clone();
        let handled = async move {
            let _place = place;
            let _turn = match turn {
                Some(turn) => Some(turn.wait_for_place().await),
                None => None,
            };
            (method.handle)(call).await;
            tracing::debug!("the request is handled");
        };
        let span = tracing::info_span!(
            "client_request",
            method = method.name,
            client = self.0.number
        );
        // Ends with the client.
        tokio::spawn(over.run_until_cancelled_owned(handled).instrument(span));
    }

    /// Finds the method, if this client may call it in this way.
    fn admit(
        &self,
        name: &str,
        params: Option<&RawValue>,
    ) -> Result<&'static MethodEntry, RpcError> {
        let Some(client) = self.0.client.get() else {
            return Err(RpcError::invalid_request("Not initialized"));
        };
        let method = methods::find(name).ok_or_else(|| {
            let message = match unsupported_methods::why(name) {
                Some(why) => format!("{name} is not supported: {why}"),
                None => format!("unknown method: {name}"),
            };
            RpcError::new(codes::METHOD_NOT_FOUND, message)
        })?;
        if client.experimental {
            return Ok(method);
        }
        let gated = |what: &str| {
            RpcError::invalid_request(format!("{what} requires experimentalApi capability"))
        };
        if method.stability == MethodStability::Experimental {
            return Err(gated(name));
        }
        match method.experimental_field(params) {
            Some(field) => Err(gated(&format!("{name}.{field}"))),
            None => Ok(method),
        }
    }

    async fn initialize(&self, id: RequestId, params: Option<Box<RawValue>>) {
        let params: InitializeParams = match parse(params.as_deref()) {
            Ok(params) => params,
            Err(error) => return self.refuse(Some(&id), &error).await,
        };
        let capabilities = params.capabilities.unwrap_or_default();
        let unwanted = capabilities.opt_out_notification_methods;
        let client = ClientProfile {
            info: params.client_info,
            experimental: capabilities.experimental_api,
            unwanted: unwanted.unwrap_or_default().into_iter().collect(),
        };
        if self.0.client.set(client).is_err() {
            let error = RpcError::invalid_request("Already initialized");
            return self.refuse(Some(&id), &error).await;
        }
        let info = self.0.client.get().map(|client| &client.info);
        let name = info.map_or("client", |info| info.name.as_str());
        let version = info.map_or("", |info| info.version.as_str());
        let (os, arch) = (std::env::consts::OS, std::env::consts::ARCH);
        let own = env!("CARGO_PKG_VERSION");
        let response = InitializeResponse {
            user_agent: format!(
                "{name}/{COMPATIBLE_WITH} ({os}; {arch}) troupe/{own} ({name}; {version})"
            ),
            codex_home: self.0.app.home().to_owned(),
            platform_family: std::env::consts::FAMILY.to_owned(),
            platform_os: os.to_owned(),
        };
        let news = self.0.app.news().listen();
        let over = self.0.over.clone();
        // Ends with the client.
        tokio::spawn(over.run_until_cancelled_owned(news.forward_to(self.clone())));
        // A client that is gone needs no answer.
        discard!(
            self.0.outbox.answer(Some(&id), Ok(&response)).await,
            "the client is gone"
        );
    }

    async fn refuse(&self, id: Option<&RequestId>, error: &RpcError) {
        // A client that is gone needs no answer.
        discard!(self.0.outbox.refuse(id, error).await, "the client is gone");
    }
}

/// Returns the thread that a request is about.
fn thread_of(params: Option<&RawValue>) -> Option<String> {
    #[derive(serde::Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct ThreadReference {
        thread_id: String,
    }
    let about: Result<ThreadReference, _> = serde_json::from_str(params?.get());
    about.ok().map(|about| about.thread_id)
}
