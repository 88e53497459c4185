use std::path::PathBuf;

use expect_test::{Expect, expect};
use troupe_protocol::event::{SkillError, SkillScope};

use super::*;

fn skill(name: &str, description: &str) -> Skill {
    Skill {
        name: name.to_owned(),
        description: description.to_owned(),
        short_description: None,
        path: PathBuf::from(format!("/{name}")),
        scope: SkillScope::Repo,
    }
}

/// Shows the entries and the warning for a budget.
fn check(chars_max: usize, expected: Expect) {
    let skills = [
        skill("a", "short"),
        skill("b", "a description of forty characters, or so"),
        skill("c", "another description of about as many as that"),
    ];
    let fitted = FittedSkills::of(&skills, chars_max);
    let entries = fitted.entries();
    assert!(entries.chars().count() <= chars_max, "{entries}");
    let warning = fitted.warning().unwrap_or_default();
    expected.assert_eq(&format!("{entries}{warning}"));
}

#[test]
fn descriptions_are_cut_before_a_skill_is_left_out() {
    check(
        1_000,
        expect![[r#"
        - a: short (file: /a)
        - b: a description of forty characters, or so (file: /b)
        - c: another description of about as many as that (file: /c)
    "#]],
    );
    check(
        100,
        expect![[r#"
        - a: short (file: /a)
        - b: a description of fort… (file: /b)
        - c: another description o… (file: /c)
        the descriptions of 2 skills are cut to 22 characters for the model: there is no room for more"#]],
    );
    check(
        70,
        expect![[r#"
        - a: short (file: /a)
        - b: a desc… (file: /b)
        - c: anothe… (file: /c)
        the descriptions of 2 skills are cut to 7 characters for the model: there is no room for more"#]],
    );
    check(
        45,
        expect![[r#"
        - a: short (file: /a)
        - b: a des… (file: /b)
        1 of 3 skills, from c on, are not told to the model: there is no room for more; `$name` still works"#]],
    );
    check(
        3,
        expect![
            "3 of 3 skills, from a on, are not told to the model: there is no room for more; `$name` still works"
        ],
    );
}

#[test]
fn the_list_is_told_once_and_again_when_it_changes() {
    let mut catalogue = SkillCatalogue {
        skills: vec![skill("a", "short")],
        ..SkillCatalogue::default()
    };
    let first = listing(&catalogue, None, None).text.unwrap();
    assert!(is_listing(&first));
    assert_eq!(
        listing(&catalogue, None, Some(&first)),
        SkillListing::default()
    );
    catalogue.skills.push(skill("b", "new"));
    let second = listing(&catalogue, None, Some(&first)).text.unwrap();
    assert!(second.contains("\n- b: new (file: /b)\n"), "{second}");
    let none = SkillCatalogue::default();
    let gone = listing(&none, None, Some(&second)).text.unwrap();
    assert!(is_listing(&gone));
    assert_eq!(listing(&none, None, Some(&gone)).text, None);
    assert_eq!(listing(&none, None, None).text, None);
}

#[test]
fn the_window_decides_how_much_is_told() {
    assert_eq!(budget_chars(None), 8_000);
    assert_eq!(budget_chars(Some(100_000)), 8_000);
    assert_eq!(budget_chars(Some(400_000)), 32_000);
    assert_eq!(budget_chars(Some(u64::MAX)), 40_000);
}

#[test]
fn of_many_broken_skills_the_first_are_told() {
    let error = |n: usize| SkillError {
        path: PathBuf::from(format!("/{n}/SKILL.md")),
        message: "is not UTF-8".to_owned(),
    };
    let catalogue = SkillCatalogue {
        errors: (0..9).map(error).collect(),
        ..SkillCatalogue::default()
    };
    let warnings = listing(&catalogue, None, None).warnings;
    assert_eq!(warnings.len(), 4);
    expect!["/3/SKILL.md is not UTF-8 (and 5 more problems; list_skills tells them)"]
        .assert_eq(&warnings[3]);
}
