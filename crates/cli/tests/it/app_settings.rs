//! What a client of `troupe app-server` does with the configuration, the machine's files and
//! its commands: there the real program decides.

use std::fs;

use serde_json::{Value, json};

use crate::app_client::Server;
use crate::machine::Machine;
use crate::mcp::SERVER;

fn write(key: &str, value: Value) -> Value {
    json!({"keyPath": key, "value": value, "mergeStrategy": "replace"})
}

const HELLO: &str = "[[scene]]\n[[scene.turn]]\nsteps = [{ say = \"hi\" }]\n";

#[test]
fn settings_are_written_and_hold_for_the_next_thread() {
    let machine = Machine::playing(HELLO);
    let file = machine.path("home/config.toml");
    let before = "# mine\npersonality = \"friendly\" # I like it\n";
    machine.write("home/config.toml", before);
    let mut server = Server::start(&machine);

    let read = server.call("config/read", json!({})).unwrap();
    let version = read["origins"]["personality"]["version"].clone();
    let mut params = write("personality", json!("pragmatic"));
    params["expectedVersion"] = version.clone();
    let written = server.call("config/value/write", params.clone()).unwrap();
    assert_eq!(written["status"], "ok");
    assert_eq!(written["filePath"], file.display().to_string());
    let text = fs::read_to_string(&file).unwrap();
    let expected = before.replace("friendly", "pragmatic");
    assert_eq!(text, expected, "all else stays as it was");

    let late = server.call("config/value/write", params).unwrap_err();
    let code = &late["data"]["config_write_error_code"];
    assert_eq!(code, "configVersionConflict", "{late}");

    let edits = json!([write("model", json!("another-model"))]);
    let written = server.call("config/batchWrite", json!({"edits": edits}));
    written.unwrap();
    let opened = server.call("thread/start", json!({})).unwrap();
    assert_eq!(opened["model"], "another-model");
    server.end();
}

/// Clients of the Codex family write settings before the command.
#[test]
fn a_setting_before_the_command_counts() {
    let machine = Machine::playing(HELLO);
    let mut server = Server::with(&machine, &["--config", "model=another-model", "app-server"]);
    let opened = server.call("thread/start", json!({})).unwrap();
    assert_eq!(opened["model"], "another-model");
    server.end();
}

#[test]
fn a_change_that_is_of_no_use_is_not_written() {
    let machine = Machine::playing(HELLO);
    let file = machine.path("home/config.toml");
    let before = fs::read_to_string(&file).unwrap_or_default();
    let mut server = Server::start(&machine);
    let mut refused = |params: Value| {
        let error = server.call("config/value/write", params).unwrap_err();
        let code = error["data"]["config_write_error_code"].as_str().unwrap();
        let message = error["message"].as_str().unwrap();
        machine.shown(&format!("{code}: {message}"))
    };
    let mut elsewhere = write("model", json!("x"));
    elsewhere["filePath"] = json!("/etc/other.toml");
    let told = [
        refused(write("sandbox_mod", json!("read-only"))),
        refused(write("sandbox_mode", json!("sometimes"))),
        refused(write("a..b", json!(1))),
        refused(elsewhere),
    ];
    expect_test::expect![[r#"
        configSchemaUnknownKey: there is no key sandbox_mod (did you mean sandbox_mode?)
        configValidationError: DIR/home/config.toml:1: sandbox_mode: expected one of "read-only", "workspace-write", "danger-full-access", found "sometimes"
        configValidationError: "a..b" is not a dotted key; a part that holds dots is quoted
        configLayerReadonly: /etc/other.toml is not written from here; only DIR/home/config.toml is"#]].assert_eq(&told.join("\n"));
    let edits = json!([
        write("model", json!("good")),
        write("model_reasoning_effort", json!(7))
    ]);
    let batch = server.call("config/batchWrite", json!({"edits": edits}));
    assert!(batch.is_err(), "all or nothing");
    assert_eq!(fs::read_to_string(&file).unwrap_or_default(), before);
    server.end();
}

#[test]
fn a_stronger_layer_is_named() {
    let machine = Machine::playing(HELLO);
    let mut server = Server::start(&machine);
    let mut profiled = write("profiles.work.personality", json!("friendly"));
    server.call("config/value/write", profiled).unwrap();
    profiled = write("profile", json!("work"));
    server.call("config/value/write", profiled).unwrap();
    let written = server
        .call("config/value/write", write("personality", json!("none")))
        .unwrap();
    assert_eq!(written["status"], "okOverridden");
    let metadata = &written["overriddenMetadata"];
    assert_eq!(metadata["effectiveValue"], "friendly");
    assert_eq!(metadata["overridingLayer"]["name"]["type"], "profile");
    server.end();
}

#[test]
fn a_command_of_a_client_is_held_to_the_configured_policy() {
    let machine = Machine::playing(HELLO);
    let mut server = Server::start(&machine);
    let script = "echo $TROUPE_SANDBOX; touch made";
    let command = json!({"command": ["sh", "-c", script]});
    let done = server.call("command/exec", command.clone()).unwrap();
    assert_eq!(done["stdout"], "workspace-write\n");
    assert_eq!(done["exitCode"], 0);
    let mut forbidden = command;
    forbidden["sandboxPolicy"] = json!({"type": "readOnly"});
    let done = server.call("command/exec", forbidden).unwrap();
    assert_eq!(done["stdout"], "read-only\n");
    assert_ne!(done["exitCode"], 0);
    server.end();
}

/// What the server of other tests answers to who reads a resource.
const MAP: &str = r#"*'"resources/read"'*) say "$line" '{"contents":[{"uri":"mine://map","text":"dig here"}]}' ;;"#;

#[test]
fn a_client_uses_servers_itself() {
    let machine = Machine::playing(HELLO);
    let call = r#"*'"tools/call"'*)"#;
    let script = SERVER.replace(call, &format!("{MAP}\n    {call}"));
    machine.write("project/server.sh", &script);
    let mut server = Server::start(&machine);
    let opened = server.call("thread/start", json!({})).unwrap();
    let thread = &opened["thread"]["id"];
    let dig = json!({"threadId": thread, "server": "ore", "tool": "dig", "arguments": {"deep": 1}});
    let nobody = server.call("mcpServer/tool/call", dig.clone());
    let nobody = nobody.unwrap_err()["message"].to_string();
    assert!(nobody.contains("no MCP server is called"), "{nobody}");

    let ore = json!({"command": "sh", "args": ["server.sh"]});
    server
        .call("config/value/write", write("mcp_servers.ore", ore))
        .unwrap();
    server.call("config/mcpServer/reload", json!(null)).unwrap();
    let dug = server.call("mcpServer/tool/call", dig).unwrap();
    assert_eq!(dug["content"][0]["text"], "gold");
    assert_eq!(dug["isError"], json!(null));
    let map = json!({"server": "ore", "uri": "mine://map"});
    let read = server.call("mcpServer/resource/read", map).unwrap();
    assert_eq!(read["contents"][0]["text"], "dig here");
    server.end();
}
