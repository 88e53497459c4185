//! Files made to hurt, and files hurt by accident.

use std::fmt::Write;

use expect_test::expect;
use proptest::prelude::*;

use super::{check, read, with};
use crate::roles::AgentRole;
use crate::roles::error::RoleProblem;

#[test]
fn bombs_are_refused_before_they_grow() {
    let mut bomb = String::from("description: d\noutput_schema:\n  a: &a [x, x, x, x, x, x]\n");
    for (name, last) in ["b", "c", "d", "e", "f", "g", "h"]
        .iter()
        .zip(["a", "b", "c", "d", "e", "f", "g"])
    {
        let references = vec![format!("*{last}"); 9].join(", ");
        writeln!(bomb, "  {name}: &{name} [{references}]").unwrap();
    }
    check(
        with(&bomb),
        expect!["4:9: anchors and aliases are not accepted in a front matter"],
    );
    check(
        with("description: &d d\nmodel: *d"),
        expect!["2:17: anchors and aliases are not accepted in a front matter"],
    );
    check(
        with("description: d\n<<: { read_only: false }"),
        expect!["3:1: merge keys are not accepted in a front matter"],
    );
    check(
        with("description: d\nread_only: !secret true"),
        expect!["3:20: tags are not accepted in a front matter"],
    );
    check(
        with("%YAML 1.1\ndescription: d"),
        expect!["3:1: not readable as YAML: did not find expected <document start>"],
    );
}

/// The parser is done at the mark, and takes no offence at what follows it.
#[test]
fn the_yaml_ends_with_the_front_matter() {
    check(
        with("description: d\n...\n[ read_only: true"),
        expect!["3:1: further documents are not accepted in a front matter"],
    );
    check(
        with("description: d\n--- [\nread_only: true"),
        expect!["3:1: further documents are not accepted in a front matter"],
    );
    check(
        with("description: d\r...\r[\nread_only: true"),
        expect!["2:1: carriage returns inside a line are not accepted in a front matter"],
    );
    check(
        with("description: d ...\nmodel: ...m\nread_only: true"),
        expect![[r#"
        d ...
          model: ...m
          sandbox: ReadOnly
          prompt: "Do it."
    "#]],
    );
}

#[test]
fn nesting_and_size_are_bounded() {
    let deep = |open: &str| {
        with(&format!(
            "description: d\noutput_schema: {}",
            open.repeat(60_000)
        ))
    };
    check(
        deep("["),
        expect!["3:48: not readable as YAML: recursion limit exceeded"],
    );
    check(
        deep("{a: "),
        expect![
            "3:140: the front matter is too large or too deeply nested; keep a long schema in a file"
        ],
    );
    check(
        deep("!x "),
        expect!["3:18: tags are not accepted in a front matter"],
    );
    let mut block = String::from("description: d\noutput_schema:\n");
    for depth in 1..400 {
        writeln!(block, "{}a:", " ".repeat(depth)).unwrap();
    }
    check(
        with(&block),
        expect![
            "35:33: the front matter is too large or too deeply nested; keep a long schema in a file"
        ],
    );
    let many = |entry: &str, count: usize| {
        with(&format!(
            "description: d\ndeny_list: [{}]",
            vec![entry; count].join(",")
        ))
    };
    check(
        many("a", 257),
        expect!["3:525: the list has more than 256 entries; use patterns or split the role"],
    );
    check(
        many("a", 20_000),
        expect![
            "3:20003: the front matter is too large or too deeply nested; keep a long schema in a file"
        ],
    );
    let keys: Vec<String> = (0..20_000).map(|n| format!("k{n}: 1\n")).collect();
    check(
        with(&keys.concat()),
        expect![
            "2:1: unknown key `k0`; expected one of description, model, reasoning_effort, read_only, allow_list, deny_list, agent_names, approvals, messages, output_schema, mcp_servers, backend"
        ],
    );
}

#[test]
fn tabs_and_control_characters_are_refused() {
    check(
        with("description: d\n\tread_only: true"),
        expect!["2:14: not readable as YAML: while scanning a plain scalar, found a tab"],
    );
    check(
        with("description: d\noutput_schema:\n\ttype: object"),
        expect![
            "4:2: not readable as YAML: tabs disallowed within this context (block indentation)"
        ],
    );
    check(
        with("description: d\nread_only: true\0"),
        expect![[r#"3:16: not readable as YAML: unexpected character: `\u{0}'"#]],
    );
    check(
        with("description: d\u{7}"),
        expect![[r#"2:14: not readable as YAML: unexpected character: `\u{7}'"#]],
    );
}

const LOCK: &str = "read_only: true\nallow_list: [read_file]";

fn is_locked(role: &AgentRole) -> bool {
    role.read_only && !role.tools.allows("shell_command") && !role.tools.allows("spawn_agent")
}

/// Every slip of one character, but for `#`, which asks for its line to be ignored.
#[test]
fn no_single_slip_opens_a_locked_role() {
    let text = with(&format!("description: Locked\n{LOCK}\napprovals: never"));
    assert!(is_locked(&read(&text).unwrap()));
    let letters: Vec<char> = text.chars().collect();
    let other = "\n\r\t :-_?!&*|>'\"[]{},.~%@`a0\0\u{85}\u{2028}\u{feff}";
    let slips = other.chars().map(Some).chain([None]);
    for slip in slips {
        for at in 0..=letters.len() {
            // Each is put in before a letter, or in its place.
            for skip in [0, 1] {
                let (before, after) = letters.split_at(at);
                let after = after.iter().skip(skip);
                let file: String = before.iter().chain(slip.as_ref()).chain(after).collect();
                let opened = read(&file).is_ok_and(|role| !is_locked(&role));
                assert!(!opened, "{file:?}");
            }
        }
    }
}

/// Pieces of YAML, so that many of the random files are nearly right.
fn soup() -> impl Strategy<Value = String> {
    const WORDS: &[&str] = &[
        "read_only",
        "allow_list",
        "deny_list",
        "model",
        "budget",
        "description",
        "agent_names",
        ": ",
        ":",
        "\n",
        "\n  ",
        "\n- ",
        " ",
        "\t",
        "true",
        "false",
        "~",
        "null",
        "[",
        "]",
        "{",
        "}",
        ", ",
        "\"",
        "'",
        "|\n",
        ">-\n",
        "? ",
        "&a ",
        "*a",
        "<<: ",
        "!!null ",
        "!x ",
        "...",
        "# ",
        "*",
        "x",
        "0",
        "\r",
        "\u{feff}",
        "%YAML 1.2\n",
    ];
    prop::collection::vec(prop::sample::select(WORDS), 0..24).prop_map(|words| words.concat())
}

/// A fence ends the front matter, and a lock in the prompt is text.
fn has_fence(text: &str) -> bool {
    text.lines().any(|line| line.trim_end() == "---")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn any_bytes_are_answered(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let begins = bytes.starts_with(b"---") || bytes.starts_with(b"\xef\xbb\xbf---");
        let refused = read(&bytes).is_err();
        prop_assert!(refused || begins);
    }

    #[test]
    fn any_front_matter_and_body_are_answered(front in "\\PC{0,80}", body in any::<String>()) {
        // Text without a description is never a role.
        let answer = read(format!("---\n{front}\n---\n{body}"));
        prop_assert!(answer.is_err() || front.contains("description"));
    }

    #[test]
    fn nothing_around_a_lock_opens_it(before in soup(), after in soup()) {
        prop_assume!(!has_fence(&before) && !has_fence(&after));
        let text = with(&format!("description: d\n{before}\n{LOCK}\n{after}"));
        if let Ok(role) = read(&text) {
            prop_assert!(is_locked(&role), "{text:?}");
        }
    }

    #[test]
    fn a_fault_lies_in_the_file(before in soup()) {
        let text = with(&format!("description: d\n{before}"));
        if let Err(fault) = read(&text) {
            let lines = text.split(['\n', '\r']).count() as u64;
            prop_assert!((1..=lines).contains(&fault.line) && fault.column >= 1, "{fault} in {text:?}");
            prop_assert!(!matches!(fault.problem, RoleProblem::NotText));
        }
    }
}
