//! `troupe serve`: the daemon, over real sockets.

use serde_json::{Value, json};

use crate::client::Client;
use crate::daemon::ServedHome;
use crate::machine::Machine;

const ANSWER: &str = "[[scene]]\n[[scene.turn]]\nsteps = [{ say = 'Hello.' }]\n";

/// The parent of the seed's document waits for a person until its children are done, then hears of
/// each of them.
const RELEASE: &str = r#"
[[scene]]
when = "Prepare the release"
[[scene.turn]]
steps = [{ call = "shell_command", arguments = { command = "touch begun" } }]
[[scene.turn]]
steps = [{ say = "Begun." }]
[[scene.turn]]
expect = "All tests pass"
steps = [{ say = "The tests are done." }]
[[scene.turn]]
expect = "The changelog is written"
steps = [{ say = "The changelog is done." }]
[[scene.turn]]
expect = "failed"
steps = [{ say = "The docs are missing." }]
[[scene.turn]]
expect = "TOLD completed"
steps = [{ say = "Heard in other words." }]

[[scene]]
when = "Run the tests"
[[scene.turn]]
steps = [{ say = "All tests pass." }]

[[scene]]
when = "Write the changelog"
[[scene.turn]]
steps = [{ say = "The changelog is written." }]

[[scene]]
when = "Generate the docs"
[[scene.turn]]
steps = [{ status = 400, message = "the docs cannot be generated" }]

[[scene]]
when = "Sign it"
[[scene.turn]]
steps = [{ call = "shell_command", arguments = { command = "touch signed" } }]
[[scene.turn]]
steps = [{ say = "Signed." }]

[[scene]]
when = "Tell it in other words"
[[scene.turn]]
steps = [{ say = "Told." }]
"#;

/// Every name of the context of a callback.
const TEMPLATE: &str = "TOLD {{status}} {{stopReason}} {{childSessionId}} {{childSessionFullId}} \
    {{childTaskId}} {{childTaskFullId}} {{parentSessionId}} {{spawnPrompt}} {{completedAt}} \
    {{messageCount}} {{toolUseCount}} {{lastAssistantMessage}}";

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("{value}"))
}

/// Waits until somebody asks, and returns the ids of what is asked.
fn asked(home: &ServedHome, session: &str) -> String {
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
fn the_seeds_document_can_be_played_with_requests_alone() {
    let machine = Machine::playing(RELEASE);
    let home = ServedHome::start(&machine);
    let opened = home.post(
        "/v1/sessions",
        json!({"prompt": "Prepare the release", "approval_policy": "untrusted", "title": "v1.0"}),
    );
    assert!(opened.header("etag").is_some());
    let location = opened.header("location").unwrap().to_owned();
    let opened = opened.with(201);
    let parent = text(&opened["session"]["id"]).to_owned();
    let parent_task = text(&opened["task"]["id"]).to_owned();
    assert_eq!(location, format!("/v1/sessions/{parent}"));
    assert_eq!(opened["session"]["title"], "v1.0");
    let question = asked(&home, &parent);

    // Three children, one of which fails, end while the parent waits for a person.
    let prompts = ["Run the tests", "Write the changelog", "Generate the docs"];
    let mut children = Vec::new();
    for prompt in prompts {
        // As the seed has it: no prefix, camel case.
        let body = json!({"prompt": prompt, "enableCallback": true});
        let spawned = home
            .post(&format!("/sessions/{parent}/spawn"), body)
            .with(201);
        assert_eq!(spawned["sessionId"], spawned["session"]["id"]);
        let child = text(&spawned["sessionId"]).to_owned();
        let task = text(&spawned["task"]["id"]).to_owned();
        let waited = home
            .get(&format!("/v1/sessions/{child}/wait?for=idle"))
            .with(200);
        assert_eq!(waited["timed_out"], false);
        children.push((child, task));
    }
    let states: Vec<Value> = children
        .iter()
        .map(|(child, _)| home.get(&format!("/v1/sessions/{child}")).with(200)["status"].clone())
        .collect();
    assert_eq!(states, ["completed", "completed", "errored"]);
    let failed = home.get(&format!("/v1/tasks/{}", children[2].1)).with(200);
    assert_eq!(
        (&failed["status"], &failed["stop_reason"]),
        (&json!("failed"), &json!("errored"))
    );
    let result = home
        .get(&format!("/v1/tasks/{}/result", children[0].1))
        .with(200);
    assert_eq!(result["last_message"], "All tests pass.");
    assert_eq!(result["evidence"]["message_count"], 1);

    // The parent is at work, so what it is to hear waits, in order.
    let queue = home.get(&format!("/v1/sessions/{parent}/queue")).with(200);
    let queue = queue["data"].as_array().unwrap().clone();
    let told: Vec<Value> = queue
        .iter()
        .map(|told| {
            json!([
                told["position"],
                told["kind"],
                told["metadata"]["child_session_id"]
            ])
        })
        .collect();
    let expected: Vec<Value> = (1..)
        .zip(&children)
        .map(|(position, (child, _))| json!([position, "callback", child]))
        .collect();
    assert_eq!(told, expected);
    assert_eq!(queue[0]["metadata"]["is_agor_callback"], true);
    assert_eq!(queue[0]["metadata"]["source"], "troupe");
    let session = home.get(&format!("/v1/sessions/{parent}")).with(200);
    assert_eq!(
        (&session["status"], &session["ready_for_prompt"]),
        (&json!("running"), &json!(false))
    );
    assert_eq!(session["queue_length"], 3);

    // A person answers; a second answer is told whose the first was.
    let decision = format!("/v1/approvals/{question}/decision");
    let by_ann = [("X-Troupe-Client", "ann")];
    let yes = Some(json!({"decision": "approved"}));
    home.ask("POST", &decision, yes.clone(), &by_ann).with(200);
    let second = home.ask("POST", &decision, yes, &[]);
    assert_eq!(second.body["current"]["by"], "ann");
    assert!(second.body["current"]["at"].is_string());
    assert_eq!(
        second.problem(),
        (409, "answered".to_owned(), String::new())
    );

    // One callback after the other: each is a task of its own.
    let waited = home
        .get(&format!("/v1/sessions/{parent}/wait?for=all"))
        .with(200);
    assert_eq!(waited["timed_out"], false);
    assert_eq!(waited["session"]["ready_for_prompt"], true);
    let tasks = home.get(&format!("/v1/sessions/{parent}/tasks")).with(200);
    let tasks = tasks["data"].as_array().unwrap().clone();
    let heard: Vec<(&str, &str)> = tasks
        .iter()
        .map(|task| (text(&task["status"]), text(&task["last_message"])))
        .collect();
    assert_eq!(
        heard,
        [
            ("completed", "Begun."),
            ("completed", "The tests are done."),
            ("completed", "The changelog is done."),
            ("completed", "The docs are missing."),
        ]
    );
    let of_child = |task: &Value| task["metadata"]["child_task_id"].clone();
    let told: Vec<Value> = tasks.iter().skip(1).map(of_child).collect();
    let expected: Vec<Value> = children.iter().map(|(_, task)| json!(task)).collect();
    assert_eq!(told, expected);
    let messages = home
        .get(&format!("/v1/sessions/{parent}/messages?limit=200"))
        .with(200);
    let messages = messages["data"].as_array().unwrap().clone();
    let marked = messages
        .iter()
        .filter(|message| message["metadata"]["is_callback"] == true);
    assert_eq!(marked.count(), 3);

    // Where everybody comes from.
    let child = home
        .get(&format!("/v1/sessions/{}/genealogy", children[0].0))
        .with(200);
    assert_eq!(child["ancestors"], json!([parent]));
    assert_eq!(child["parent_session_id"], *parent);
    assert_eq!(child["spawn_point_task_id"], *parent_task);
    assert!(child["spawn_point_message_index"].as_u64().unwrap() > 0);
    assert_eq!(child["spawn_config"]["prompt"], "Run the tests");
    let family = home
        .get(&format!("/v1/sessions/{parent}/genealogy"))
        .with(200);
    let ids: Vec<Value> = children.iter().map(|(child, _)| json!(child)).collect();
    assert_eq!(family["children"], json!(ids));

    // Callbacks are taken away while a child is at work: nobody is told of its end.
    let spawn = format!("/v1/sessions/{parent}/spawn");
    let body = json!({"prompt": "Sign it", "enable_callback": true, "approvals": "route"});
    let signer = home.post(&spawn, body).with(201);
    let question = asked(&home, text(&signer["sessionId"]));
    let place = format!("/v1/sessions/{parent}");
    let changed = home
        .patch(&place, json!({"callback_config": {"enabled": false}}))
        .with(200);
    assert_eq!(changed["callback_config"]["enabled"], false);
    let body = json!({"ids": [question], "decision": "approved"});
    let decided = home.post("/v1/approvals/decisions", body).with(200);
    assert_eq!(decided["decided"].as_array().unwrap().len(), 1, "{decided}");
    home.get(&format!("{place}/wait?for=all")).with(200);
    let tasks = home.get(&format!("{place}/tasks")).with(200);
    assert_eq!(tasks["data"].as_array().unwrap().len(), 4);

    // A template is tried when it is set, and shown before it is.
    let broken = json!({"callback_config": {"template": "{{#if status}}"}});
    let refused = home.patch(&place, broken);
    assert!(refused.body["current"]["line"].is_u64(), "{refused:?}");
    assert_eq!(refused.problem().2, "callback_config.template");
    let body = json!({"template": TEMPLATE, "include_original_prompt": true});
    let preview = home
        .post(&format!("{place}/callback-preview"), body.clone())
        .with(200);
    assert!(
        text(&preview["failed"]).starts_with("TOLD failed errored 4a7b3c2d "),
        "{preview}"
    );
    let mut change = body;
    change["enabled"] = json!(true);
    home.patch(&place, json!({"callbackConfig": change}))
        .with(200);
    let spawned = home
        .post(&spawn, json!({"prompt": "Tell it in other words"}))
        .with(201);
    home.get(&format!("{place}/wait?for=all")).with(200);
    let tasks = home.get(&format!("{place}/tasks")).with(200);
    let last = tasks["data"].as_array().unwrap().last().unwrap().clone();
    assert_eq!(last["last_message"], "Heard in other words.");
    let words: Vec<&str> = text(&last["prompt"]).split(' ').collect();
    let (child, task) = (text(&spawned["sessionId"]), text(&spawned["task"]["id"]));
    let begin = [
        "TOLD",
        "completed",
        "completed",
        &child[..8],
        child,
        &task[..8],
        task,
        &*parent,
    ];
    assert_eq!(words[..8], begin);
    assert!(
        text(&last["prompt"]).contains(" Tell it in other words 2"),
        "{last}"
    );
    assert!(text(&last["prompt"]).ends_with(" 1 0 Told."), "{last}");
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
