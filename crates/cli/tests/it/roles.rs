//! `troupe roles` over real files.

use expect_test::expect;

use crate::machine::Machine;

const MINER: &str = "---
description: \"Digs \\e[31mdeep.\"
model: deep-1
reasoning_effort: high
read_only: true
allow_list: [read_file, 'mcp__ore__*']
deny_list: [mcp__ore__sell]
mcp_servers: [ore]
approvals: route
messages: parent
backend: drill
agent_names:
  - name: brief
    description: digs a little
    model: quick-1
---
Dig.

<!-- agent_name: brief -->
Scratch.
";

fn machine() -> Machine {
    let machine = Machine::bare();
    machine.write("project/.troupe/agents/miner.md", MINER);
    machine.write(
        "home/config.toml",
        "[mcp_servers.ore]\ncommand = 'ore'\n[backends.drill]\ncommand = 'drill'\n",
    );
    machine
}

#[test]
fn check_refuses_tools_and_servers_that_nobody_knows() {
    let machine = machine();
    let role = |lists: &str| format!("---\ndescription: d\n{lists}\n---\nDig.\n");
    machine.write("project/deny.md", &role("deny_list: [shell_comand]"));
    machine.write("project/server.md", &role("mcp_servers: [orre]"));
    machine.write("project/pattern.md", &role("allow_list: ['mcp__orre__*']"));
    machine.write("project/worktree.md", &role("isolation: worktree"));
    machine.write("project/program.md", &role("backend: drll"));
    let files = [
        "deny.md",
        "server.md",
        "pattern.md",
        "worktree.md",
        "program.md",
    ];
    let run = machine
        .run(&[&["roles", "check"], &files[..]].concat())
        .failed_with(1);
    for expected in [
        "deny.md: deny_list: there is no tool `shell_comand`; did you mean `shell_command`?",
        "server.md: mcp_servers: there is no configured MCP server `orre`; did you mean `ore`?",
        "allow_list: there is no tool of a configured MCP server `mcp__orre__*`; did you mean `mcp__ore__*`?",
        "program.md: backend: there is no configured backend `drll`; did you mean `drill`?",
        "worktree.md:3:1: unknown key `isolation`; expected one of",
    ] {
        assert!(run.stderr.contains(expected), "{}", run.stderr);
    }
    machine.run(&["roles", "check", "miner"]).succeeded();
}

/// The configuration says which tools the server has, so a slip in one is found before it runs.
#[test]
fn check_holds_tools_of_servers_to_those_that_are_enabled() {
    let machine = machine();
    machine.write(
        "home/config.toml",
        "[mcp_servers.ore]\ncommand = 'ore'\nenabled_tools = ['dig', 'sell']\n",
    );
    let role = |list: &str| format!("---\ndescription: d\ndeny_list: [{list}]\n---\nDig.\n");
    machine.write("project/good.md", &role("mcp__ore__sell, 'mcp__ore__d*'"));
    machine.run(&["roles", "check", "good.md"]).succeeded();
    machine.write("project/bad.md", &role("mcp__ore__sel"));
    let run = machine.run(&["roles", "check", "bad.md"]).failed_with(1);
    let expected = "bad.md: deny_list: there is no tool of a configured MCP server \
                    `mcp__ore__sel`; did you mean `mcp__ore__sell`?";
    assert!(
        format!("{}{}", run.stdout, run.stderr).contains(expected),
        "{run:#?}"
    );
}

#[test]
fn the_list_shows_what_can_be_used_and_what_cannot() {
    let machine = machine();
    machine.write(
        "home/agents/explorer.md",
        "---\nread_only: yes\n---\nLook.\n",
    );
    let run = machine.run(&["roles", "list"]).succeeded();
    expect![[r#"
        architect      embedded             Designs a change before it is made; returns a plan that others can carry out.
        default        embedded             A general assistant for one task that fits no other role.
        linter_fixer   embedded             Makes linters and formatters pass without changing what the code does.
        mathematician  embedded             Solves problems of mathematics, algorithms and estimation, with a checked argument.
        miner          project   read-only  Digs [31mdeep.
        orchestrator   embedded             Divides a large task among other agents, follows them, and answers for the whole.
        reviewer       embedded  read-only  Reviews a change and returns findings that its author would want to fix.
        tester         embedded             Writes strict, concise tests that can fail, and runs them.
        worker         embedded             Implements one well-defined change in files that it owns, and shows that it works.
    "#]].assert_eq(&run.stdout);
    expect![[r#"
        broken: DIR/home/agents/explorer.md:2:12: expected `true` or `false`
    "#]]
    .assert_eq(&machine.shown(&run.stderr));

    let run = machine.run(&["roles", "list", "--json"]).succeeded();
    let lines = run.lines();
    let line = |name: &str| lines.iter().find(|line| line["name"] == name).unwrap();
    assert_eq!(line("miner")["allow_list"][1], "mcp__ore__*");
    assert_eq!(line("miner")["agent_names"][0]["model"], "quick-1");
    assert_eq!(line("miner")["backend"], "drill");
    assert_eq!(line("miner")["messages"], "parent");
    assert_eq!(line("worker")["origin"], "embedded");
    let broken = lines.last().unwrap();
    assert!(
        broken["error"]
            .as_str()
            .unwrap()
            .contains("explorer.md:2:12")
    );
    assert!(!lines.iter().any(|line| line["name"] == "explorer"));
}

#[test]
fn show_has_what_the_configuration_says_of_a_role() {
    let machine = machine();
    let said = ["-c", "agents.types.miner.model=other-1"];
    let show = [&said[..], &["roles", "show", "miner"]].concat();
    let run = machine.run(&show).succeeded();
    let expected = "model             other-1  # [agents.types.miner] of the configuration\n\
                    reasoning_effort  high  # ";
    assert!(run.stdout.contains(expected), "{}", run.stdout);
    let list = [&said[..], &["roles", "list", "--json"]].concat();
    let run = machine.run(&list).succeeded();
    assert!(run.stdout.contains("\"other-1\""), "{}", run.stdout);
}

#[test]
fn show_says_where_each_value_comes_from() {
    let machine = machine();
    let run = machine.run(&["roles", "show", "MINER"]).succeeded();
    expect![[r#"
        description       Digs [31mdeep.  # DIR/project/.troupe/agents/miner.md
        model             deep-1  # DIR/project/.troupe/agents/miner.md
        reasoning_effort  high  # DIR/project/.troupe/agents/miner.md
        sandbox           read-only  # DIR/project/.troupe/agents/miner.md
        tools             only read_file, mcp__ore__*; not mcp__ore__sell  # DIR/project/.troupe/agents/miner.md
        mcp_servers       ore  # DIR/project/.troupe/agents/miner.md
        approvals         route  # DIR/project/.troupe/agents/miner.md
        messages          parent  # DIR/project/.troupe/agents/miner.md
        backend           drill  # DIR/project/.troupe/agents/miner.md
        persona brief     digs a little  # DIR/project/.troupe/agents/miner.md

        Dig.
    "#]].assert_eq(&machine.shown(&run.stdout));
    let run = machine
        .run(&["roles", "show", "miner", "--persona", "brief"])
        .succeeded();
    expect![[r#"
        description       digs a little  # persona brief in DIR/project/.troupe/agents/miner.md
        model             quick-1  # persona brief in DIR/project/.troupe/agents/miner.md
        reasoning_effort  high  # DIR/project/.troupe/agents/miner.md
        sandbox           read-only  # DIR/project/.troupe/agents/miner.md
        tools             only read_file, mcp__ore__*; not mcp__ore__sell  # DIR/project/.troupe/agents/miner.md
        mcp_servers       ore  # DIR/project/.troupe/agents/miner.md
        approvals         route  # DIR/project/.troupe/agents/miner.md
        messages          parent  # DIR/project/.troupe/agents/miner.md
        backend           drill  # DIR/project/.troupe/agents/miner.md
        persona brief     digs a little  # DIR/project/.troupe/agents/miner.md

        Scratch.
    "#]].assert_eq(&machine.shown(&run.stdout));
    let run = machine.run(&["roles", "show", "worker"]).succeeded();
    assert!(
        run.stdout.contains("\nYou implement one change"),
        "{}",
        run.stdout
    );

    let run = machine.run(&["roles", "show", "minor"]).failed_with(2);
    expect![[r#"
        troupe: unknown role minor; did you mean miner?
    "#]]
    .assert_eq(&run.stderr);
    let run = machine
        .run(&["roles", "show", "miner", "--persona", "loud"])
        .failed_with(2);
    expect![[r#"
        troupe: the role miner has no persona "loud"; there are brief
    "#]]
    .assert_eq(&run.stderr);
}

#[test]
fn check_tells_every_error_and_fails() {
    let machine = machine();
    let run = machine.run(&["roles", "check"]).succeeded();
    assert_eq!(run.stdout, "10 roles can be used, 0 cannot\n");

    machine.write("project/.troupe/agents/a.md", "---\ndescription: d\n");
    machine.write(
        "home/agents/b.md",
        "---\ndescription: d\nmodle: m\n---\nDo it.\n",
    );
    let run = machine.run(&["roles", "check"]).failed_with(1);
    expect![[r#"
        broken: DIR/project/.troupe/agents/a.md:1:1: the front matter has no end; expected a line `---` before the prompt
        broken: DIR/home/agents/b.md:3:1: unknown key `modle` (did you mean `model`?)
    "#]].assert_eq(&machine.shown(&run.stderr));
    assert_eq!(run.stdout, "10 roles can be used, 2 cannot\n");

    let miner = ".troupe/agents/miner.md";
    let run = machine
        .run(&["roles", "check", miner, ".troupe/agents/a.md", "none.md"])
        .failed_with(1);
    assert_eq!(run.stdout, ".troupe/agents/miner.md: ok\n");
    expect![[r#"
        broken: .troupe/agents/a.md:1:1: the front matter has no end; expected a line `---` before the prompt
        broken: cannot read none.md: No such file or directory (os error 2)
    "#]].assert_eq(&machine.shown(&run.stderr));
    let run = machine
        .run(&["roles", "check", "worker", "Miner", "a", "nobody"])
        .failed_with(1);
    assert_eq!(run.stdout, "worker: ok\nMiner: ok\n");
    assert!(run.stderr.contains("a.md:1:1: "), "{}", run.stderr);
    assert!(run.stderr.contains("unknown role nobody"), "{}", run.stderr);
    machine.write("project/ore.json", "{}");
    machine.write(
        "project/ore.md",
        "---\ndescription: d\noutput_schema: ore.json\n---\nDig.\n",
    );
    machine
        .run(&["roles", "check", miner, "ore.md"])
        .succeeded();
    let run = machine.run(&["roles", "show", "a"]).failed_with(1);
    assert!(run.stderr.contains("a.md:1:1: "), "{}", run.stderr);
}

#[test]
fn a_new_role_can_be_used_at_once_and_is_not_replaced() {
    let machine = machine();
    let run = machine.run(&["roles", "new", "Painter"]).succeeded();
    expect![[r#"
        DIR/project/.troupe/agents/painter.md
    "#]]
    .assert_eq(&machine.shown(&run.stdout));
    machine.run(&["roles", "show", "painter"]).succeeded();
    let run = machine.run(&["roles", "new", "painter"]).failed_with(1);
    expect![[r#"
        troupe: cannot make a role in DIR/project/.troupe/agents: DIR/project/.troupe/agents/painter.md is already there
    "#]].assert_eq(&machine.shown(&run.stderr));

    let run = machine
        .run(&["roles", "new", "painter", "--user"])
        .succeeded();
    expect![[r#"
        DIR/home/agents/painter.md
    "#]]
    .assert_eq(&machine.shown(&run.stdout));
    machine.run(&["roles", "new", "../painter"]).failed_with(2);
    machine.run(&["roles", "check"]).succeeded();
}
