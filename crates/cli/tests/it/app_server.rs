//! `troupe app-server`: the process, from its start to its end.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command};

use serde_json::json;

use crate::app_client::Server;
use crate::machine::Machine;

const HELLO: &str = "[[scene]]\n[[scene.turn]]\nsteps = [{ say = 'Hello to you.' }]\n";

/// A model that never ends its first answer.
const STALL: &str = r#"
[[scene]]
[[scene.turn]]
steps = [{ say = "I hold", unfinished = true }, { end = "stall" }]
[[scene.turn]]
expect = "say it"
steps = [{ say = "Said." }]
"#;

#[test]
fn at_the_end_of_input_what_was_asked_is_still_answered() {
    let machine = Machine::playing(HELLO);
    let hello = json!({"clientInfo": {"name": "me", "version": "1"}});
    let input = format!(
        "{}\n{}\n",
        json!({"id": 1, "method": "initialize", "params": hello}),
        json!({"id": 2, "method": "thread/start", "params": {}}),
    );
    let run = machine.run_with_stdin(&["app-server"], input.as_bytes());
    let lines = run.succeeded().lines();
    let opened = lines.iter().find(|line| line["id"] == 2).unwrap();
    assert!(opened["result"]["thread"]["id"].is_string(), "{opened}");
}

#[test]
fn a_signal_ends_turns_in_order_and_clients_hear_it() {
    for (signal, code) in [("-INT", 0), ("-TERM", 143)] {
        let machine = Machine::playing(STALL);
        let mut server = Server::start(&machine);
        let thread = server.thread();
        server.turn(&thread, "hold still");
        server.told("item/agentMessage/delta");
        server.signal(signal);
        let ended = server.told("turn/completed");
        assert_eq!(ended["turn"]["status"], "interrupted", "{signal}");
        assert_eq!(server.code(), Some(code), "{signal}");
    }
}

#[test]
fn a_second_run_goes_on_where_the_first_ended() {
    let machine = Machine::playing(HELLO);
    let mut first = Server::start(&machine);
    let thread = first.thread();
    first.turn(&thread, "hello");
    first.told("turn/completed");
    let resume = json!({"threadId": thread});

    let mut second = Server::start(&machine);
    let refused = second.call("thread/resume", resume.clone()).unwrap_err();
    let message = refused["message"].as_str().unwrap();
    assert!(message.contains("in use by process"), "{message}");
    first.end();
    let resumed = second.call("thread/resume", resume).unwrap();
    let item = &resumed["thread"]["turns"][0]["items"][1];
    assert_eq!(item["text"], "Hello to you.");
    second.end();
}

#[test]
fn a_thread_says_in_its_config_what_its_tree_is_like() {
    let machine = Machine::playing(HELLO);
    let mut server = Server::start(&machine);
    let wrong = json!({"config": {"agents.max_depth": "deep"}});
    let refused = server.call("thread/start", wrong).unwrap_err();
    let message = refused["message"].as_str().unwrap();
    assert!(message.contains("max_depth"), "{message}");
    let flat = json!({"config": {"agents": {"max_depth": 0}}});
    let opened = server.call("thread/start", flat).unwrap();
    let root = &opened["thread"]["id"];
    let input = json!([{"type": "text", "text": "hello"}]);
    let wish = json!({"rootThreadId": root, "name": "kid", "input": input});
    let refused = server.call("agent/spawn", wish).unwrap_err();
    let message = refused["message"].as_str().unwrap();
    assert!(message.contains("max_depth"), "{message}");
    server.end();
}

#[test]
fn other_programs_reach_its_agents_while_it_runs() {
    let machine = Machine::playing(STALL);
    let mut server = Server::start(&machine);
    let root = server.thread();
    let input = json!([{"type": "text", "text": "hold still"}]);
    let wish = json!({"rootThreadId": root, "name": "statue", "input": input});
    server.call("agent/spawn", wish).unwrap();
    server.told("item/agentMessage/delta");
    let stopped = machine.run(&["agents", "stop", "interrupt", &format!("{root}:statue")]);
    stopped.succeeded();
    let ended = server.told("turn/completed");
    assert_eq!(ended["turn"]["status"], "interrupted");
    let socket = machine.path(&format!("home/run/{root}.sock"));
    assert!(socket.exists());
    server.end();
    assert!(!socket.exists());
}

/// A running `troupe app-server --listen …`. Dropping it kills the process.
struct Listening {
    process: Child,
    urls: Vec<String>,
}

impl Listening {
    fn start(machine: &Machine, listen: &[&str]) -> Self {
        let flags = listen.iter().flat_map(|url| ["--listen", url]);
        let arguments: Vec<&str> = std::iter::once("app-server").chain(flags).collect();
        let mut process = machine.troupe(&arguments).spawn().unwrap();
        let lines = BufReader::new(process.stderr.take().unwrap()).lines();
        let urls = lines.take(listen.len()).map(|line| {
            let line = line.unwrap();
            let url = line.strip_prefix("listening on ");
            url.unwrap_or_else(|| panic!("{line}")).to_owned()
        });
        let urls = urls.collect();
        Self { process, urls }
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        // It is our own child; one that has ended needs neither.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn an_address_belongs_to_one_server_and_is_free_after_it() {
    let machine = Machine::playing(HELLO);
    let mut first = Listening::start(&machine, &["unix://", "ws://127.0.0.1:0"]);
    let socket = machine.path("home/run/app-server.sock");
    assert!(socket.exists());
    for url in &first.urls {
        let refused = machine.run(&["app-server", "--listen", url]);
        let told = refused.failed_with(3).stderr;
        assert!(told.contains("cannot listen on"), "{told}");
    }
    let id = first.process.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-INT", &id])
            .status()
            .unwrap()
            .success()
    );
    assert_eq!(first.process.wait().unwrap().code(), Some(0));
    assert!(!socket.exists());
    Listening::start(&machine, &["unix://"]);
}

#[test]
fn it_listens_on_nothing_that_it_cannot_speak() {
    let machine = Machine::bare();
    let check = |listen: &[&str], wanted: &str| {
        let flags = listen.iter().flat_map(|url| ["--listen", url]);
        let arguments: Vec<&str> = std::iter::once("app-server").chain(flags).collect();
        let told = machine.run(&arguments).failed_with(2).stderr;
        assert!(told.contains(wanted), "{told}");
    };
    let forms = "write stdio://, unix://PATH or ws://IP:PORT";
    check(&["http://127.0.0.1:1"], forms);
    check(&["ws://127.0.0.1"], forms);
    check(&["stdio://", "unix://"], "--listen stdio:// stands alone");
}
