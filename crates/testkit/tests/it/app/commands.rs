//! `command/exec`: commands of a client, in the kernel's sandbox.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use troupe_app_server::AppServer;
use troupe_testkit::Stage;

use super::client::{Client, app};

async fn stage() -> (Stage, AppServer) {
    let stage = Stage::new("[[scene]]").await;
    let app = app(&stage);
    (stage, app)
}

fn shell(script: &str) -> Value {
    json!({"command": ["sh", "-c", script]})
}

fn with(mut params: Value, more: Value) -> Value {
    let (Value::Object(params_map), Value::Object(more)) = (&mut params, more) else {
        panic!("both are objects");
    };
    params_map.extend(more);
    params
}

/// Returns the output of a command until it says this, or ends.
async fn output_until(client: &mut Client, text: &str) -> String {
    let mut all = String::new();
    while !all.contains(text) {
        let told = client.told("command/exec/outputDelta").await;
        let delta = told["deltaBase64"].as_str().unwrap();
        let bytes = BASE64_STANDARD.decode(delta).unwrap();
        all.push_str(&String::from_utf8_lossy(&bytes));
    }
    all
}

#[tokio::test]
async fn a_command_is_answered_with_what_it_came_to() {
    let (_stage, app) = stage().await;
    let mut client = Client::ready(&app).await;
    let wish = with(
        shell("echo out $WORD; echo err >&2; exit 3"),
        json!({"env": {"WORD": "hi"}}),
    );
    let done = client.call("command/exec", wish).await.unwrap();
    assert_eq!(
        done,
        json!({"exitCode": 3, "stdout": "out hi\n", "stderr": "err\n"})
    );
    let killed = client.call("command/exec", shell("kill -9 $$")).await;
    assert_eq!(killed.unwrap()["exitCode"], 137);
    let nothing = json!({"command": ["no-such-program"]});
    let refused = client.call("command/exec", nothing).await.unwrap_err();
    assert_eq!(
        refused["message"],
        "program `no-such-program` was not found; name an existing file or one in PATH"
    );
    client.leave().await;
}

#[tokio::test]
async fn a_command_is_held_to_its_policy() {
    let (stage, app) = stage().await;
    let mut client = Client::ready(&app).await;
    let made = || stage.cwd().join("made").exists();
    let touch = shell("touch made");
    let done = client.call("command/exec", touch.clone()).await.unwrap();
    assert_ne!(done["exitCode"], 0, "the configured policy only reads");
    assert!(!made());
    let policy = json!({"sandboxPolicy": {"type": "workspaceWrite"}});
    let done = client.call("command/exec", with(touch, policy)).await;
    assert_eq!(done.unwrap()["exitCode"], 0);
    assert!(made());
    client.leave().await;
}

#[tokio::test]
async fn a_command_has_its_time_and_its_room() {
    let (_stage, app) = stage().await;
    let mut client = Client::ready(&app).await;
    let late = with(shell("echo early; sleep 600"), json!({"timeoutMs": 300}));
    let done = client.call("command/exec", late).await.unwrap();
    assert_eq!(done["exitCode"], 124);
    assert_eq!(done["stdout"], "early\n");
    let long = with(
        shell("printf 0123456789; printf abc >&2"),
        json!({"outputBytesCap": 4}),
    );
    let done = client.call("command/exec", long).await.unwrap();
    assert_eq!(
        done,
        json!({"exitCode": 0, "stdout": "0123", "stderr": "abc"})
    );
    client.leave().await;
}

#[tokio::test]
async fn a_command_is_written_to_while_it_talks() {
    let (_stage, app) = stage().await;
    let mut client = Client::ready(&app).await;
    let streams = json!({"processId": "cat", "streamStdin": true, "streamStdoutStderr": true});
    let wish = with(json!({"command": ["cat"]}), streams);
    let running = client.send("command/exec", wish.clone()).await;
    let again = client.call("command/exec", wish).await.unwrap_err();
    assert_eq!(
        again["message"],
        "a command with the processId \"cat\" is running"
    );
    let line = json!({"processId": "cat", "deltaBase64": BASE64_STANDARD.encode("hello\n")});
    client.call("command/exec/write", line).await.unwrap();
    assert_eq!(output_until(&mut client, "\n").await, "hello\n");
    let end = json!({"processId": "cat", "closeStdin": true});
    client
        .call("command/exec/write", end.clone())
        .await
        .unwrap();
    let done = client.answer(&running).await.unwrap();
    assert_eq!(done, json!({"exitCode": 0, "stdout": "", "stderr": ""}));
    let gone = client.call("command/exec/write", end).await.unwrap_err();
    assert_eq!(
        gone["message"],
        "no command with the processId \"cat\" is running"
    );
    client.leave().await;
}

#[tokio::test]
async fn a_terminal_has_a_size_that_changes() {
    let (_stage, app) = stage().await;
    let mut client = Client::ready(&app).await;
    let wish = with(
        shell("trap 'stty size; exit' WINCH; stty size; while :; do sleep 0.01; done"),
        json!({"processId": "t", "tty": true, "size": {"rows": 11, "cols": 22}}),
    );
    let running = client.send("command/exec", wish).await;
    output_until(&mut client, "11 22").await;
    let size = json!({"processId": "t", "size": {"rows": 33, "cols": 44}});
    client.call("command/exec/resize", size).await.unwrap();
    output_until(&mut client, "33 44").await;
    assert_eq!(client.answer(&running).await.unwrap()["exitCode"], 0);
    client.leave().await;
}

#[tokio::test]
async fn a_command_ends_when_it_is_told_and_with_its_client() {
    let (_stage, app) = stage().await;
    let mut client = Client::ready(&app).await;
    let sleep = |id: &str| {
        let streams = json!({"processId": id, "streamStdoutStderr": true, "disableTimeout": true});
        with(shell("echo $$; exec sleep 600"), streams)
    };
    let running = client.send("command/exec", sleep("a")).await;
    output_until(&mut client, "\n").await;
    let stop = json!({"processId": "a"});
    client.call("command/exec/terminate", stop).await.unwrap();
    assert_eq!(client.answer(&running).await.unwrap()["exitCode"], 143);

    let policy = json!({"sandboxPolicy": {"type": "dangerFullAccess"}});
    client.send("command/exec", with(sleep("b"), policy)).await;
    let pid = output_until(&mut client, "\n").await;
    let proc = std::path::PathBuf::from("/proc").join(pid.trim());
    assert!(proc.exists());
    client.leave().await;
    // The kernel ends it when its owner is gone; how soon is the kernel's business.
    while std::fs::read_to_string(proc.join("stat")).is_ok_and(|stat| !stat.contains(") Z ")) {
        tokio::task::yield_now().await;
    }
}
