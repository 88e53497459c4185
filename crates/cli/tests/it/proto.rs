//! `troupe proto`: lines in, lines out.

use serde_json::{Value, json};

use crate::machine::Machine;

const ANSWER: &str = "[[scene]]\n[[scene.turn]]\nsteps = [{ say = 'Hello.' }]\n";

fn kinds(lines: &[Value]) -> Vec<&str> {
    lines
        .iter()
        .map(|line| line["msg"]["type"].as_str().unwrap())
        .collect()
}

fn talk(machine: &Machine, lines: &[&str]) -> Vec<Value> {
    let input = lines.join("\n") + "\n";
    machine
        .run_with_stdin(&["proto"], input.as_bytes())
        .succeeded()
        .lines()
}

const CONFIGURE: &str = r#"{"id":"1","op":{"type":"configure_session","ephemeral":true}}"#;

#[test]
fn end_of_input_shuts_the_session_down() {
    let events = talk(&Machine::playing(ANSWER), &[CONFIGURE]);
    assert_eq!(kinds(&events), ["session_configured", "shutdown_complete"]);
}

#[test]
fn an_old_setting_is_told_to_the_client() {
    let machine = Machine::playing(ANSWER);
    machine.write("home/config.toml", "collaboration_mode = 'code'\n");
    let events = talk(&machine, &[CONFIGURE]);
    let notice = events.iter().map(|event| &event["msg"]);
    let mut notice = notice.filter(|msg| msg["type"] == "deprecation_notice");
    let notice = notice.next().expect("the notice comes");
    let advice = "write collaboration_mode = \"default\", which means the same";
    assert_eq!(notice["details"], advice);
}

#[test]
fn nonsense_is_answered_and_the_session_goes_on() {
    let machine = Machine::playing(ANSWER);
    let events = talk(
        &machine,
        &["not json", r#"{"id":"7","op":{"type":"dance"}}"#, CONFIGURE],
    );
    assert_eq!(events[0]["msg"]["type"], "error");
    assert_eq!(events[1]["id"], "7");
    assert_eq!(events[1]["msg"]["error_info"], json!("invalid_submission"));
    assert_eq!(events[1]["msg"]["fatal"], json!(false));
    assert!(kinds(&events).contains(&"session_configured"));
}

#[test]
fn what_comes_before_configure_session_is_refused() {
    let machine = Machine::playing(ANSWER);
    let events = talk(&machine, &[r#"{"id":"1","op":{"type":"interrupt"}}"#]);
    let message = events[0]["msg"]["message"].as_str().unwrap();
    assert!(message.contains("configure_session first"), "{message}");
}

#[test]
fn without_a_key_the_error_says_which_variable() {
    let events = talk(&Machine::bare(), &[CONFIGURE]);
    let message = events[0]["msg"]["message"].as_str().unwrap();
    assert!(message.contains("OPENAI_API_KEY"), "{message}");
}

#[test]
fn a_directory_that_is_not_there_is_refused_wherever_it_is_named() {
    let machine = Machine::playing(ANSWER);
    for cwd in ["src", "/does/not/exist"] {
        let configure = json!({"type": "configure_session", "ephemeral": true, "cwd": cwd});
        let turn = json!({"type": "user_turn", "items": [], "cwd": cwd});
        let settings = json!({"type": "override_turn_context", "cwd": cwd});
        let line = |id: &str, op: Value| json!({"id": id, "op": op}).to_string();
        let lines = [
            line("configure", configure),
            CONFIGURE.to_owned(),
            line("turn", turn),
            line("settings", settings),
        ];
        let events = talk(&machine, &lines.each_ref().map(String::as_str));
        for id in ["configure", "turn", "settings"] {
            let event = events.iter().find(|event| event["id"] == id).unwrap();
            assert_eq!(event["msg"]["error_info"], json!("invalid_submission"));
            let message = event["msg"]["message"].as_str().unwrap();
            assert!(
                message.starts_with(&format!("cwd {cwd} is not")),
                "{message}"
            );
        }
    }
}
