//! The MCP servers that a project lists in `.mcp.json`.

use expect_test::{Expect, expect};

use crate::home::Home;

const TRUSTED: &str = "[projects.\"PROJECT\"]\ntrust_level = \"trusted\"\n";

const SERVERS: &str = r#"{
  "mcpServers": {
    "ore": { "command": "sh", "args": ["${SCRIPT}"], "env": { "LEVEL": "${LEVEL:-low}" } },
    "docs": { "type": "http", "url": "https://x/mcp", "headers": { "X-Key": "k" } }
  }
}"#;

fn check(home: &Home, expected: Expect) {
    expected.assert_eq(&home.settings());
}

#[test]
fn servers_of_a_trusted_project_count_as_its_settings() {
    check(
        &Home::new().user(TRUSTED).file("project/.mcp.json", SERVERS),
        expect![[r#"
            mcp_servers.docs.http_headers.X-Key = "k"  # project, HOME/project/.mcp.json:4
            mcp_servers.docs.url = "https://x/mcp"  # project, HOME/project/.mcp.json:4
            mcp_servers.ore.args = ["ore.sh"]  # project, HOME/project/.mcp.json:3
            mcp_servers.ore.command = "sh"  # project, HOME/project/.mcp.json:3
            mcp_servers.ore.env.LEVEL = "low"  # project, HOME/project/.mcp.json:3
            model = "built-in"  # default, built-in default
            projects."HOME/project".trust_level = "trusted"  # user, HOME/config.toml:2
            retries = 4  # default, built-in default
        "#]],
    );
}

#[test]
fn those_of_another_project_are_not_read() {
    check(
        &Home::new().file("project/.mcp.json", "no JSON"),
        expect![[r#"
            model = "built-in"  # default, built-in default
            retries = 4  # default, built-in default
            HOME/project/.mcp.json is not read, because you do not trust the project; read it, and if you agree, run `troupe trust HOME/project`
        "#]],
    );
}

#[test]
fn a_server_of_the_user_is_the_users() {
    let user = format!("{TRUSTED}[mcp_servers.ore]\nurl = 'https://mine/mcp'\n");
    check(
        &Home::new().user(&user).file("project/.mcp.json", SERVERS),
        expect![[r#"
            mcp_servers.docs.http_headers.X-Key = "k"  # project, HOME/project/.mcp.json:4
            mcp_servers.docs.url = "https://x/mcp"  # project, HOME/project/.mcp.json:4
            mcp_servers.ore.url = "https://mine/mcp"  # user, HOME/config.toml:4
            model = "built-in"  # default, built-in default
            projects."HOME/project".trust_level = "trusted"  # user, HOME/config.toml:2
            retries = 4  # default, built-in default
        "#]],
    );
}

#[test]
fn what_does_not_count_is_told() {
    let file = r#"{"mcpServers": {
        "old": {"type": "sse", "url": "https://x/sse"},
        "lost": {"command": "${NOWHERE}"},
        "odd": {"command": "sh", "autoApprove": ["dig"]}
    }}"#;
    check(
        &Home::new().user(TRUSTED).file("project/.mcp.json", file),
        expect![[r#"
            mcp_servers.odd.command = "sh"  # project, HOME/project/.mcp.json:4
            model = "built-in"  # default, built-in default
            projects."HOME/project".trust_level = "trusted"  # user, HOME/config.toml:2
            retries = 4  # default, built-in default
            HOME/project/.mcp.json: the server lost is left out: the variable NOWHERE is not set; set it, or write ${NOWHERE:-default}
            HOME/project/.mcp.json: the key autoApprove of the server odd is not known here
            HOME/project/.mcp.json: the server old is left out: its type is "sse"; servers over stdio and http can be used
        "#]],
    );
}

#[test]
fn a_file_that_is_broken_is_named_with_its_line() {
    check(
        &Home::new()
            .user(TRUSTED)
            .file("project/.mcp.json", "{\n  nothing\n}"),
        expect![[r#"
            model = "built-in"  # default, built-in default
            projects."HOME/project".trust_level = "trusted"  # user, HOME/config.toml:2
            retries = 4  # default, built-in default
            none of its servers is used until this is mended: HOME/project/.mcp.json:2:3: it does not list MCP servers: key must be a string at line 2 column 3
              |
            2 |   nothing
              |   ^
        "#]],
    );
}
