use std::fs;
use std::sync::Arc;

use expect_test::{Expect, expect};

use super::{KnownServer, ServerNames};
use crate::roles::RoleLibrary;

/// Servers, and the tools of each if they are known.
#[derive(Debug)]
struct Configured(&'static [&'static str], Option<&'static [&'static str]>);

impl ServerNames for Configured {
    fn servers(&self) -> Vec<KnownServer> {
        let server = |&name: &&str| KnownServer {
            name: name.to_owned(),
            tools: self
                .1
                .map(|tools| tools.iter().map(|&tool| tool.to_owned()).collect()),
        };
        self.0.iter().map(server).collect()
    }

    fn backends(&self) -> Vec<String> {
        vec!["other".to_owned()]
    }
}

/// Says what becomes of a role with these lists where `docs` and `my.db` are configured.
fn check(lists: &str, expected: Expect) {
    check_with(&["docs", "my.db"], lists, expected);
}

fn check_with(servers: &'static [&'static str], lists: &str, expected: Expect) {
    check_in("miner.md", Configured(servers, None), lists, expected);
}

/// Says what becomes of it where the tools of `docs` are known.
fn check_running(lists: &str, expected: Expect) {
    let tools = &["mcp__docs__search", "mcp__docs__delete_all"];
    check_in(
        "miner.md",
        Configured(&["docs"], Some(tools)),
        lists,
        expected,
    );
}

fn check_in(file: &str, servers: Configured, lists: &str, expected: Expect) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(file);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, format!("---\ndescription: d\n{lists}\n---\nDig.\n")).unwrap();
    let roles = RoleLibrary::new(directory.path()).with_servers(Arc::new(servers));
    let answer = match roles.read(&path) {
        Ok(_) => "ok".to_owned(),
        Err(error) => error.to_string(),
    };
    let place = directory.path().display().to_string();
    let answer = answer.replace(&place, "DIR");
    let shown: String = answer.chars().take(200).collect();
    expected.assert_eq(&shown);
}

#[test]
fn a_misspelt_tool_refuses_the_role_with_the_nearest_name() {
    check(
        "deny_list: [shell_comand]",
        expect![
            "DIR/miner.md: deny_list: there is no tool `shell_comand`; did you mean `shell_command`?"
        ],
    );
    check(
        "allow_list: [read_file, Grep_files]",
        expect![
            "DIR/miner.md: allow_list: there is no tool `Grep_files`; did you mean `grep_files`?"
        ],
    );
    check(
        "deny_list: ['shel_*']",
        expect![
            "DIR/miner.md: deny_list: there is no tool `shel_*`; there are agent_result, cancel_agent, cancel_session, close_agent, create_session, list_active_agents, list_agents, resume_agent, send_input, set_th"
        ],
    );
}

#[test]
fn a_server_that_is_not_configured_refuses_the_role() {
    check(
        "mcp_servers: [doc]",
        expect![
            "DIR/miner.md: mcp_servers: there is no configured MCP server `doc`; did you mean `docs`?"
        ],
    );
    check_with(
        &[],
        "mcp_servers: [docs]",
        expect![
            "DIR/miner.md: mcp_servers: there is no configured MCP server `docs`; there are none"
        ],
    );
    check(
        "deny_list: [mcp__dosc__delete_everything]",
        expect![
            "DIR/miner.md: deny_list: there is no tool of a configured MCP server `mcp__dosc__delete_everything`; did you mean `mcp__docs__delete_everything`?"
        ],
    );
    check(
        "allow_list: ['mcp__dcos__*']",
        expect![
            "DIR/miner.md: allow_list: there is no tool of a configured MCP server `mcp__dcos__*`; did you mean `mcp__docs__*`?"
        ],
    );
}

#[test]
fn what_there_is_can_be_named() {
    for lists in [
        "allow_list: []\ndeny_list: []\nmcp_servers: []",
        "allow_list: ['*']\ndeny_list: ['subagent_*', spawn_agent, exec_command, read_mcp_resource]",
        "allow_list: [mcp__docs__search, 'mcp__my_db__*', 'mcp__*', 'mcp__*__get', 'mcp__d?cs__*', '*docs*']",
        "mcp_servers: [my.db, docs]",
    ] {
        check(lists, expect!["ok"]);
    }
    // All servers are none here, which leaves nothing open.
    check_with(&[], "deny_list: ['mcp__*']", expect!["ok"]);
}

#[test]
fn an_unknown_server_is_answered_with_the_servers_that_there_are() {
    check(
        "deny_list: [mcp__elsewhere__search]",
        expect![
            "DIR/miner.md: deny_list: there is no tool of a configured MCP server `mcp__elsewhere__search`; there are mcp__docs__*, mcp__my_db__*"
        ],
    );
}

#[test]
fn a_program_that_is_not_configured_refuses_the_role() {
    check("backend: other", expect!["ok"]);
    check(
        "backend: othr",
        expect![
            "DIR/miner.md: backend: there is no configured backend `othr`; did you mean `other`?"
        ],
    );
}

#[test]
fn a_misspelt_tool_of_a_server_refuses_the_role_once_its_tools_are_known() {
    check_running(
        "deny_list: [mcp__docs__delete_al]",
        expect![
            "DIR/miner.md: deny_list: there is no tool of a configured MCP server `mcp__docs__delete_al`; did you mean `mcp__docs__delete_all`?"
        ],
    );
    check_running(
        "allow_list: [mcp__docs__serch]",
        expect![
            "DIR/miner.md: allow_list: there is no tool of a configured MCP server `mcp__docs__serch`; did you mean `mcp__docs__search`?"
        ],
    );
    check_running(
        "deny_list: ['mcp__*__delete']",
        expect![
            "DIR/miner.md: deny_list: there is no tool of a configured MCP server `mcp__*__delete`; there are mcp__docs__*, mcp__docs__search, mcp__docs__delete_all"
        ],
    );
    for lists in [
        "deny_list: [mcp__docs__delete_all]\nallow_list: ['mcp__docs__*', 'mcp__*__del*', 'mcp__*', '*docs*']",
        "deny_list: ['mcp__docs__?elete_all', 'mcp__docs**', 'mcp__*__*']",
    ] {
        check_running(lists, expect!["ok"]);
    }
    let nothing = Configured(&["docs"], Some(&[]));
    check_in(
        "miner.md",
        nothing,
        "deny_list: ['mcp__docs__*']",
        expect!["ok"],
    );
}

/// Their servers need not be here; of those that are, the tools are known.
#[test]
fn an_agent_of_claude_code_is_held_to_the_tools_of_servers_that_are_here() {
    let check = |lists: &str, expected: Expect| {
        let tools = &["mcp__docs__search", "mcp__docs__delete_all"];
        let file = ".claude/agents/miner.md";
        check_in(file, Configured(&["docs"], Some(tools)), lists, expected);
    };
    check(
        "disallowedTools: mcp__docs__delete_al",
        expect![
            "DIR/.claude/agents/miner.md: disallowedTools: there is no tool of a configured MCP server `mcp__docs__delete_al`; did you mean `mcp__docs__delete_all`?"
        ],
    );
    check(
        "disallowedTools: mcp__docs, mcp__elsewhere__x, Bash",
        expect!["ok"],
    );
}
