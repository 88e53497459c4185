use tempfile::TempDir;

use super::*;

const ALLOW: &str = "[[rule]]\nprefix = ['touch']\ndecision = 'allow'\n";
const FORBID: &str = "[[rule]]\nprefix = ['touch']\ndecision = 'forbid'\n";

struct Desk {
    _dir: TempDir,
    user: PathBuf,
    project: PathBuf,
}

impl Desk {
    fn new() -> Self {
        let dir = TempDir::new().unwrap();
        Self {
            user: dir.path().join("user.toml"),
            project: dir.path().join("project.toml"),
            _dir: dir,
        }
    }

    fn book(&self, trust: ProjectTrust) -> RuleBook {
        RuleBook::new(RuleSource {
            user: Some(self.user.clone()),
            projects: vec![self.project.clone()],
            trust,
        })
    }
}

fn decisions(book: &RuleBook) -> Vec<RuleDecision> {
    let rules = book.current();
    rules.placed.iter().map(|one| one.rule.decision).collect()
}

#[test]
fn changes_are_noticed() {
    let desk = Desk::new();
    let book = desk.book(ProjectTrust::Untrusted);
    assert_eq!(decisions(&book), []);
    std::fs::write(&desk.user, ALLOW).unwrap();
    assert_eq!(decisions(&book), [RuleDecision::Allow]);
    assert!(Arc::ptr_eq(&book.current(), &book.current()), "read once");
    std::fs::write(&desk.user, FORBID).unwrap();
    assert_eq!(decisions(&book), [RuleDecision::Forbid]);
    std::fs::remove_file(&desk.user).unwrap();
    assert_eq!(decisions(&book), []);
}

#[test]
fn a_project_loosens_only_if_it_is_trusted() {
    let desk = Desk::new();
    std::fs::write(&desk.project, format!("{ALLOW}{FORBID}")).unwrap();
    let book = desk.book(ProjectTrust::Untrusted);
    assert_eq!(decisions(&book), [RuleDecision::Forbid]);
    assert_eq!(book.current().ignored.len(), 1);
    let warnings = book.warnings();
    assert!(
        warnings[0].contains("project.toml:1) is ignored"),
        "{warnings:?}"
    );
    let digest = digest::of_bytes(format!("{ALLOW}{FORBID}").as_bytes());
    let files = BTreeMap::from([(desk.project.clone(), digest)]);
    let book = desk.book(ProjectTrust::Trusted(files));
    assert_eq!(
        decisions(&book),
        [RuleDecision::Allow, RuleDecision::Forbid]
    );
    assert_eq!(book.warnings(), [""; 0]);
}

#[test]
fn what_comes_into_a_trusted_project_later_does_not_loosen() {
    let desk = Desk::new();
    let book = desk.book(ProjectTrust::Trusted(BTreeMap::new()));
    std::fs::write(&desk.project, format!("{ALLOW}{FORBID}")).unwrap();
    assert_eq!(decisions(&book), [RuleDecision::Forbid]);
    let warnings = book.warnings();
    assert!(warnings[0].contains("`troupe trust`"), "{warnings:?}");
}

#[test]
fn a_bad_file_is_told_once() {
    let desk = Desk::new();
    std::fs::write(&desk.user, "nonsense").unwrap();
    let book = desk.book(ProjectTrust::Untrusted);
    assert_eq!(book.current().broken.len(), 1);
    assert_eq!(book.warnings().len(), 1);
    // Another file changes; this one is as bad as before.
    std::fs::write(&desk.project, FORBID).unwrap();
    assert_eq!(decisions(&book), [RuleDecision::Forbid]);
    assert_eq!(book.warnings(), [""; 0]);
    std::fs::write(&desk.user, [0xff, 0xfe]).unwrap();
    assert_eq!(book.current().broken.len(), 1);
    assert_eq!(book.warnings().len(), 1);
}
