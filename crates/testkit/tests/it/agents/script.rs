//! Screenplays for parents and children.

use troupe_protocol::EventMsg;

/// Arguments of a command that waits until the test opens the gate by writing the file `go`.
pub const GATE: &str = r#"command = "while [ ! -e go ]; do sleep 0.02; done""#;

/// A scene for conversations in which the user's text has these words.
pub fn scene(when: &str, steps: &[String]) -> String {
    let turns: String = steps.iter().map(|step| turn(step)).collect();
    format!("[[scene]]\nwhen = \"{when}\"\n{turns}")
}

/// The scene of the root, after all others.
pub fn root(steps: &[String]) -> String {
    let turns: String = steps.iter().map(|step| turn(step)).collect();
    format!("[[scene]]\n{turns}")
}

fn turn(steps: &str) -> String {
    format!("[[scene.turn]]\nsteps = [{steps}]\n")
}

pub fn call(tool: &str, arguments: &str) -> String {
    format!(r#"{{ call = "{tool}", arguments = {{ {arguments} }} }}"#)
}

pub fn say(text: &str) -> String {
    format!(r#"{{ say = "{text}" }}"#)
}

/// As many answers as anybody may want, each with its number.
pub fn answers(count: usize, word: &str) -> Vec<String> {
    (0..count).map(|n| say(&format!("{word} {n}"))).collect()
}

/// What the model said last in a task that is complete.
pub fn said(events: &[EventMsg]) -> Option<&str> {
    match events.last() {
        Some(EventMsg::TurnComplete(complete)) => complete.last_agent_message.as_deref(),
        _ => None,
    }
}
