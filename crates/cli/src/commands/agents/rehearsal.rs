//! What a stop would touch in a tree that nobody runs: asked of the rules alone, so that
//! nothing is opened or written.

use troupe_agents::tree::command::{Command, Stop, StopMode, What};
use troupe_agents::tree::effect::{Answer as Told, Effect};
use troupe_agents::tree::id::TimeMs;
use troupe_agents::tree::{Limits, Tree};
use troupe_protocol::tree::Caller;
use troupe_protocol::{AgentId, StopVerb};

use super::address::Target;
use crate::control::Answer;
use crate::control::act::skip;
use crate::control::request::{Skipped, Touched};
use crate::failure::Failure;

pub fn stop(target: &Target, verb: StopVerb) -> Result<Answer, Failure> {
    let (mut tree, _) = Tree::restore(Limits::default(), target.tree.records());
    let at = TimeMs(jiff::Timestamp::now().as_millisecond());
    // What ran when its process ended does not run any more.
    let what = What::Recover;
    tree.apply(Command { at, what }).map_err(Failure::failed)?;
    let what = What::Stop(Stop {
        by: Caller::User,
        verb,
        targets: vec![target.agent],
        mode: StopMode::DryRun,
    });
    let effects = match tree.apply(Command { at, what }) {
        Ok(effects) => effects,
        Err(refusal) => {
            let message = refusal.to_string();
            return Ok(Answer::Refused { message });
        }
    };
    let path = |agent: AgentId| {
        tree.get(agent)
            .map_or_else(String::new, |it| it.path.clone())
    };
    let plan = effects.into_iter().find_map(|effect| match effect {
        Effect::Answer(Told::Plan(plan)) => Some(plan),
        _ => None,
    });
    let (touched, skipped) =
        plan.map_or_else(Default::default, |plan| (plan.touched, plan.skipped));
    Ok(Answer::Stopped {
        touched: touched
            .into_iter()
            .map(|touch| Touched {
                agent_id: touch.agent,
                path: path(touch.agent),
                action: touch.action,
            })
            .collect(),
        skipped: skipped
            .into_iter()
            .map(|skipped| Skipped {
                agent_id: skipped.agent,
                path: path(skipped.agent),
                why: skip(skipped.why).to_owned(),
            })
            .collect(),
    })
}
