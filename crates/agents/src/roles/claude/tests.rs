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
        (
            "description: x\ndisallowed_tools: Bash",
            "4:1: unknown key `disallowed_tools` (did you mean `disallowedTools`?)",
        ),
        (
            "description: x\ndisallowedtools: Bash",
            "did you mean `disallowedTools`",
        ),
        ("description: x\ntool: Read", "did you mean `tools`"),
        (
            "description: x\npermision-mode: plan",
            "did you mean `permissionMode`",
        ),
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
