use expect_test::{Expect, expect};

use super::parse;
use crate::roles::{RoleName, RoleOrigin};

fn check(front_matter: &str, expected: Expect) {
    let text = format!("---\nname: x\n{front_matter}\n---\nDo it.\n");
    let read = parse(RoleName::parse("x").unwrap(), RoleOrigin::Embedded, &text);
    let shown = match read {
        Err(fault) => fault.to_string(),
        Ok(role) => {
            let list = |patterns: &[crate::roles::ToolPattern]| {
                let names: Vec<&str> = patterns
                    .iter()
                    .map(super::super::tool_policy::ToolPattern::as_str)
                    .collect();
                names.join(" ")
            };
            let allow = role.tools.allow.as_deref().map(list);
            format!(
                "{}{} | {} | -{} | {:?} {:?}",
                role.description,
                if role.read_only { " (reads)" } else { "" },
                allow.as_deref().unwrap_or("all"),
                list(&role.tools.deny),
                role.choice.model.as_deref().unwrap_or("inherited"),
                role.notes
            )
        }
    };
    expected.assert_eq(&shown);
}

#[test]
fn tools_become_those_that_mean_the_same() {
    check(
        "description: all of them",
        expect![[r#"all of them | all | - | "inherited" []"#]],
    );
    check(
        "description: reads\ntools: Read, Grep, Glob, LS",
        expect![[
            r#"reads (reads) | read_file list_dir grep_files find_files view_image shell_command exec_command write_stdin | - | "inherited" []"#
        ]],
    );
    check(
        "description: edits\ntools: [Edit, \"Write\"]",
        expect![[
            r#"edits | apply_patch read_file list_dir grep_files find_files view_image | - | "inherited" []"#
        ]],
    );
    check(
        "description: runs\ntools:\n  - Bash\n  - TodoWrite\n  - mcp__docs\n  - mcp__ore__dig",
        expect![[
            r#"runs | mcp__docs__* mcp__ore__dig shell_command exec_command write_stdin update_plan | - | "inherited" []"#
        ]],
    );
    check(
        "description: denies\ndisallowedTools: Write, Bash",
        expect![[
            r#"denies | all | -apply_patch shell_command exec_command write_stdin | "inherited" []"#
        ]],
    );
}

#[test]
fn what_cannot_be_given_is_left_out_and_told() {
    check(
        "description: web\ntools: WebFetch, WebSearch, FrobnicateEverything",
        expect![[
            r#"web |  | - | "inherited" ["WebFetch is not there", "WebSearch is not there", "FrobnicateEverything is not there"]"#
        ]],
    );
    check(
        "description: part\ntools: Read, Bash(git log:*, git diff:*), Edit\ncolor: red\nmodel: sonnet",
        expect![[
            r#"part | read_file list_dir grep_files find_files view_image apply_patch | - | "sonnet" ["Bash(…) is left out: a tool is allowed whole or not", "of no effect here: color"]"#
        ]],
    );
    check(
        "description: bold\npermissionMode: bypassPermissions\nmodel: inherit",
        expect![[
            r#"bold | all | - | "inherited" ["permissionMode bypassPermissions grants nothing here"]"#
        ]],
    );
    check(
        "description: plans\npermissionMode: plan",
        expect![[r#"plans (reads) | all | - | "inherited" []"#]],
    );
}

#[test]
fn what_looks_like_a_lock_and_is_none_refuses_the_file() {
    for (front_matter, expected) in [
        ("description: x\ntools:", "4:1: expected names of tools"),
        ("description: x\ntools: Raed", "did you mean `Read`"),
        (
            "description: x\ntools: shell_comand",
            "did you mean `shell_command`",
        ),
        (
            "description: x\ndisallowedTools: Bash(rm:*)",
            "a part of Bash",
        ),
        (
            "description: x\ntools: Read\ntools: Bash",
            "5:1: the key `tools` is given twice",
        ),
        ("tools: Read", "the key `description` is missing"),
    ] {
        let text = format!("---\nname: x\n{front_matter}\n---\nDo it.\n");
        let fault = parse(RoleName::parse("x").unwrap(), RoleOrigin::Embedded, &text).unwrap_err();
        assert!(fault.to_string().contains(expected), "{fault}");
    }
}

#[test]
fn a_description_need_not_be_valid_yaml() {
    check(
        "description: Use this when: <example>user: \"hi\"</example>\n  and: more\ntools: Bash",
        expect![[r#"Use this when: <example>user: "hi"</example>
and: more | shell_command exec_command write_stdin | - | "inherited" []"#]],
    );
}

/// A lock with a slip in its key would be none.
#[test]
fn a_misspelt_key_that_limits_refuses_the_file() {
    for (key, meant) in [
        ("disallowed_tools", "disallowedTools"),
        ("disallowedtools", "disallowedTools"),
        ("disalowedTools", "disallowedTools"),
        ("deny_list", "disallowedTools"),
        ("tool", "tools"),
        ("Tools", "tools"),
        ("allowed-tools", "tools"),
        ("allow_list", "tools"),
        ("permission_mode", "permissionMode"),
        ("mcp_servers", "mcpServers"),
    ] {
        let text = format!("---\nname: x\ndescription: d\n{key}: Bash\n---\nDo it.\n");
        let read = parse(RoleName::parse("x").unwrap(), RoleOrigin::Embedded, &text);
        let expected =
            format!("4:1: expected a key of Claude Code, found `{key}` (did you mean `{meant}`?)");
        assert_eq!(read.unwrap_err().to_string(), expected);
    }
    check(
        "description: others\ncolor: red\nhooks: x\nskills: y\nmemory: z\nmaxTurns: 3\nmodels: q\nisolation: w\nbackground: true\ninitialPrompt: hello",
        expect![[
            r#"others | all | - | "inherited" ["of no effect here: background, color, hooks, initialPrompt, isolation, maxTurns, memory, models, skills"]"#
        ]],
    );
    for line in [
        "disallowedTools : Bash",
        "\"disallowedTools\": Bash",
        "disallowedTools:Bash",
    ] {
        check(
            &format!("description: d\n{line}"),
            expect![[r#"d | all | -shell_command exec_command write_stdin | "inherited" []"#]],
        );
    }
}
