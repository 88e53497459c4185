use std::fmt::Write;

use expect_test::{Expect, expect};

use super::parse;
use crate::roles::error::{RoleFault, SchemaProblem};
use crate::roles::{AgentRole, RoleName, RoleOrigin};

mod hostile;

/// Reads a role whose directory holds the schema `good.json`.
pub(super) fn read(text: impl AsRef<[u8]>) -> Result<AgentRole, RoleFault> {
    let name = RoleName::parse("example").unwrap();
    parse(
        name,
        RoleOrigin::Embedded,
        text.as_ref(),
        &mut |path| match path {
            "good.json" => Ok(br#"{"type": "object"}"#.to_vec()),
            "list.json" => Ok(b"[]".to_vec()),
            "odd.json" => Ok(br#"{"items": {"minimum": "secret"}}"#.to_vec()),
            "bad.json" => Ok(b"{\n  secret\n}".to_vec()),
            _ => Err(SchemaProblem::Outside),
        },
    )
}

/// A role file with this front matter and a prompt.
fn with(front_matter: &str) -> String {
    format!("---\n{front_matter}\n---\nDo it.\n")
}

/// What a role says, without what it leaves open.
fn shown(role: &AgentRole) -> String {
    let mut text = format!("{}\n", role.description);
    let mut line = |key: &str, value: String| writeln!(text, "  {key}: {value}").unwrap();
    if let Some(model) = &role.choice.model {
        line("model", model.clone());
    }
    if let Some(effort) = role.choice.reasoning_effort {
        line("effort", effort.as_str().to_owned());
    }
    if let Some(sandbox) = role.sandbox() {
        line("sandbox", format!("{:?}", sandbox.mode()));
    }
    if let Some(allow) = &role.tools.allow {
        line("allow", serde_json::to_string(allow).unwrap());
    }
    if !role.tools.deny.is_empty() {
        line("deny", serde_json::to_string(&role.tools.deny).unwrap());
    }
    if let Some(approvals) = role.approvals {
        line("approvals", format!("{approvals:?}"));
    }
    if let Some(schema) = &role.output_schema {
        line("schema", schema.to_string());
    }
    if let Some(servers) = &role.mcp_servers {
        line("servers", format!("{servers:?}"));
    }
    line("prompt", format!("{:?}", role.prompt));
    for persona in &role.personas {
        let own = format!(
            "{:?} {:?} {:?}",
            persona.description, persona.choice.model, persona.prompt
        );
        line(persona.name.as_str(), own);
    }
    text
}

fn check(text: impl AsRef<[u8]>, expected: Expect) {
    match read(text) {
        Ok(role) => expected.assert_eq(&shown(&role)),
        Err(fault) => expected.assert_eq(&fault.to_string()),
    }
}

#[test]
fn a_description_and_a_prompt_are_enough() {
    check(
        "---\ndescription: Does it.\n---\n\nDo it.\n\nThen stop.\n",
        expect![[r#"
            Does it.
              prompt: "Do it.\n\nThen stop."
        "#]],
    );
}

#[test]
fn everything_that_a_role_can_say() {
    check(
        r#"---
description: Reads papers.
model: deep-1
reasoning_effort: xhigh
read_only: true
allow_list:
  - read_file
  - "mcp__papers__*"
deny_list: [spawn_agent, 'subagent_*']
agent_names:
  - name: Brief
    description: in short
    model: quick-1
    reasoning_effort: low
  - name: long-form
approvals: route
output_schema: { type: object, properties: { answer: { type: string } } }
mcp_servers: [papers]
---
Read the paper.

<!-- agent_name: brief -->
Read the abstract.

<!--agent_name:LONG_FORM-->
Read it twice.
<!-- agent_names are listed above -->
"#,
        expect![[r#"
            Reads papers.
              model: deep-1
              effort: xhigh
              sandbox: ReadOnly
              allow: ["read_file","mcp__papers__*"]
              deny: ["spawn_agent","subagent_*"]
              approvals: Route
              schema: {"type":"object","properties":{"answer":{"type":"string"}}}
              servers: ["papers"]
              prompt: "Read the paper."
              brief: Some("in short") Some("quick-1") "Read the abstract."
              long-form: None None "Read it twice.\n<!-- agent_names are listed above -->"
        "#]],
    );
}

#[test]
fn what_is_left_open_stays_open_and_an_empty_list_is_a_list() {
    check(
        with("description: d\nread_only: false"),
        expect![[r#"
        d
          prompt: "Do it."
    "#]],
    );
    check(
        with("description: d\nallow_list: []\ndeny_list: []"),
        expect![[r#"
            d
              allow: []
              prompt: "Do it."
        "#]],
    );
    check(
        with("description: d\nmcp_servers: []\nagent_names: []"),
        expect![[r#"
            d
              servers: []
              prompt: "Do it."
        "#]],
    );
}

#[test]
fn other_line_ends_and_a_byte_order_mark_are_read() {
    check(
        "\u{feff}---\r\ndescription: d\r\nread_only: true\r\n---\r\nDo it.\r\n",
        expect![[r#"
            d
              sandbox: ReadOnly
              prompt: "Do it."
        "#]],
    );
    check(
        "---  \ndescription: d\n--- \nDo it.",
        expect![[r#"
        d
          prompt: "Do it."
    "#]],
    );
}

#[test]
fn a_file_without_its_parts_is_refused() {
    check(
        "",
        expect!["1:1: expected `---` as the first line, then YAML, then `---` and the prompt"],
    );
    check(
        "Do it.",
        expect!["1:1: expected `---` as the first line, then YAML, then `---` and the prompt"],
    );
    check(
        "\n---\ndescription: d\n---\nDo it.",
        expect!["1:1: expected `---` as the first line, then YAML, then `---` and the prompt"],
    );
    check(
        "---\ndescription: d\nDo it.",
        expect!["1:1: the front matter has no end; expected a line `---` before the prompt"],
    );
    check(
        "---\ndescription: d\n--- \n \n",
        expect!["4:1: expected a prompt after the front matter"],
    );
    check(
        "---\n---\nDo it.",
        expect!["2:1: expected keys with values"],
    );
    check(
        b"---\ndescription: d\n---\nDo \xff it.",
        expect!["4:4: the file is not UTF-8 text"],
    );
    check(b"\xff", expect!["1:1: the file is not UTF-8 text"]);
}

#[test]
fn unknown_keys_are_refused_by_name() {
    check(
        with("description: d\nread-only: true"),
        expect!["3:1: unknown key `read-only` (did you mean `read_only`?)"],
    );
    check(
        with("description: d\nallowlist: [read_file]"),
        expect!["3:1: unknown key `allowlist` (did you mean `allow_list`?)"],
    );
    check(
        with("description: d\ncolour: red"),
        expect![
            "3:1: unknown key `colour`; expected one of description, model, reasoning_effort, read_only, allow_list, deny_list, agent_names, approvals, messages, output_schema, mcp_servers, backend"
        ],
    );
    check(
        with("description: d\n\"\\e[2J\": red"),
        expect![
            "3:1: unknown key `�[2J`; expected one of description, model, reasoning_effort, read_only, allow_list, deny_list, agent_names, approvals, messages, output_schema, mcp_servers, backend"
        ],
    );
    check(
        with("description: d\nagent_names: [{ name: a, modle: m }]"),
        expect!["3:26: unknown key `modle` (did you mean `model`?)"],
    );
}

/// Whoever wrote one relied on a limit or a place that no child would have had.
#[test]
fn isolation_and_budget_are_unknown_keys_until_they_are_built() {
    for key in ["isolation: worktree", "budget: { tokens: 1000 }"] {
        let fault = read(with(&format!("description: d\n{key}"))).expect_err(key);
        let name = key.split(':').next().unwrap();
        let text = fault.to_string();
        assert!(
            text.starts_with(&format!("3:1: unknown key `{name}`;")),
            "{text}"
        );
    }
}

#[test]
fn a_key_has_one_value_of_its_kind() {
    check(
        with("description: ' '"),
        expect!["2:14: expected text that is not empty"],
    );
    check(with("description: [d]"), expect!["2:14: expected text"]);
    check(
        with("read_only: true"),
        expect!["2:1: the key `description` is missing"],
    );
    check(
        with("description: d\nread_only: yes"),
        expect!["3:12: expected `true` or `false`"],
    );
    check(
        with("description: d\nread_only: TRUE"),
        expect![[r#"
        d
          sandbox: ReadOnly
          prompt: "Do it."
    "#]],
    );
    check(
        with("description: d\nread_only: 1"),
        expect!["3:12: expected `true` or `false`"],
    );
    check(
        with("description: d\nread_only: true\nread_only: false"),
        expect!["4:1: the key `read_only` is given twice; keep one"],
    );
    check(
        with("description: d\nmodel: ''"),
        expect!["3:8: expected text that is not empty"],
    );
    check(
        with("description: d\nreasoning_effort: hihg"),
        expect!["3:19: `hihg` is none of the values that this key has (did you mean `high`?)"],
    );
    check(
        with("description: d\napprovals: ask"),
        expect![
            "3:12: `ask` is none of the values that this key has; expected one of never, route, parent"
        ],
    );
    check(
        with("description: d\nallow_list: read_file"),
        expect!["3:13: expected a list"],
    );
    check(
        with("description: d\ndeny_list: [spawn agent]"),
        expect![[
            r#"3:13: expected the name of a tool, in which `*` and `?` may stand for other characters, found "spawn agent""#
        ]],
    );
    check(
        with("description: d\nmcp_servers: ['']"),
        expect!["3:15: expected text that is not empty"],
    );
}

/// Read as absent, each of these would open a role that its author meant to lock.
#[test]
fn a_key_without_a_value_is_refused() {
    for key in [
        "read_only",
        "allow_list",
        "deny_list",
        "mcp_servers",
        "backend",
        "approvals",
        "model",
        "reasoning_effort",
        "output_schema",
        "agent_names",
    ] {
        for nothing in ["", " ~", " null", " !!null ''", " # true"] {
            let text = with(&format!("description: d\n{key}:{nothing}"));
            let fault = read(&text).expect_err(&text);
            assert_eq!(fault.line, 3, "{text}");
        }
    }
    check(
        with("description: d\ndeny_list:"),
        expect!["3:10: expected a value"],
    );
    check(
        with("description: d\ndeny_list: [spawn_agent, ~]"),
        expect!["3:26: expected a value"],
    );
}

#[test]
fn schemas_are_objects_or_files_that_hold_one() {
    check(
        with("description: d\noutput_schema: good.json"),
        expect![[r#"
            d
              schema: {"type":"object"}
              prompt: "Do it."
        "#]],
    );
    check(
        with("description: d\noutput_schema: list.json"),
        expect![[r#"3:16: the schema "list.json": expected a JSON object"#]],
    );
    check(
        with("description: d\noutput_schema: bad.json"),
        expect![[r#"3:16: the schema "bad.json": not JSON at 2:3"#]],
    );
    check(
        with("description: d\noutput_schema: ../secret.json"),
        expect![[
            r#"3:16: the schema "../secret.json": expected a path below the directory of the role"#
        ]],
    );
    check(
        with("description: d\noutput_schema: true"),
        expect![
            "3:16: expected a JSON Schema (keys with values), or the path of a file that holds one"
        ],
    );
    check(
        with("description: d\noutput_schema: [a]"),
        expect![
            "3:16: expected a JSON Schema (keys with values), or the path of a file that holds one"
        ],
    );
}

#[test]
fn schemas_that_no_answer_could_be_checked_by_are_refused() {
    check(
        with("description: d\noutput_schema: { properties: { a: { nullable: true } } }"),
        expect![[
            r#"3:16: output_schema: at /properties/a: the keyword "nullable" is not supported; leave it out or say it otherwise"#
        ]],
    );
    check(
        with("description: d\noutput_schema: odd.json"),
        expect![[r#"3:16: the schema "odd.json": at /items: `minimum` must be a number"#]],
    );
}

#[test]
fn personas_and_blocks_match_both_ways() {
    let file = |names: &str, body: &str| {
        format!("---\ndescription: d\nagent_names: [{names}]\n---\nDo it.\n{body}")
    };
    check(
        file("name: a", ""),
        expect![
            "3:21: the persona a has no block; expected a line `<!-- agent_name: a -->` and a prompt"
        ],
    );
    check(
        file("", "<!-- agent_name: a -->\nA."),
        expect!["6:1: the block of a belongs to no persona; expected `- name: a` in `agent_names`"],
    );
    check(
        file("name: a", "<!-- agent_name: a -->\n \n"),
        expect!["6:1: the block of a is empty; expected a prompt"],
    );
    check(
        file(
            "name: a",
            "<!-- agent_name: a -->\nA.\n<!-- agent_name: A -->\nB.",
        ),
        expect!["8:1: the persona a has two blocks; keep one"],
    );
    check(
        file("{name: a-b}, {name: A_B}", "<!-- agent_name: a_b -->\nA."),
        expect!["3:35: the persona a_b is declared twice; keep one"],
    );
    check(
        file("name: a b", ""),
        expect![[r#"3:21: "a b" is not a name; expected 1 to 64 letters, digits, `-` or `_`"#]],
    );
    check(
        file("name: a", "<!-- agent_name a -->\nA."),
        expect!["6:1: expected `<!-- agent_name: NAME -->`"],
    );
    check(
        file("name: a", "<!-- agent_name: a\nA."),
        expect!["6:1: expected `<!-- agent_name: NAME -->`"],
    );
    check(
        file("name: a", "<!-- agent_name: a b -->\nA."),
        expect![[r#"6:1: "a b" is not a name; expected 1 to 64 letters, digits, `-` or `_`"#]],
    );
    // As text, it would put the persona's words into everybody's prompt.
    check(
        file("", "  <!-- agent_name: a -->\nA."),
        expect!["6:1: expected `<!-- agent_name: NAME -->`"],
    );
    check(
        file("", "<!-- Agent_Name: a -->\nA."),
        expect!["6:1: expected `<!-- agent_name: NAME -->`"],
    );
}
