//! Runs whose agent has children.

use serde_json::{Value, json};

use crate::client::{Client, user_turn};
use crate::machine::{Machine, Run};
use crate::terminal::Terminal;
use crate::watched::Watched;

/// A parent that waits for its child in a tool.
const WAIT: &str = r#"
[[scene]]
when = "lead"
[[scene.turn]]
steps = [{ call = "spawn_agent", arguments = { message = "count the files", task_name = "files" } }]
[[scene.turn]]
steps = [{ call = "wait", arguments = { ids = ["/root/files"], timeout_ms = 60000 } }]
[[scene.turn]]
expect = "3 files"
steps = [{ say = "The child found 3 files." }]

[[scene]]
when = "count the files"
[[scene.turn]]
steps = [{ call = "shell_command", arguments = { command = "echo 3 files" } }]
[[scene.turn]]
expect = "3 files"
steps = [{ say = "There are 3 files." }]
"#;

/// A parent that ends its turn and is called back.
const CALLBACK: &str = r#"
[[scene]]
when = "lead"
[[scene.turn]]
steps = [{ call = "spawn_agent", arguments = { message = "count the files", task_name = "files" } }]
[[scene.turn]]
steps = [{ say = "I have begun." }]
[[scene.turn]]
expect = "3 files"
steps = [{ say = "Now I know: 3 files." }]

[[scene]]
when = "count the files"
[[scene.turn]]
steps = [{ pause_ms = 500 }, { say = "There are 3 files." }]
"#;

/// A parent whose child runs a command that never ends, and makes a file when it begins.
const ENDLESS: &str = r#"
[[scene]]
when = "lead"
[[scene.turn]]
steps = [{ call = "spawn_agent", arguments = { message = "sleep long", task_name = "sleeper" } }]
[[scene.turn]]
steps = [{ call = "shell_command", arguments = { command = "until [ -e begun ]; do sleep 0.02; done" } }]
[[scene.turn]]
steps = [{ say = "It sleeps." }]
[[scene.turn]]
steps = [{ say = "I was called back." }]

[[scene]]
when = "sleep long"
[[scene.turn]]
steps = [{ call = "shell_command", arguments = { command = "touch begun; exec -a MARK sleep 600" } }]
[[scene.turn]]
steps = [{ say = "I slept." }]
"#;

#[test]
fn a_parent_waits_for_its_child_and_answers() {
    let run = Machine::playing(WAIT).run(&["exec", "lead"]).succeeded();
    assert_eq!(run.stdout, "The child found 3 files.\n");
    let told = run.stderr.lines();
    let told: Vec<&str> = told
        .filter(|line| line.starts_with("agent ") || line.starts_with("waiting"))
        .map(|line| line.split(" in ").next().unwrap_or(line))
        .collect();
    assert_eq!(
        told,
        [
            "agent /root/files count the files",
            "agent /root/files running",
            "waiting for /root/files",
            "agent /root/files completed",
        ]
    );
}

#[test]
fn programs_read_of_the_child_in_items_and_lines() {
    let machine = Machine::playing(WAIT);
    let run = machine.run(&["exec", "--json", "lead"]).succeeded();
    let mut kinds = run.kinds();
    kinds.retain(|kind| !kind.starts_with("agent"));
    assert_eq!(
        kinds,
        [
            "thread.started",
            "turn.started",
            "item.started collab_tool_call",
            "item.completed collab_tool_call",
            "item.started collab_tool_call",
            "item.completed collab_tool_call",
            "item.completed agent_message",
            "turn.completed",
        ]
    );
    let agent = &line(&run, |line| line["type"] == "agent.created")["agent"];
    assert_eq!(agent["path"], "/root/files");
    assert_eq!(agent["parent_thread_id"], run.thread_id());
    let waited = line(&run, |line| {
        line["type"] == "item.completed" && line["item"]["tool"] == "wait"
    });
    let child = agent["thread_id"].as_str().unwrap();
    assert_eq!(
        waited["item"]["agents_states"][child],
        json!({"status": "completed", "message": "There are 3 files."})
    );
}

#[test]
fn a_child_that_is_done_later_is_heard() {
    let machine = Machine::playing(CALLBACK);
    let file = machine.path("last.txt");
    let run = machine
        .run(&["exec", "-o", file.to_str().unwrap(), "lead"])
        .succeeded();
    assert_eq!(run.stdout, "Now I know: 3 files.\n");
    let kept = std::fs::read_to_string(file).unwrap();
    assert_eq!(kept, "Now I know: 3 files.");
    let order = ["waiting for /root/files", "completed in", "I have begun."];
    let places = order.map(|text| run.stderr.find(text));
    assert!(
        places.is_sorted() && places[0].is_some(),
        "{places:?} {}",
        run.stderr
    );

    let run = machine.run(&["exec", "--json", "lead"]).succeeded();
    let mut kinds = run.kinds();
    kinds.retain(|kind| kind.starts_with("turn."));
    assert_eq!(
        kinds,
        [
            "turn.started",
            "turn.completed",
            "turn.started",
            "turn.completed"
        ]
    );
}

#[test]
fn children_of_children_of_children() {
    let level = |when: &str, message: &str, name: &str| {
        format!(
            "[[scene]]\nwhen = \"{when}\"\n\
             [[scene.turn]]\nsteps = [{{ call = \"spawn_agent\", arguments = {{ message = \
             \"{message}\", task_name = \"{name}\" }} }}]\n\
             [[scene.turn]]\nsteps = [{{ call = \"wait\", arguments = {{ ids = [\"{name}\"], \
             timeout_ms = 60000 }} }}]\n\
             [[scene.turn]]\nexpect = \"word\"\nsteps = [{{ say = \"{when}: word\" }}]\n"
        )
    };
    let play = [
        level("lead", "alpha", "a"),
        level("alpha", "beta", "b"),
        level("beta", "gamma", "c"),
        "[[scene]]\nwhen = \"gamma\"\n[[scene.turn]]\nsteps = [{ say = \"word\" }]\n".to_owned(),
    ];
    let machine = Machine::playing(&play.concat());
    let run = machine.run(&["exec", "lead"]).succeeded();
    assert_eq!(run.stdout, "lead: word\n");
    for line in [
        "\nagent /root/a alpha\n",
        "\n  agent /root/a/b beta\n",
        "\n    agent /root/a/b/c gamma\n",
    ] {
        assert!(run.stderr.contains(line), "{}", run.stderr);
    }
    // The end of a path is enough to name an agent of any depth.
    for name in [":c", ":b/c", ":/root/a/b/c"] {
        let result = machine.run(&["agents", "result", name]).succeeded();
        assert!(result.stdout.contains("\nword\n"), "{result:#?}");
    }
}

#[test]
fn a_childs_wish_is_answered_as_the_configuration_says() {
    let play = r#"
[[scene]]
when = "lead"
[[scene.turn]]
steps = [{ call = "spawn_agent", arguments = { message = "push it", task_name = "push" } }]
[[scene.turn]]
steps = [{ call = "wait", arguments = { ids = ["push"], timeout_ms = 60000 } }]
[[scene.turn]]
steps = [{ say = "{{last_output}}" }]

[[scene]]
when = "push it"
[[scene.turn]]
steps = [{ call = "shell_command", arguments = { command = "echo out > ../out", sandbox_permissions = "require_escalated", justification = "May I?" } }]
[[scene.turn]]
steps = [{ say = "ended" }]
"#;
    let machine = Machine::playing(play);
    let run = machine.run(&["exec", "lead"]).succeeded();
    let told = "agent /root/push asks to run echo out > ../out\nrefused: /root/push asked to run \
                this outside the sandbox, and nobody is at a terminal to be asked";
    assert!(run.stderr.contains(told), "{}", run.stderr);
    assert!(run.stderr.contains("\nagent /root/push refused\n"));
    assert!(!machine.path("out").exists());

    let run = machine
        .run(&["-c", "headless_approvals=approve", "exec", "lead"])
        .succeeded();
    let told = "agent /root/push approved";
    assert!(run.stderr.contains(told), "{}", run.stderr);
    assert!(machine.path("out").exists());
}

#[test]
fn a_childs_failure_is_told_and_matters_if_it_is_said_to() {
    let play = r#"
[[scene]]
when = "lead"
[[scene.turn]]
steps = [{ call = "spawn_agent", arguments = { message = "break", task_name = "breaker" } }]
[[scene.turn]]
steps = [{ call = "wait", arguments = { ids = ["breaker"], timeout_ms = 60000 } }]
[[scene.turn]]
steps = [{ say = "So be it." }]

[[scene]]
when = "break"
[[scene.turn]]
steps = [{ status = 400, message = "no such model" }]
"#;
    let machine = Machine::playing(play);
    let run = machine.run(&["exec", "lead"]).succeeded();
    for told in [
        "agent /root/breaker failed after",
        "\nagents: 0 completed, 1 failed, 0 cancelled\n",
    ] {
        assert!(run.stderr.contains(told), "{}", run.stderr);
    }
    let run = machine
        .run(&["exec", "--children-must-succeed", "lead"])
        .failed_with(4);
    assert_eq!(run.stdout, "So be it.\n");
}

#[test]
fn children_can_be_stopped_with_their_parent() {
    let (machine, mark) = endless();
    let run = machine
        .run(&["exec", "--children", "cancel", "lead"])
        .succeeded();
    assert_eq!(run.stdout, "It sleeps.\n");
    let told = "agent /root/sleeper cancelled after";
    assert!(run.stderr.contains(told), "{}", run.stderr);
    assert!(!is_running(&mark));
}

#[test]
fn children_can_go_on_without_their_parent() {
    let machine = Machine::playing(CALLBACK);
    let run = machine
        .run(&["exec", "--children", "release", "lead"])
        .succeeded();
    assert_eq!(run.stdout, "I have begun.\n");
    let told = "agent /root/files completed in";
    assert!(run.stderr.contains(told), "{}", run.stderr);
}

/// What was asked for when the session began is kept with it; what is asked for later counts.
#[test]
fn how_a_session_is_told_of_its_children_outlives_the_run() {
    let told = |begun: &str, name: &str, text: &str| {
        format!(
            "[[scene.turn]]\nsteps = [{{ call = 'spawn_agent', arguments = {{ message = 'count', task_name = '{name}' }} }}]\n\
             [[scene.turn]]\nsteps = [{{ say = '{begun}' }}]\n\
             [[scene.turn]]\nexpect = '{text} /root/{name}'\nsteps = [{{ say = '{name} was told' }}]\n"
        )
    };
    let play = format!(
        "[[scene]]\nwhen = 'lead'\n{}{}{}\n[[scene]]\nwhen = 'count'\n\
         [[scene.turn]]\nsteps = [{{ pause_ms = 500 }}, {{ say = 'counted' }}]\n",
        told("begun", "one", "FIRST"),
        told("begun again", "two", "FIRST"),
        told("begun at last", "three", "SECOND"),
    );
    let machine = Machine::playing(&play);
    let first = "agents.callback.template='FIRST {{childPath}}'";
    let second = "agents.callback.template='SECOND {{childPath}}'";
    let run = machine.run(&["exec", "-c", first, "lead"]).succeeded();
    assert!(run.stdout.contains("one was told"), "{run:#?}");
    let run = machine.run(&["exec", "resume", "--last", "on"]).succeeded();
    assert!(run.stdout.contains("two was told"), "{run:#?}");
    let run = machine
        .run(&["exec", "-c", second, "resume", "--last", "on"])
        .succeeded();
    assert!(run.stdout.contains("three was told"), "{run:#?}");
}

#[test]
fn one_key_stroke_stops_all() {
    let (machine, mark) = endless();
    stops_all(&machine, &mark, &["exec", "--json", "lead"]);
    // Who was stopped with the run goes on when a person says so, and its parent is told.
    let run = machine
        .run(&["exec", "resume", "--last", "--continue"])
        .succeeded();
    assert_eq!(run.stdout, "I was called back.\n");
    let told = "agent /root/sleeper completed in";
    assert!(run.stderr.contains(told), "{run:#?}");
}

#[test]
fn who_was_stopped_for_itself_stays_stopped() {
    let (machine, mark) = endless();
    let mut run = Watched::start(&machine, &["exec", "--json", "lead"]);
    run.until_the_turn_is_over();
    machine
        .run(&["agents", "stop", "cancel", "sleeper"])
        .succeeded();
    let (_, code) = run.rest();
    assert_eq!(code, Some(0));
    assert!(!is_running(&mark));
    let run = machine
        .run(&["exec", "resume", "--last", "--continue"])
        .succeeded();
    assert!(run.stderr.contains("Stopped before: "), "{run:#?}");
    let told = "`troupe agents resume NAME`";
    assert!(run.stderr.contains(told), "{run:#?}");
}

#[test]
fn one_key_stroke_stops_the_released_too() {
    let (machine, mark) = endless();
    let release = ["exec", "--json", "--children", "release", "lead"];
    stops_all(&machine, &mark, &release);
}

/// Interrupts a run whose child is at work, and sees everything end.
fn stops_all(machine: &Machine, mark: &str, arguments: &[&str]) {
    let mut run = Watched::start(machine, arguments);
    run.until_the_turn_is_over();
    assert!(is_running(mark));
    run.signal("-INT");
    let (lines, code) = run.rest();
    let [.., status, total] = lines.as_slice() else {
        panic!("{lines:#?}");
    };
    assert_eq!(status["type"], "agent.status", "{lines:#?}");
    assert_eq!(status["status"], "cancelled", "{lines:#?}");
    assert_eq!(total["type"], "agents.finished", "{lines:#?}");
    assert_eq!(total["cancelled"], 1, "{lines:#?}");
    assert_eq!(code, Some(1));
    assert!(!is_running(mark));
}

#[test]
fn what_was_at_work_goes_on_after_a_crash() {
    let play = CALLBACK.replace(
        "steps = [{ pause_ms = 500 }",
        "steps = [{ end = \"stall\" }]\n[[scene.turn]]\nsteps = [{ pause_ms = 1 }",
    );
    let machine = Machine::playing(&play);
    let mut run = Watched::start(&machine, &["exec", "--json", "lead"]);
    run.until_the_turn_is_over();
    run.kill();
    let run = machine
        .run(&["exec", "resume", "--last", "--continue"])
        .succeeded();
    assert_eq!(run.stdout, "Now I know: 3 files.\n");
}

#[test]
fn a_client_of_the_queue_pair_sees_children_and_need_not_stay() {
    let machine = Machine::playing(CALLBACK);
    let mut client = Client::start(machine.troupe(&["proto"]));
    let configure = json!({"type": "configure_session", "ephemeral": true});
    client.send("1", &configure);
    client.until("session_configured");
    client.send("2", &user_turn("lead"));
    let created = client.until("subagent_lifecycle");
    assert_eq!(created["msg"]["event"], "created");
    assert_eq!(created["msg"]["subagent"]["path"], "/root/files");
    let events = client.finish();
    let messages: Vec<Value> = events
        .iter()
        .map(|event| serde_json::to_value(&event.msg).unwrap())
        .filter(|msg| msg["type"] == "task_complete")
        .map(|msg| msg["last_agent_message"].clone())
        .collect();
    assert_eq!(messages, ["I have begun.", "Now I know: 3 files."]);
}

#[test]
fn without_the_tools_there_are_no_children() {
    let play = r#"
[[scene]]
[[scene.turn]]
steps = [{ call = "spawn_agent", arguments = { message = "count the files" } }]
[[scene.turn]]
expect = "there is no tool"
steps = [{ say = "I am alone." }]
"#;
    for switch in ["agents.enabled=false", "agents.tools=[]"] {
        let machine = Machine::playing(play);
        let run = machine.run(&["-c", switch, "exec", "lead"]).succeeded();
        assert_eq!(run.stdout, "I am alone.\n");
    }
}

#[test]
fn doctor_tells_what_agents_may_do_and_which_roles_are_broken() {
    let machine = Machine::bare();
    machine.write("home/agents/miner.md", "---\nmodle: x\n---\nDig.\n");
    let run = machine.run(&["-c", "agents.max_threads=3", "doctor", "--offline"]);
    let mut lines = run
        .stdout
        .lines()
        .skip_while(|line| !line.contains("agents  "));
    assert_eq!(
        lines.next(),
        Some("note  agents        tools agents; 3 at once, 256 in a tree, depth 3; 9 roles")
    );
    let broken = lines.next().unwrap_or_default();
    assert!(broken.contains("broken role: "), "{broken}");
    assert!(broken.contains("modle"), "{broken}");
}

/// A machine whose child sleeps, and the name that its command runs under.
fn endless() -> (Machine, String) {
    let mark = format!("sleeper-{}", rand::random::<u64>());
    (Machine::playing(&ENDLESS.replace("MARK", &mark)), mark)
}

fn line(run: &Run, is_meant: impl Fn(&Value) -> bool) -> Value {
    let found = run.lines().into_iter().find(is_meant);
    found.unwrap_or_else(|| panic!("no such line in {}", run.stdout))
}

fn is_running(mark: &str) -> bool {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    processes
        .filter_map(|process| std::fs::read(process.path().join("cmdline")).ok())
        .any(|line| line.starts_with(mark.as_bytes()))
}

#[test]
fn who_stops_only_children_reads_how_they_go_on() {
    let (machine, mark) = endless();
    let terminal = Terminal::running(&machine, &["exec", "lead"]);
    terminal.shows(&["waiting for /root/sleeper"]);
    assert!(is_running(&mark));
    terminal.types(&["C-c"]);
    let screen = terminal.shows(&["exit 1"]);
    assert!(screen.contains("--continue"), "{screen}");
    assert!(!is_running(&mark));
}

#[test]
fn the_message_of_a_task_before_one_that_failed_is_not_written() {
    let failing = r#"steps = [{ end = "failed", code = "bad", message = "No." }]"#;
    let play = CALLBACK.replace(r#"steps = [{ say = "Now I know: 3 files." }]"#, failing);
    assert!(play.contains(failing));
    let machine = Machine::playing(&play);
    let file = machine.path("last.txt");
    machine
        .run(&["exec", "-o", file.to_str().unwrap(), "lead"])
        .failed_with(1);
    assert!(!file.exists());
}
