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

/// A parent that makes a child of an agent of Claude Code.
const DELEGATE: &str = r#"
[[scene]]
when = "lead it"
[[scene.turn]]
steps = [{ call = "spawn_agent", arguments = { message = "look around", agent_type = "code-scout" } }]
[[scene.turn]]
steps = [{ call = "wait", arguments = { ids = ["1"], timeout_ms = 60000 } }]
[[scene.turn]]
steps = [{ say = "{{last_output}}" }]

[[scene]]
when = "look around"
[[scene.turn]]
steps = [{ call = "shell_command", arguments = { command = "touch mine" } }]
[[scene.turn]]
expect = "Read-only file system"
steps = [{ say = "It is read-only." }]
"#;

const SCOUT: &str = "---\nname: code-scout\ndescription: Use it when: you look for code\n\
    tools: Read, Grep, WebSearch\nmodel: sonnet\ncolor: blue\n---\nYou scout the code.\n";

#[test]
fn agents_of_claude_code_are_roles_that_have_no_more_than_their_tools() {
    for place in ["project/.claude/agents/any.md", ".claude/agents/any.md"] {
        let machine = Machine::playing(DELEGATE);
        machine.write(place, SCOUT);
        let run = machine.run(&["exec", "lead it"]).succeeded();
        assert!(run.stdout.contains("It is read-only."), "{run:#?}");
        assert!(!machine.path("project/mine").exists());
        let shown = machine.run(&["roles", "show", "code-scout"]).succeeded();
        for told in [
            "You scout the code.",
            "WebSearch is not there",
            "of no effect here: color",
            "read-only",
        ] {
            assert!(shown.stdout.contains(told), "{told}: {}", shown.stdout);
        }
    }
}

#[test]
fn an_agent_of_claude_code_hides_no_role_of_ours() {
    let machine = Machine::bare();
    let named = |name: &str| SCOUT.replace("code-scout", name);
    machine.write("project/.claude/agents/reviewer.md", &named("reviewer"));
    machine.write("project/.claude/agents/mine.md", &named("mine"));
    machine.write(
        "project/.troupe/agents/mine.md",
        "---\ndescription: Ours.\n---\nWork.\n",
    );
    let list = machine.run(&["roles", "list"]).succeeded();
    assert!(list.stderr.contains("is a built-in role"), "{list:#?}");
    let shown = machine.run(&["roles", "show", "reviewer"]).succeeded();
    assert!(shown.stdout.contains("built in"), "{}", shown.stdout);
    let shown = machine.run(&["roles", "show", "mine"]).succeeded();
    assert!(shown.stdout.contains("Ours."), "{}", shown.stdout);
    let slip = SCOUT.replace("Grep", "Gerp").replace("code-scout", "slip");
    machine.write("project/.claude/agents/slip.md", &slip);
    let run = machine.run(&["roles", "show", "slip"]).failed_with(1);
    assert!(run.stderr.contains("did you mean `Grep`?"), "{run:#?}");
}
