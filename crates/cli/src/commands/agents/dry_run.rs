//! What a stop would touch in a tree that nobody runs: asked of the rules alone, so that
//! nothing is opened or written.

use troupe_protocol::tree::{Caller, TimeMs};
use troupe_protocol::{AgentId, StopVerb};
use troupe_tree::command::{StopCommand, StopMode, TreeAction, TreeCommand};
use troupe_tree::effect::{CommandReply as Told, TreeEffect};
use troupe_tree::{Tree, TreeLimits};

use super::address::AgentTarget;
use crate::control::ControlAnswer;
use crate::control::act::skip;
use crate::control::request::ReachedAgent;
use crate::failure::CommandFailure;
use troupe_protocol::link::query::StopExemption;

pub fn stop(target: &AgentTarget, verb: StopVerb) -> Result<ControlAnswer, CommandFailure> {
    let (mut tree, _) = Tree::restore(TreeLimits::default(), target.tree.records());
    let at = TimeMs(jiff::Timestamp::now().as_millisecond());
    // What ran when its process ended does not run any more.
    let what = TreeAction::Recover;
    tree.apply(TreeCommand { at, what })
        .map_err(CommandFailure::failed)?;
    let what = TreeAction::Stop(StopCommand {
        by: Caller::User,
        verb,
        targets: vec![target.agent],
        mode: StopMode::DryRun,
    });
    let effects = match tree.apply(TreeCommand { at, what }) {
        Ok(effects) => effects,
        Err(refusal) => {
            let message = refusal.to_string();
            return Ok(ControlAnswer::Refused { message });
        }
    };
    let path = |agent: AgentId| {
        tree.get(agent)
            .map_or_else(String::new, |it| it.path.clone())
    };
    let plan = effects.into_iter().find_map(|effect| match effect {
        TreeEffect::Answer(Told::Plan(plan)) => Some(plan),
        _ => None,
    });
    let (touched, skipped) =
        plan.map_or_else(Default::default, |plan| (plan.touched, plan.skipped));
    Ok(ControlAnswer::Stopped {
        touched: touched
            .into_iter()
            .map(|touch| ReachedAgent {
                agent_id: touch.agent,
                path: path(touch.agent),
                action: touch.action,
            })
            .collect(),
        skipped: skipped
            .into_iter()
            .map(|skipped| StopExemption {
                agent_id: skipped.agent,
                path: path(skipped.agent),
                why: skip(skipped.why).to_owned(),
            })
            .collect(),
    })
}
