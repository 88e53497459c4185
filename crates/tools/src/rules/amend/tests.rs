use std::os::unix::fs::{MetadataExt, symlink};

use expect_test::expect;
use tempfile::TempDir;

use super::super::RuleDecision;
use super::*;

fn rule(words: &str, decision: RuleDecision) -> CommandRule {
    CommandRule {
        matter: RuleMatter::Command(words.split(' ').map(str::to_owned).collect()),
        decision,
        sandbox: SandboxUse::On,
        reason: None,
    }
}

#[test]
fn a_new_file_is_private() {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("home/rules.toml");
    let pushing = CommandRule {
        reason: Some("others \"see\" it".to_owned()),
        ..rule("git push", RuleDecision::Ask)
    };
    let outside = CommandRule {
        sandbox: SandboxUse::Off,
        ..rule("deploy", RuleDecision::Allow)
    };
    append(&file, &[pushing, outside.clone()]).unwrap();
    assert_eq!(append(&file, &[outside]).unwrap(), 0, "it is there");
    expect![[r#"
        [[rule]]
        prefix = ["git", "push"]
        decision = "ask"
        reason = 'others "see" it'

        [[rule]]
        prefix = ["deploy"]
        decision = "allow"
        sandbox = "off"
    "#]]
    .assert_eq(&std::fs::read_to_string(&file).unwrap());
    assert_eq!(file.metadata().unwrap().mode() & 0o777, 0o600);
    assert_eq!(
        file.parent().unwrap().metadata().unwrap().mode() & 0o777,
        0o700
    );
    let names = file.parent().unwrap().read_dir().unwrap();
    assert_eq!(names.count(), 1, "nothing is left beside the file");
}

#[test]
fn comments_and_order_are_kept() {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("rules.toml");
    let text = "# top\n\n# about pushing\n[[rule]]\nprefix = [\"git\", \"push\"] # both\ndecision = \"ask\"\n\n# second\n[[rule]]\nprefix = ['make', 'x']\ndecision = 'forbid'\n";
    std::fs::write(&file, text).unwrap();
    append(&file, &[rule("touch made", RuleDecision::Allow)]).unwrap();
    assert_eq!(
        remove(&file, &RuleChoice::Index(1)).unwrap(),
        rule("make x", RuleDecision::Forbid)
    );
    expect![[r##"
        # top

        # about pushing
        [[rule]]
        prefix = ["git", "push"] # both
        decision = "ask"

        [[rule]]
        prefix = ["touch", "made"]
        decision = "allow"
    "##]]
    .assert_eq(&std::fs::read_to_string(&file).unwrap());
}

#[test]
fn what_cannot_be_changed_stays_as_it_is() {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("rules.toml");
    let new = [rule("touch made", RuleDecision::Allow)];
    let fails = |text: &str, change: &dyn Fn() -> Result<(), AmendError>| {
        std::fs::write(&file, text).unwrap();
        let error = change().unwrap_err().to_string();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
        error.replace(&dir.path().display().to_string(), "DIR")
    };
    let adds = || append(&file, &new).map(drop);
    expect!["DIR/rules.toml:1: unclosed array table, expected `]`; mend the file first"]
        .assert_eq(&fails("[[rule]\n", &adds));
    expect!["DIR/rules.toml: its rules are not [[rule]] tables; change it by hand"]
        .assert_eq(&fails("rule = []\n", &adds));
    expect!["DIR/rules.toml has 0 rules, there is no number 3"].assert_eq(&fails("", &|| {
        remove(&file, &RuleChoice::Index(2)).map(drop)
    }));
    expect!["the rule is not usable: allow bash: `bash` does whatever it is told next: add the words that say what"].assert_eq(&fails("", &|| {
        append(&file, &[rule("bash", RuleDecision::Allow)]).map(drop)
    }));
}

#[test]
fn a_link_is_followed() {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("rules.toml");
    let real = dir.path().join("dotfiles-rules.toml");
    std::fs::write(&real, "").unwrap();
    symlink(&real, &file).unwrap();
    append(&file, &[rule("touch made", RuleDecision::Allow)]).unwrap();
    assert!(file.symlink_metadata().unwrap().is_symlink());
    assert!(std::fs::read_to_string(&real).unwrap().contains("touch"));
}

#[test]
fn changes_at_the_same_time_are_all_kept() {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("rules.toml");
    std::thread::scope(|scope| {
        for number in 0..8 {
            let file = &file;
            scope.spawn(move || {
                let new = rule(&format!("touch made-{number}"), RuleDecision::Allow);
                append(file, &[new]).unwrap();
            });
        }
    });
    assert_eq!(super::super::parse::read(&file).unwrap().len(), 8);
}
