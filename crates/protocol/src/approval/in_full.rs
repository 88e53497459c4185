//! Questions in words, with nothing left out: who agrees to something has read all of it.

use std::fmt::{self, Write as _};

use super::{
    ExecApprovalRequest, PatchApprovalRequest, ProposedRule, ReviewDecision, UserInputRequest,
};
use crate::command::{FileChange, FileChanges};
use crate::event::EventMsg;

/// Returns a question as a person reads it before answering; `None` for any other event.
pub fn in_full(msg: &EventMsg) -> Option<String> {
    match msg {
        EventMsg::ExecApprovalRequest(request) => Some(request.in_full()),
        EventMsg::ApplyPatchApprovalRequest(request) => Some(request.in_full()),
        EventMsg::RequestUserInput(request) => Some(request.in_full()),
        _ => None,
    }
}

impl ExecApprovalRequest {
    /// Tells whether a yes cannot hold for the session, because nobody can say what the same
    /// words will run next time.
    pub fn is_asked_each_time(&self) -> bool {
        let decisions = &self.available_decisions;
        let lasts = decisions.contains(&ReviewDecision::ApprovedForSession);
        self.outside_sandbox && !decisions.is_empty() && !lasts
    }

    /// Tells whether a decision is one of those that were offered.
    pub fn offers(&self, decision: ReviewDecision) -> bool {
        self.available_decisions.is_empty() || self.available_decisions.contains(&decision)
    }

    pub fn in_full(&self) -> String {
        let mut text = format!("in {}\n$ {}", self.cwd.display(), typed(&self.command));
        if self.outside_sandbox {
            text.push_str("\noutside the sandbox");
        }
        if self.is_asked_each_time() {
            text.push_str(
                "\nasked for each time, because what it runs can be rewritten from inside the \
                 sandbox",
            );
        }
        add_reason(&mut text, self.reason.as_deref());
        for rule in &self.proposed_rules {
            add(&mut text, format_args!("\nalways means: {rule}"));
        }
        text
    }
}

/// As `troupe rules` lists it.
impl fmt::Display for ProposedRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let outside = if self.outside_sandbox {
            " outside the sandbox"
        } else {
            ""
        };
        write!(f, "allow {}{outside}", typed(&self.prefix))
    }
}

impl ProposedRule {
    /// Returns the command line that adds it.
    pub fn command_line(&self) -> String {
        let outside = if self.outside_sandbox {
            " --outside"
        } else {
            ""
        };
        format!("troupe rules add allow{outside} -- {}", typed(&self.prefix))
    }
}

impl PatchApprovalRequest {
    pub fn in_full(&self) -> String {
        let mut text = changes_in_full(&self.changes);
        if let Some(root) = &self.grant_root {
            add(
                &mut text,
                format_args!("\nmakes {} writable", root.display()),
            );
        }
        add_reason(&mut text, self.reason.as_deref());
        text
    }
}

impl UserInputRequest {
    pub fn in_full(&self) -> String {
        let mut text = String::new();
        for question in &self.questions {
            if !text.is_empty() {
                text.push('\n');
            }
            add(
                &mut text,
                format_args!("{}: {}", question.id, question.question),
            );
            for option in question.options.iter().flatten() {
                let description = &option.description;
                add(
                    &mut text,
                    format_args!("\n- {}: {description}", option.value),
                );
            }
        }
        text
    }
}

fn add_reason(text: &mut String, reason: Option<&str>) {
    if let Some(reason) = reason {
        add(text, format_args!("\nwhy: {reason}"));
    }
}

fn changes_in_full(changes: &FileChanges) -> String {
    let change = |(path, change): (&std::path::PathBuf, &FileChange)| {
        let path = path.display();
        match change {
            FileChange::Add { content } => format!("add {path}\n{}", marked('+', content)),
            FileChange::Delete { content } => format!("delete {path}\n{}", marked('-', content)),
            FileChange::Update {
                unified_diff,
                move_path: None,
            } => format!("update {path}\n{}", unified_diff.trim_end_matches('\n')),
            FileChange::Update {
                unified_diff,
                move_path: Some(to),
            } => format!(
                "update {path} and move it to {}\n{}",
                to.display(),
                unified_diff.trim_end_matches('\n')
            ),
        }
    };
    let texts: Vec<String> = changes.iter().map(change).collect();
    texts.join("\n")
}

fn marked(mark: char, content: &str) -> String {
    let lines: Vec<String> = content
        .lines()
        .map(|line| format!("{mark}{line}"))
        .collect();
    lines.join("\n")
}

/// Returns words as one would type them.
fn typed(words: &[String]) -> String {
    let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    words.join(" ")
}

/// Returns a word as a shell takes it, so that it is seen where one ends.
fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./=:,@%+".contains(letter);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

fn add(text: &mut String, more: std::fmt::Arguments<'_>) {
    text.write_fmt(more).expect("a String takes any text");
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{in_full, quoted};
    use crate::event::EventMsg;

    fn said(event: serde_json::Value) -> String {
        let msg: EventMsg = serde_json::from_value(event).unwrap();
        in_full(&msg).unwrap()
    }

    #[test]
    fn a_command_is_shown_to_its_last_word() {
        let script = format!("true {} ; rm -rf ~", "# harmless ".repeat(1_000));
        let text = said(json!({
            "type": "exec_approval_request", "call_id": "c", "turn_id": "t", "cwd": "/w",
            "command": ["bash", "-lc", script], "reason": "a\nb", "parsed_cmd": [],
            "available_decisions": [],
        }));
        assert_eq!(text, format!("in /w\n$ bash -lc '{script}'\nwhy: a\nb"));
        assert_eq!(quoted("it's"), r"'it'\''s'");
    }

    #[test]
    fn where_a_command_runs_and_what_always_means_is_shown() {
        let text = said(json!({
            "type": "exec_approval_request", "call_id": "c", "turn_id": "t", "cwd": "/w",
            "command": ["git", "commit", "-m", "a b"], "parsed_cmd": [], "available_decisions": [],
            "outside_sandbox": true,
            "proposed_rules": [{"prefix": ["git", "commit"], "outside_sandbox": true}],
        }));
        assert_eq!(
            text,
            "in /w\n$ git commit -m 'a b'\noutside the sandbox\n\
             always means: allow git commit outside the sandbox"
        );
    }

    #[test]
    fn a_command_that_is_asked_for_each_time_says_so() {
        let text = said(json!({
            "type": "exec_approval_request", "call_id": "c", "turn_id": "t", "cwd": "/w",
            "command": ["make"], "parsed_cmd": [], "outside_sandbox": true,
            "available_decisions": ["approved", "denied", "abort"],
        }));
        let expected = "in /w\n$ make\noutside the sandbox\nasked for each time, because what it \
                        runs can be rewritten from inside the sandbox";
        assert_eq!(text, expected);
    }

    #[test]
    fn a_patch_is_shown_with_what_it_writes() {
        let text = said(json!({
            "type": "apply_patch_approval_request", "call_id": "c", "turn_id": "t",
            "grant_root": "/w",
            "changes": {
                "/w/a": {"type": "add", "content": "one\ntwo\n"},
                "/w/b": {"type": "update", "unified_diff": "@@ -1 +1 @@\n-x\n+y\n",
                         "move_path": "/w/c"},
                "/w/d": {"type": "delete", "content": "gone\n"},
            },
        }));
        assert_eq!(
            text,
            "add /w/a\n+one\n+two\nupdate /w/b and move it to /w/c\n@@ -1 +1 @@\n-x\n+y\n\
             delete /w/d\n-gone\nmakes /w writable"
        );
    }
}
