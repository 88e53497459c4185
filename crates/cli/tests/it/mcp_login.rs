//! Logins at MCP servers that want OAuth, at a server that plays both sides of it.

#[path = "mcp_login/authority.rs"]
mod authority;

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, Stdio};

use super::machine::{Machine, Run};
use authority::{Authority, SECRET, browse, get, sent_to};

/// A model that calls the server's tool, and one that looks where its commands can look.
const DIG: &str = r#"
[[scene]]
when = "dig"
[[scene.turn]]
steps = [{ call = "mcp__ore__dig", arguments = {} }]
[[scene.turn]]
steps = [{ say = "done" }]
[[scene]]
when = "look"
[[scene.turn]]
steps = [{ call = "shell_command", arguments = { command = "env; cat \"$HOME\"/home/mcp_logins/*; echo looked" } }]
[[scene.turn]]
expect = "looked"
steps = [{ say = "done" }]
"#;

/// A machine that knows the server under the name `ore`.
fn machine(authority: &Authority) -> Machine {
    let machine = Machine::playing(DIG);
    let config = format!("[mcp_servers.ore]\nurl = \"{}\"\n", authority.url());
    machine.write("home/config.toml", &config);
    machine
}

/// Begins a login, and returns it with the address that it says to open.
fn begun(machine: &Machine, arguments: &[&str]) -> (Child, String) {
    let mut child = machine
        .troupe(&[&["mcp", "login", "ore"], arguments].concat())
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let mut told = BufReader::new(child.stdout.take().unwrap());
    let address = loop {
        let mut line = String::new();
        assert!(told.read_line(&mut line).unwrap() > 0, "no address is told");
        if line.trim().starts_with("http") {
            break line.trim().to_owned();
        }
    };
    child.stdout = Some(told.into_inner());
    (child, address)
}

fn ended(mut child: Child) -> Run {
    drop(child.stdin.take());
    Run::of(&child.wait_with_output().unwrap())
}

fn logged_in(machine: &Machine) {
    let (login, address) = begun(machine, &[]);
    let page = browse(&address);
    assert!(page.contains("Troupe is logged in to ore"), "{page}");
    ended(login).succeeded();
}

/// Everything that is under a directory, whoever may read it.
fn everything(directory: &std::path::Path, into: &mut String) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && path.file_name().unwrap() != "mcp_logins" {
            everything(&path, into);
        } else if path.is_file() {
            into.push_str(&String::from_utf8_lossy(&fs::read(path).unwrap()));
        }
    }
}

#[test]
fn a_server_that_wants_a_login_gets_one_and_its_tools_are_called() {
    let authority = Authority::with_tokens_for(3_600);
    let machine = machine(&authority);
    let refused = machine.run(&["mcp", "test", "ore"]).failed_with(1);
    assert!(
        refused.stdout.contains("run: troupe mcp login ore"),
        "{}",
        refused.stdout
    );
    logged_in(&machine);
    let listed = machine.run(&["mcp"]).succeeded().stdout;
    assert!(listed.contains("(logged in)"), "{listed}");
    machine.run(&["mcp", "test", "ore"]).succeeded();
    let run = machine.run(&["exec", "--json", "dig"]).succeeded();
    assert!(run.stdout.contains("gold"), "{}", run.stdout);
    assert_eq!(authority.renewals(), 0);
}

#[test]
fn what_a_server_gave_is_its_owners_and_nowhere_else() {
    let authority = Authority::with_tokens_for(3_600);
    let machine = machine(&authority);
    logged_in(&machine);
    let file = fs::read_dir(machine.path("home/mcp_logins")).unwrap();
    let file = file.map(|entry| entry.unwrap().path());
    let file = file.filter(|path| path.extension().is_some_and(|it| it == "json"));
    let files: Vec<_> = file.collect();
    let [file] = &*files else {
        panic!("one file: {files:?}");
    };
    assert_eq!(
        fs::metadata(file).unwrap().permissions().mode() & 0o777,
        0o600
    );
    assert!(fs::read_to_string(file).unwrap().contains(SECRET));
    let log = ["-c", "log.filter=trace"];
    let run = |words: &str| {
        let run = machine.run(&[&["exec", "--json", words], &log[..]].concat());
        let run = run.succeeded();
        format!("{}{}", run.stdout, run.stderr)
    };
    let mut seen = run("dig") + &run("look");
    assert!(seen.contains("gold") && seen.contains("looked"), "{seen}");
    everything(&machine.path("home"), &mut seen);
    everything(&machine.path("project"), &mut seen);
    assert!(!seen.contains(SECRET));
}

#[test]
fn a_token_is_renewed_before_it_ends() {
    // Every use is within the last half minute of its life.
    let authority = Authority::with_tokens_for(10);
    let machine = machine(&authority);
    logged_in(&machine);
    machine.run(&["mcp", "test", "ore"]).succeeded();
    let first = authority.renewals();
    assert!(first > 0);
    // The one that came with the renewal is stored: the old one would not be taken again.
    machine.run(&["mcp", "test", "ore"]).succeeded();
    assert!(authority.renewals() > first);
}

#[test]
fn a_login_that_was_taken_back_says_how_to_log_in_again() {
    let authority = Authority::with_tokens_for(3_600);
    let machine = machine(&authority);
    logged_in(&machine);
    authority.revoke();
    let run = machine.run(&["exec", "dig"]).succeeded();
    assert!(
        run.stderr.contains("log in again: troupe mcp login ore"),
        "{}",
        run.stderr
    );
}

#[test]
fn an_address_that_is_pasted_counts_too() {
    let authority = Authority::with_tokens_for(3_600);
    let machine = machine(&authority);
    let (mut login, address) = begun(&machine, &[]);
    let back = sent_to(&address);
    let mut stdin = login.stdin.take().unwrap();
    stdin
        .write_all(format!("what?\n{back}\n").as_bytes())
        .unwrap();
    let run = Run::of(&login.wait_with_output().unwrap()).succeeded();
    drop(stdin);
    assert!(run.stderr.contains("That is no address"), "{}", run.stderr);
    machine.run(&["mcp", "test", "ore"]).succeeded();
}

#[test]
fn a_stranger_at_the_port_ends_no_login() {
    let authority = Authority::with_tokens_for(3_600);
    let machine = machine(&authority);
    let (login, address) = begun(&machine, &[]);
    let back = sent_to(&address);
    let (port, _) = back.split_once("/callback").unwrap();
    for path in [
        "/",
        "/callback?code=mine&state=guessed",
        "/callback?error=no",
    ] {
        assert_eq!(get(&format!("{port}{path}")).0, 404, "{path}");
    }
    let page = browse(&back);
    assert!(page.contains("logged in"), "{page}");
    ended(login).succeeded();
}

#[test]
fn a_refusal_is_told_in_the_browser_and_in_the_terminal() {
    let authority = Authority::with_tokens_for(3_600);
    let machine = machine(&authority);
    let (login, address) = begun(&machine, &["--scope", "rob"]);
    let page = browse(&address);
    assert!(page.contains("access_denied: not that"), "{page}");
    let run = ended(login).failed_with(1);
    assert!(
        run.stderr.contains("access_denied: not that"),
        "{}",
        run.stderr
    );
    machine.run(&["mcp", "logout", "ore"]).failed_with(2);
}

#[test]
fn a_logout_forgets_the_login() {
    let authority = Authority::with_tokens_for(3_600);
    let machine = machine(&authority);
    logged_in(&machine);
    machine.run(&["mcp", "logout", "ore"]).succeeded();
    machine.run(&["mcp", "test", "ore"]).failed_with(1);
    assert!(
        !machine
            .run(&["mcp"])
            .succeeded()
            .stdout
            .contains("logged in")
    );
}

#[test]
fn a_login_is_for_one_address() {
    let authority = Authority::with_tokens_for(3_600);
    let machine = machine(&authority);
    logged_in(&machine);
    // Another server under the name that the login has.
    let other = Authority::with_tokens_for(3_600);
    let url = format!("mcp_servers.ore.url={}", other.url());
    let run = machine
        .run(&["mcp", "-c", &url, "test", "ore"])
        .failed_with(1);
    assert!(run.stdout.contains("wants a login"), "{}", run.stdout);
    assert!(
        other.log().iter().all(|request| request == "POST /mcp"),
        "{:?}",
        other.log()
    );
}

#[test]
fn what_cannot_be_logged_in_to_is_said() {
    let authority = Authority::with_tokens_for(3_600);
    let machine = machine(&authority);
    machine.run(&["mcp", "login", "coal"]).failed_with(2);
    let program = "mcp_servers.sh={command='sh'}";
    let run = machine
        .run(&["mcp", "-c", program, "login", "sh"])
        .failed_with(2);
    assert!(
        run.stderr.contains("only servers with a url"),
        "{}",
        run.stderr
    );
    let token = "mcp_servers.ore.bearer_token_env_var=T";
    let run = machine
        .run(&["mcp", "-c", token, "login", "ore"])
        .failed_with(2);
    assert!(
        run.stderr.contains("remove bearer_token_env_var"),
        "{}",
        run.stderr
    );
    // A server that knows nothing of logins.
    let plain = format!("mcp_servers.ore.url={}/mcp", machine.base_url());
    let run = machine
        .run(&["mcp", "-c", &plain, "login", "ore"])
        .failed_with(1);
    assert!(
        run.stderr
            .starts_with("troupe: ore did not say how to log in: "),
        "{}",
        run.stderr
    );
}
