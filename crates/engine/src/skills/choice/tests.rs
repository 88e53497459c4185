use std::path::PathBuf;

use expect_test::{Expect, expect};
use troupe_protocol::event::SkillScope;

use super::*;

fn skill(name: &str) -> Skill {
    Skill {
        name: name.to_owned(),
        description: "d".to_owned(),
        short_description: None,
        path: PathBuf::from(format!("/s/{name}/SKILL.md")),
        scope: SkillScope::Repo,
    }
}

fn check(text: &str, expected: Expect) {
    let names = ["ship", "ship-it", "v1.2", "größe", "PATH"];
    let catalogue = SkillCatalogue {
        skills: names.map(skill).into(),
        ..SkillCatalogue::default()
    };
    let found = mentioned(text, &catalogue);
    let names: Vec<&str> = found.iter().map(|skill| skill.name.as_str()).collect();
    expected.assert_eq(&names.join(" "));
}

#[test]
fn a_name_after_a_sign_chooses_its_skill_once() {
    check("$ship", expect!["ship"]);
    check(
        "please ($ship-it), then $ship. And $ship again",
        expect!["ship-it ship"],
    );
    check("$ship: now", expect!["ship"]);
    check("$v1.2.", expect!["v1.2"]);
    check("$größe", expect!["größe"]);
    check("[$ship](x) and `$PATH`", expect!["ship PATH"]);
}

#[test]
fn what_is_no_name_is_text() {
    check("ship costs 5$ or $5", expect![""]);
    check("$shipping $Ship $ ship $", expect![""]);
    check("US$ship $$ship \\$ship _$ship", expect![""]);
    check(&"$-".repeat(10_000), expect![""]);
    check(&format!("${}", ".".repeat(100_000)), expect![""]);
}

#[test]
fn a_body_that_is_too_long_is_cut_and_says_so() {
    let (text, truncated) = render(&skill("ship"), "Do it.");
    assert!(!truncated);
    expect![[r#"
        <skill>
        <name>ship</name>
        <path>/s/ship/SKILL.md</path>
        Do it.
        </skill>"#]]
    .assert_eq(&text);
    let (text, truncated) = render(&skill("ship"), &"ä".repeat(10_000));
    assert!(truncated);
    assert!(text.len() <= SKILL_TEXT_BYTES_MAX, "{}", text.len());
    let end = &text[text.find("\n[…").unwrap()..];
    expect![[r#"

        [… cut: the file goes on, read it from here; the whole has 20000 bytes]
        </skill>"#]]
    .assert_eq(end);
}
