use std::fs;
use std::sync::Arc;

use expect_test::{Expect, expect};

use super::ServerNames;
use crate::roles::RoleLibrary;

#[derive(Debug)]
struct Configured(&'static [&'static str]);

impl ServerNames for Configured {
    fn servers(&self) -> Vec<String> {
        self.0.iter().map(|&name| name.to_owned()).collect()
    }

    /// Those of `docs` are not known yet.
    fn tools(&self, server: &str) -> Option<Vec<String>> {
        let tools = ["mcp__files__search", "mcp__files__delete_all"];
        (server == "files").then(|| tools.map(str::to_owned).to_vec())
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
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("miner.md");
    fs::write(&path, format!("---\ndescription: d\n{lists}\n---\nDig.\n")).unwrap();
    let roles = RoleLibrary::new(directory.path()).with_servers(Arc::new(Configured(servers)));
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
fn a_misspelt_tool_of_a_server_that_is_known_refuses_the_role() {
    let files = |lists, expected| check_with(&["files"], lists, expected);
    files(
        "deny_list: [mcp__files__delete_al]",
        expect![
            "DIR/miner.md: deny_list: there is no tool of a configured MCP server `mcp__files__delete_al`; did you mean `mcp__files__delete_all`?"
        ],
    );
    files(
        "deny_list: ['mcp__*__delete']",
        expect![
            "DIR/miner.md: deny_list: there is no tool of a configured MCP server `mcp__*__delete`; there are mcp__files__*, mcp__files__search, mcp__files__delete_all"
        ],
    );
    files(
        "allow_list: ['mcp__files__serch']",
        expect![
            "DIR/miner.md: allow_list: there is no tool of a configured MCP server `mcp__files__serch`; did you mean `mcp__files__search`?"
        ],
    );
    for lists in [
        "deny_list: [mcp__files__delete_all, 'mcp__files__*', 'mcp__*', 'mcp__*__delete_*']",
        "allow_list: ['mcp__files__s?arch']",
    ] {
        files(lists, expect!["ok"]);
    }
    // One of two may have it.
    check_with(
        &["docs", "files"],
        "deny_list: ['mcp__*__delete']",
        expect!["ok"],
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
