//! Trees of headless runs: who may speak into them, what a crash leaves, who goes on with them.

use std::io::{BufRead, BufReader};

use serde_json::Value;

use crate::machine::{Machine, Run};
use crate::watched::Watched;

/// A child that has written half when it stops answering.
const HALF: &str = r#"
[[scene]]
when = "delegate"
[[scene.turn]]
usage = { input = 1000, output = 0 }
steps = [{ call = "spawn_agent", arguments = { message = "write it all", task_name = "writer" } }]
[[scene.turn]]
usage = { input = 1000, output = 0 }
steps = [{ say = "It writes." }]
[[scene.turn]]
steps = [{ say = "So it wrote." }]

[[scene]]
when = "write it all"
[[scene.turn]]
usage = { input = 300, output = 7 }
steps = [{ say = "I have written half." }, { call = "shell_command", arguments = { command = "echo half > half.txt" } }]
[[scene.turn]]
steps = [{ end = "stall" }]
[[scene.turn]]
steps = [{ say = "Now all of it." }]
"#;

/// A parent whose first child is done when its second one takes the only slot.
const ONE_SLOT: &str = r#"
[[scene]]
when = "delegate"
[[scene.turn]]
steps = [{ call = "spawn_agent", arguments = { message = "quick job", task_name = "quick" } }]
[[scene.turn]]
steps = [{ call = "wait", arguments = { ids = ["/root/quick"], timeout_ms = 60000 } }]
[[scene.turn]]
steps = [{ call = "spawn_agent", arguments = { message = "slow job", task_name = "slow" } }]
[[scene.turn]]
steps = [{ say = "The slow one works." }]

[[scene]]
when = "quick job"
[[scene.turn]]
steps = [{ say = "First." }]

[[scene]]
when = "slow job"
[[scene.turn]]
steps = [{ end = "stall" }]
"#;

/// A child that wants something which only a person allows, and a parent that tells what it
/// was answered.
const WISH: &str = r#"
[[scene]]
when = "delegate"
[[scene.turn]]
steps = [{ call = "spawn_agent", arguments = { message = "push it", task_name = "push" } }]
[[scene.turn]]
steps = [{ call = "wait", arguments = { ids = ["push"], timeout_ms = 60000 } }]
[[scene.turn]]
steps = [{ say = "Done." }]
[[scene.turn]]
steps = [{ say = "Done." }]
[[scene.turn]]
expect = "what now"
steps = [{ say = "Decide." }]

[[scene]]
when = "push it"
[[scene.turn]]
steps = [{ call = "shell_command", arguments = { command = "echo out > ../out", sandbox_permissions = "require_escalated", justification = "May I?" } }]
[[scene.turn]]
steps = [{ say = "ended" }]

[[scene]]
when = "alone"
[[scene.turn]]
steps = [{ call = "shell_command", arguments = { command = "echo out > ../out", sandbox_permissions = "require_escalated", justification = "May I?" } }]
[[scene.turn]]
steps = [{ say = "ended" }]
[[scene.turn]]
expect = "what now"
steps = [{ say = "Decide." }]
"#;

/// A machine on which a run was killed while its child had written half.
fn killed() -> Machine {
    let machine = Machine::playing(HALF);
    let mut run = Watched::start(&machine, &["exec", "--json", "delegate"]);
    run.until_the_turn_is_over();
    let mut logs = machine
        .troupe(&["agents", "logs", "writer", "--follow"])
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(logs.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("→ 0")));
    run.kill();
    logs.kill().unwrap();
    logs.wait().unwrap();
    machine
}

#[test]
fn a_task_that_a_crash_cut_off_is_told_as_far_as_it_came() {
    let machine = killed();
    let tree = machine.run(&["agents", "tree", "--json"]).succeeded();
    let tree = &tree.lines()[0];
    assert_eq!(tree["agents"][1]["tokens"]["own"], 307, "{tree:#}");
    assert_eq!(tree["agents"][0]["tokens"]["subtree"], 2307, "{tree:#}");

    let result = machine.run(&["agents", "result", "writer"]).succeeded();
    for words in [
        "cut off: Troupe was killed",
        "I have written half.",
        "echo half > half.txt  → exit 0",
        "300 in (0 cached), 7 out",
    ] {
        assert!(result.stdout.contains(words), "{words}: {result:#?}");
    }
    assert!(result.stderr.contains("was cut off"), "{result:#?}");
    assert!(
        result.stderr.contains("`troupe agents resume "),
        "{result:#?}"
    );
}

#[test]
fn agents_of_a_resumed_tree_are_introduced() {
    let machine = killed();
    let run = machine
        .run(&["exec", "--json", "resume", "--last", "--continue"])
        .succeeded();
    let lives: Vec<Value> = run
        .lines()
        .into_iter()
        .filter(|line| line["type"].as_str().unwrap().starts_with("agent"))
        .collect();
    for kind in ["agent.restored", "agent.created"] {
        let told = lives.iter().find(|line| line["type"] == kind);
        let told = told.unwrap_or_else(|| panic!("{kind}: {lives:#?}"));
        assert_eq!(told["agent"]["path"], "/root/writer", "{lives:#?}");
        assert_eq!(told["agent"]["agent_id"], 1, "{lives:#?}");
    }
    let last = lives.last().unwrap();
    assert_eq!(last["type"], "agents.finished");
    assert_eq!(last["completed"], 1, "{lives:#?}");
}

#[test]
fn a_member_of_a_tree_is_not_taken_out_of_it() {
    let machine = Machine::playing(&HALF.replace(r#"{ end = "stall" }"#, r#"{ say = "All." }"#));
    let run = machine.run(&["exec", "--json", "delegate"]).succeeded();
    let root = run.thread_id();
    let created = run.lines().into_iter();
    let mut created = created.filter(|line| line["type"] == "agent.created");
    let child = created.next().unwrap()["agent"]["thread_id"].clone();
    let child = child.as_str().unwrap();
    let refused = machine
        .run(&["exec", "resume", child, "go on"])
        .failed_with(3);
    for way in [
        format!("`troupe agents send {}:1 …`", &root[..8]),
        format!("`troupe exec fork {} …`", &child[..8]),
    ] {
        assert!(refused.stderr.contains(&way), "{way}: {refused:#?}");
    }
    machine.run(&["exec", "fork", child, "go on"]).succeeded();
}

#[test]
fn a_wait_is_not_over_while_work_is_queued() {
    let machine = Machine::playing(ONE_SLOT);
    let one = ["-c", "agents.max_threads=1", "exec", "--json", "delegate"];
    let mut run = Watched::start(&machine, &one);
    run.until_the_turn_is_over();
    machine.run(&["agents", "wait", "quick"]).succeeded();
    machine
        .run(&["agents", "send", "quick", "and once more"])
        .succeeded();
    machine
        .run(&["agents", "wait", "quick", "--timeout", "0"])
        .failed_with(124);
}

#[test]
fn somebody_else_answers_what_a_headless_run_is_asked() {
    for prompt in ["delegate", "alone"] {
        let machine = Machine::playing(WISH);
        let wait = ["-c", "headless_approvals=wait", "exec", "--json", prompt];
        let mut run = Watched::start(&machine, &wait);
        let invited = run.until(|line| line["item"]["type"] == "error");
        let invited = invited["item"]["message"].as_str().unwrap();
        let words: Vec<&str> = invited.split('`').nth(1).unwrap().split(' ').collect();
        assert_eq!(words[..3], ["troupe", "agents", "answer"], "{invited}");

        let open = machine.run(&["agents", "answer"]).succeeded();
        assert!(open.stdout.starts_with(words[3]), "{open:#?}");
        assert!(open.stdout.contains("echo out > ../out"), "{open:#?}");
        machine.run(&words[1..]).succeeded();
        let (_, code) = run.rest();
        assert_eq!(code, Some(0));
        assert!(machine.path("out").exists());
    }
}

#[test]
fn whoever_answers_sees_the_whole_command_and_its_reason() {
    let tail = "echo the-last-word > ../out";
    let long = format!("true {}; {tail}", "harmless ".repeat(200));
    let play = WISH.replace("echo out > ../out", &long);
    let machine = Machine::playing(&play);
    let wait = [
        "-c",
        "headless_approvals=wait",
        "exec",
        "--json",
        "delegate",
    ];
    let mut run = Watched::start(&machine, &wait);
    let invited = run.until(|line| line["item"]["type"] == "error");
    let invited = invited["item"]["message"].as_str().unwrap();
    let words: Vec<&str> = invited.split('`').nth(1).unwrap().split(' ').collect();

    let open = machine.run(&["agents", "answer"]).succeeded();
    assert!(open.stdout.contains(&long), "{open:#?}");
    assert!(open.stdout.contains("why: May I?"), "{open:#?}");
    let open = machine.run(&["agents", "answer", "--json"]).succeeded();
    let open: Value = serde_json::from_str(&open.stdout).unwrap();
    let question = &open["questions"][0];
    assert!(
        question["what"].as_str().unwrap().contains(&long),
        "{open:#}"
    );
    assert_eq!(question["request"]["command"][2], long, "{open:#}");
    assert_eq!(question["request"]["reason"], "May I?", "{open:#}");

    // Who was only told the id sees it too.
    let given = machine.run(&words[1..]).succeeded();
    assert!(given.stderr.contains(&long), "{given:#?}");
    let (_, code) = run.rest();
    assert_eq!(code, Some(0));
}

#[test]
fn what_nobody_answers_in_time_is_refused() {
    let machine = Machine::playing(WISH);
    let run = machine
        .run(&[
            "-c",
            "headless_approvals=wait",
            "-c",
            "headless_approval_timeout_sec=0",
            "exec",
            "delegate",
        ])
        .succeeded();
    assert!(run.stderr.contains("agent /root/push refused"), "{run:#?}");
    assert!(!machine.path("out").exists());
    let none = machine.run(&["agents", "answer"]).succeeded();
    assert_eq!(none.stderr, "no running session asks anything\n");
}

#[test]
fn a_question_is_listed_whatever_else_ran_in_its_directory_or_where_the_reader_is() {
    let machine = Machine::playing(WISH);
    let wait = ["-c", "headless_approvals=wait", "exec", "--json", "alone"];
    let mut run = Watched::start(&machine, &wait);
    run.until(|line| line["item"]["type"] == "error");
    // A later tree of the same directory, which asks nothing any more.
    let refuse = ["-c", "headless_approvals=refuse", "exec", "delegate"];
    machine.run(&refuse).succeeded();

    let open = machine.run(&["agents", "answer"]).succeeded();
    assert!(open.stdout.contains("echo out > ../out"), "{open:#?}");
    let elsewhere = machine.path("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    let mut listing = machine.troupe(&["agents", "answer", "--json"]);
    let listed = Run::of(&listing.current_dir(elsewhere).output().unwrap()).succeeded();
    let listed: Value = serde_json::from_str(&listed.stdout).unwrap();
    let id = listed["questions"][0]["id"].as_str().unwrap();
    machine
        .run(&["agents", "answer", id, "approve"])
        .succeeded();
    assert_eq!(run.rest().1, Some(0));
    assert!(machine.path("out").exists());
}

#[test]
fn a_run_that_escalates_ends_where_a_person_must_decide_and_can_go_on() {
    for (prompt, who, expected) in [
        ("delegate", "/root/push", "Done.\n"),
        ("alone", "the agent", "ended\n"),
    ] {
        let machine = Machine::playing(WISH);
        let run = machine
            .run(&["-c", "headless_approvals=escalate", "exec", prompt])
            .failed_with(5);
        let plea = format!("a person must decide: {who} asks to run echo out > ../out");
        assert!(run.stderr.contains(&plea), "{run:#?}");
        assert!(!machine.path("out").exists());
        let run = machine
            .run(&["exec", "resume", "--last", "--continue"])
            .succeeded();
        assert_eq!(run.stdout, expected, "{run:#?}");
        machine
            .run(&["exec", "resume", "--last", "what now?"])
            .succeeded();
    }
}
