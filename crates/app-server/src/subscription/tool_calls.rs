//! Calls of tools that clients run, put to one that follows the thread.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use troupe_engine::dynamic::{ClientCallSubscriber, ClientToolCall, ClientToolReply, ReplyPart};
use troupe_protocol::id::ItemId;
use troupe_protocol::item::TurnItem;
use troupe_protocol::{CallId, EventMsg};
use troupe_transport::rpc::{PeerGone, RpcError};

use super::SubscriptionActor;
use crate::wire::notification::{ResolvedNotification, ServerNotification};
use crate::wire::tool::{
    DynamicToolCallOutputContentItem, DynamicToolCallParams, DynamicToolCallResponse,
};

/// What a client answers, or why it does not.
pub(super) type ToolAnswer = (CallId, Result<DynamicToolCallResponse, RpcError>);

pub(super) struct ToolCalls {
    /// None for a client that follows one child alone: the tools are the root's.
    follower: Option<ClientCallSubscriber>,
    /// The requests that were sent, by the calls that they are about.
    asked: HashMap<CallId, i64>,
    answers: FuturesUnordered<BoxFuture<'static, ToolAnswer>>,
}

impl ToolCalls {
    pub(super) fn new(follower: Option<ClientCallSubscriber>) -> Self {
        Self {
            follower,
            asked: HashMap::new(),
            answers: FuturesUnordered::new(),
        }
    }

    /// Returns the next answer; none as long as nothing is asked.
    pub(super) async fn next(&mut self) -> Option<ToolAnswer> {
        self.answers.next().await
    }

    pub(super) fn answer(&self, (call, answer): ToolAnswer) {
        let Some(follower) = &self.follower else {
            return;
        };
        match answer {
            Ok(response) => follower.answer(&call, reply(response)),
            Err(error) => follower.decline(&call, error.message),
        }
    }

    /// Passes on the answers that came before the client left.
    pub(super) fn answered(&mut self) {
        while let Some(Some(answer)) = self.answers.next().now_or_never() {
            self.answer(answer);
        }
    }
}

impl SubscriptionActor {
    /// Asks what waited already when the client came.
    pub(super) async fn put_waiting_tool_calls(&mut self) -> Result<(), PeerGone> {
        let follower = self.tool_calls.follower.as_ref();
        for call in follower
            .map(ClientCallSubscriber::calls)
            .unwrap_or_default()
        {
            self.put_tool_call(call).await?;
        }
        Ok(())
    }

    /// Asks the client to run the tool whose item begins, and withdraws what is over.
    pub(super) async fn tool_call_news(&mut self, msg: &EventMsg) -> Result<(), PeerGone> {
        match msg {
            EventMsg::ItemStarted {
                item: TurnItem::ToolCall(item),
                ..
            } => {
                let follower = self.tool_calls.follower.as_ref();
                match follower.and_then(|follower| follower.call(&call_id(&item.id))) {
                    Some(call) => self.put_tool_call(call).await,
                    None => Ok(()),
                }
            }
            EventMsg::ItemCompleted {
                item: TurnItem::ToolCall(item),
                ..
            } => match self.tool_calls.asked.remove(&call_id(&item.id)) {
                Some(request_id) => {
                    let resolved = ResolvedNotification {
                        thread_id: self.id.clone(),
                        request_id,
                    };
                    let resolved = ServerNotification::ServerRequestResolved(resolved);
                    self.connection.notify(&resolved).await
                }
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }

    async fn put_tool_call(&mut self, call: ClientToolCall) -> Result<(), PeerGone> {
        let Entry::Vacant(place) = self.tool_calls.asked.entry(call.call_id.clone()) else {
            return Ok(());
        };
        let params = DynamicToolCallParams {
            thread_id: self.id.clone(),
            turn_id: call.turn_id.0,
            call_id: call.call_id.0.clone(),
            namespace: call.namespace,
            tool: call.tool,
            arguments: call.arguments,
        };
        let outbox = self.connection.outbox();
        let request = outbox.ask("item/tool/call", &params).await?;
        place.insert(request.id());
        let id = call.call_id;
        let answer = async move { (id, request.answer().await) };
        self.tool_calls.answers.push(answer.boxed());
        Ok(())
    }
}

/// An item is named by its call.
fn call_id(item: &ItemId) -> CallId {
    CallId(item.0.clone())
}

fn reply(response: DynamicToolCallResponse) -> ClientToolReply {
    use DynamicToolCallOutputContentItem as Item;
    let part = |item: Item| match item {
        Item::Text { text } => ReplyPart::Text(text),
        Item::Image { image_url } => ReplyPart::Image(image_url),
        Item::Audio { .. } => ReplyPart::LeftOut("audio"),
    };
    ClientToolReply {
        parts: response.content_items.into_iter().map(part).collect(),
        success: response.success,
    }
}
