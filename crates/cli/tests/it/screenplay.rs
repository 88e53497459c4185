//! What `docs/screenplay.md` shows is what the program plays, and what a server sees of the
//! program.

use std::net::{Ipv4Addr, SocketAddr};

use troupe_mock_model::MockServer;

use crate::machine::{Machine, Run};

/// The blocks of the page: the screenplay, a list of models, and the configuration that plays it.
fn examples() -> Vec<String> {
    let page = include_str!("../../../../docs/screenplay.md");
    let blocks = page.split("```toml\n").skip(1);
    blocks
        .map(|rest| rest.split("```").next().unwrap().to_owned())
        .collect()
}

#[test]
fn the_examples_of_the_page_play() {
    let [screenplay, models, configuration] = examples().try_into().unwrap();
    let stage = Machine::playing(&format!("{models}{screenplay}"));
    for wire in ["responses", "chat", "messages"] {
        let machine = Machine::bare();
        let configuration = configuration
            .replace("http://127.0.0.1:PORT/v1", stage.base_url())
            .replace("wire_api = \"responses\"", &format!("wire_api = {wire:?}"));
        machine.write("home/config.toml", &configuration);
        let file = machine.write("project/src/lib.rs", "1\n");
        let run = machine.run(&["exec", "Fix the test."]).succeeded();
        assert!(run.stdout.starts_with("Fixed."), "{wire}: {}", run.stdout);
        assert_eq!(std::fs::read_to_string(file).unwrap(), "2\n", "{wire}");
    }
}

#[test]
fn the_server_sees_the_version_and_the_model_the_shell_of_its_commands() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let play = "[[scene]]\n[[scene.turn]]\nsteps = [{ say = 'Hello.' }]\n";
    let server = MockServer::start(play.parse().unwrap(), address);
    let server = runtime.block_on(server).unwrap();
    let base_url = format!("openai_base_url={}", server.base_url());
    let output = Machine::bare()
        .troupe(&["exec", "-c", &base_url, "hi"])
        .env("OPENAI_API_KEY", "none")
        // Commands are not written for this one.
        .env("SHELL", "/usr/bin/fish")
        .output()
        .unwrap();
    Run::of(&output).succeeded();
    let request = &server.requests()[0];
    let version = concat!("troupe/", env!("CARGO_PKG_VERSION"));
    assert_eq!(request.headers["user-agent"], version);
    let body = String::from_utf8_lossy(&request.body);
    assert!(body.contains("<shell>bash</shell>"), "{body}");
}
