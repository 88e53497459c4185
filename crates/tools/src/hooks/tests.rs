use expect_test::{Expect, expect, expect_file};

use super::settings::matches;
use super::*;

#[test]
fn matchers() {
    for (pattern, name, fits) in [
        ("shell_command", "shell_command", true),
        ("shell", "shell_command", false),
        ("*", "", true),
        ("*_command", "shell_command", true),
        ("mcp__*__read*", "mcp__files__read_text", true),
        ("mcp__*__read*", "mcp__files__write", false),
        ("?hell*", "shell_command", true),
        ("a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false),
        ("", "x", false),
    ] {
        assert_eq!(matches(pattern, name), fits, "{pattern} {name}");
    }
}

#[track_caller]
fn check(section: &str, expected: Expect) {
    let shown = match toml::from_str::<HookSettings>(section) {
        Ok(settings) => format!("{:?}", settings.before_tool),
        Err(error) => error.message().to_owned(),
    };
    expected.assert_eq(&shown);
}

#[test]
fn the_section_says_what_is_wrong_with_it() {
    check(
        "[[before_tool]]\ncommand = 'true'",
        expect![[
            r#"[Hook { command: Shell("true"), matcher: None, timeout_sec: 60.0, on_failure: Allow }]"#
        ]],
    );
    check(
        "[[before_tool]]\ncommand = ['./check', '--fast']\nmatcher = 'shell_*'\ntimeout_sec = 2\non_failure = 'refuse'",
        expect![[
            r#"[Hook { command: Argv(["./check", "--fast"]), matcher: Some("shell_*"), timeout_sec: 2.0, on_failure: Refuse }]"#
        ]],
    );
    check(
        "[[before_tool]]\ncommand = 1",
        expect!["expected a text for the shell, or a list: a program and its arguments"],
    );
    check(
        "[[before_tool]]\ncommand = 'x'\ntimeout_sec = 0",
        expect!["timeout_sec must be above 0 and at most 600"],
    );
    check(
        "[[before_tool]]\ncommand = 'x'\non_failure = 'ask'",
        expect!["unknown variant `ask`, expected `allow` or `refuse`"],
    );
}

/// Whoever writes hooks can check against it.
#[test]
fn the_generated_schema_of_what_hooks_are_told_is_checked_in() {
    let schema = schemars::schema_for!(HookInput<'_>);
    let text = serde_json::to_string_pretty(&schema).unwrap() + "\n";
    expect_file!["../../schema/hook_input.schema.json"].assert_eq(&text);
}
