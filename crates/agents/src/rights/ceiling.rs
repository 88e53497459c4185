//! What the agents above leave of an agent's rights at this moment.
//!
//! A child's rights are settled when it is made, and its parent may lose some of its own later:
//! by a turn, by a resume with another sandbox, by planning. So they are bounded again whenever
//! a task or a call begins, by what everybody above has then. What the child was given stays
//! recorded as it was: a parent that is widened again gives back that much and no more.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use troupe_engine::MemberRights;
use troupe_process::{intersect, writable_roots};
use troupe_protocol::AgentId;
use troupe_protocol::policy::{CollaborationMode, SandboxPolicy};
use troupe_protocol::session::TurnContext;
use troupe_protocol::spawn::SpawnSpec;

const PLANNED_ABOVE: &str = "an agent above it plans, and changes nothing";

/// The settings under which the agents of one tree work. Sessions write and read them beside
/// the supervisor, so that a call need not wait for it.
#[derive(Debug, Default)]
pub(crate) struct RightsCeilings(Mutex<BTreeMap<AgentId, RightsCeiling>>);

/// What one agent can leave to those below it.
#[derive(Debug, Clone)]
struct RightsCeiling {
    /// Nobody for the root; the root for one that was released: its process is the user's.
    parent: Option<AgentId>,
    place: SandboxPlace,
    mode: CollaborationMode,
    /// The directory that a person granted it beside its parent's.
    granted: Option<PathBuf>,
}

/// A policy, and the directory that it is seen from.
#[derive(Debug, Clone)]
struct SandboxPlace {
    policy: SandboxPolicy,
    cwd: PathBuf,
}

impl RightsCeilings {
    /// Notes an agent as it was made.
    pub(crate) fn born(&self, agent: AgentId, parent: Option<AgentId>, spec: &SpawnSpec) {
        let ceiling = RightsCeiling {
            parent: parent.or(Some(AgentId::ROOT)),
            place: SandboxPlace {
                policy: spec.sandbox_policy.clone(),
                cwd: spec.cwd.clone(),
            },
            mode: CollaborationMode::Default,
            granted: granted(spec),
        };
        self.lock().insert(agent, ceiling);
    }

    pub(crate) fn released(&self, agent: AgentId) {
        if let Some(ceiling) = self.lock().get_mut(&agent) {
            ceiling.parent = Some(AgentId::ROOT);
        }
    }

    /// Notes the settings under which an agent works from now on.
    pub(crate) fn set(&self, agent: AgentId, context: &TurnContext) {
        let place = SandboxPlace::of(context);
        let mut ceilings = self.lock();
        if let Some(ceiling) = ceilings.get_mut(&agent) {
            ceiling.place = place;
            ceiling.mode = context.collaboration_mode;
        } else {
            let ceiling = RightsCeiling {
                parent: (agent != AgentId::ROOT).then_some(AgentId::ROOT),
                place,
                mode: context.collaboration_mode,
                granted: None,
            };
            ceilings.insert(agent, ceiling);
        }
    }

    /// Returns what is left of the rights in an agent's settings; none for the root, which
    /// nobody bounds.
    pub(crate) fn left_to(&self, agent: AgentId, context: &TurnContext) -> Option<MemberRights> {
        let ceilings = self.lock();
        let own = ceilings.get(&agent)?;
        let mut above = Vec::new();
        let mut next = own.parent;
        while let Some(ceiling) = next.and_then(|parent| ceilings.get(&parent)) {
            above.push(ceiling);
            next = ceiling.parent;
        }
        let mut from_above = above.iter().rev();
        let mut bound = from_above.next()?.open_to_children();
        for ceiling in from_above {
            let place = ceiling.place.within(&bound, ceiling.granted.as_deref());
            bound = SandboxPlace {
                policy: ceiling.limited(place.policy),
                ..place
            };
        }
        let plans = |ceiling: &&RightsCeiling| ceiling.mode == CollaborationMode::Plan;
        let held = above.iter().any(plans);
        let place = SandboxPlace::of(context).within(&bound, own.granted.as_deref());
        Some(MemberRights {
            sandbox_policy: place.policy,
            held: held.then(|| Arc::from(PLANNED_ABOVE)),
        })
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<AgentId, RightsCeiling>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RightsCeiling {
    fn open_to_children(&self) -> SandboxPlace {
        SandboxPlace {
            policy: self.limited(self.place.policy.clone()),
            cwd: self.place.cwd.clone(),
        }
    }

    /// Who plans has nobody change anything.
    fn limited(&self, policy: SandboxPolicy) -> SandboxPolicy {
        match self.mode {
            CollaborationMode::Default => policy,
            CollaborationMode::Plan => {
                let most = SandboxPolicy::read_only();
                intersect(&policy, &most, &self.place.cwd, &BTreeMap::new())
            }
        }
    }
}

impl SandboxPlace {
    fn of(context: &TurnContext) -> Self {
        Self {
            policy: context.sandbox_policy.clone(),
            cwd: context.cwd.clone(),
        }
    }

    /// Returns what is left of this place below another one.
    fn within(&self, bound: &Self, granted: Option<&Path>) -> Self {
        let cwd = self.cwd.clone();
        let env = BTreeMap::new();
        let bound_dir = bound.cwd.as_path();
        let bound = bound.seen_from_anywhere(granted);
        let policy = match (&self.policy, &bound) {
            (own, SandboxPolicy::DangerFullAccess) => own.clone(),
            (SandboxPolicy::ReadOnly { .. }, _) | (_, SandboxPolicy::ReadOnly { .. }) => {
                intersect(&self.policy, &bound, &cwd, &env)
            }
            (own, SandboxPolicy::WorkspaceWrite { .. }) => {
                let both = intersect(own, &bound, &cwd, &env);
                // A policy that may write, but not where it works, cannot be said.
                if writable_roots(&bound, bound_dir, &env).permits(&cwd) {
                    as_it_was(own, both, &cwd)
                } else {
                    let network_access = both.network_access();
                    SandboxPolicy::ReadOnly { network_access }
                }
            }
        };
        Self { policy, cwd }
    }

    /// Returns the policy with every root by its whole path, the working directory among them,
    /// and what a person granted to who is bounded by it.
    fn seen_from_anywhere(&self, granted: Option<&Path>) -> SandboxPolicy {
        let mut policy = self.policy.clone();
        if let SandboxPolicy::WorkspaceWrite { writable_roots, .. } = &mut policy {
            let roots = writable_roots.iter().map(|root| self.cwd.join(root));
            let roots = [self.cwd.clone()].into_iter().chain(roots);
            *writable_roots = roots.chain(granted.map(Path::to_path_buf)).collect();
        }
        policy
    }
}

/// Keeps the words of a policy of which nothing was taken, so that its model is told nothing
/// new.
fn as_it_was(own: &SandboxPolicy, both: SandboxPolicy, cwd: &Path) -> SandboxPolicy {
    let env = BTreeMap::new();
    let roots = |policy| writable_roots(policy, cwd, &env).writable;
    let (SandboxPolicy::WorkspaceWrite { .. }, SandboxPolicy::WorkspaceWrite { .. }) = (own, &both)
    else {
        return both;
    };
    let flags = |policy: &SandboxPolicy| {
        let mut policy = policy.clone();
        if let SandboxPolicy::WorkspaceWrite { writable_roots, .. } = &mut policy {
            writable_roots.clear();
        }
        policy
    };
    // The intersection names a root of either side if both may write there, so it may have more
    // of them and allow nothing more.
    let left = roots(&both);
    let has_all = roots(own).iter().all(|root| left.contains(root));
    if flags(own) == flags(&both) && has_all {
        own.clone()
    } else {
        both
    }
}

/// Returns the directory that a person granted to an agent that was made. Only a grant names
/// the working directory among the roots.
fn granted(spec: &SpawnSpec) -> Option<PathBuf> {
    match &spec.sandbox_policy {
        SandboxPolicy::WorkspaceWrite { writable_roots, .. } => writable_roots
            .iter()
            .find(|root| **root == spec.cwd)
            .cloned(),
        SandboxPolicy::DangerFullAccess | SandboxPolicy::ReadOnly { .. } => None,
    }
}

#[cfg(test)]
mod tests;
