//! A question that waits for somebody who is not here: who can answer it, and how.

use std::time::Duration;

use troupe_agents::AgentsConfigurator;
use troupe_protocol::{AgentId, CallId};

/// Opens the session to other programs, which it is only as the root of a tree, and returns
/// what is said about the question.
pub async fn pending_approval_hint(
    configurator: &AgentsConfigurator,
    question: &CallId,
    time: Duration,
) -> String {
    let seconds = time.as_secs();
    let root = match configurator
        .agents()
        .filter(|agents| !agents.is_ephemeral())
    {
        Some(agents) => agents.user().view(&AgentId::ROOT.to_string()).await.ok(),
        None => None,
    };
    match root {
        Some(root) => format!(
            "refused in {seconds} s unless somebody answers: `troupe agents answer {}:{question} \
             approve`",
            root.session.short()
        ),
        // Nothing of it is in the home, so no other program can name it.
        None => format!("refused in {seconds} s: this session cannot be reached from outside"),
    }
}
