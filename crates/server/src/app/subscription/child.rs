//! One child of a thread that is followed: what it says, and what is asked of it.
//!
//! What is asked goes through the tree, as all that a child hears: its inbox decides when it
//! is read.

use troupe_agents::Desk;
use troupe_agents::desk::{Sent, StopRequest};
use troupe_agents::tree::command::{StopMode, Urgency};
use troupe_agents::tree::effect::Receipt;
use troupe_protocol::input::UserInput;
use troupe_protocol::session::TurnOverrides;
use troupe_protocol::tree::AgentMessage;
use troupe_protocol::{Event, EventMsg, SessionId, StopVerb, SubmissionId};

use super::{Control, NewTurn, check_turn, running};
use crate::app::call::Reply;
use crate::app::connection::Connection;
use crate::app::translate::Translator;
use crate::app::trees;
use crate::app::wire::Empty;
use crate::app::wire::turn::{TurnStartResponse, TurnSteerResponse};
use crate::house::dead;
use crate::rpc::{Gone, RpcError};

pub(super) struct Child {
    id: SessionId,
    translator: Translator,
    /// Who waits for the end of a turn.
    interrupts: Vec<(SubmissionId, Reply)>,
}

impl Child {
    pub(super) fn new(id: SessionId) -> Self {
        Self::joined(id, Translator::new(id.to_string()))
    }

    /// A child of which the client knows the history.
    pub(super) fn joined(id: SessionId, translator: Translator) -> Self {
        Self {
            id,
            translator,
            interrupts: Vec::new(),
        }
    }

    pub(super) fn translator(&mut self) -> &mut Translator {
        &mut self.translator
    }

    pub(super) async fn control(&mut self, desk: &Desk, control: Control) {
        match control {
            Control::Start { input, reply } => match self.start(desk, *input).await {
                Ok(turn) => {
                    let turn = running(&turn, None);
                    reply.send(Ok(TurnStartResponse { turn })).await;
                }
                Err(error) => reply.refuse(error).await,
            },
            Control::Steer {
                items,
                client_id,
                expected,
                reply,
            } => {
                let steered = self.steer(desk, items, client_id, &expected).await;
                reply.send(steered).await;
            }
            Control::Review { reply, .. } => {
                let message = "a child is not reviewed; review the thread at its root";
                reply.refuse(RpcError::invalid_request(message)).await;
            }
            Control::Interrupt { turn, reply } => match self.interrupt(desk, &turn).await {
                Ok(turn) => self.interrupts.push((turn, reply)),
                Err(error) => reply.refuse(error).await,
            },
        }
    }

    /// Returns the turn that takes the input. It need not have begun, and a stop may keep it from
    /// that: an answer that waited for its beginning might never come.
    async fn start(&self, desk: &Desk, input: NewTurn) -> Result<SubmissionId, RpcError> {
        if input.overrides != TurnOverrides::default() || input.output_schema.is_some() {
            return Err(RpcError::invalid_request(
                "a child keeps the settings that it was made with; send it only input",
            ));
        }
        let sent = self.send(desk, input.items, input.client_id).await?;
        Ok(match (sent.receipt, self.translator.turn()) {
            (Receipt::Delivered, _) => sent.message.task(),
            // What the client does not know to have ended.
            (_, Some(turn)) => turn.id.clone(),
            (_, None) => sent.task,
        })
    }

    async fn steer(
        &self,
        desk: &Desk,
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
        desk: &Desk,
        items: Vec<UserInput>,
        client_id: Option<String>,
    ) -> Result<Sent, RpcError> {
        let message = AgentMessage {
            items,
            metadata: None,
            client_id,
        };
        let address = self.id.to_string();
        let sent = desk.send(&address, message, Urgency::Regular).await;
        let sent = sent.map_err(trees::refused)?;
        match sent.receipt {
            Receipt::Dead { why } => Err(RpcError::invalid_request(dead(why))),
            Receipt::Delivered | Receipt::Queued { .. } | Receipt::Held { .. } => Ok(sent),
        }
    }

    async fn interrupt(&self, desk: &Desk, expected: &str) -> Result<SubmissionId, RpcError> {
        let turn = check_turn(&self.translator, expected)?;
        let request = StopRequest {
            verb: StopVerb::Interrupt,
            targets: vec![self.id.to_string()],
            mode: StopMode::Act,
            note: None,
        };
        desk.stop(request).await.map_err(trees::refused)?;
        Ok(turn)
    }

    /// Tells what the child says. What it asks is asked at the root.
    pub(super) async fn event(&mut self, client: &Connection, event: &Event) -> Result<(), Gone> {
        match &event.msg {
            EventMsg::TurnComplete(_) | EventMsg::TurnAborted(_) => {
                let is_over = |(turn, _): &mut (SubmissionId, Reply)| *turn == event.id;
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
    pub(super) async fn left(&mut self) {
        self.translator = Translator::new(self.id.to_string());
        for (_, reply) in self.interrupts.drain(..) {
            reply.send(Ok(Empty {})).await;
        }
    }
}
