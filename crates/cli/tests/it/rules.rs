//! `troupe rules`, and rules in a run of the binary.

use expect_test::expect;

use crate::machine::Machine;

const PUSHING: &str =
    "# mine\n[[rule]]\nprefix = ['git', 'push']\ndecision = 'ask'\nreason = 'others see it'\n";
const PROJECT: &str = "[[rule]]\nprefix = ['make', 'deploy']\ndecision = 'forbid'\n\n[[rule]]\nprefix = ['touch']\ndecision = 'allow'\n";

#[test]
fn rules_are_added_listed_and_removed() {
    let machine = Machine::bare();
    let run = machine.run(&["rules"]).succeeded();
    expect![[r#"
        no rules; `troupe rules add` makes one
    "#]]
    .assert_eq(&run.stdout);
    machine.write("home/rules.toml", PUSHING);
    machine.write("project/.troupe/rules.toml", PROJECT);
    let run = machine
        .run(&[
            "rules",
            "add",
            "allow",
            "cargo",
            "test",
            "--reason",
            "it is ours",
        ])
        .succeeded();
    expect![[r#"
        allow cargo test: added (DIR/home/rules.toml)
    "#]]
    .assert_eq(&machine.shown(&run.stdout));
    let run = machine
        .run(&[
            "rules",
            "add",
            "allow",
            "--outside",
            "--",
            "deploy",
            "--now",
        ])
        .succeeded();
    expect![[r#"
        allow deploy --now: added (DIR/home/rules.toml)
    "#]]
    .assert_eq(&machine.shown(&run.stdout));
    let run = machine.run(&["rules"]).succeeded();
    expect![[r#"
        1   ask     git push                          # DIR/home/rules.toml:2 others see it
        2   allow   cargo test                        # DIR/home/rules.toml:7 it is ours
        3   allow   deploy --now (outside)            # DIR/home/rules.toml:12
        -   forbid  make deploy                       # DIR/project/.troupe/rules.toml:1
        -   allow   touch                             # DIR/project/.troupe/rules.toml:5 (ignored: the project is not trusted, and may only ask and forbid)
    "#]].assert_eq(&machine.shown(&run.stdout));
    let run = machine.run(&["rules", "remove", "1"]).succeeded();
    expect![[r#"
        ask git push: removed (DIR/home/rules.toml)
    "#]]
    .assert_eq(&machine.shown(&run.stdout));
    let run = machine.run(&["rules", "remove", "3"]).failed_with(1);
    expect![[r#"
        troupe: DIR/home/rules.toml has 2 rules, there is no number 3
    "#]]
    .assert_eq(&machine.shown(&run.stderr));
    let run = machine
        .run(&["rules", "add", "allow", "python3"])
        .failed_with(2);
    expect![[r#"
        troupe: allow python3: `python3` does whatever it is told next: add the words that say what
    "#]]
    .assert_eq(&machine.shown(&run.stderr));
}

#[test]
fn a_trusted_project_may_allow() {
    let machine = Machine::bare();
    machine.write("project/.troupe/rules.toml", PROJECT);
    let project = machine.path("project");
    let trust = format!(
        "projects.{:?}.trust_level=trusted",
        project.display().to_string()
    );
    let run = machine.run(&["rules", "-c", &trust]).succeeded();
    expect![[r#"
        -   forbid  make deploy                       # DIR/project/.troupe/rules.toml:1
        -   allow   touch                             # DIR/project/.troupe/rules.toml:5
    "#]]
    .assert_eq(&machine.shown(&run.stdout));
}

#[test]
fn a_bad_file_is_an_error_with_its_line() {
    let machine = Machine::bare();
    machine.write(
        "home/rules.toml",
        "\n[[rule]]\nprefix = ['ls']\ndecision = 'no'\n",
    );
    let run = machine.run(&["rules"]).failed_with(1);
    expect![[r#"
        error: DIR/home/rules.toml:4: unknown variant `no`, expected one of `allow`, `ask`, `forbid`
        until this is mended, every command that is not known to be safe is asked for
    "#]]
    .assert_eq(&machine.shown(&run.stderr));
    let run = machine.run(&["rules", "add", "ask", "ls"]).failed_with(1);
    expect![[r#"
        troupe: DIR/home/rules.toml:4: unknown variant `no`, expected one of `allow`, `ask`, `forbid`; mend the file first
    "#]].assert_eq(&machine.shown(&run.stderr));
}

#[test]
fn check_says_which_rule_decides_and_what_happens() {
    let machine = Machine::bare();
    machine.write("home/rules.toml", PUSHING);
    machine.write("project/.troupe/rules.toml", PROJECT);
    let check = |arguments: &[&str]| {
        let run = machine.run(&[&["rules"], arguments].concat());
        format!("{}exit {}\n", machine.shown(&run.stdout), run.code.unwrap())
    };
    expect![[r#"
        the rule `git push` (DIR/home/rules.toml:2: others see it) says to ask
        with approval_policy "on-request" and sandbox_mode "workspace-write": you are asked (dangerous: `git push` replaces or removes what others may have; the rule `git push` (DIR/home/rules.toml:2: others see it) says to ask), then it runs in the sandbox
        exit 5
    "#]].assert_eq(&check(&["check", "--", "git", "push", "--force"]));
    expect![[r#"
        the rule `git push` (DIR/home/rules.toml:2: others see it) says to ask
        with approval_policy "never" and sandbox_mode "workspace-write": refused: the rule `git push` (DIR/home/rules.toml:2: others see it) says to ask, and nobody can be asked under the approval policy `never`. Reach the goal another way, or tell the user what to run
        exit 1
    "#]].assert_eq(&check(&[
        "-c",
        "approval_policy=never",
        "check",
        "ls && git push",
    ]));
    expect![[r#"
        the rule `make deploy` (DIR/project/.troupe/rules.toml:1) forbids it
        with approval_policy "on-request" and sandbox_mode "workspace-write": refused: the rule `make deploy` (DIR/project/.troupe/rules.toml:1) forbids this command. Do not try it by other means: reach the goal another way, or tell the user what to run
        exit 1
    "#]].assert_eq(&check(&["check", "make", "deploy"]));
    expect![[r#"
        no rule decides
        with approval_policy "untrusted" and sandbox_mode "workspace-write": you are asked (not known to be safe: `touch` is not known to only read), then it runs in the sandbox
        exit 5
    "#]].assert_eq(&check(&[
        "-c",
        "approval_policy=untrusted",
        "check",
        "touch",
        "x",
    ]));
}

#[test]
fn a_run_follows_the_rules_of_home_and_project() {
    let machine = Machine::playing(
        r#"
[[scene]]
[[scene.turn]]
steps = [{ call = "shell_command", arguments = { command = "make deploy || touch made" } }]
[[scene.turn]]
steps = [{ say = "ok" }]
"#,
    );
    machine.write("project/.troupe/rules.toml", PROJECT);
    let run = machine.run(&["exec", "go"]).succeeded();
    let said = format!("{}{}", run.stdout, run.stderr);
    assert!(
        said.contains("the rule `touch`") && said.contains("is ignored"),
        "{said}"
    );
    assert!(said.contains("not run"), "{said}");
    assert!(!machine.path("project/made").exists());
}

#[test]
fn rules_can_be_left_out_of_a_run() {
    let machine = Machine::bare();
    machine.write("home/rules.toml", PUSHING);
    let run = machine.run(&["rules", "--ignore-rules"]).succeeded();
    assert_eq!(run.stdout, "no rules; `troupe rules add` makes one\n");
}

#[test]
fn a_rule_is_removed_by_its_words() {
    let machine = Machine::bare();
    let add = |words: &[&str]| {
        machine
            .run(&[&["rules", "add"], words].concat())
            .succeeded();
    };
    add(&["ask", "git", "push"]);
    add(&["forbid", "--", "git", "push", "--force"]);
    add(&["allow", "cargo", "test"]);
    add(&["ask", "cargo", "test"]);
    machine
        .run(&["rules", "remove", "git", "push", "--force"])
        .succeeded();
    let run = machine
        .run(&["rules", "remove", "cargo", "test"])
        .failed_with(1);
    assert!(run.stderr.contains("the rules 2 and 3 have"), "{run:#?}");
    machine
        .run(&["rules", "remove", "ask", "cargo", "test"])
        .succeeded();
    let run = machine
        .run(&["rules", "remove", "git", "pull"])
        .failed_with(1);
    assert!(run.stderr.contains("no rule `git pull`"), "{run:#?}");
    let run = machine.run(&["rules"]).succeeded();
    let left: Vec<&str> = run.stdout.lines().map(|line| &line[4..24]).collect();
    assert_eq!(left, ["ask     git push    ", "allow   cargo test  "]);
}

#[test]
fn rules_about_edits_and_tools_are_added_listed_checked_and_removed() {
    let machine = Machine::bare();
    machine
        .run(&["rules", "add", "forbid", "--edit", "*.lock"])
        .succeeded();
    machine
        .run(&["rules", "add", "ask", "--mcp", "github/delete_*"])
        .succeeded();
    for bad in [
        &["add", "forbid", "--edit", "!x"][..],
        &["add", "forbid", "--mcp", "github"],
        &["add", "forbid"],
        &["add", "allow", "--outside", "--edit", "x"],
        &["add", "ask", "--edit", "x", "--mcp", "a/b"],
    ] {
        machine.run(&[&["rules"], bad].concat()).failed_with(2);
    }
    let list = machine.run(&["rules"]).succeeded().stdout;
    assert!(list.contains("1   forbid  --edit '*.lock'"), "{list}");
    assert!(
        list.contains("2   ask     --mcp 'github/delete_*'"),
        "{list}"
    );
    let check = |option: &str, what: &str| machine.run(&["rules", "check", option, what]).code;
    assert_eq!(check("--edit", "sub/Cargo.lock"), Some(1));
    assert_eq!(check("--edit", "src/lib.rs"), Some(0));
    assert_eq!(check("--mcp", "github/delete_repo"), Some(5));
    assert_eq!(check("--mcp", "github/get_repo"), Some(0));
    machine
        .run(&["rules", "remove", "--edit", "*.lock"])
        .succeeded();
    assert_eq!(check("--edit", "sub/Cargo.lock"), Some(0));
}

#[test]
fn a_rule_about_edits_holds_patches_also_through_a_link() {
    let patch = |file: &str| {
        format!("*** Begin Patch\\n*** Update File: {file}\\n-old\\n+new\\n*** End Patch")
    };
    let play = format!(
        r#"
[[scene]]
[[scene.turn]]
steps = [{{ custom = "apply_patch", input = "{}" }}]
[[scene.turn]]
expect = "refused by the rule"
steps = [{{ custom = "apply_patch", input = "{}" }}]
[[scene.turn]]
expect = "refused by the rule"
steps = [{{ custom = "apply_patch", input = "{}" }}]
[[scene.turn]]
steps = [{{ say = "Done." }}]
"#,
        patch("kept/a.txt"),
        patch("way/a.txt"),
        patch("b.txt"),
    );
    let machine = Machine::playing(&play);
    machine.write("project/kept/a.txt", "old\n");
    machine.write("project/b.txt", "old\n");
    std::os::unix::fs::symlink("kept", machine.path("project/way")).unwrap();
    machine
        .run(&[
            "rules",
            "add",
            "forbid",
            "--edit",
            "kept/",
            "--reason",
            "as it was",
        ])
        .succeeded();
    let run = machine.run(&["exec", "go"]).succeeded();
    assert!(run.stderr.contains("refused by the rule"), "{run:#?}");
    assert!(run.stderr.contains("as it was"), "{run:#?}");
    let text = |name: &str| std::fs::read_to_string(machine.path(name)).unwrap();
    assert_eq!(text("project/kept/a.txt"), "old\n");
    assert_eq!(text("project/b.txt"), "new\n");
}
