//! `troupe agents` on trees that really grew: stored ones, and one that another process runs.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use serde_json::{Value, json};

use crate::client::{Client, user_turn};
use crate::machine::{Machine, Run};
use crate::watched::Watched;

/// A parent that waits for its child.
const COUNT: &str = r#"
[[scene]]
when = "count the files"
[[scene.turn]]
usage = { input = 1000, output = 200 }
steps = [{ call = "shell_command", arguments = { command = "echo three > count.txt; echo three" } }]
[[scene.turn]]
usage = { input = 1000, output = 200 }
steps = [{ say = "There are three." }]
[[scene.turn]]
expect = "and the directories"
steps = [{ say = "Two directories." }]

[[scene]]
when = "delegate"
[[scene.turn]]
steps = [{ call = "spawn_agent", arguments = { message = "count the files", task_name = "counter", agent_type = "worker", thread_note = "counts" } }]
[[scene.turn]]
steps = [{ call = "wait", arguments = { ids = ["/root/counter"] } }]
[[scene.turn]]
expect = "There are three."
steps = [{ say = "Three." }]
[[scene.turn]]
expect = "Two directories."
steps = [{ say = "And two." }]
"#;

/// A parent and a child that only talk.
const TALK: &str = r#"
[[scene]]
when = "say hello"
[[scene.turn]]
steps = [{ say = "Hello." }]

[[scene]]
when = "delegate"
[[scene.turn]]
steps = [{ call = "spawn_agent", arguments = { message = "say hello" } }]
[[scene.turn]]
steps = [{ call = "wait", arguments = { ids = ["1"] } }]
[[scene.turn]]
steps = [{ say = "It said hello." }]
"#;

/// A parent whose child says nothing until it is stopped or told something else.
const STALL: &str = r#"
[[scene]]
when = "hold still"
[[scene.turn]]
steps = [{ say = "I hold", unfinished = true }, { end = "stall" }]
[[scene.turn]]
expect = "say it"
steps = [{ say = "Said." }]

[[scene]]
when = "delegate"
[[scene.turn]]
steps = [{ call = "spawn_agent", arguments = { message = "hold still", task_name = "statue" } }]
[[scene.turn]]
steps = [{ call = "wait", arguments = { ids = ["/root/statue"] } }]
[[scene.turn]]
steps = [{ say = "It moved." }]
[[scene.turn]]
steps = [{ say = "Once more." }]
"#;

/// A machine on which one tree grew, and its session.
fn counted() -> (Machine, String) {
    let machine = Machine::playing(COUNT);
    let run = machine.run(&["exec", "--json", "delegate"]).succeeded();
    let id = run.thread_id();
    (machine, id)
}

/// The only line of a command that prints one JSON object.
fn object(run: &Run) -> Value {
    let mut lines = run.lines();
    assert_eq!(lines.len(), 1, "{run:#?}");
    lines.remove(0)
}

#[test]
fn a_stored_tree_is_shown() {
    let (machine, id) = counted();
    let tree = machine.run(&["agents", "tree"]).succeeded().stdout;
    let head = format!("session {} in", &id[..8]);
    assert!(tree.starts_with(&head), "{tree}");
    assert!(tree.contains("(no process runs it)"), "{tree}");
    let child = tree.lines().last().unwrap();
    assert!(child.starts_with("└─ 1 counter  completed"), "{tree}");
    assert!(child.contains("worker on "), "{tree}");
    assert!(
        child.ends_with("2,400 tokens · note: counts · “There are three.”"),
        "{tree}"
    );

    let tree = object(
        &machine
            .run(&["agents", "tree", &id[..8], "--json"])
            .succeeded(),
    );
    assert_eq!(tree["root"], id.as_str());
    assert_eq!(tree["running"], false);
    let child = &tree["agents"][1];
    assert_eq!(child["path"], "/root/counter");
    assert_eq!(child["status"]["completed"], "There are three.");
    assert_eq!(child["tokens"]["own"], 2_400);
    assert_eq!(tree["agents"][0]["tokens"]["subtree"], 2_400 + 3 * 120);
}

#[test]
fn one_agent_is_shown_by_any_of_its_addresses() {
    let (machine, id) = counted();
    let tree = object(&machine.run(&["agents", "tree", "--json"]).succeeded());
    let session = tree["agents"][1]["session_id"].as_str().unwrap().to_owned();
    let addresses = [
        "1".to_owned(),
        "counter".to_owned(),
        "/root/counter".to_owned(),
        format!("{id}:1"),
        format!("{}:counter", &id[..8]),
        session[..8].to_owned(),
    ];
    for address in &addresses {
        let shown = machine.run(&["agents", "show", address]).succeeded().stdout;
        assert!(
            shown.starts_with("agent      1 /root/counter\n"),
            "{address}: {shown}"
        );
        assert!(shown.contains("role       worker\n"), "{address}: {shown}");
    }
    let shown = object(&machine.run(&["agents", "show", "1", "--json"]).succeeded());
    assert_eq!(shown["spec"]["tool"], "spawn_agent");
    assert_eq!(shown["results"][0]["stop"]["reason"], "completed");
}

#[test]
fn a_result_comes_with_its_evidence() {
    let (machine, _) = counted();
    let text = machine
        .run(&["agents", "result", "counter"])
        .succeeded()
        .stdout;
    assert!(text.starts_with("/root/counter  completed"), "{text}");
    assert!(text.contains("\nThere are three.\n"), "{text}");
    assert!(
        text.contains("echo three > count.txt; echo three  → exit 0"),
        "{text}"
    );
    let result = object(
        &machine
            .run(&["agents", "result", "counter", "--json"])
            .succeeded(),
    );
    assert_eq!(result["evidence"]["tool_calls"]["shell_command"], 1);
    let task = result["task_id"].as_str().unwrap();
    let same = machine.run(&["agents", "result", "counter", "--task", task, "--json"]);
    assert_eq!(object(&same.succeeded()), result);
    let other = machine.run(&["agents", "result", "counter", "--task", "x"]);
    let other = other.failed_with(1).stderr;
    assert!(other.contains("has no finished task x; it has "), "{other}");
}

#[test]
fn logs_tell_what_an_agent_did() {
    let (machine, _) = counted();
    let logs = machine
        .run(&["agents", "logs", "counter"])
        .succeeded()
        .stdout;
    for words in [
        "> count the files",
        "$ echo three",
        "There are three.",
        "── completed",
    ] {
        assert!(logs.contains(words), "{words}: {logs}");
    }
    let last = machine
        .run(&["agents", "logs", "counter", "-n", "1"])
        .succeeded();
    assert_eq!(last.stdout.lines().count(), 1, "{}", last.stdout);
    let lines = machine
        .run(&["agents", "logs", "counter", "--json"])
        .succeeded();
    assert_eq!(lines.lines()[0]["type"], "session_meta");
    // Nobody writes to it any more, so there is nothing to follow.
    let followed = machine
        .run(&["agents", "logs", "counter", "--follow"])
        .succeeded();
    assert_eq!(followed.stdout, logs);
}

#[test]
fn waiting_for_what_has_ended() {
    let (machine, _) = counted();
    let run = machine.run(&["agents", "wait", "counter"]).succeeded();
    assert_eq!(run.stdout, "/root/counter completed\n");
}

#[test]
fn a_message_to_a_stored_tree_is_worked_off_here() {
    let (machine, _) = counted();
    let run = machine.run(&["agents", "send", "counter", "and the directories"]);
    let run = run.succeeded();
    assert!(
        run.stdout
            .starts_with("sent: /root/counter begins with it\n"),
        "{run:#?}"
    );
    let result = machine.run(&["agents", "result", "counter"]).succeeded();
    assert!(
        result.stdout.contains("Two directories."),
        "{}",
        result.stdout
    );
    // The parent was called back.
    let result = machine.run(&["agents", "result", "root"]).succeeded();
    assert!(result.stdout.contains("And two."), "{}", result.stdout);
    assert!(
        fs::read_dir(machine.path("home/run"))
            .unwrap()
            .next()
            .is_none()
    );
}

/// A child that writes a file whenever it is asked to.
const WRITES: &str = r#"
[[scene]]
when = "stand by"
[[scene.turn]]
steps = [{ say = "Ready." }]
[[scene.turn]]
steps = [{ call = "shell_command", arguments = { command = "echo x > written" } }]
[[scene.turn]]
steps = [{ say = "Written." }]
[[scene.turn]]
steps = [{ call = "shell_command", arguments = { command = "echo x > written" } }]
[[scene.turn]]
steps = [{ say = "Tried." }]

[[scene]]
when = "delegate"
[[scene.turn]]
steps = [{ call = "spawn_agent", arguments = { message = "stand by", task_name = "writer" } }]
[[scene.turn]]
steps = [{ call = "wait", arguments = { ids = ["writer"] } }]
[[scene.turn]]
steps = [{ say = "It stands by." }]
[[scene.turn]]
steps = [{ say = "Noted." }]
[[scene.turn]]
steps = [{ say = "Noted again." }]
"#;

#[test]
fn a_narrower_sandbox_binds_the_children_of_a_stored_tree() {
    let machine = Machine::playing(WRITES);
    let wide = ["exec", "-c", "sandbox_mode=danger-full-access", "delegate"];
    machine.run(&wide).succeeded();
    let send = ["agents", "send", "writer", "write now"];
    machine.run(&send).succeeded();
    fs::remove_file(machine.path("project/written")).unwrap();
    let narrow = [&["-c", "sandbox_mode=read-only"], &send[..]].concat();
    machine.run(&narrow).succeeded();
    let result = machine.run(&["agents", "result", "writer"]).succeeded();
    assert!(result.stdout.contains("Tried."), "{result:#?}");
    assert!(!machine.path("project/written").exists(), "{result:#?}");
}

#[test]
fn who_was_pruned_is_out_of_the_tree_and_keeps_a_result() {
    let (machine, _) = counted();
    let pruned = machine.run(&["agents", "stop", "prune", "counter"]);
    assert_eq!(pruned.succeeded().stdout, "pruned 1 /root/counter\n");
    let tree = machine.run(&["agents", "tree"]).succeeded();
    assert!(!tree.stdout.contains("counter"), "{tree:#?}");
    let told = "1 agent was pruned (--all shows them too)";
    assert!(tree.stderr.contains(told), "{tree:#?}");
    let listed = machine.run(&["agents", "tree", "--json"]).succeeded();
    assert_eq!(object(&listed)["agents"].as_array().unwrap().len(), 1);
    for all in [
        &["agents", "tree", "--all"][..],
        &["agents", "tree", "counter"],
    ] {
        let tree = machine.run(all).succeeded().stdout;
        assert!(
            tree.contains("counter") && tree.contains("· pruned"),
            "{tree}"
        );
    }
    let result = machine.run(&["agents", "result", "counter"]).succeeded();
    assert!(result.stdout.contains("There are three."), "{result:#?}");
}

#[test]
fn a_stored_tree_is_closed_after_a_rehearsal() {
    let (machine, _) = counted();
    let stop = ["agents", "stop", "close", "counter"];
    let rehearsed = machine
        .run(&[&stop[..], &["--dry-run"]].concat())
        .succeeded();
    assert_eq!(rehearsed.stdout, "would close 1 /root/counter\n");
    let tree = machine.run(&["agents", "tree"]).succeeded().stdout;
    assert!(tree.contains("counter  completed"), "{tree}");
    let closed = machine.run(&stop).succeeded();
    assert_eq!(closed.stdout, "closed 1 /root/counter\n");
    let dead = machine
        .run(&["agents", "send", "counter", "hello"])
        .failed_with(1);
    assert!(
        dead.stderr
            .contains("`troupe agents resume` brings it back"),
        "{dead:#?}"
    );
    let back = machine.run(&["agents", "resume", "counter"]).succeeded();
    assert_eq!(back.stdout, "/root/counter is back (completed)\n");
}

/// The directory of sockets is made with the first one; commands, which need it too, are not
/// run here.
#[test]
fn a_session_opens_no_socket_that_nobody_could_use() {
    let sockets = |arguments: &[&str]| {
        let machine = Machine::playing(TALK);
        machine.run(arguments).succeeded();
        machine.path("home/run").exists()
    };
    assert!(!sockets(&["exec", "say hello"]));
    assert!(!sockets(&["exec", "--ephemeral", "delegate"]));
    assert!(sockets(&["exec", "delegate"]));
}

#[test]
fn what_is_not_there_is_said() {
    let machine = Machine::bare();
    let empty = machine.run(&["agents", "tree"]).succeeded();
    assert!(
        empty.stderr.contains("no agents yet in "),
        "{}",
        empty.stderr
    );
    let nobody = machine.run(&["agents", "show", "2"]).failed_with(3);
    assert!(
        nobody.stderr.contains("no session \"2\" in this home"),
        "{nobody:#?}"
    );

    let (machine, id) = counted();
    let nobody = machine.run(&["agents", "show", "nobody"]).failed_with(3);
    let told = format!("`troupe agents tree {}` shows it", &id[..8]);
    assert!(nobody.stderr.contains(&told), "{}", nobody.stderr);
}

/// A run whose child holds still, and ends with this.
struct Running {
    exec: Child,
    id: String,
}

impl Running {
    fn start(machine: &Machine) -> Self {
        let mut exec = machine
            .troupe(&["exec", "--json", "delegate"])
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(exec.stdout.take().unwrap()).lines();
        let first: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
        let id = first["thread_id"].as_str().unwrap().to_owned();
        // The pipe stays open and is read to its end, so that the run is never held up.
        std::thread::spawn(move || lines.for_each(drop));
        let running = Self { exec, id };
        running.until_the_child_runs(machine);
        running
    }

    fn until_the_child_runs(&self, machine: &Machine) {
        self.until(machine, |tree| {
            tree["agents"][1]["status"] == "running" && tree["running"] == true
        });
    }

    /// Watches until the tree is so. A session that is still new has no tree to watch.
    fn until(&self, machine: &Machine, is_so: impl Fn(&Value) -> bool) {
        let is_so = |line: &String| is_so(&serde_json::from_str(line).unwrap());
        let mut found = false;
        while !found {
            let mut watch = machine
                .troupe(&["agents", "tree", &self.id, "--watch", "--json"])
                .spawn()
                .unwrap();
            let mut lines = BufReader::new(watch.stdout.take().unwrap()).lines();
            found = lines.any(|line| is_so(&line.unwrap()));
            watch.kill().unwrap();
            watch.wait().unwrap();
        }
    }

    fn ends(mut self) -> Option<i32> {
        self.exec.wait().unwrap().code()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It is our own child; one that has ended needs neither.
        let _ = self.exec.kill();
        let _ = self.exec.wait();
    }
}

#[test]
fn a_running_tree_is_acted_in_from_another_process() {
    let machine = Machine::playing(STALL);
    let running = Running::start(&machine);
    let waited = machine.run(&["agents", "wait", "statue", "--timeout", "0"]);
    waited.failed_with(124);
    let plan = machine
        .run(&["agents", "stop", "cancel", "statue", "--dry-run"])
        .succeeded();
    assert_eq!(plan.stdout, "would cancel 1 /root/statue\n");
    // Settings of this program would bind nobody there.
    let bound = [
        "-c",
        "sandbox_mode=read-only",
        "agents",
        "send",
        "statue",
        "x",
    ];
    let refused = machine.run(&bound).failed_with(2);
    let why = "another process runs this tree";
    assert!(refused.stderr.contains(why), "{}", refused.stderr);
    let sent = machine
        .run(&["agents", "send", "statue", "--interrupt", "say it"])
        .succeeded();
    assert!(
        sent.stdout
            .starts_with("sent: /root/statue stops its task and begins with your message"),
        "{}",
        sent.stdout
    );
    machine.run(&["agents", "wait", "statue"]).succeeded();
    let result = machine.run(&["agents", "result", "statue"]).succeeded();
    assert!(result.stdout.contains("\nSaid.\n"), "{}", result.stdout);
    assert_eq!(running.ends(), Some(0));
    assert!(
        fs::read_dir(machine.path("home/run"))
            .unwrap()
            .next()
            .is_none()
    );
}

#[test]
fn a_root_at_work_shows_what_it_has_used() {
    let machine = Machine::playing(STALL);
    let running = Running::start(&machine);
    // Two requests, of which the second one's call still waits.
    running.until(&machine, |tree| {
        let root = &tree["agents"][0]["tokens"];
        root["own"] == 240 && root["subtree"] == 240
    });
}

#[test]
fn a_running_agent_is_cancelled_from_another_process() {
    let machine = Machine::playing(STALL);
    let running = Running::start(&machine);
    let stopped = machine
        .run(&["agents", "stop", "cancel", "statue"])
        .succeeded();
    assert_eq!(stopped.stdout, "cancelled 1 /root/statue\n");
    let waited = machine.run(&["agents", "wait", "statue"]).failed_with(1);
    assert_eq!(waited.stdout, "/root/statue cancelled\n");
    assert_eq!(running.ends(), Some(0));
}

#[test]
fn what_a_crash_leaves_is_told_and_goes_on() {
    let machine = Machine::playing(STALL);
    let mut running = Running::start(&machine);
    running.exec.kill().unwrap();
    running.exec.wait().unwrap();
    let socket = machine.path(&format!("home/run/{}.sock", running.id));
    assert!(socket.exists(), "a killed process cannot tidy up");
    let tree = machine.run(&["agents", "tree"]).succeeded().stdout;
    assert!(tree.contains("1 statue  interrupted"), "{tree}");
    assert!(tree.contains("Troupe was killed"), "{tree}");
    let waited = machine.run(&["agents", "wait", "statue"]).failed_with(1);
    assert!(
        waited.stderr.contains("no process runs this tree"),
        "{waited:#?}"
    );

    // The next owner of the session replaces the dead socket, and removes its own.
    let sent = machine
        .run(&["agents", "send", "statue", "say it"])
        .succeeded();
    assert!(
        sent.stdout.starts_with("sent: /root/statue begins with it"),
        "{sent:#?}"
    );
    let result = machine.run(&["agents", "result", "statue"]).succeeded();
    assert!(result.stdout.contains("\nSaid.\n"), "{}", result.stdout);
    assert!(!socket.exists());
}

#[test]
fn the_demo_of_many_agents() {
    let machine = Machine::bare();
    let run = machine.run(&["demo", "agents"]).succeeded();
    for words in [
        "/root/scout",
        "/root/writer",
        "/root/checker",
        "1 scout    completed",
        "is errored",
        "/root/checker asks to run `sh checks/run.sh`",
        "approved by the demo",
        "RELEASE.md has it all",
    ] {
        assert!(run.stdout.contains(words), "{words}: {}", run.stdout);
    }
    assert!(!machine.path("home").exists());
}

#[test]
fn what_an_agent_asks_is_shown_also_when_nobody_runs_its_tree() {
    let machine = Machine::playing(
        r#"
[[scene]]
when = "lead"
[[scene.turn]]
steps = [{ call = "spawn_agent", arguments = { message = "find out", task_name = "asker", approvals = "route" } }]
[[scene.turn]]
steps = [{ say = "later" }]

[[scene]]
when = "find out"
[[scene.turn]]
steps = [{ call = "request_user_input", arguments = { questions = [{ id = "which", header = "Which", question = "Which one?" }] } }]
"#,
    );
    let mut client = Client::start(machine.troupe(&["proto"]));
    client.send("open", &json!({"type": "configure_session"}));
    client.until("session_configured");
    client.send("1", &user_turn("lead"));
    client.until("request_user_input");
    client.kill();
    let shown = machine
        .run(&["agents", "show", "asker", "--json"])
        .succeeded();
    let questions = &shown.lines()[0]["questions"];
    assert_eq!(questions[0]["kind"], "question", "{questions}");
    assert_eq!(questions[0]["what"], "Which one?", "{questions}");
    let page = machine.run(&["agents", "show", "asker"]).succeeded();
    assert!(page.stdout.contains("Which one? (question)"), "{page:#?}");
}

#[test]
fn an_agent_whose_log_is_gone_is_lost_for_every_command() {
    let (machine, id) = counted();
    let tree = object(&machine.run(&["agents", "tree", "--json"]).succeeded());
    let session = tree["agents"][1]["session_id"].as_str().unwrap().to_owned();
    let logs = walk(&machine.path("home/sessions"));
    let log = logs
        .iter()
        .find(|path| path.to_string_lossy().contains(&session));
    fs::remove_file(log.unwrap()).unwrap();
    let run = machine.run(&["agents", "tree", &id[..8], "--json"]);
    let tree = object(&run.succeeded());
    let child = &tree["agents"][1];
    let last = &child["status"]["lost"]["completed"];
    assert!(last.is_string(), "{child}");
    assert_eq!(child["pending"]["messages"], 0, "{child}");
    let address = format!("{}:1", &id[..8]);

    let result = machine.run(&["agents", "result", &address, "--json"]);
    let result = object(&result.succeeded());
    assert_eq!(result["status"], child["status"]);
    assert_eq!(&result["last_message"], last);
    let page = machine.run(&["agents", "result", &address]).succeeded();
    assert!(page.stdout.contains("lost (last completed)"), "{page:#?}");
    assert!(page.stdout.contains(last.as_str().unwrap()), "{page:#?}");
    assert!(page.stderr.contains("nothing starts it again"), "{page:#?}");
    let waited = machine.run(&["agents", "wait", &address]);
    assert!(
        waited.stdout.contains("lost (last completed)"),
        "{waited:#?}"
    );
}

/// All files below a directory.
fn walk(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths
        .flat_map(|path| {
            if path.is_dir() {
                walk(&path)
            } else {
                vec![path]
            }
        })
        .collect()
}

#[test]
fn a_running_session_without_agents_is_followed_to_its_end() {
    let machine = Machine::playing(
        r#"
[[scene]]
[[scene.turn]]
steps = [{ call = "shell_command", arguments = { command = "echo begun; until test -e go; do sleep 0.05; done; echo arrived" } }]
[[scene.turn]]
steps = [{ say = "I waited for it." }]
"#,
    );
    let mut run = Watched::start(&machine, &["exec", "--json", "wait"]);
    run.until(|line| line["type"] == "item.started");
    let follower = machine.troupe(&["agents", "logs", "--follow"]).spawn();
    let mut follower = follower.unwrap();
    let lines = BufReader::new(follower.stdout.take().unwrap()).lines();
    let mut lines = lines.map(Result::unwrap);
    assert!(lines.any(|line| line.starts_with("$ ") && line.contains("until test -e go")));
    assert_eq!(lines.next().unwrap(), "  │ begun");
    machine.write("project/go", "");
    let (_, code) = run.rest();
    assert_eq!(code, Some(0));
    assert!(lines.any(|line| line.contains("I waited for it.")));
    assert!(follower.wait().unwrap().success());
    // Also when it is over, by its name.
    let listed = machine.run(&["sessions", "list", "--json"]).succeeded();
    let id = listed.lines()[0]["id"].as_str().unwrap().to_owned();
    let log = machine.run(&["agents", "logs", &id[..8]]).succeeded();
    assert!(log.stdout.contains("I waited for it."), "{log:#?}");
}
