//! `troupe serve` as a process: one of each home, killed, started again, ended.

use serde_json::{Value, json};

use crate::client::Client;
use crate::daemon::ServedHome;
use crate::machine::Machine;
use crate::serve::{ANSWER, asked, text};
use crate::serve_seed::RELEASE;

#[test]
fn a_session_of_another_process_is_refused_with_the_name_of_that_process() {
    let machine = Machine::playing(ANSWER);
    let home = ServedHome::start(&machine);
    let mut other = Client::start(machine.troupe(&["proto"]));
    other.send("1", &json!({"type": "configure_session"}));
    let configured = other.until("session_configured");
    let id = text(&configured["msg"]["session_id"]).to_owned();
    let place = format!("/v1/sessions/{id}");
    assert_eq!(home.get(&place).with(200)["held_elsewhere"], true);
    let refused = home.post(&format!("{place}/prompt"), json!({"prompt": "hello"}));
    let detail = text(&refused.body["detail"]).to_owned();
    assert!(
        detail.contains(&format!("process {}", other.pid())),
        "{detail}"
    );
    assert_eq!(refused.problem().1, "held_elsewhere");
    other.end();
    home.post(&format!("{place}/prompt"), json!({"prompt": "hello"}))
        .with(202);
}

#[test]
fn there_is_one_daemon_of_each_home_and_it_can_be_found_and_ended() {
    let machine = Machine::playing(ANSWER);
    let status = machine.run(&["serve", "status", "--json"]).failed_with(1);
    assert_eq!(status.lines(), [json!({"running": false, "daemon": null})]);
    let started = machine.run(&["serve", "--background", "--listen", "http:127.0.0.1:0"]);
    let told = started.succeeded().stderr;
    assert!(told.contains("listening on http://127.0.0.1:"), "{told}");
    let status = machine.run(&["serve", "status", "--json"]).succeeded();
    let [status] = status.lines().try_into().unwrap();
    let pid = status["daemon"]["pid"].to_string();
    let second = machine
        .run(&["serve", "--listen", "http:127.0.0.1:0"])
        .failed_with(3);
    assert!(
        second
            .stderr
            .contains(&format!("process {pid}, at http://")),
        "{}",
        second.stderr
    );
    machine.run(&["serve", "stop"]).succeeded();
    machine.run(&["serve", "status"]).failed_with(1);
    let again = ServedHome::start(&machine);
    assert_ne!(again.pid().to_string(), pid);
    again.get("/v1/sessions").with(200);
    again.signal("-INT");
    assert_eq!(again.end().0, Some(0));
}

#[test]
fn a_daemon_that_nobody_needs_ends_if_it_was_told_to() {
    let machine = Machine::playing(ANSWER);
    let home = ServedHome::start_with(&machine, &["--idle-exit", "1"]);
    home.bare("GET", "/health", None, &[]).with(200);
    let (code, told) = home.end();
    assert_eq!(code, Some(0));
    assert!(
        told.iter().any(|line| line.contains("nobody has asked")),
        "{told:?}"
    );
}

#[test]
fn a_daemon_that_was_killed_is_back_with_all_its_sessions() {
    let machine = Machine::playing(RELEASE);
    let home = ServedHome::start(&machine);
    let body = json!({"prompt": "Sign it", "approval_policy": "untrusted"});
    let made = home.post("/v1/sessions", body).with(201);
    let id = text(&made["sessionId"]).to_owned();
    let spawn = format!("/v1/sessions/{id}/spawn");
    asked(&home, &id);
    let child = home
        .post(&spawn, json!({"prompt": "Run the tests"}))
        .with(201);
    let child = text(&child["sessionId"]).to_owned();
    home.get(&format!("/v1/sessions/{child}/wait")).with(200);
    home.signal("-KILL");
    home.end();

    let home = ServedHome::start(&machine);
    let place = format!("/v1/sessions/{id}");
    let session = home.get(&place).with(200);
    assert_eq!(
        (&session["status"], &session["interruption"]),
        (&json!("interrupted"), &json!("crash"))
    );
    assert_eq!(session["loaded"], false);
    let task = home.get(&format!("{place}/tasks")).with(200)["data"][0].clone();
    assert_eq!(
        (&task["status"], &task["stop_reason"]),
        (&json!("interrupted"), &json!("crash"))
    );
    let child = home.get(&format!("/v1/sessions/{child}")).with(200);
    assert_eq!(
        (&child["status"], &child["genealogy"]["parent_session_id"]),
        (&json!("completed"), &json!(id))
    );
    // What the parent had not heard it still hears, once.
    let queue = home.get(&format!("{place}/queue")).with(200);
    assert_eq!(queue["data"].as_array().unwrap().len(), 1, "{queue}");
    assert_eq!(
        queue["data"][0]["metadata"]["child_session_id"],
        child["id"]
    );
}

#[test]
fn a_request_with_a_key_is_done_once_also_over_a_restart() {
    let machine = Machine::playing(ANSWER);
    let home = ServedHome::start(&machine);
    let key = [("Idempotency-Key", "release-1")];
    let body = || Some(json!({"title": "once"}));
    let first = home.ask("POST", "/v1/sessions", body(), &key);
    let tag = first.header("etag").unwrap().to_owned();
    let first = first.with(201);
    let again = home.ask("POST", "/sessions", body(), &key);
    assert_eq!(again.header("idempotency-replayed"), Some("true"));
    assert_eq!(again.header("etag"), Some(tag.as_str()));
    assert_eq!(again.with(201), first);
    let other = home.ask(
        "POST",
        "/v1/sessions",
        Some(json!({"title": "twice"})),
        &key,
    );
    assert_eq!(
        other.problem(),
        (422, "invalid".to_owned(), "Idempotency-Key".to_owned())
    );
    home.signal("-KILL");
    home.end();

    let home = ServedHome::start(&machine);
    assert_eq!(
        home.ask("POST", "/v1/sessions", body(), &key).with(201),
        first
    );
    let listed = home.get("/v1/sessions").with(200);
    assert_eq!(listed["data"].as_array().unwrap().len(), 1, "{listed}");
}

/// Reads server-sent events until one of this kind: their ids, and the last one.
fn followed(
    home: &ServedHome,
    path: &str,
    after: Option<&str>,
    kind: &str,
) -> Vec<(String, Value)> {
    let headers: Vec<(&str, &str)> = after.map(|id| ("Last-Event-ID", id)).into_iter().collect();
    let mut seen = Vec::new();
    let mut id = String::new();
    for line in home.lines(path, &headers) {
        if let Some(number) = line.strip_prefix("id: ") {
            number.clone_into(&mut id);
        } else if let Some(data) = line.strip_prefix("data: ") {
            let event: Value = serde_json::from_str(data).unwrap();
            assert_eq!(event["seq"].to_string(), id);
            let is_meant = event["msg"]["type"] == kind;
            seen.push((id.clone(), event));
            if is_meant {
                return seen;
            }
        }
    }
    panic!("no {kind} after {seen:#?}");
}

#[test]
fn who_follows_a_session_misses_nothing_over_a_restart() {
    let machine = Machine::playing(ANSWER);
    let home = ServedHome::start(&machine);
    let made = home.post("/v1/sessions", json!({})).with(201);
    let place = format!("/v1/sessions/{}", text(&made["sessionId"]));
    home.post(&format!("{place}/prompt"), json!({"prompt": "hello"}))
        .with(202);
    let events = format!("{place}/events");
    let whole = followed(&home, &format!("{events}?after=0"), None, "task_complete");
    let numbers = |seen: &[(String, Value)]| -> Vec<u64> {
        seen.iter().map(|(id, _)| id.parse().unwrap()).collect()
    };
    let all = numbers(&whole);
    assert!(all.windows(2).all(|pair| pair[0] < pair[1]), "{all:?}");
    let begun = whole
        .iter()
        .position(|(_, event)| event["msg"]["type"] == "task_started");
    let (begun, _) = &whole[begun.unwrap()];
    home.signal("-KILL");
    home.end();

    let home = ServedHome::start(&machine);
    let rest = followed(&home, &events, Some(begun), "task_complete");
    let recorded = |seen: &[(String, Value)]| -> Vec<(String, String)> {
        let kept = ["item_completed", "response_completed", "task_complete"];
        let kind = |event: &Value| text(&event["msg"]["type"]).to_owned();
        seen.iter()
            .map(|(id, event)| (id.clone(), kind(event)))
            .filter(|(_, kind)| kept.contains(&kind.as_str()))
            .collect()
    };
    let behind: Vec<(String, Value)> = whole
        .iter()
        .filter(|(id, _)| id.parse::<u64>().unwrap() > begun.parse().unwrap())
        .cloned()
        .collect();
    assert_eq!(recorded(&rest), recorded(&behind));
    let ahead = home.get(&format!("{events}?after=999999999"));
    assert_eq!(
        ahead.problem(),
        (409, "no_such_event".to_owned(), "after".to_owned())
    );
}

#[test]
fn what_was_cut_off_goes_on_if_the_configuration_says_so() {
    let machine = Machine::playing(RELEASE);
    let home = ServedHome::start(&machine);
    let body = json!({"prompt": "Sign it", "approval_policy": "untrusted"});
    let made = home.post("/v1/sessions", body).with(201);
    let id = text(&made["sessionId"]).to_owned();
    asked(&home, &id);
    home.signal("-KILL");
    home.end();

    let home = ServedHome::start_with(&machine, &["-c", "serve.resume=auto"]);
    let place = format!("/v1/sessions/{id}");
    home.get(&format!("{place}/wait?for=all")).with(200);
    let tasks = home.get(&format!("{place}/tasks")).with(200);
    let ends: Vec<Value> = tasks["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|task| json!([task["stop_reason"], task["last_message"]]))
        .collect();
    assert_eq!(
        ends,
        [json!(["crash", null]), json!(["completed", "Signed."])]
    );
}

#[test]
fn a_unit_starts_the_daemon_with_the_login() {
    let machine = Machine::bare();
    let unit = machine
        .run(&["serve", "unit", "systemd"])
        .succeeded()
        .stdout;
    assert!(
        unit.contains(" serve\n") && unit.contains("TROUPE_HOME="),
        "{unit}"
    );
    let plist = machine
        .run(&["serve", "unit", "launchd"])
        .succeeded()
        .stdout;
    assert!(plist.contains("<string>serve</string>"), "{plist}");
}
