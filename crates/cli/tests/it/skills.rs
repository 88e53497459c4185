//! `troupe skills`, and skills in a task, over real files.

use expect_test::expect;

use crate::machine::Machine;

const SHIP: &str = "---
name: ship
description: Ships a release.
metadata:
  short-description: Ships it
---
Tag, \u{1b}[31mthen push.
";

fn lay_out(machine: &Machine) {
    machine.write("project/.agents/skills/ship/SKILL.md", SHIP);
    let mine = "---\ndescription: What I like.\n---\nTea.\n";
    machine.write("home/skills/mine/SKILL.md", mine);
    machine.write(".agents/skills/ship/SKILL.md", SHIP);
    machine.write("project/.troupe/skills/bad/SKILL.md", "words");
}

#[test]
fn the_list_shows_what_can_be_used_and_what_cannot() {
    let machine = Machine::bare();
    let run = machine.run(&["skills", "list"]).succeeded();
    assert_eq!(run.stdout, "");
    assert!(run.stderr.contains("there are no skills here"), "{run:?}");
    lay_out(&machine);
    let run = machine.run(&["skills", "list"]).succeeded();
    expect![[r#"
        ship  repo    Ships it
        mine  user    What I like.
    "#]]
    .assert_eq(&run.stdout);
    expect![[r#"
        hidden: DIR/.agents/skills/ship/SKILL.md has the name ship, which a nearer skill has too
        broken: DIR/project/.troupe/skills/bad/SKILL.md has no front matter: its first line must be `---`, then come `name` and `description`, then `---`
    "#]]
    .assert_eq(&machine.shown(&run.stderr));
    let run = machine.run(&["skills", "list", "--json"]).succeeded();
    let lines = run.lines();
    assert_eq!(lines.len(), 4);
    assert_eq!(lines[0]["description"], "Ships a release.");
    assert_eq!(lines[2]["hidden"], true);
    assert!(lines[3]["error"].is_string());
}

#[test]
fn show_prints_one_and_check_tells_what_is_wrong() {
    let machine = Machine::bare();
    lay_out(&machine);
    let run = machine.run(&["skills", "show", "ship"]).succeeded();
    expect![[r#"
        name         ship
        description  Ships a release.
        scope        repo
        file         DIR/project/.agents/skills/ship/SKILL.md

        Tag, [31mthen push.
    "#]]
    .assert_eq(&machine.shown(&run.stdout));
    let run = machine.run(&["skills", "show", "shop"]).failed_with(2);
    expect![[r#"
        troupe: there is no skill shop; there are: ship, mine
    "#]]
    .assert_eq(&run.stderr);
    let run = machine.run(&["skills", "check"]).failed_with(1);
    assert_eq!(run.stdout, "2 skills can be used, 1 cannot\n");
    let good = ".agents/skills/ship/SKILL.md";
    let run = machine.run(&["skills", "check", good]).succeeded();
    assert_eq!(run.stdout, format!("{good}: ok\n"));
    let run = machine
        .run(&["skills", "check", "README.md"])
        .failed_with(1);
    expect![[r#"
        broken: README.md is not found by anybody: a skill's file is called SKILL.md
    "#]]
    .assert_eq(&run.stderr);
}

/// The home is hidden from the model, but for the skills in it.
#[test]
fn a_confined_model_reads_the_users_skills_and_nothing_else_of_the_home() {
    let machine = Machine::playing(
        r#"
[[scene]]
[[scene.turn]]
expect = "What I like."
steps = [{ call = "shell_command", arguments = { command = "cd $TROUPE_HOME; cat skills/mine/SKILL.md config.toml; echo x > skills/new" } }]
[[scene.turn]]
steps = [{ say = "Tea." }]
"#,
    );
    lay_out(&machine);
    machine.write("home/config.toml", "# my secret\n");
    let arguments = [
        "exec",
        "--json",
        "--sandbox",
        "workspace-write",
        "what do I like?",
    ];
    let run = machine.run(&arguments).succeeded();
    let lines = run.lines();
    let output = lines.iter().find_map(|line| {
        line["item"]["aggregated_output"]
            .as_str()
            .filter(|text| !text.is_empty())
    });
    let output = output.unwrap();
    assert!(output.contains("Tea."), "{output}");
    assert!(!output.contains("my secret"), "{output}");
    assert!(!machine.path("home/skills/new").exists());
}

#[test]
fn a_prompt_chooses_a_skill() {
    let machine = Machine::playing(
        "[[scene]]\n[[scene.turn]]\nexpect = \"then push\"\nsteps = [{ say = \"Shipped.\" }]",
    );
    lay_out(&machine);
    let run = machine.run(&["exec", "release with $ship"]).succeeded();
    assert_eq!(run.stdout, "Shipped.\n");
    assert!(
        run.stderr
            .contains("skill ship (.agents/skills/ship/SKILL.md)"),
        "{}",
        run.stderr
    );
}
