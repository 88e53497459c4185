//! `troupe mcp-server`: the program as other agents start it.

use serde_json::{Value, json};

use crate::machine::Machine;

const ANSWER: &str = "[[scene]]\n[[scene.turn]]\nsteps = [{ say = 'Hello.' }]\n";

fn hello() -> Value {
    json!({
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "outside", "version": "1"},
        },
    })
}

#[test]
fn it_ends_with_its_input() {
    let machine = Machine::playing(ANSWER);
    let input = format!("{}\n", hello());
    let lines = machine
        .run_with_stdin(&["mcp-server"], input.as_bytes())
        .succeeded()
        .lines();
    let [greeting] = lines.as_slice() else {
        panic!("{lines:?}");
    };
    let server = &greeting["result"]["serverInfo"];
    assert_eq!(server["name"], "troupe");
    assert_eq!(server["version"], env!("CARGO_PKG_VERSION"));
}

#[test]
fn a_client_that_says_nothing_wanted_nothing() {
    let machine = Machine::bare();
    let lines = machine
        .run_with_stdin(&["mcp-server"], b"")
        .succeeded()
        .lines();
    assert!(lines.is_empty(), "{lines:?}");
}

#[test]
fn it_listens_on_nothing_that_it_cannot_speak() {
    let machine = Machine::bare();
    for listen in ["tcp:127.0.0.1:0", "unix:/tmp/x.sock"] {
        let run = machine.run_with_stdin(&["mcp-server", "--listen", listen], b"");
        let told = run.failed_with(2).stderr;
        assert!(told.contains("http:HOST:PORT"), "{told}");
    }
}
