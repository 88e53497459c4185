//! The diagnostic log: what a developer finds in it, and what is never in it.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};

use crate::machine::{Machine, Run};
use crate::watched::Watched;

const TALK: &str = r#"
[[scene]]
[[scene.turn]]
steps = [{ call = "shell_command", arguments = { command = "echo 41 marbles" } }]
[[scene.turn]]
steps = [{ say = "There are 41 marbles." }]
"#;

const CHILDREN: usize = 12;

/// The last of twelve children runs a command that does not end; the others are quick.
fn twelve_agents() -> String {
    let spawn = |number: usize| {
        let work = if number == CHILDREN { "slow" } else { "quick" };
        format!(
            r#"{{ call = "spawn_agent", arguments = {{ message = "do {work} work", task_name = "a{number}" }} }}"#
        )
    };
    let spawns: Vec<String> = (1..=CHILDREN).map(spawn).collect();
    let called_back = "[[scene.turn]]\nsteps = [{ say = \"I was called back.\" }]\n".repeat(60);
    format!(
        r#"
[[scene]]
when = "lead"
[[scene.turn]]
steps = [{}]
[[scene.turn]]
steps = [{{ call = "shell_command", arguments = {{ command = "until [ -e begun ]; do sleep 0.02; done" }} }}]
[[scene.turn]]
steps = [{{ say = "They are at work." }}]
{called_back}
[[scene]]
when = "do quick work"
[[scene.turn]]
steps = [{{ call = "shell_command", arguments = {{ command = "echo quick" }} }}]
[[scene.turn]]
steps = [{{ say = "It is done." }}]
[[scene.turn]]
steps = [{{ say = "It is done, again." }}]

[[scene]]
when = "do slow work"
[[scene.turn]]
steps = [{{ call = "shell_command", arguments = {{ command = "touch begun; sleep 600" }} }}]
[[scene.turn]]
steps = [{{ say = "It is done after all." }}]
"#,
        spawns.join(", ")
    )
}

/// The logs of a machine, each with its lines, oldest first.
fn logs(machine: &Machine) -> Vec<Vec<String>> {
    let mut paths: Vec<_> = fs::read_dir(machine.path("home/log"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    let lines = |text: String| text.lines().map(ToOwned::to_owned).collect();
    paths
        .into_iter()
        .map(|path| lines(fs::read_to_string(path).unwrap()))
        .collect()
}

/// The agents of which lines with these words tell.
fn agents(log: &[String], words: &str) -> BTreeSet<String> {
    let lines = log.iter().filter(|line| line.contains(words));
    let named = lines.filter_map(|line| line.split("agent=\"").nth(1));
    let path = |rest: &str| rest.split('"').next().unwrap().to_owned();
    named.map(path).filter(|path| path != "/root").collect()
}

#[test]
fn the_log_tells_what_a_crash_cut_off_and_what_went_on() {
    let machine = Machine::playing(&twelve_agents());
    let project = machine.path("project");
    machine.write("home/config.toml", "[log]\nfilter = \"debug\"\n");
    let mut run = Watched::start(&machine, &["exec", "--json", "lead"]);
    run.until_the_turn_is_over();
    assert!(project.join("begun").exists());
    run.kill();
    let resumed = ["exec", "resume", "--last", "--continue"];
    machine.run(&resumed).succeeded();

    let logs = logs(&machine);
    let [before, after] = logs.as_slice() else {
        panic!("{logs:#?}");
    };
    // Which agents ran.
    let born = agents(before, "an agent is born");
    let expected = (1..=CHILDREN).map(|number| format!("/root/a{number}"));
    assert_eq!(born, expected.collect());
    let started = agents(before, "an agent starts a task");
    assert_eq!(started, born);
    // Which call was under way.
    let slow = "agent{path=\"/root/a12\"}";
    let of_call = |log: &[String], words: &str| {
        let lines = log.iter().filter(|line| line.contains(slow));
        lines
            .filter(|line| line.contains("call{tool=\"shell_command\"") && line.contains(words))
            .count()
    };
    assert_eq!(of_call(before, "the call begins"), 1, "{before:#?}");
    assert_eq!(of_call(before, "the call is answered"), 0, "{before:#?}");
    // What was cut off: by the second log, and by what is missing in the first one.
    let ended = agents(before, "an agent ends a task");
    let open: BTreeSet<String> = started.difference(&ended).cloned().collect();
    assert!(open.contains("/root/a12"));
    let cut_off = agents(after, "an agent was cut off");
    assert_eq!(cut_off, open, "{after:#?}");
    let call = after
        .iter()
        .find(|line| line.contains(slow) && line.contains("a call was cut off"));
    assert!(
        call.is_some_and(|line| line.contains(" WARN ")),
        "{after:#?}"
    );
    // What went on.
    assert_eq!(agents(after, "an agent is asked to go on"), open);
    assert_eq!(agents(after, "an agent ends a task"), open, "{after:#?}");
    let end = after
        .iter()
        .find(|line| line.contains(slow) && line.contains("the task ends"));
    assert!(end.unwrap().contains("stop=\"completed\""), "{end:?}");
    // Spans say whose it is.
    let request = before.iter().find(|line| line.contains(":request{"));
    assert!(request.unwrap().contains("session{id="), "{request:?}");
}

#[test]
fn without_a_filter_nothing_is_made() {
    let machine = Machine::playing(TALK);
    machine.run(&["exec", "count"]).succeeded();
    assert!(machine.path("home/sessions").exists());
    assert!(!machine.path("home/log").exists());
}

#[test]
fn no_secret_and_no_text_of_the_conversation_is_logged() {
    let machine = Machine::playing(TALK);
    let config = format!(
        "[mcp_servers.books]\nurl = \"{}/mcp\"\nbearer_token_env_var = \"BOOKS\"\n\
         http_headers = {{ \"X-Shelf\" = \"header-value-4711\" }}\n",
        machine.base_url()
    );
    machine.write("home/config.toml", &config);
    let secrets = [
        ("OPENAI_API_KEY", "sk-key-of-the-model-0815"),
        ("BOOKS", "token-of-the-books-2342"),
        ("DATABASE_PASSWORD", "password-in-the-environment"),
    ];
    let run = |filter: &str| {
        let mut command = machine.troupe(&["exec", "count the marbles"]);
        command.envs(secrets).env("TROUPE_LOG", filter);
        Run::of(&command.output().unwrap()).succeeded();
        logs(&machine).pop().unwrap().join("\n")
    };
    let libraries = "hyper=trace,hyper_util=trace,reqwest=trace,h2=trace,rustls=trace,rmcp=trace";
    let log = run(&format!("trace,{libraries}"));
    assert!(log.contains("TRACE") && log.contains("hyper_util"), "{log}");
    for (name, secret) in secrets {
        assert!(!log.contains(secret), "{name} is in {log}");
    }
    assert!(!log.contains("header-value-4711"), "{log}");
    let log = run("debug");
    assert!(log.contains("the task ends"), "{log}");
    assert!(!log.contains("marbles"), "{log}");
    assert!(!log.contains("hyper"), "{log}");
}

#[test]
fn only_the_owner_reads_the_log() {
    let machine = Machine::playing(TALK);
    let mut command = machine.troupe(&["exec", "count"]);
    Run::of(&command.env("TROUPE_LOG", "info").output().unwrap()).succeeded();
    let directory = machine.path("home/log");
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&directory), 0o700);
    let mut files = fs::read_dir(&directory).unwrap();
    assert_eq!(mode(&files.next().unwrap().unwrap().path()), 0o600);
    assert!(files.next().is_none());
}

#[test]
fn a_log_that_cannot_be_written_is_told_once_and_fails_no_run() {
    let machine = Machine::playing(TALK);
    machine.write("home/log", "no directory");
    let mut command = machine.troupe(&["exec", "count"]);
    let run = Run::of(&command.env("TROUPE_LOG", "trace").output().unwrap()).succeeded();
    assert_eq!(run.stdout, "There are 41 marbles.\n");
    let told = run.stderr.matches("the diagnostic log cannot be written");
    assert_eq!(told.count(), 1, "{}", run.stderr);
}

#[test]
fn a_filter_that_is_none_is_refused() {
    let machine = Machine::bare();
    let mut command = machine.troupe(&["doctor", "--offline"]);
    let run = Run::of(&command.env("TROUPE_LOG", "troupe=loud").output().unwrap());
    let run = run.failed_with(2);
    assert!(run.stderr.contains("TROUPE_LOG"), "{}", run.stderr);
}

#[test]
fn each_client_of_a_server_has_a_span() {
    let machine = Machine::playing(TALK);
    let mut command = machine.troupe(&["app-server"]);
    let mut server = command
        .env("TROUPE_LOG", "debug")
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    // Its client goes away at once.
    drop(server.stdin.take());
    assert!(server.wait().unwrap().success());
    let log = logs(&machine).pop().unwrap().join("\n");
    assert!(log.contains("connection{entrance=\"stdio\"}"), "{log}");
}

#[test]
fn a_report_has_what_a_developer_asks_for_and_no_secret() {
    let machine = Machine::playing(TALK);
    machine.write(
        "home/config.toml",
        "[mcp_servers.books]\ncommand = \"books\"\nenv = { SHELF = \"secret-shelf-number\" }\n",
    );
    let secret = "sk-key-of-the-model-0815";
    let with_key = |command: &mut Command, filter: &str| {
        command
            .env("OPENAI_API_KEY", secret)
            .env("TROUPE_LOG", filter);
        Run::of(&command.output().unwrap())
    };
    with_key(&mut machine.troupe(&["exec", "count"]), "debug").succeeded();
    let arguments = ["doctor", "--offline", "--report", "report.txt"];
    let run = with_key(&mut machine.troupe(&arguments), "");
    assert!(run.stdout.contains("report: report.txt"), "{}", run.stdout);
    let path = machine.path("project/report.txt");
    let report = fs::read_to_string(&path).unwrap();
    for expected in [
        concat!("troupe ", env!("CARGO_PKG_VERSION")),
        "kernel ",
        "mcp_servers.books.env.SHELF = \"…\"",
        "sandbox",
        "the program starts",
        "the task ends",
    ] {
        assert!(report.contains(expected), "{expected} is not in {report}");
    }
    for hidden in [secret, "secret-shelf-number"] {
        assert!(!report.contains(hidden), "{report}");
    }
    let mode = fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    // It never replaces a file.
    let again = with_key(&mut machine.troupe(&arguments), "").failed_with(1);
    assert!(again.stderr.contains("report.txt"), "{}", again.stderr);
}
