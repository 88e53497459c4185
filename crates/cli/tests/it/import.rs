//! Conversations of Codex and Claude Code, taken over by the binary and gone on with.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use serde_json::{Value, json};

use crate::app_client::Server;
use crate::machine::Machine;

const ONE_ANSWER: &str = r#"
[[scene]]
[[scene.turn]]
steps = [{ say = "Milk, as before." }]
[[scene.turn]]
steps = [{ say = "Still milk." }]
"#;

fn fixture(name: &str) -> PathBuf {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../import/tests/fixtures");
    fixtures.join(name).join("input.jsonl")
}

fn codex_rollout(machine: &Machine, name: &str) -> PathBuf {
    let text = std::fs::read_to_string(fixture(name)).unwrap();
    let project = machine.path("project").canonicalize().unwrap();
    let text = text.replace("/home/user/project", project.to_str().unwrap());
    machine.write(
        ".codex/sessions/2026/11/18/rollout-2026-11-18T12-55-30-x.jsonl",
        &text,
    )
}

/// Passes requests on to a model and keeps their bodies.
fn listened(base_url: &str) -> (String, Receiver<Value>) {
    let model = base_url.trim_start_matches("http://").to_owned();
    let (host, path) = model.split_once('/').unwrap();
    let (host, path) = (host.to_owned(), path.to_owned());
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let (bodies, heard) = channel();
    // It ends with the test process; each connection is one request.
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            pass_on(client, &host, &bodies);
        }
    });
    (format!("http://{address}/{path}"), heard)
}

fn pass_on(mut client: TcpStream, host: &str, bodies: &Sender<Value>) {
    let mut reader = BufReader::new(client.try_clone().unwrap());
    let mut head = String::new();
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap() == 0 {
            return;
        }
        let lower = line.to_ascii_lowercase();
        if let Some(number) = lower.strip_prefix("content-length:") {
            length = number.trim().parse().unwrap();
        }
        if line == "\r\n" {
            break;
        }
        if !lower.starts_with("connection:") {
            head += &line;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    if let Ok(body) = serde_json::from_slice(&body) {
        // Nobody listens any more once the test is over.
        let _ = bodies.send(body);
    }
    let mut model = TcpStream::connect(host).unwrap();
    write!(model, "{head}connection: close\r\n\r\n").unwrap();
    model.write_all(&body).unwrap();
    // The client may have gone.
    let _ = std::io::copy(&mut model, &mut client);
    let _ = client.shutdown(Shutdown::Both);
}

/// The requests that hold a conversation.
fn requests(heard: &Receiver<Value>, key: &str) -> Vec<Value> {
    let bodies = heard.try_iter();
    bodies.filter(|body| body.get(key).is_some()).collect()
}

/// A client of the app-server too names the file, and gets the same thread each time.
#[test]
fn a_client_opens_a_rollout_of_codex_by_its_file() {
    let machine = Machine::playing(ONE_ANSWER);
    let rollout = codex_rollout(&machine, "codex-0.169");
    let mut server = Server::start(&machine);
    let params = json!({"threadId": "", "path": rollout});
    let opened = server.call("thread/resume", params).unwrap();
    let thread = opened["thread"]["id"].as_str().unwrap().to_owned();
    let project = machine.path("project").canonicalize().unwrap();
    assert_eq!(opened["cwd"], json!(project));
    assert!(!opened["thread"]["turns"].as_array().unwrap().is_empty());
    let warning = server.told("warning");
    let message = warning["message"].as_str().unwrap();
    assert!(message.starts_with("not carried over: "), "{message}");
    server.turn(&thread, "and today?");
    server.told("turn/completed");
    drop(server);

    let mut server = Server::start(&machine);
    let params = json!({"threadId": "", "path": rollout});
    let again = server.call("thread/resume", params).unwrap();
    assert_eq!(again["thread"]["id"], json!(thread));
    let other = json!({"threadId": thread, "path": machine.path("another.jsonl")});
    let refused = server.call("thread/resume", other).unwrap_err();
    let message = refused["message"].as_str().unwrap();
    assert!(message.contains("is in memory"), "{message}");
    let nothing = json!({"threadId": "", "path": machine.path("nothing.jsonl")});
    let refused = server.call("thread/resume", nothing).unwrap_err();
    assert_eq!(refused["code"], -32600, "{refused}");
}

#[test]
fn a_rollout_of_codex_is_gone_on_with_by_its_file() {
    let machine = Machine::playing(ONE_ANSWER);
    let (url, heard) = listened(machine.base_url());
    let rollout = codex_rollout(&machine, "codex-0.169");
    let url = format!("openai_base_url={url}");
    let go_on = |prompt: &str| {
        let path = rollout.to_str().unwrap();
        machine
            .run(&["-c", &url, "exec", "resume", path, prompt])
            .succeeded()
    };
    let run = go_on("and today?");
    assert_eq!(run.stdout, "Milk, as before.\n");
    assert!(
        run.stderr.contains("imported from codex as session"),
        "{}",
        run.stderr
    );
    assert!(
        run.stderr.contains("reasoning sealed for another account"),
        "{}",
        run.stderr
    );

    let sent = requests(&heard, "input");
    assert_eq!(sent.len(), 1);
    let input = sent[0]["input"].as_array().unwrap();
    let kinds: Vec<&str> = input
        .iter()
        .map(|item| match item["type"].as_str().unwrap() {
            "message" => item["role"].as_str().unwrap(),
            kind => kind,
        })
        .collect();
    let conversation = [
        "user",
        "function_call",
        "function_call_output",
        "assistant",
        "user",
        "custom_tool_call",
        "custom_tool_call_output",
        "assistant",
    ];
    assert_eq!(kinds[..conversation.len()], conversation);
    let text = |index: usize| input[index]["content"][0]["text"].as_str().unwrap();
    assert_eq!(text(0), "What do the notes say?");
    assert_eq!(text(input.len() - 1), "and today?");
    assert_eq!(input[1]["call_id"], input[2]["call_id"]);
    let body = sent[0].to_string();
    assert!(!body.contains("encrypted_content\":\""), "{body}");
    assert!(
        !body.contains("/home/user/.codex"),
        "surroundings of Codex went along"
    );

    // The same file is the same session, which has gone on.
    let again = go_on("and now?");
    assert_eq!(again.stdout, "Still milk.\n");
    assert!(again.stderr.contains("is session"), "{}", again.stderr);
    let sent = requests(&heard, "input").pop().unwrap().to_string();
    assert!(sent.contains("and today?"), "{sent}");
    let listed = machine.run(&["sessions", "list", "--json"]).succeeded();
    assert_eq!(listed.lines().len(), 1);
    assert_eq!(listed.lines()[0]["note"], "imported from codex");
}

/// Every call of a request has its answer in the next message, whichever wire it goes over.
#[test]
fn a_conversation_of_claude_is_gone_on_with_over_every_wire() {
    for wire in ["messages", "chat", "responses"] {
        let machine = Machine::playing(ONE_ANSWER);
        let (url, heard) = listened(machine.base_url());
        let run = machine
            .run(&[
                "import",
                "claude",
                fixture("claude-branches").to_str().unwrap(),
                "--json",
            ])
            .succeeded();
        let told = &run.lines()[0];
        assert_eq!(told["outcome"], "imported");
        assert_eq!(told["name"], "Milk");
        assert_eq!(told["broken_lines"][0]["line"], 25);
        assert_eq!(told["not_carried_over"]["left_branch"], 2);
        let session = told["session"].as_str().unwrap();
        let provider = format!(
            "model_providers.there={{base_url=\"{url}\",wire_api=\"{wire}\",request_max_retries=0}}"
        );
        let run = machine
            .run(&[
                "-c",
                &provider,
                "-c",
                "model_provider=there",
                "-c",
                "model=scripted",
                "exec",
                "resume",
                session,
                "go on",
            ])
            .succeeded();
        assert_eq!(run.stdout, "Milk, as before.\n", "{wire}");
        let key = if wire == "responses" {
            "input"
        } else {
            "messages"
        };
        let sent = requests(&heard, key).pop().unwrap();
        assert_paired(wire, sent[key].as_array().unwrap());
        let body = sent.to_string();
        assert!(body.contains("first question"), "{wire}: {body}");
        assert!(!body.contains("taken back"), "{wire}: {body}");
        assert!(!body.contains("EqQB"), "{wire}: a signature went along");
    }
}

fn assert_paired(wire: &str, messages: &[Value]) {
    let ids = |message: &Value, calls: bool| -> Vec<String> {
        let blocks = message["content"].as_array().cloned().unwrap_or_default();
        let (kind, key) = if calls {
            ("tool_use", "id")
        } else {
            ("tool_result", "tool_use_id")
        };
        let mut found: Vec<Value> = blocks
            .iter()
            .filter(|block| block["type"] == kind)
            .map(|block| block[key].clone())
            .collect();
        if calls {
            let tool_calls = message["tool_calls"]
                .as_array()
                .cloned()
                .unwrap_or_default();
            found.extend(tool_calls.iter().map(|call| call["id"].clone()));
            let is_call = message["type"] == "function_call";
            found.extend(is_call.then(|| message["call_id"].clone()));
        } else {
            found.extend((message["role"] == "tool").then(|| message["tool_call_id"].clone()));
            let is_answer = message["type"] == "function_call_output";
            found.extend(is_answer.then(|| message["call_id"].clone()));
        }
        found
            .iter()
            .map(|id| id.as_str().unwrap().to_owned())
            .collect()
    };
    let mut open: Vec<String> = Vec::new();
    let mut calls = 0;
    for message in messages {
        let answers = ids(message, false);
        if answers.is_empty() && message["role"] == "user" {
            assert_eq!(open, [""; 0], "{wire}: {message}");
        }
        for answer in answers {
            let asked = open.iter().position(|call| *call == answer);
            open.remove(asked.unwrap_or_else(|| panic!("{wire}: {answer} answers nothing")));
        }
        let made = ids(message, true);
        calls += made.len();
        open.extend(made);
    }
    assert_eq!(open, [""; 0], "{wire}");
    assert_eq!(calls, 3, "{wire}");
}

#[test]
fn conversations_of_this_directory_are_listed_and_taken_over() {
    let machine = Machine::bare();
    let empty = machine.run(&["import", "codex"]).succeeded();
    assert_eq!(empty.stdout, "");
    let looked =
        "nothing to import: looked in DIR/.codex/sessions for conversations that were had in";
    assert!(
        machine.shown(&empty.stderr).starts_with(looked),
        "{}",
        empty.stderr
    );
    assert!(!machine.path("home").exists(), "looking made a home");
    machine.run(&["import", "codex", "--last"]).failed_with(3);

    codex_rollout(&machine, "codex-0.169-compacted");
    let listed = machine.run(&["import", "codex", "--json"]).succeeded();
    assert_eq!(listed.lines()[0]["preview"], "What do the notes say?");
    assert_eq!(listed.lines()[0]["session"], Value::Null);
    let rehearsed = machine
        .run(&["import", "codex", "--last", "--dry-run"])
        .succeeded();
    assert!(
        rehearsed.stdout.starts_with("would import"),
        "{}",
        rehearsed.stdout
    );
    let sessions = machine.run(&["sessions", "list"]).succeeded();
    assert_eq!(sessions.stdout, "");

    let id = listed.lines()[0]["id"].as_str().unwrap().to_owned();
    let imported = machine
        .run(&["import", "codex", &id[..13], "--json"])
        .succeeded();
    assert_eq!(imported.lines()[0]["outcome"], "imported");
    let again = machine
        .run(&["import", "codex", "--last", "--json"])
        .succeeded();
    assert_eq!(again.lines()[0]["outcome"], "known");
    assert_eq!(again.lines()[0]["session"], imported.lines()[0]["session"]);
    let listed = machine
        .run(&["import", "codex", "--list", "--json"])
        .succeeded();
    assert_eq!(listed.lines()[0]["session"], imported.lines()[0]["session"]);
    let other = machine
        .run(&["import", "codex", "--last", "--new", "--json"])
        .succeeded();
    assert_ne!(other.lines()[0]["session"], imported.lines()[0]["session"]);
}

/// Rights are the user's to give, not a file's.
#[test]
fn rights_of_the_other_agent_are_not_carried_over() {
    let machine = Machine::bare();
    let rollout = codex_rollout(&machine, "codex-0.169");
    let text = std::fs::read_to_string(&rollout).unwrap();
    assert!(text.contains("danger-full-access"));
    let run = machine
        .run(&["import", "codex", rollout.to_str().unwrap(), "--json"])
        .succeeded();
    let session = run.lines()[0]["session"].as_str().unwrap().to_owned();
    let log = machine.run(&["sessions", "export", &session]).succeeded();
    assert!(!log.stdout.contains("danger-full-access"), "{}", log.stdout);
}

#[test]
fn what_cannot_be_taken_over_is_refused_by_name() {
    let machine = Machine::bare();
    let link = machine.path("link.jsonl");
    std::os::unix::fs::symlink(fixture("codex-0.169"), &link).unwrap();
    let refused = |arguments: &[&str], why: &str| {
        let run = machine.run(arguments).failed_with(3);
        assert!(run.stderr.contains(why), "{}", run.stderr);
    };
    refused(
        &["import", "codex", link.to_str().unwrap()],
        "is a symbolic link",
    );
    refused(
        &["exec", "resume", link.to_str().unwrap(), "go on"],
        "is a symbolic link",
    );
    let claude = fixture("claude-2.1");
    refused(
        &["import", "codex", claude.to_str().unwrap()],
        "say `troupe import claude`",
    );
    refused(&["import", "codex", "./nothing.jsonl"], "cannot read");
    machine.run(&["import", "goose"]).failed_with(2);
}
