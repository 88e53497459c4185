//! What the agents above a stored agent leave to it, read from the logs of its tree: a fork of
//! it begins with that, and not with what it was given before they were narrowed.

use std::collections::BTreeMap;

use troupe_engine::ForkRights;
use troupe_protocol::policy::SandboxPolicy;
use troupe_protocol::rollout::RolloutRecord;
use troupe_protocol::session::TurnContext;
use troupe_protocol::tree::TreeFact;
use troupe_protocol::{AgentId, SessionId};
use troupe_store::{AgentLocation, LiveHistory, SessionStore, StoreError};

use super::restore;
use crate::rights::RightsCeilings;

/// The settings of everybody above one agent.
#[derive(Debug)]
pub(crate) struct SourceRights {
    ceilings: RightsCeilings,
    agent: AgentId,
}

impl SourceRights {
    pub(crate) async fn read(
        store: &dyn SessionStore,
        place: AgentLocation,
    ) -> Result<Self, StoreError> {
        let mut story = restore::read(store, place.root).await;
        story.facts.sort();
        let ceilings = RightsCeilings::default();
        let mut parents: BTreeMap<AgentId, (AgentId, SessionId)> = BTreeMap::new();
        for record in &story.facts.records {
            match &record.fact {
                TreeFact::Born(birth) => {
                    parents.insert(birth.agent, (birth.parent, birth.session));
                    if let Some(spec) = story.facts.specs.get(&birth.agent) {
                        ceilings.born(birth.agent, Some(birth.parent), spec);
                    }
                }
                TreeFact::Released { agent } => ceilings.released(*agent),
                _ => {}
            }
        }
        let root = store.read_live(place.root).await?;
        ceilings.set(AgentId::ROOT, &last_context(&root, place.root)?);
        let mut next = parents.get(&place.agent);
        while let Some((parent, _)) = next {
            next = parents.get(parent);
            // One that was never opened has what it was made with.
            if let Some((_, session)) = next
                && let Ok(live) = store.read_live(*session).await
                && let Ok(context) = last_context(&live, *session)
            {
                ceilings.set(*parent, &context);
            }
        }
        let agent = place.agent;
        Ok(Self { ceilings, agent })
    }
}

impl ForkRights for SourceRights {
    fn left_to(&self, context: &TurnContext) -> SandboxPolicy {
        let left = self.ceilings.left_to(self.agent, context);
        // An agent of which its tree's logs say nothing was given nothing.
        left.map_or_else(SandboxPolicy::read_only, |rights| rights.sandbox_policy)
    }
}

/// Returns the settings that a session has now.
fn last_context(live: &LiveHistory, session: SessionId) -> Result<TurnContext, StoreError> {
    let records = live.records.iter().rev();
    let mut contexts = records.filter_map(|(_, line)| match &line.record {
        RolloutRecord::TurnContext(context) => Some(context),
        RolloutRecord::Compacted(compacted) => Some(&compacted.carried.turn_context),
        RolloutRecord::Rewind(rewind) => Some(&rewind.carried.turn_context),
        _ => None,
    });
    contexts.next().cloned().ok_or(StoreError::NotFound {
        what: session.to_string(),
    })
}
