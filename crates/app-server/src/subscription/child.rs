//! One child of a thread that is followed: what it says, and what is asked of it.
//!
//! What is asked goes through the tree, as all that a child hears: its inbox decides when it
//! is read.

use troupe_agents::TreeAccess;
use troupe_agents::tree_access::{SendOutcome, TreeStopRequest};
use troupe_protocol::input::UserInput;
use troupe_protocol::session::TurnOverrides;
use troupe_protocol::tree::AgentMessage;
use troupe_protocol::{Event, EventMsg, SessionId, StopVerb, SubmissionId};
use troupe_server::session_pool::dead_agent_advice;
use troupe_transport::rpc::{PeerGone, RpcError};
use troupe_tree::command::{SendUrgency, StopMode};
use troupe_tree::effect::DeliveryReceipt;

use super::{NewTurn, ThreadControl, check_turn, running};
use crate::call::MethodReply;
use crate::connection::AppConnection;
use crate::translate::EventTranslator;
use crate::trees;
use crate::wire::Empty;
use crate::wire::turn::{TurnStartResponse, TurnSteerResponse};

pub(super) struct FollowedChild {
    id: SessionId,
    translator: EventTranslator,
    /// Who waits for the end of a turn.
    interrupts: Vec<(SubmissionId, MethodReply)>,
}

impl FollowedChild {
    pub(super) fn new(id: SessionId) -> Self {
        Self::with_translator(id, EventTranslator::new(id.to_string()))
    }

    /// A child of which the client knows the history.
    pub(super) fn with_translator(id: SessionId, translator: EventTranslator) -> Self {
        Self {
            id,
            translator,
            interrupts: Vec::new(),
        }
    }

    pub(super) fn translator(&mut self) -> &mut EventTranslator {
        &mut self.translator
    }

    pub(super) async fn control(&mut self, desk: &TreeAccess, control: ThreadControl) {
        match control {
            ThreadControl::Start { input, reply } => match self.start(desk, *input).await {
                Ok(turn) => {
                    let turn = running(&turn, None);
                    reply.send(Ok(TurnStartResponse { turn })).await;
                }
                Err(error) => reply.refuse(error).await,
            },
            ThreadControl::Steer {
                items,
                client_id,
                expected,
                reply,
            } => {
                let steered = self.steer(desk, items, client_id, &expected).await;
                reply.send(steered).await;
            }
            ThreadControl::Review { reply, .. } => {
                let message = "a child is not reviewed; review the thread at its root";
                reply.refuse(RpcError::invalid_request(message)).await;
            }
            ThreadControl::Interrupt { turn, reply } => match self.interrupt(desk, &turn).await {
                Ok(turn) => self.interrupts.push((turn, reply)),
                Err(error) => reply.refuse(error).await,
            },
        }
    }

    /// Returns the turn that takes the input. It need not have begun, and a stop may keep it from
    /// that: an answer that waited for its beginning might never come.
    async fn start(&self, desk: &TreeAccess, input: NewTurn) -> Result<SubmissionId, RpcError> {
        if input.overrides != TurnOverrides::default() || input.output_schema.is_some() {
            return Err(RpcError::invalid_request(
                "a child keeps the settings that it was made with; send it only input",
            ));
        }
        let sent = self.send(desk, input.items, input.client_id).await?;
        Ok(match (sent.receipt, self.translator.turn()) {
            (DeliveryReceipt::Delivered, _) => sent.message.task(),
            // What the client does not know to have ended.
            (_, Some(turn)) => turn.id.clone(),
            (_, None) => sent.task,
        })
    }

    async fn steer(
        &self,
        desk: &TreeAccess,
        items: Vec<UserInput>,
        client_id: Option<String>,
        expected: &str,
    ) -> Result<TurnSteerResponse, RpcError> {
        let turn = check_turn(&self.translator, expected)?;
        self.send(desk, items, client_id).await?;
        Ok(TurnSteerResponse { turn_id: turn.0 })
    }

    async fn send(
        &self,
        desk: &TreeAccess,
        items: Vec<UserInput>,
        client_id: Option<String>,
    ) -> Result<SendOutcome, RpcError> {
        let message = AgentMessage {
            items,
            metadata: None,
            client_id,
        };
        let address = self.id.to_string();
        let sent = desk.send(&address, message, SendUrgency::Regular).await;
        let sent = sent.map_err(trees::refused)?;
        match sent.receipt {
            DeliveryReceipt::Dead { why } => Err(RpcError::invalid_request(dead_agent_advice(why))),
            DeliveryReceipt::Delivered
            | DeliveryReceipt::Queued { .. }
            | DeliveryReceipt::Held { .. } => Ok(sent),
        }
    }

    async fn interrupt(&self, desk: &TreeAccess, expected: &str) -> Result<SubmissionId, RpcError> {
        let turn = check_turn(&self.translator, expected)?;
        let request = TreeStopRequest {
            verb: StopVerb::Interrupt,
            targets: vec![self.id.to_string()],
            mode: StopMode::Act,
            note: None,
        };
        desk.stop(request).await.map_err(trees::refused)?;
        Ok(turn)
    }

    /// Tells what the child says. What it asks is asked at the root.
    pub(super) async fn event(
        &mut self,
        client: &AppConnection,
        event: &Event,
    ) -> Result<(), PeerGone> {
        match &event.msg {
            EventMsg::TurnComplete(_) | EventMsg::TurnAborted(_) => {
                let is_over = |(turn, _): &mut (SubmissionId, MethodReply)| *turn == event.id;
                let over: Vec<_> = self.interrupts.extract_if(.., is_over).collect();
                for (_, reply) in over {
                    reply.send(Ok(Empty {})).await;
                }
            }
            _ => {}
        }
        for notification in self.translator.translate(event) {
            client.notify(&notification).await?;
        }
        Ok(())
    }

    /// Notes that its session has left memory, and with it the turn that ran.
    pub(super) async fn session_unloaded(&mut self) {
        self.translator = EventTranslator::new(self.id.to_string());
        for (_, reply) in self.interrupts.drain(..) {
            reply.send(Ok(Empty {})).await;
        }
    }
}
