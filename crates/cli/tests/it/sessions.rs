//! `troupe sessions` over sessions that really happened.

use serde_json::Value;

use crate::machine::Machine;

const TWO_ANSWERS: &str = r#"
[[scene]]
when = "apples"
[[scene.turn]]
steps = [{ say = "Apples it is." }]
[[scene]]
when = "pears"
[[scene.turn]]
steps = [{ say = "Pears it is." }]
"#;

/// A machine that has seen two sessions, and their ids.
fn machine() -> (Machine, String, String) {
    let machine = Machine::playing(TWO_ANSWERS);
    let apples = machine
        .run(&["exec", "--json", "apples"])
        .succeeded()
        .thread_id();
    let pears = machine
        .run(&["exec", "--json", "pears"])
        .succeeded()
        .thread_id();
    (machine, apples, pears)
}

fn listed(machine: &Machine, arguments: &[&str]) -> Vec<String> {
    let run = machine
        .run(&[&["sessions", "list", "--json"], arguments].concat())
        .succeeded();
    let id = |line: &Value| line["id"].as_str().unwrap().to_owned();
    run.lines().iter().map(id).collect()
}

#[test]
fn list_show_export_archive() {
    let (machine, apples, pears) = machine();
    let (apples, pears) = (apples.as_str(), pears.as_str());
    assert_eq!(listed(&machine, &[]), [pears, apples]);
    assert_eq!(listed(&machine, &["--search", "apple"]), [apples]);

    let shown = machine.run(&["sessions", "show", &apples[..8]]).succeeded();
    let words = "── assistant\nApples it is.";
    assert!(shown.stdout.contains(words), "{}", shown.stdout);

    let exported = machine.run(&["sessions", "export", apples]).succeeded();
    assert_eq!(exported.lines()[0]["type"], "session_meta");

    machine.run(&["sessions", "archive", apples]).succeeded();
    assert_eq!(listed(&machine, &[]), [pears]);
    assert_eq!(listed(&machine, &["--archived"]), [apples]);
    machine.run(&["sessions", "unarchive", apples]).succeeded();
    assert_eq!(listed(&machine, &[]), [pears, apples]);
}

#[test]
fn a_session_is_deleted_for_good_when_somebody_says_so() {
    let (machine, apples, pears) = machine();
    let (apples, pears) = (apples.as_str(), pears.as_str());
    let refused = machine.run(&["sessions", "delete", apples]);
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    assert!(
        refused.stderr.contains("for good; say so with --yes"),
        "{}",
        refused.stderr
    );
    assert_eq!(listed(&machine, &[]), [pears, apples]);
    let deleted = machine
        .run(&["sessions", "delete", &apples[..8], "--yes"])
        .succeeded();
    assert_eq!(deleted.stdout, format!("deleted {apples}\n"));
    assert_eq!(listed(&machine, &[]), [pears]);
    let again = machine.run(&["sessions", "delete", apples, "--yes"]);
    assert!(again.stderr.contains("no session"), "{}", again.stderr);
}

#[test]
fn the_index_can_be_deleted_and_rebuilt() {
    let (machine, apples, pears) = machine();
    listed(&machine, &[]);
    std::fs::remove_file(machine.path("home/state.db")).unwrap();
    let run = machine.run(&["reindex"]).succeeded();
    assert!(
        run.stdout.starts_with("indexed 2 sessions"),
        "{}",
        run.stdout
    );
    assert_eq!(listed(&machine, &[]), [pears, apples]);
}

#[test]
fn an_unknown_session_is_refused() {
    let machine = Machine::bare();
    let run = machine
        .run(&["sessions", "show", "feedbeef"])
        .failed_with(3);
    assert!(run.stderr.contains("no session"), "{}", run.stderr);
}

#[test]
fn a_page_of_none_is_refused() {
    let run = Machine::bare()
        .run(&["sessions", "list", "-n", "0"])
        .failed_with(2);
    assert!(run.stderr.contains("invalid value '0'"), "{}", run.stderr);
}

#[test]
fn what_was_said_is_found() {
    let (machine, apples, pears) = machine();
    let search = |arguments: &[&str]| machine.run(&[&["sessions", "search"], arguments].concat());
    let run = search(&["pEARS it", "--json"]).succeeded();
    let hits = run.lines();
    assert_eq!(hits.len(), 1, "{hits:?}");
    assert_eq!(hits[0]["session"], pears.as_str());
    assert_eq!(hits[0]["speaker"], "agent");
    assert_eq!(hits[0]["snippet"], "Pears it is.");
    let run = search(&["it is", "-n", "1"]).succeeded();
    assert!(run.stdout.starts_with(&pears[..8]), "{run:?}");
    let cursor = run
        .stderr
        .trim()
        .strip_prefix("more: add --cursor ")
        .unwrap();
    let run = search(&["it is", "--cursor", cursor]).succeeded();
    assert!(run.stdout.starts_with(&apples[..8]), "{run:?}");
    machine.run(&["sessions", "archive", &apples]).succeeded();
    let run = search(&["apples"]).failed_with(1);
    assert_eq!(run.stderr, "nothing was found\n");
    search(&["apples", "--archived", "--since", "1d"]).succeeded();
    let run = search(&["apples", "--since", "yesterday"]).failed_with(2);
    assert!(run.stderr.contains("give a date"), "{run:?}");
}

#[test]
fn a_session_is_named_and_noted() {
    let (machine, apples, _) = machine();
    let run = machine
        .run(&["sessions", "name", &apples[..8], "fruit"])
        .succeeded();
    assert_eq!(run.stdout, format!("{} is \"fruit\" now\n", &apples[..8]));
    machine
        .run(&["sessions", "note", "fruit", "eat soon"])
        .succeeded();
    let listed = machine.run(&["sessions", "list"]).succeeded();
    assert!(
        listed.stdout.contains("fruit  (eat soon)\n"),
        "{}",
        listed.stdout
    );
    machine.run(&["sessions", "note", "fruit"]).succeeded();
    let listed = machine.run(&["sessions", "list"]).succeeded();
    assert!(listed.stdout.contains("fruit\n"), "{}", listed.stdout);
}

#[test]
fn a_bookmark_of_another_session_is_refused() {
    let machine = Machine::playing(&TWO_ANSWERS.replace(
        "[[scene.turn]]\nsteps = [{ say = \"Pears",
        "[[scene.turn]]\nresponse_id = \"resp_pears\"\nsteps = [{ say = \"Pears",
    ));
    let id = |prompt| {
        let run = machine.run(&["exec", "--json", prompt]).succeeded();
        run.thread_id()
    };
    let (apples, pears) = (id("apples"), id("pears"));
    let run = machine
        .run(&["fork", &apples, "--at", "resp_pears", "x"])
        .failed_with(3);
    assert_eq!(
        run.stderr,
        format!(
            "troupe: bookmark resp_pears belongs to session {pears}, not to {apples}; name that \
             session\n"
        )
    );
}

#[test]
fn a_fork_leaves_the_name_to_the_session_it_comes_from() {
    let (machine, apples, pears) = machine();
    machine
        .run(&["sessions", "name", &apples, "fruit"])
        .succeeded();
    // The screenplay is over for it, which does not matter here.
    machine.run(&["fork", "fruit", "more"]);
    let shown = machine.run(&["sessions", "show", "fruit"]).succeeded();
    assert!(shown.stdout.contains(&apples), "{}", shown.stdout);

    machine
        .run(&["sessions", "name", &pears, "fruit"])
        .succeeded();
    let run = machine.run(&["sessions", "show", "fruit"]).failed_with(3);
    let told = "several sessions are named \"fruit\"; say which by its id: ";
    assert!(run.stderr.contains(told), "{}", run.stderr);
}

#[test]
fn a_directory_is_the_same_however_it_is_written() {
    let (machine, apples, pears) = machine();
    std::os::unix::fs::symlink(machine.path("project"), machine.path("link")).unwrap();
    let link = machine.path("link");
    for cwd in [".", "../project/", link.to_str().unwrap()] {
        let found = listed(&machine, &["--cwd", cwd]);
        assert_eq!(found, [pears.as_str(), apples.as_str()], "{cwd}");
        machine
            .run(&["sessions", "search", "Apples", "--cwd", cwd])
            .succeeded();
    }
    assert_eq!(listed(&machine, &["--cwd", "/"]), [""; 0]);
}

#[test]
fn what_was_said_cannot_act_on_the_terminal() {
    let machine = Machine::playing(TWO_ANSWERS);
    let prompt = "apples \u{1b}]0;mine\u{7}\r";
    let id = machine
        .run(&["exec", "--json", prompt])
        .succeeded()
        .thread_id();
    for line in [&["list"][..], &["show", &id], &["search", "apples"]] {
        let run = machine.run(&[&["sessions"], line].concat()).succeeded();
        assert!(run.stdout.contains("]0;mine"), "{}", run.stdout);
        let acts = |letter: char| letter.is_control() && letter != '\n';
        assert!(!run.stdout.contains(acts), "{:?}", run.stdout);
    }
}

#[test]
fn a_session_without_its_first_line_is_shown_and_goes_on() {
    let machine = Machine::playing(&TWO_ANSWERS.replace(
        "[{ say = \"Apples it is.\" }]",
        "[{ say = \"Apples it is.\" }]\n[[scene.turn]]\nsteps = [{ say = \"More apples.\" }]",
    ));
    let run = machine.run(&["exec", "--json", "apples"]).succeeded();
    let id = run.thread_id();
    let found = machine.run(&["sessions", "list", "--json"]).succeeded();
    let path = found.lines()[0]["path"].as_str().unwrap().to_owned();
    let path = machine.path("home").join(path);
    let log = std::fs::read_to_string(&path).unwrap();
    let (_, rest) = log.split_once('\n').unwrap();
    std::fs::write(&path, format!("damaged\n{rest}")).unwrap();

    let shown = machine.run(&["sessions", "show", &id]).succeeded();
    for words in ["line 1 (byte 0) is left out", "Apples it is."] {
        assert!(shown.stdout.contains(words), "{}", shown.stdout);
    }
    let exported = machine.run(&["sessions", "export", &id]).succeeded();
    assert!(exported.stdout.starts_with("damaged\n"));
    let run = machine.run(&["exec", "resume", &id, "more"]).succeeded();
    assert_eq!(run.stdout, "More apples.\n");
    assert!(run.stderr.contains("line 1 (byte 0)"), "{}", run.stderr);

    std::fs::write(&path, "damaged\n").unwrap();
    let run = machine.run(&["exec", "resume", &id, "more"]).failed_with(3);
    let told = "does not begin with a readable session_meta line";
    assert!(run.stderr.contains(told), "{}", run.stderr);
}

/// The engine tells the model of its surroundings, the project and the mode as the user's
/// messages, because providers know no other way.
#[test]
fn only_what_people_said_is_shown_as_theirs() {
    let machine = Machine::playing(
        r#"
[[scene]]
[[scene.turn]]
steps = [{ say = "Here:\n<proposed_plan>\n1. bake\n</proposed_plan>\nGood?" }]
"#,
    );
    machine.write("project/AGENTS.md", "Be brief about bread.");
    let run = machine.run(&["exec", "--plan", "--json", "bread"]);
    let id = run.succeeded().thread_id();
    let shown = machine.run(&["sessions", "show", &id]).succeeded().stdout;
    let said: Vec<&str> = shown.split("\n── user\n").skip(1).collect();
    assert_eq!(said.len(), 1, "{shown}");
    assert!(said[0].starts_with("bread\n"), "{shown}");
    for title in ["surroundings", "project instructions", "mode"] {
        assert!(shown.contains(&format!("── note ({title})")), "{shown}");
    }
    assert!(
        shown.contains("── assistant\nHere:\n1. bake\nGood?"),
        "{shown}"
    );
    let found = machine
        .run(&["sessions", "search", "brief about"])
        .failed_with(1);
    assert_eq!(found.stdout, "");
}
