//! What a run says about a request for approval that it refuses, and about a question that it
//! leaves unanswered, because nobody can be asked.

use troupe_protocol::EventMsg;
use troupe_protocol::approval::{
    AgentLabel, ExecApprovalRequest, PatchApprovalRequest, UserInputRequest,
};

use crate::exec::command_line;

/// What of the turn matters to who would have the refused done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TurnLimits {
    pub is_planning: bool,
    pub is_read_only: bool,
}

/// Returns who wanted what, and what would allow it.
pub fn refusal_message(request: &EventMsg, limits: TurnLimits) -> Option<String> {
    let text = match request {
        EventMsg::ExecApprovalRequest(request) => command(request),
        EventMsg::ApplyPatchApprovalRequest(request) => patch(request, limits),
        EventMsg::RequestUserInput(request) => questions(request),
        _ => return None,
    };
    Some(text)
}

fn command(request: &ExecApprovalRequest) -> String {
    let who = asker(request.agent.as_ref());
    let outside = if request.outside_sandbox {
        " outside the sandbox"
    } else {
        ""
    };
    let line = command_line::shown(&request.command);
    let mut text = format!("refused: {who} asked to run this{outside}, and {NOBODY}: {line}");
    for rule in &request.proposed_rules {
        text.push_str("\n  allow it: ");
        text.push_str(&rule.command_line());
    }
    text + ALLOW_ALL
}

fn patch(request: &PatchApprovalRequest, limits: TurnLimits) -> String {
    let who = asker(request.agent.as_ref());
    let files = request
        .changes
        .keys()
        .map(|path| path.display().to_string());
    let files = files.collect::<Vec<_>>().join(", ");
    let mut text = format!("refused: {who} asked to change files, and {NOBODY}: {files}");
    // What a mode or a sandbox forbids everywhere, no further directory allows.
    if limits.is_planning {
        return text
            + "\n  plan mode changes no files. Leave it: troupe exec resume --last --no-plan \"do it\"";
    }
    if limits.is_read_only {
        text.push_str("\n  let it change files: troupe exec -s workspace-write …");
    } else if let Some(root) = &request.grant_root {
        text.push_str("\n  allow it: --add-dir ");
        text.push_str(&root.display().to_string());
    }
    text + ALLOW_ALL
}

fn questions(request: &UserInputRequest) -> String {
    let who = asker(request.agent.as_ref());
    let mut text = format!("unanswered: {who} asked this, and {NOBODY}:");
    for question in &request.questions {
        text.push_str("\n  ");
        text.push_str(&question.question);
        let options = question.options.as_deref().unwrap_or_default();
        let labels: Vec<&str> = options.iter().map(|option| &*option.label).collect();
        if !labels.is_empty() {
            text.extend([" (", &labels.join(", "), ")"]);
        }
    }
    text + "\n  answer it: troupe exec resume --last \"…\""
}

fn asker(agent: Option<&AgentLabel>) -> &str {
    agent.map_or("the agent", |agent| &agent.path)
}

const NOBODY: &str = "nobody is at a terminal to be asked";

const ALLOW_ALL: &str = "\n  allow everything that is asked for: -c headless_approvals=approve";

#[cfg(test)]
mod tests {
    use serde_json::json;
    use troupe_protocol::EventMsg;

    use super::{TurnLimits, refusal_message};

    #[test]
    fn a_refusal_says_what_was_refused_and_the_command_that_would_allow_it() {
        let request = serde_json::from_value(json!({
            "type": "exec_approval_request", "call_id": "c", "turn_id": "t", "cwd": "/w",
            "command": ["bash", "-lc", "git commit -m x"], "parsed_cmd": [],
            "available_decisions": [], "outside_sandbox": true,
            "proposed_rules": [{"prefix": ["git", "commit"], "outside_sandbox": true}],
        }));
        assert_eq!(
            refusal_message(&request.unwrap(), TurnLimits::default()).unwrap(),
            "refused: the agent asked to run this outside the sandbox, and nobody is at a terminal \
             to be asked: git commit -m x\n  allow it: troupe rules add allow --outside -- git \
             commit\n  allow everything that is asked for: -c headless_approvals=approve"
        );
    }

    #[test]
    fn a_refused_patch_names_what_would_help_in_this_turn() {
        let request: EventMsg = serde_json::from_value(json!({
            "type": "apply_patch_approval_request", "call_id": "c", "turn_id": "t",
            "changes": {"/w/a": {"type": "add", "content": ""}}, "grant_root": "/w",
        }))
        .unwrap();
        let told = |is_planning, is_read_only| {
            let limits = TurnLimits {
                is_planning,
                is_read_only,
            };
            refusal_message(&request, limits).unwrap()
        };
        assert!(told(true, true).contains("--no-plan"));
        assert!(!told(true, true).contains("--add-dir"));
        assert!(told(false, true).contains("-s workspace-write"));
        assert!(!told(false, true).contains("--add-dir"));
        assert!(told(false, false).contains("--add-dir /w"));
    }
}
