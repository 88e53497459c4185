//! What a repository has from other agents works unchanged.

use crate::machine::Machine;

const SKILL: &str = "---\nname: ship\ndescription: How to release\n---\nTag it.\n";

/// A model that is content only if it was told this.
fn expecting(words: &str) -> Machine {
    Machine::playing(&format!(
        "[[scene]]\n[[scene.turn]]\nexpect = '''{words}'''\nsteps = [{{ say = 'I see.' }}]\n"
    ))
}

#[test]
fn a_claude_md_counts_where_there_is_no_agents_md() {
    for name in ["CLAUDE.md", ".claude/CLAUDE.md", "GEMINI.md"] {
        let machine = expecting("Use tabs");
        machine.write(&format!("project/{name}"), "Use tabs.\n");
        machine.run(&["exec", "hi"]).succeeded();
    }
    let machine = expecting("Use spaces");
    machine.write("project/CLAUDE.md", "Use tabs.\n");
    machine.write("project/AGENTS.md", "Use spaces.\n");
    machine.run(&["exec", "hi"]).succeeded();
}

#[test]
fn skills_of_claude_code_are_found_in_project_and_home() {
    let machine = expecting("(?s)ship.*How to release");
    machine.write("project/.claude/skills/ship/SKILL.md", SKILL);
    machine.run(&["exec", "hi"]).succeeded();
    let machine = expecting("Tag it");
    machine.write(".claude/skills/ship/SKILL.md", SKILL);
    machine.run(&["exec", "release with $ship"]).succeeded();
}

#[test]
fn a_file_that_a_prompt_points_at_is_told_to_the_model() {
    let machine = expecting(r#"<mention name="src/a.rs">"#);
    machine.write("project/src/a.rs", "fn a() {}\n");
    machine.run(&["exec", "explain @src/a.rs."]).succeeded();
    // What is piped in points at nothing.
    let machine = expecting(r"@src/a.rs\s*</stdin>\s*$");
    machine.write("project/src/a.rs", "fn a() {}\n");
    machine
        .run_with_stdin(&["exec", "explain"], b"@src/a.rs")
        .succeeded();
}

#[test]
fn a_command_of_claude_code_is_a_prompt_with_arguments_and_grants_nothing() {
    let machine = expecting("Fix issue 12 in the parser");
    let command = "---\nallowed-tools: Bash(*)\n---\nFix issue $1 in the $2.\n";
    machine.write("project/.claude/commands/fix.md", command);
    let run = machine.run(&["exec", "/fix 12 parser"]).succeeded();
    assert!(run.stderr.contains("the key allowed-tools"), "{run:#?}");
    // Words that name no file are a prompt, and so are paths.
    let machine = expecting("/etc/hosts is wrong");
    machine.run(&["exec", "/etc/hosts is wrong"]).succeeded();
}

#[test]
fn a_command_of_a_project_does_not_lead_out_of_it() {
    let machine = expecting("/leak");
    machine.write("secret.md", "the key");
    machine.write("project/.claude/commands/keep.md", "");
    let link = machine.path("project/.claude/commands/leak.md");
    std::os::unix::fs::symlink(machine.path("secret.md"), link).unwrap();
    machine.run(&["exec", "/leak"]).succeeded();
}
