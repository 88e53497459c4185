//! `troupe mcp`, and a server in a run of the binary.

use expect_test::expect;

use crate::machine::Machine;

/// A server in a few lines of shell: it greets, names one tool, answers calls, and ends with its
/// input.
pub const SERVER: &str = r#"
id() { printf '%s' "$1" | sed 's/.*"id":\([0-9]*\).*/\1/'; }
say() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$(id "$1")" "$2"; }
while read -r line; do
  case $line in
    *'"initialize"'*) say "$line" '{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"ore","version":"1"}}' ;;
    *'"tools/list"'*) say "$line" '{"tools":[{"name":"dig","description":"Digs.","inputSchema":{"type":"object"}}]}' ;;
    *'"tools/call"'*) say "$line" '{"content":[{"type":"text","text":"gold"}]}' ;;
  esac
done
"#;

#[test]
fn servers_are_added_listed_and_removed() {
    let machine = Machine::bare();
    let run = machine.run(&["mcp"]).succeeded();
    expect![[r#"
        no MCP servers; `troupe mcp add` makes one
    "#]]
    .assert_eq(&run.stdout);
    machine.write("home/config.toml", "# mine\nmodel = 'm' # the small one\n");
    machine
        .run(&[
            "mcp",
            "add",
            "ore",
            "--env",
            "A=b c",
            "--",
            "sh",
            "server.sh",
            "a b",
        ])
        .succeeded();
    machine
        .run(&[
            "mcp",
            "add",
            "docs",
            "--url",
            "https://x/mcp",
            "--bearer-token-env-var",
            "T",
        ])
        .succeeded();
    let file = std::fs::read_to_string(machine.path("home/config.toml")).unwrap();
    expect![[r#"
        # mine
        model = 'm' # the small one

        [mcp_servers.ore]
        command = "sh"
        args = ["server.sh", "a b"]

        [mcp_servers.ore.env]
        A = "b c"

        [mcp_servers.docs]
        url = "https://x/mcp"
        bearer_token_env_var = "T"
    "#]]
    .assert_eq(&file);
    let run = machine.run(&["mcp", "list"]).succeeded();
    expect![[r#"
        docs  http   https://x/mcp
        ore   stdio  sh server.sh 'a b'
    "#]]
    .assert_eq(&run.stdout);
    let run = machine
        .run(&["mcp", "add", "ore", "--", "sh"])
        .failed_with(2);
    expect![[r#"
        troupe: DIR/home/config.toml has a server ore already; remove it first
    "#]]
    .assert_eq(&machine.shown(&run.stderr));
    machine.run(&["mcp", "remove", "ore"]).succeeded();
    let run = machine.run(&["mcp", "remove", "ore"]).failed_with(2);
    expect![[r#"
        troupe: DIR/home/config.toml has no server ore; `troupe mcp` lists all, also those of other files
    "#]]
    .assert_eq(&machine.shown(&run.stderr));
}

#[test]
fn a_test_starts_a_server_and_lists_its_tools() {
    let machine = Machine::bare();
    machine.write("project/server.sh", SERVER);
    let server = [
        "mcp",
        "-c",
        "mcp_servers.ore={command='sh', args=['server.sh']}",
        "test",
    ];
    let run = machine
        .run(&[&server[..], &["--json"]].concat())
        .succeeded();
    expect![[r#"
        {"name":"ore","ready":true,"tools":["dig"],"resources":false,"error":null}
    "#]]
    .assert_eq(&run.stdout);
    let broken = "mcp_servers.coal={command='sh', args=['-c', 'echo no coal >&2; exit 3']}";
    let run = machine
        .run(&["mcp", "-c", broken, "test", "--json"])
        .failed_with(1);
    expect![[r#"
        {"name":"coal","ready":false,"tools":null,"resources":false,"error":"it exited with code 3; it wrote: no coal"}
    "#]]
    .assert_eq(&run.stdout);
    let run = machine.run(&["mcp", "test", "salt"]).failed_with(2);
    expect![[r#"
        troupe: no MCP server is called "salt"; `troupe mcp` lists them
    "#]]
    .assert_eq(&run.stderr);
}

#[test]
fn exec_calls_a_tool_of_a_server() {
    let machine = Machine::playing(
        "[[scene]]\nwhen = 'dig'\n\
         [[scene.turn]]\nsteps = [{ call = 'mcp__ore__dig', arguments = {} }]\n\
         [[scene.turn]]\nexpect = 'gold'\nsteps = [{ say = 'found gold' }]\n",
    );
    machine.write("project/server.sh", SERVER);
    let server = "mcp_servers.ore={command='sh', args=['server.sh']}";
    let run = machine
        .run(&["exec", "--json", "-c", server, "dig"])
        .succeeded();
    let calls: Vec<&str> = run
        .stdout
        .lines()
        .filter(|line| line.contains("item.completed") && line.contains("mcp_tool_call"))
        .collect();
    expect![[r#"{"type":"item.completed","item":{"id":"item_0","type":"mcp_tool_call","server":"ore","tool":"dig","arguments":{},"result":{"content":[{"type":"text","text":"gold"}],"structured_content":null},"status":"completed"}}"#]]
        .assert_eq(&calls.join("\n"));
    assert!(run.stdout.contains("found gold"), "{}", run.stdout);
}

/// What a server has is known once it runs: a lock with a slip in it is found by the spawn.
#[test]
fn a_role_with_a_misspelt_tool_of_a_running_server_is_not_spawned() {
    let machine = Machine::playing(
        "[[scene]]\nwhen = 'be a child'\n\
         [[scene.turn]]\nsteps = [{ say = 'it ran' }]\n\
         [[scene]]\nwhen = 'dig'\n\
         [[scene.turn]]\nsteps = [{ call = 'spawn_agent', arguments = { message = 'be a child', agent_type = 'miner' } }]\n\
         [[scene.turn]]\nsteps = [{ say = '{{last_output}}' }]\n",
    );
    machine.write("project/server.sh", SERVER);
    let role = "---\ndescription: d\ndeny_list: [mcp__ore__dgi]\n---\nDig.\n";
    machine.write("project/.troupe/agents/miner.md", role);
    let server = "mcp_servers.ore={command='sh', args=['server.sh']}";
    let run = machine.run(&["exec", "-c", server, "dig"]).succeeded();
    assert!(
        run.stdout.contains("did you mean `mcp__ore__dig`?"),
        "{run:#?}"
    );
    assert!(!run.stdout.contains("it ran"), "{run:#?}");
}

/// A file that other agents read too.
#[test]
fn servers_of_a_projects_mcp_json_count_once_it_is_trusted() {
    let machine = Machine::bare();
    machine.write("project/ore.sh", SERVER);
    machine.write(
        "project/.mcp.json",
        r#"{"mcpServers": {"ore": {"command": "sh", "args": ["ore.sh"]}}}"#,
    );
    let run = machine.run(&["mcp"]).succeeded();
    assert!(run.stdout.contains("no MCP servers"), "{}", run.stdout);
    assert!(
        run.stderr.contains(".mcp.json is not read"),
        "{}",
        run.stderr
    );
    machine.run(&["trust"]).succeeded();
    let run = machine.run(&["mcp", "test", "ore"]).succeeded();
    assert!(run.stdout.contains("dig"), "{}", run.stdout);
    machine.write(
        "project/.mcp.json",
        r#"{"mcpServers": {"ore": {"command": "true"}}}"#,
    );
    let run = machine.run(&["mcp"]).succeeded();
    assert!(
        run.stderr.contains("it was not there, or was different"),
        "{}",
        run.stderr
    );
}

#[test]
fn a_broken_mcp_json_takes_its_servers_away_and_nothing_else() {
    let machine = Machine::playing("[[scene]]\n[[scene.turn]]\nsteps = [{ say = 'Hi.' }]\n");
    machine.write("project/.mcp.json", "{\"mcpServers\": {");
    machine.run(&["trust"]).succeeded();
    for line in [
        &["rules"][..],
        &["roles", "list"],
        &["mcp", "list"],
        &["exec", "hi"],
    ] {
        let run = machine.run(line).succeeded();
        // Rules have nothing to do with servers.
        if line != ["rules"] {
            let told = ".mcp.json:1:16";
            assert!(run.stderr.contains(told), "{line:?}: {}", run.stderr);
        }
    }
}

#[test]
fn a_server_that_is_none_is_told_of_without_names_of_types() {
    let machine = Machine::bare();
    let answer = r#"read -r line; id=${line#*'"id":'}; id=${id%%,*}; printf '{"jsonrpc":"2.0","id":%s,"result":{"tools":[]}}\n' "$id"; cat"#;
    machine
        .run(&["mcp", "add", "odd", "--", "sh", "-c", answer])
        .succeeded();
    machine
        .run(&["mcp", "add", "away", "--url", "http://127.0.0.1:1/mcp"])
        .succeeded();
    let run = machine.run(&["mcp", "test"]).failed_with(1);
    for wrong in ["rmcp", "Transport", "Some(", "::", "{ "] {
        assert!(!run.stdout.contains(wrong), "{wrong}: {}", run.stdout);
    }
    assert!(
        run.stdout.contains("as an MCP server does"),
        "{}",
        run.stdout
    );
    assert!(run.stdout.contains("Connection refused"), "{}", run.stdout);
}

#[test]
fn a_server_is_added_for_everybody_who_works_in_the_project() {
    let machine = Machine::bare();
    machine.write("project/ore.sh", SERVER);
    machine.write(
        "project/.mcp.json",
        r#"{"zeta": 1, "mcpServers": {"docs": {"type": "http", "url": "https://example.com"}}}"#,
    );
    let add = ["mcp", "add", "--project", "ore", "--", "sh", "ore.sh"];
    let run = machine.run(&add).succeeded();
    assert!(run.stdout.contains("troupe trust"), "{}", run.stdout);
    let text = std::fs::read_to_string(machine.path("project/.mcp.json")).unwrap();
    expect![[r#"
        {
          "zeta": 1,
          "mcpServers": {
            "docs": {
              "type": "http",
              "url": "https://example.com"
            },
            "ore": {
              "command": "sh",
              "args": [
                "ore.sh"
              ]
            }
          }
        }
    "#]]
    .assert_eq(&text);
    assert!(!machine.path("home/config.toml").exists());
    machine.run(&add).failed_with(2);
    machine.run(&["trust"]).succeeded();
    let run = machine.run(&["mcp", "test", "ore"]).succeeded();
    assert!(run.stdout.contains("dig"), "{}", run.stdout);
}

#[test]
fn a_rule_about_a_tool_holds_where_it_is_called() {
    let machine = Machine::playing(
        r#"
[[scene]]
[[scene.turn]]
steps = [{ call = "mcp__ore__dig", arguments = {} }]
[[scene.turn]]
steps = [{ say = "{{last_output}}" }]
"#,
    );
    machine.write("project/ore.sh", SERVER);
    machine
        .run(&["mcp", "add", "ore", "--", "sh", "ore.sh"])
        .succeeded();
    machine
        .run(&[
            "rules", "add", "forbid", "--mcp", "*/d*", "--reason", "leave it",
        ])
        .succeeded();
    let run = machine.run(&["exec", "dig"]).succeeded();
    assert!(
        run.stdout.contains("refused by the rule `--mcp '*/d*'`"),
        "{run:#?}"
    );
    assert!(run.stdout.contains("leave it"), "{run:#?}");
    machine
        .run(&["rules", "remove", "--mcp", "*/d*"])
        .succeeded();
    let run = machine.run(&["exec", "dig"]).succeeded();
    assert!(run.stdout.contains("gold"), "{run:#?}");
}
