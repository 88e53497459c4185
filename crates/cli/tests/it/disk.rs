//! Homes and directories that are full, closed, damaged or taken: it is told, and nothing
//! that was confirmed is lost.

use std::fs;
use std::io::{self, Write as _};
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use troupe_mock_model::MockServer;

use crate::client::{Client, user_turn};
use crate::kill::check_input;
use crate::machine::{Machine, Run};

const ANSWERS: &str = r#"
[[scene]]
[[scene.turn]]
steps = [{ say = "One." }]
[[scene.turn]]
steps = [{ say = "Two." }]
[[scene.turn]]
steps = [{ say = "Three." }]
"#;

/// The same command in a mount namespace of its own, after `script` has set that up.
fn in_namespace(command: &Command, script: &str) -> Command {
    // Without rights of its own, the namespace of a user gives them.
    let root = fs::metadata("/proc/self").is_ok_and(|it| it.uid() == 0);
    let mut wrapped = Command::new("unshare");
    wrapped
        .arg(if root { "-m" } else { "-Urm" })
        .args(["sh", "-ec", &format!("{script}\nexec \"$@\""), "sh"])
        .arg(command.get_program())
        .args(command.get_args())
        .env_clear()
        .envs(
            command
                .get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        )
        .current_dir(command.get_current_dir().unwrap());
    wrapped
}

fn read_only(directory: &str) -> String {
    // The working directory was reached by way of the writable mount.
    format!(
        "mount --bind '{directory}' '{directory}'; mount -o remount,ro,bind '{directory}'; cd \"$PWD\""
    )
}

fn outcome(command: &mut Command) -> Run {
    Run::of(&command.stdin(Stdio::null()).output().unwrap())
}

#[test]
fn a_read_only_home_is_refused_and_can_be_read() {
    let machine = Machine::playing(ANSWERS);
    let first = machine.run(&["exec", "--json", "hi"]).succeeded();
    let id = first.thread_id();
    let script = read_only(machine.path("home").to_str().unwrap());
    let run = |arguments: &[&str]| outcome(&mut in_namespace(&machine.troupe(arguments), &script));

    for arguments in [&["exec", "hi"][..], &["exec", "resume", &id, "hi"]] {
        let refused = run(arguments).failed_with(3);
        assert!(refused.stderr.contains("cannot be written"), "{refused:#?}");
        assert!(refused.stderr.contains("home/sessions"), "{refused:#?}");
    }
    let shown = run(&["sessions", "show", &id]).succeeded();
    assert!(shown.stdout.contains("One."), "{shown:#?}");
    let listed = run(&["sessions", "list", "--json"]).succeeded();
    assert_eq!(listed.lines()[0]["id"], id.as_str());
    let unwritten = run(&["exec", "--ephemeral", "hi"]).succeeded();
    assert_eq!(unwritten.stdout, "One.\n");
    let after = machine.run(&["exec", "resume", &id, "go on"]).succeeded();
    assert_eq!(after.stdout, "Two.\n");
}

#[test]
fn a_home_that_is_a_file_is_refused() {
    let machine = Machine::playing(ANSWERS);
    machine.write("home", "not a directory");
    let refused = machine.run(&["exec", "hi"]);
    assert!(matches!(refused.code, Some(2 | 3)), "{refused:#?}");
    assert!(refused.stderr.contains("home"), "{refused:#?}");
    assert_eq!(refused.stdout, "");
}

#[test]
fn a_directory_that_cannot_be_written_is_news_for_the_model() {
    let machine = Machine::playing(
        r#"
[[scene]]
[[scene.turn]]
steps = [{ custom = "apply_patch", input = "*** Begin Patch\n*** Add File: new\n+text\n*** End Patch\n" }]
[[scene.turn]]
expect = "(?i)read-only"
steps = [{ call = "shell_command", arguments = { command = "echo text > new" } }]
[[scene.turn]]
expect = "(?i)read-only"
steps = [{ say = "I cannot write here." }]
"#,
    );
    let script = read_only(machine.path("project").to_str().unwrap());
    let command = machine.troupe(&["exec", "--json", "write"]);
    let run = outcome(&mut in_namespace(&command, &script)).succeeded();
    let items = run.lines();
    let last = &items[items.len() - 2]["item"];
    assert_eq!(last["text"], "I cannot write here.", "{run:#?}");
    assert!(!machine.path("project/new").exists());
}

#[test]
fn an_unreadable_line_is_told_with_its_place_and_left_out() {
    let machine = Machine::playing(ANSWERS);
    let id = machine
        .run(&["exec", "--json", "hi"])
        .succeeded()
        .thread_id();
    let rollout = rollout(&machine.path("home"));
    let text = fs::read_to_string(&rollout).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let damaged = [&lines[..3], &["{\"timestamp\": what?"], &lines[3..]].concat();
    fs::write(&rollout, damaged.join("\n") + "\n").unwrap();
    let byte: usize = lines[..3].iter().map(|line| line.len() + 1).sum();

    let run = machine
        .run(&["exec", "--json", "resume", &id, "go on"])
        .succeeded();
    let warning = run.lines().into_iter().find_map(|line| {
        let message = line["item"]["message"].as_str()?.to_owned();
        message.contains("cannot be read").then_some(message)
    });
    let warning = warning.unwrap_or_else(|| panic!("no warning: {run:#?}"));
    assert!(
        warning.contains(&format!("line 4 (byte {byte})")),
        "{warning}"
    );
    let again = machine.run(&["exec", "resume", &id, "go on"]).succeeded();
    assert_eq!(again.stdout, "Three.\n");
    assert!(again.stderr.contains("line 4"), "{again:#?}");
}

/// The one rollout in a home.
fn rollout(home: &Path) -> PathBuf {
    let mut path = home.join("sessions");
    while path.is_dir() {
        path = fs::read_dir(&path).unwrap().next().unwrap().unwrap().path();
    }
    path
}

#[test]
fn a_session_in_use_names_its_owner_who_is_not_disturbed() {
    let machine = Machine::playing(ANSWERS);
    let mut owner = Client::start(machine.troupe(&["proto"]));
    owner.send("open", &json!({"type": "configure_session"}));
    let configured = owner.until("session_configured");
    owner.send("1", &user_turn("hi"));
    owner.until("task_complete");
    let id = configured["msg"]["session_id"].as_str().unwrap();

    let refused = machine.run(&["exec", "resume", id, "hi"]).failed_with(3);
    let named = format!("in use by process {}", owner.pid());
    assert!(refused.stderr.contains(&named), "{refused:#?}");
    let mut other = Client::start(machine.troupe(&["proto"]));
    other.send("open", &json!({"type": "configure_session", "resume": id}));
    let error = other.until("error");
    let message = error["msg"]["message"].as_str().unwrap();
    assert!(message.contains(&named), "{message}");

    owner.send("2", &user_turn("go on"));
    let complete = owner.until("task_complete");
    assert_eq!(complete["msg"]["last_agent_message"], "Two.");
    owner.end();
    // It is free now, and the one that was refused may take it.
    other.send("again", &json!({"type": "configure_session", "resume": id}));
    other.until("session_configured");
    other.send("3", &user_turn("go on"));
    let complete = other.until("task_complete");
    assert_eq!(complete["msg"]["last_agent_message"], "Three.");
    other.end();
}

const LONG_OUTPUT: &str = r#"
[[scene]]
[[scene.turn]]
steps = [{ say = "Before." }]
[[scene.turn]]
steps = [{ call = "shell_command", arguments = { command = "until test -e go; do sleep 0.02; done; head -c 20000 /dev/zero | tr '\\0' x" } }]
[[scene.turn]]
expect = "after"
steps = [{ say = "After." }]
[[scene.turn]]
expect = "resumed"
steps = [{ say = "Resumed." }]
"#;

/// A directory of one process that holds little. Others reach it by way of that process.
const SMALL_HOME: &str = "mount -t tmpfs -o size=512k none \"$TROUPE_HOME\"";

#[test]
fn a_disk_that_fills_in_mid_task_loses_nothing_and_the_session_goes_on() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let model = MockServer::start(LONG_OUTPUT.parse().unwrap(), address);
    let model = runtime.block_on(model).unwrap();
    let machine = Machine::bare();
    let base_url = format!("openai_base_url={}", model.base_url());
    let mut proto = machine.troupe(&["-c", &base_url, "proto"]);
    proto.env("OPENAI_API_KEY", "sk-test");
    fs::create_dir(machine.path("home")).unwrap();
    let mut client = Client::start(in_namespace(&proto, SMALL_HOME));
    client.send("open", &json!({"type": "configure_session"}));
    let id = client.until("session_configured")["msg"]["session_id"].clone();
    client.send("1", &user_turn("before"));
    client.until("task_complete");

    client.send("2", &user_turn("in the middle"));
    client.until("exec_command_begin");
    let home = machine.path("home");
    let home = PathBuf::from(format!("/proc/{}/root{}", client.pid(), home.display()));
    let filler = home.join("filler");
    fill(&filler);
    machine.write("project/go", "");
    let error = client.until("error");
    check_refusal(&error, "2");
    assert_eq!(error["msg"]["fatal"], true, "{error}");
    assert_eq!(client.until("turn_aborted")["id"], "2");

    // It is still full: a task cannot begin, and that is told again.
    client.send("3", &user_turn(&"more than is left ".repeat(1_000)));
    check_refusal(&client.until("error"), "3");

    fs::remove_file(&filler).unwrap();
    client.send("4", &user_turn("after"));
    let complete = client.until("task_complete");
    assert_eq!(complete["msg"]["last_agent_message"], "After.");

    // The small home ends with its process; what is in it goes on elsewhere.
    let outside = machine.path("outside");
    copy(&home, &outside);
    let seen = client.kill();
    proto.env("TROUPE_HOME", &outside);
    let mut client = Client::start(proto);
    client.send("open", &json!({"type": "configure_session", "resume": id}));
    let configured = client.until("session_configured");
    let last = seen.iter().map(|event| event.seq).max();
    assert!(
        configured["seq"].as_u64() > last,
        "{configured} after {last:?}"
    );
    client.send("5", &user_turn("resumed"));
    let complete = client.until("task_complete");
    assert_eq!(complete["msg"]["last_agent_message"], "Resumed.");
    client.end();

    let requests = model.requests();
    for request in &requests {
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        check_input(body["input"].as_array().unwrap());
    }
    let last = String::from_utf8_lossy(&requests.last().unwrap().body).into_owned();
    for said in ["before", "Before.", "in the middle", "after", "After."] {
        assert!(last.contains(said), "{said} is lost: {last}");
    }
}

/// The same command, which may not write files beyond half a kilobyte.
fn under_file_size_limit(command: &Command) -> Command {
    let mut wrapped = Command::new("sh");
    wrapped
        .args(["-ec", "ulimit -f 1\nexec \"$@\"", "sh"])
        .arg(command.get_program())
        .args(command.get_args())
        .env_clear()
        .current_dir(command.get_current_dir().unwrap())
        .stdin(Stdio::null());
    wrapped.envs(
        command
            .get_envs()
            .filter_map(|(name, value)| Some((name, value?))),
    );
    wrapped
}

#[test]
fn a_file_size_limit_is_told_like_a_full_disk_and_the_session_goes_on() {
    let machine = Machine::playing(ANSWERS);
    machine.run(&["exec", "one"]).succeeded();
    let resume = ["exec", "resume", "--last", "two"];

    let limited = under_file_size_limit(&machine.troupe(&resume));
    let output = { limited }.output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(
        output.status.code(),
        Some(3),
        "{:?} {stderr}",
        output.status
    );
    assert!(stderr.contains("File too large"), "{stderr}");

    machine.run(&resume).succeeded();
}

/// A root that ends its turn, and a child that is at work when the disk fills.
const CHILD_AT_WORK: &str = r#"
[[scene]]
when = "lead"
[[scene.turn]]
steps = [{ call = "spawn_agent", arguments = { message = "long job", task_name = "job" } }]
[[scene.turn]]
steps = [{ say = "begun" }]
[[scene.turn]]
steps = [{ say = "called back" }]

[[scene]]
when = "long job"
[[scene.turn]]
steps = [{ call = "shell_command", arguments = { command = "touch begun; until test -e go; do sleep 0.02; done; head -c 20000 /dev/zero | tr '\\0' x" } }]
[[scene.turn]]
steps = [{ say = "done" }]
"#;

#[test]
fn a_disk_that_fills_under_a_child_ends_the_run_and_is_told() {
    let machine = Machine::playing(CHILD_AT_WORK);
    fs::create_dir(machine.path("home")).unwrap();
    let mut exec = in_namespace(&machine.troupe(&["exec", "lead"]), SMALL_HOME);
    exec.stdin(Stdio::null());
    exec.stdout(Stdio::piped()).stderr(Stdio::piped());
    let exec = exec.spawn().unwrap();
    while !machine.path("project/begun").exists() {
        std::thread::yield_now();
    }
    let home = machine.path("home");
    let home = PathBuf::from(format!("/proc/{}/root{}", exec.id(), home.display()));
    fill(&home.join("filler"));
    machine.write("project/go", "");
    // What is left may be enough to tell the root by a callback, or not.
    let run = Run::of(&exec.wait_with_output().unwrap());
    assert!(run.stderr.contains("no space left"), "{run:#?}");
}

fn check_refusal(error: &Value, id: &str) {
    assert_eq!(error["id"], id, "{error}");
    assert_eq!(error["msg"]["error_info"], "storage_failed", "{error}");
    let message = error["msg"]["message"].as_str().unwrap();
    assert!(message.contains("no space left"), "{message}");
}

/// Writes until nothing fits any more.
fn fill(path: &Path) {
    let mut file = fs::File::create(path).unwrap();
    let full = loop {
        if let Err(error) = file.write_all(&[0; 4096]) {
            break error;
        }
    };
    assert_eq!(full.kind(), io::ErrorKind::StorageFull);
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}
