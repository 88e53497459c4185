//! The calls that a server is working on, so that what it asks meanwhile finds the one it is for.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::model::RequestId;
use serde_json::Value;
use troupe_protocol::mcp::{ElicitationRequest, ElicitationResponse};
use troupe_protocol::op::ElicitationDecision;
use troupe_tools::ToolInvocation;

/// The calls in flight. Shared by the connection, which enters them, and by what listens to the
/// server.
#[derive(Debug, Clone, Default)]
pub(crate) struct InFlightCalls(Arc<Mutex<InFlightTable>>);

#[derive(Debug, Default)]
struct InFlightTable {
    next: u64,
    /// In the order in which they began.
    asking: BTreeMap<u64, ElicitationRoute>,
}

/// Who can be asked on behalf of a call.
#[derive(Debug, Clone)]
pub(crate) struct ElicitationRoute {
    request: Option<RequestId>,
    call: ToolInvocation,
    /// Questions of it that a person has not answered.
    open: Arc<AtomicUsize>,
}

/// A call's entry. Dropping it ends the entry.
#[derive(Debug)]
pub(crate) struct InFlightEntry {
    calls: InFlightCalls,
    key: u64,
}

impl InFlightCalls {
    pub(crate) fn enter(&self, call: &ToolInvocation) -> InFlightEntry {
        let mut table = self.lock();
        let key = table.next;
        table.next += 1;
        let asker = ElicitationRoute {
            request: None,
            call: call.clone(),
            open: Arc::default(),
        };
        table.asking.insert(key, asker);
        InFlightEntry {
            calls: self.clone(),
            key,
        }
    }

    /// Finds the call that a question of the server's is about. Over HTTP the stream that it
    /// came on tells; on a pipe nothing does, and it is taken to be the newest one.
    pub(crate) fn asker(&self, request: Option<&RequestId>) -> Option<ElicitationRoute> {
        let table = self.lock();
        let own =
            |asker: &&ElicitationRoute| request.is_some() && asker.request.as_ref() == request;
        let found = table.asking.values().find(own);
        found.or_else(|| table.asking.values().next_back()).cloned()
    }

    fn lock(&self) -> MutexGuard<'_, InFlightTable> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl InFlightEntry {
    /// Says under which id the server knows the call.
    pub(crate) fn is_request(&self, id: &RequestId) {
        if let Some(asker) = self.calls.lock().asking.get_mut(&self.key) {
            asker.request = Some(id.clone());
        }
    }
}

impl InFlightEntry {
    /// Tells whether a person is being asked.
    pub(crate) fn is_asking(&self) -> bool {
        let table = self.calls.lock();
        let asker = table.asking.get(&self.key);
        asker.is_some_and(|asker| asker.open.load(Ordering::Relaxed) > 0)
    }
}

impl Drop for InFlightEntry {
    fn drop(&mut self) {
        self.calls.lock().asking.remove(&self.key);
    }
}

impl ElicitationRoute {
    /// Puts a server's question to whoever can answer for the call.
    pub(crate) async fn elicit(&self, server: &str, request: Value) -> ElicitationResponse {
        let request = ElicitationRequest {
            server_name: server.to_owned(),
            id: self.call.id.clone(),
            turn_id: Some(self.call.context.turn_id.clone()),
            request,
            agent: None,
        };
        let _open = OpenQuestionGuard::new(&self.open);
        tokio::select! {
            response = self.call.channel.elicit(request) => response,
            () = self.call.cancel.cancelled() => {
                ElicitationResponse::without_content(ElicitationDecision::Cancel)
            }
        }
    }
}

/// Counts a question as open for as long as it lives.
struct OpenQuestionGuard<'a>(&'a AtomicUsize);

impl<'a> OpenQuestionGuard<'a> {
    fn new(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count)
    }
}

impl Drop for OpenQuestionGuard<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
