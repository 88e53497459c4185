//! `troupe serve`: the routes of the daemon, over real sockets.

use serde_json::{Value, json};

use crate::daemon::ServedHome;
use crate::machine::Machine;
use crate::serve_seed::RELEASE;

pub const ANSWER: &str = "[[scene]]\n[[scene.turn]]\nsteps = [{ say = 'Hello.' }]\n";

pub fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("{value}"))
}

/// Waits until somebody asks, and returns the ids of what is asked.
pub fn asked(home: &ServedHome, session: &str) -> String {
    let deadline = std::time::Instant::now() + crate::client::PATIENCE;
    loop {
        let open = home.get("/v1/approvals").with(200);
        let of_it = open["data"].as_array().unwrap().iter();
        let mut of_it = of_it.filter(|asked| asked["session_id"] == session);
        if let Some(asked) = of_it.next() {
            return text(&asked["id"]).to_owned();
        }
        assert!(std::time::Instant::now() < deadline, "{open}");
        std::thread::yield_now();
    }
}

#[test]
fn who_shows_no_token_or_comes_from_a_foreign_page_is_told_so_on_every_route() {
    let machine = Machine::playing(ANSWER);
    let home = ServedHome::start(&machine);
    let document = home.bare("GET", "/openapi.json", None, &[]).with(200);
    let mut walked = 0;
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            walked += 1;
            let is_open = operation["security"] == json!([]);
            let mut concrete = path.clone();
            for parameter in ["session", "task", "approval"] {
                concrete = concrete.replace(&format!("{{{parameter}}}"), "none");
            }
            let method = method.to_uppercase();
            for path in [concrete.clone(), format!("/v1{concrete}")] {
                let bare = home.bare(&method, &path, None, &[]);
                if is_open {
                    assert_eq!(bare.status, 200, "{path}");
                } else {
                    assert_eq!(bare.header("www-authenticate"), Some("Bearer"), "{path}");
                    assert_eq!(bare.problem().0, 401, "{path}");
                }
                let wrong = [("Authorization", "Bearer 0000000000000000")];
                let wrong = home.bare(&method, &path, None, &wrong);
                assert_eq!(wrong.status, if is_open { 200 } else { 401 }, "{path}");
                for foreign in [
                    ("Origin", "null"),
                    ("Origin", "http://localhost:1"),
                    ("Host", "rebound.example"),
                ] {
                    let foreign = home.ask(&method, &path, None, &[foreign]);
                    assert_eq!(foreign.problem().1, "foreign", "{path}");
                }
            }
        }
    }
    assert!(walked > 20, "{walked}");
}

#[test]
fn what_cannot_be_done_is_refused_by_its_name() {
    let machine = Machine::playing(ANSWER);
    let home = ServedHome::start(&machine);
    let problem =
        |status: u16, code: &str, field: &str| (status, code.to_owned(), field.to_owned());
    let session = home
        .post("/v1/sessions", json!({"prompt": "hello"}))
        .with(201);
    let place = format!("/v1/sessions/{}", text(&session["sessionId"]));
    home.get(&format!("{place}/wait")).with(200);
    let task = format!("/v1/tasks/{}", text(&session["task"]["id"]));
    assert_eq!(home.get(&task).with(200)["status"], "completed");

    let cases = [
        (home.get("/v1/nothing"), problem(404, "no_route", "")),
        (
            home.ask("PUT", &place, None, &[]),
            problem(405, "bad_method", ""),
        ),
        (
            home.get("/v1/sessions/nobody"),
            problem(404, "session_not_found", ""),
        ),
        (
            home.get("/v1/tasks/none"),
            problem(404, "task_not_found", ""),
        ),
        (
            home.get("/v1/sessions?limit=0"),
            problem(400, "bad_limit", "limit"),
        ),
        (
            home.get("/v1/sessions?cursor=x"),
            problem(400, "bad_cursor", "cursor"),
        ),
        (
            home.get("/v1/sessions?page=2"),
            problem(400, "unknown_member", "page"),
        ),
        (
            home.get(&format!("{place}/messages?after=1&before=2")),
            problem(400, "bad_query", "before"),
        ),
        (
            home.get(&format!("{place}/wait?timeout_ms=900000000")),
            problem(400, "bad_timeout", "timeout_ms"),
        ),
        (
            home.post("/v1/sessions", json!({"prompt": " "})),
            problem(422, "invalid", "prompt"),
        ),
        (
            home.post("/v1/sessions", json!({"cwd": "/tmp"})),
            problem(400, "unknown_member", "cwd"),
        ),
        (
            home.post("/v1/sessions", json!({"working_directory": "there"})),
            problem(422, "invalid", "working_directory"),
        ),
        (
            home.post("/v1/sessions", json!({"agentic_tool": "claude-code"})),
            problem(422, "invalid", "agentic_tool"),
        ),
        (
            home.post("/v1/sessions", json!({"callback_config": {"on": true}})),
            problem(400, "unknown_member", "callback_config.on"),
        ),
        (
            home.post(
                &format!("{place}/prompt"),
                json!({"prompt": "x", "delivery": "later"}),
            ),
            problem(400, "bad_member", "delivery"),
        ),
        (
            home.post(
                &format!("{place}/spawn"),
                json!({"prompt": "x", "agent_type": "nobody"}),
            ),
            problem(422, "invalid", "agent_type"),
        ),
        (
            home.post(
                &format!("{place}/spawn"),
                json!({"prompt": "x", "output_schema": {"type": 1}}),
            ),
            problem(422, "invalid", "output_schema"),
        ),
        (
            home.post(&format!("{place}/fork"), json!({"task_id": "none"})),
            problem(404, "task_not_found", "task_id"),
        ),
        (
            home.post(&format!("{place}/stop"), json!({"verb": "kill"})),
            problem(400, "bad_member", "verb"),
        ),
        (
            home.post(
                "/v1/approvals/none/decision",
                json!({"decision": "approved"}),
            ),
            problem(404, "approval_not_found", ""),
        ),
        (
            home.post(
                "/v1/approvals/decisions",
                json!({"ids": [], "decision": "denied"}),
            ),
            problem(422, "invalid", "ids"),
        ),
        (
            home.ask(
                "PATCH",
                &place,
                Some(json!({"title": "t"})),
                &[("If-Match", "\"old\"")],
            ),
            problem(412, "version_changed", "If-Match"),
        ),
        (
            home.ask(
                "POST",
                &place,
                Some(json!({})),
                &[("Content-Type", "text/plain")],
            ),
            problem(405, "bad_method", ""),
        ),
        (
            home.ask(
                "POST",
                &format!("{place}/prompt"),
                Some(json!({"prompt": "x"})),
                &[("Content-Type", "text/plain")],
            ),
            problem(415, "bad_media_type", "Content-Type"),
        ),
    ];
    for (answer, expected) in cases {
        let shown = answer.body.clone();
        assert_eq!(answer.problem(), expected, "{shown:#}");
    }
}

#[test]
fn a_session_is_changed_archived_forked_and_deleted() {
    let machine = Machine::playing(ANSWER);
    let home = ServedHome::start(&machine);
    let made = home
        .post("/v1/sessions", json!({"prompt": "hello"}))
        .with(201);
    let id = text(&made["sessionId"]).to_owned();
    let place = format!("/v1/sessions/{id}");
    home.get(&format!("{place}/wait?for=all")).with(200);
    let seen = home.get(&place);
    let tag = seen.header("etag").unwrap().to_owned();
    assert_eq!(tag, format!("\"{}\"", text(&seen.body["version"])));
    let change = json!({"title": "Greeting", "note": "was friendly"});
    let changed = home.ask("PATCH", &place, Some(change), &[("If-Match", &tag)]);
    assert_ne!(changed.header("etag"), Some(tag.as_str()));
    let changed = changed.with(200);
    assert_eq!(
        (&changed["title"], &changed["note"]),
        (&json!("Greeting"), &json!("was friendly"))
    );

    let task = text(&made["task"]["id"]);
    let fork = home
        .post(&format!("{place}/fork"), json!({"task_id": task}))
        .with(201);
    assert_eq!(fork["session"]["genealogy"]["forked_from_session_id"], *id);
    let messages = home.get(&format!(
        "/v1/sessions/{}/messages",
        text(&fork["sessionId"])
    ));
    let texts: Vec<Value> = messages.with(200)["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| message["text"].clone())
        .collect();
    assert_eq!(texts, ["hello", "Hello."]);

    let archived = home.patch(&place, json!({"archived": true})).with(200);
    assert_eq!(archived["archived"], true);
    let listed = |query: &str| -> Vec<Value> {
        let page = home.get(&format!("/v1/sessions{query}")).with(200);
        page["data"]
            .as_array()
            .unwrap()
            .iter()
            .map(|entry| entry["id"].clone())
            .collect()
    };
    assert_eq!(listed(""), [fork["sessionId"].clone()]);
    assert_eq!(listed("?archived=true"), [json!(id)]);
    home.patch(&place, json!({"archived": false})).with(200);

    let plan = home
        .ask("DELETE", &format!("{place}?dry_run=true"), None, &[])
        .with(200);
    assert_eq!(plan, json!({"deleted": [id], "dry_run": true}));
    home.ask("DELETE", &place, None, &[]).with(200);
    assert_eq!(home.get(&place).status, 404);
    assert_eq!(listed(""), [fork["sessionId"].clone()]);
}

#[test]
fn pages_of_sessions_come_one_after_the_other() {
    let machine = Machine::playing(ANSWER);
    let home = ServedHome::start(&machine);
    let mut made: Vec<Value> = (0..5)
        .map(|_| home.post("/v1/sessions", json!({})).with(201)["sessionId"].clone())
        .collect();
    made.reverse();
    let mut seen = Vec::new();
    let mut path = "/v1/sessions?limit=2".to_owned();
    loop {
        let page = home.get(&path).with(200);
        let data = page["data"].as_array().unwrap();
        assert!(data.len() <= 2);
        seen.extend(data.iter().map(|entry| entry["id"].clone()));
        match page["next_cursor"].as_str() {
            Some(cursor) => path = format!("/v1/sessions?limit=2&cursor={cursor}"),
            None => break,
        }
    }
    let sorted = |mut ids: Vec<Value>| {
        ids.sort_by_key(ToString::to_string);
        ids
    };
    assert_eq!(sorted(seen), sorted(made));
}

#[test]
fn a_stop_says_what_it_touches_before_it_does_it() {
    let machine = Machine::playing(RELEASE);
    let home = ServedHome::start(&machine);
    let body = json!({"prompt": "Sign it", "approval_policy": "untrusted"});
    let made = home.post("/v1/sessions", body).with(201);
    let id = text(&made["sessionId"]).to_owned();
    let question = asked(&home, &id);
    let stop = format!("/v1/sessions/{id}/stop");
    let plan = home
        .post(&stop, json!({"verb": "interrupt", "dry_run": true}))
        .with(200);
    assert_eq!(plan["touched"][0]["session_id"], *id);
    assert_eq!(
        home.get(&format!("/v1/sessions/{id}")).with(200)["status"],
        "running"
    );
    // A body is not needed where every member has a default.
    let done = home.ask("POST", &stop, None, &[]).with(200);
    assert_eq!(done["touched"][0]["verb"], "cancel");
    home.get(&format!("/v1/sessions/{id}/wait")).with(200);
    assert_eq!(
        home.get(&format!("/v1/sessions/{id}")).with(200)["status"],
        "cancelled"
    );
    let late = json!({"decision": "approved"});
    let late = home.post(&format!("/v1/approvals/{question}/decision"), late);
    assert!(late.status == 404 || late.status == 409, "{late:?}");
}
