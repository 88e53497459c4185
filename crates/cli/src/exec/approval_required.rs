//! What a run says that ends because only a person may decide.

use troupe_protocol::EventMsg;
use troupe_protocol::approval::AgentLabel;

use crate::exec::command_line;

/// Returns who asks for what, and how to go on once it is decided.
pub fn approval_required_message(request: &EventMsg) -> String {
    let (agent, wish) = match request {
        EventMsg::ExecApprovalRequest(request) => {
            let wish = format!("run {}", command_line::shown(&request.command));
            (request.agent.as_ref(), wish)
        }
        EventMsg::ApplyPatchApprovalRequest(request) => {
            let files = request.changes.keys();
            let files: Vec<String> = files.map(|path| path.display().to_string()).collect();
            (
                request.agent.as_ref(),
                format!("change {}", files.join(", ")),
            )
        }
        _ => (None, "be allowed something".to_owned()),
    };
    let who = agent.map_or("the agent", |AgentLabel { path, .. }| path);
    format!(
        "a person must decide: {who} asks to {wish}. It was not done, and the run ends here. Do it \
         yourself or allow it (`troupe rules`), then go on: `troupe exec resume --last --continue`"
    )
}
