//! The places, the look through them, and the front matter, with real files.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use expect_test::{Expect, expect};
use proptest::{prop_assert, proptest};
use tempfile::TempDir;

use super::*;

/// A repository in a directory, with a home beside it.
struct Scene(TempDir);

impl Scene {
    fn new() -> Self {
        let dir = TempDir::new().unwrap();
        for name in ["repo/.git", "repo/sub/deep", "home", "etc"] {
            fs::create_dir_all(dir.path().join(name)).unwrap();
        }
        Self(dir)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn skill(&self, directory: &str, description: &str) {
        let text = format!("---\ndescription: {description}\n---\nDo it.\n");
        self.write(&format!("{directory}/SKILL.md"), &text);
    }

    fn skills(&self) -> SkillLibrary {
        SkillLibrary::new(SkillPlaces {
            user: vec![self.path("home/skills")],
            system: vec![self.path("etc/skills")],
        })
    }

    fn catalogue(&self, cwd: &str) -> SkillCatalogue {
        let markers = [".git".to_owned()];
        let found = self.skills().catalogue_blocking(&self.path(cwd), &markers);
        (*found).clone()
    }

    fn shown(&self, path: &Path) -> String {
        let root = self.0.path().canonicalize().unwrap();
        let path = path.strip_prefix(root).unwrap_or(path);
        path.display().to_string()
    }

    fn check(&self, cwd: &str, expected: Expect) {
        let SkillCatalogue {
            skills,
            shadowed,
            errors,
        } = self.catalogue(cwd);
        let skill = |skill: &Skill| {
            let Skill {
                name,
                description,
                path,
                scope,
                ..
            } = skill;
            format!("{name} ({scope:?}): {description} [{}]\n", self.shown(path))
        };
        let errors = errors
            .iter()
            .map(|error| format!("{} {}\n", self.shown(&error.path), error.message));
        let lines = skills.iter().map(skill);
        let lines = lines.chain(shadowed.iter().map(|one| format!("hidden: {}", skill(one))));
        expected.assert_eq(&lines.chain(errors).collect::<String>());
    }
}

#[test]
fn the_nearest_of_one_name_counts() {
    let scene = Scene::new();
    scene.skill("repo/sub/.codex/skills/ship", "nearest");
    scene.skill("repo/.troupe/skills/ship", "ours");
    scene.skill("repo/.agents/skills/ship", "everybody's");
    scene.skill("repo/.agents/skills/test", "tests");
    scene.skill("home/skills/mine", "the user's");
    scene.skill("etc/skills/house", "the machine's");
    scene.check(
        "repo/sub/deep",
        expect![[r#"
        ship (Repo): nearest [repo/sub/.codex/skills/ship/SKILL.md]
        test (Repo): tests [repo/.agents/skills/test/SKILL.md]
        mine (User): the user's [home/skills/mine/SKILL.md]
        house (System): the machine's [etc/skills/house/SKILL.md]
        hidden: ship (Repo): ours [repo/.troupe/skills/ship/SKILL.md]
        hidden: ship (Repo): everybody's [repo/.agents/skills/ship/SKILL.md]
    "#]],
    );
    scene.check(
        "home",
        expect![[r#"
        mine (User): the user's [home/skills/mine/SKILL.md]
        house (System): the machine's [etc/skills/house/SKILL.md]
    "#]],
    );
}

#[test]
fn nothing_is_found_where_nothing_is() {
    Scene::new().check("repo/sub", expect![""]);
}

#[test]
fn outside_of_a_repository_the_directory_alone_counts() {
    let scene = Scene::new();
    scene.skill(".agents/skills/above", "anybody's");
    scene.skill("home/.agents/skills/here", "of this directory");
    scene.check(
        "home",
        expect![[r#"
        here (Repo): of this directory [home/.agents/skills/here/SKILL.md]
    "#]],
    );
}

#[test]
fn links_may_lead_in_circles_and_twice_to_one_skill() {
    let scene = Scene::new();
    scene.skill("elsewhere/ship", "linked");
    scene.skill("repo/.agents/skills/group/inner", "deeper");
    let place = scene.path("repo/.agents/skills");
    symlink(scene.path("elsewhere/ship"), place.join("ship")).unwrap();
    symlink(scene.path("elsewhere/ship"), place.join("again")).unwrap();
    symlink(&place, place.join("group/circle")).unwrap();
    scene.check(
        "repo",
        expect![[r#"
        again (Repo): linked [repo/.agents/skills/again/SKILL.md]
        inner (Repo): deeper [repo/.agents/skills/group/inner/SKILL.md]
    "#]],
    );
}

#[test]
fn what_is_broken_is_told_and_the_others_count() {
    let scene = Scene::new();
    let place = "repo/.agents/skills";
    scene.skill(&format!("{place}/good"), "good");
    scene.write(&format!("{place}/a/SKILL.md"), "no front matter");
    scene.write(&format!("{place}/b/SKILL.md"), "---\nname: b\n---\n");
    scene.write(&format!("{place}/c/SKILL.md"), "---\n\tname: [\n---\n");
    fs::create_dir_all(scene.path(&format!("{place}/d/SKILL.md"))).unwrap();
    fs::create_dir_all(scene.path(&format!("{place}/e"))).unwrap();
    symlink("nowhere", scene.path(&format!("{place}/e/SKILL.md"))).unwrap();
    scene.check("repo", expect![[r#"
        good (Repo): good [repo/.agents/skills/good/SKILL.md]
        repo/.agents/skills/a/SKILL.md has no front matter: its first line must be `---`, then come `name` and `description`, then `---`
        repo/.agents/skills/b/SKILL.md has no description: say in its front matter when to use it
        repo/.agents/skills/c/SKILL.md has a front matter that is not YAML: expected string scalar (line 2)
        repo/.agents/skills/d/SKILL.md is not a regular file
        repo/.agents/skills/e/SKILL.md cannot be read: No such file or directory (os error 2)
    "#]]);
}

#[test]
fn a_look_is_bounded() {
    let scene = Scene::new();
    scene.skill("repo/.agents/skills/1/2/3/4/5/6", "deep enough");
    scene.skill("repo/.agents/skills/1/2/3/4/5/6/7", "too deep");
    scene.skill("repo/.agents/skills/.git/hidden", "somebody else's");
    scene.check(
        "repo",
        expect![[r#"
            6 (Repo): deep enough [repo/.agents/skills/1/2/3/4/5/6/SKILL.md]
        "#]],
    );
    let roots = places::existing(&SkillPlaces::default(), &scene.path("repo"), &[]);
    let errors = |directories, entries| {
        let bounds = ScanBounds {
            directories,
            entries,
        };
        let (catalogue, _) = scan::scan(&roots, bounds);
        assert!(catalogue.skills.is_empty());
        catalogue.errors[0].message.clone()
    };
    expect!["only the first 3 directories were looked at; move out what is no skill"]
        .assert_eq(&errors(3, 100));
    expect!["only the first 5 files and directories were looked at; move out what is no skill"]
        .assert_eq(&errors(100, 5));
}

fn check_text(text: &str, expected: Expect) {
    let found = match parse(text, "folder") {
        Err(problem) => problem.to_string(),
        Ok((front_matter, body)) => {
            let SkillFrontMatter {
                name,
                description,
                short_description,
            } = front_matter;
            format!("{name} | {description} | {short_description:?} | {body:?}")
        }
    };
    expected.assert_eq(&found);
}

#[test]
fn a_front_matter_says_what_a_skill_is_called_and_when_to_use_it() {
    check_text(
        "---\nname: ship\ndescription: Ships it.\n---\n\n# Ship\n",
        expect![[r##"ship | Ships it. | None | "# Ship""##]],
    );
    check_text(
        "\u{feff}---\r\ndescription: >\r\n  Two\r\n  lines\r\n---\r\nx",
        expect![[r#"folder | Two lines | None | "x""#]],
    );
    check_text(
        "---\ndescription: d\nlicense: MIT\nmetadata:\n  short-description: s\n  n: 1\n---",
        expect![[r#"folder | d | Some("s") | """#]],
    );
    check_text(
        "---\ndescription: Use when: it rains\n---",
        expect![[r#"folder | Use when: it rains | None | """#]],
    );
    check_text(
        "---\ndescription: d\nmetadata: text\n---",
        expect![[r#"folder | d | None | """#]],
    );
}

#[test]
fn a_front_matter_that_says_too_little_or_too_much_is_refused() {
    check_text(
        "",
        expect![
            "has no front matter: its first line must be `---`, then come `name` and `description`, then `---`"
        ],
    );
    check_text(
        "# Ship",
        expect![
            "has no front matter: its first line must be `---`, then come `name` and `description`, then `---`"
        ],
    );
    check_text(
        "---\nname: ship",
        expect![
            "has a front matter without an end: a second line `---` is missing in its first 32768 bytes"
        ],
    );
    check_text(
        "---\nname: ship\n---",
        expect!["has no description: say in its front matter when to use it"],
    );
    check_text(
        "---\ndescription: \"  \"\n---",
        expect!["has no description: say in its front matter when to use it"],
    );
    check_text(
        &format!("---\nname: {}\ndescription: d\n---", "n".repeat(65)),
        expect!["has no usable name: give it one of at most 64 characters, in one line"],
    );
    check_text(
        &format!("---\ndescription: {}\n---", "d".repeat(1_025)),
        expect!["has a description of 1025 characters; at most 1024 are taken"],
    );
    check_text(
        "---\ndescription: d\ndescription: e\n---",
        expect!["has a front matter that is not YAML: the key description is there twice (line 3)"],
    );
    check_text(
        "---\n- description\n---",
        expect!["has a front matter that is not YAML: expected mapping start (line 2)"],
    );
    check_text(
        &format!("---\na: {}\n---", "[".repeat(10_000)),
        expect!["has a front matter that is not YAML: recursion limit exceeded (line 2)"],
    );
}

proptest! {
    /// Whatever lies between the fences, what is taken of it is what it has to be.
    #[test]
    fn any_front_matter_is_read_or_refused(yaml in "(?s)(description: .{0,60}\n)?.{0,200}") {
        let text = format!("---\n{yaml}\n---\nbody");
        if let Ok((front_matter, _)) = parse(&text, "folder") {
            let SkillFrontMatter { name, description, .. } = front_matter;
            prop_assert!(!name.is_empty() && name.chars().count() <= 64);
            prop_assert!(!description.is_empty() && description.chars().count() <= 1_024);
            let shown = name + &description;
            prop_assert!(!shown.contains(char::is_control));
        }
    }
}

/// Makes everything look as if it had been written a while ago.
fn age(path: &Path) {
    let before = SystemTime::now() - Duration::from_mins(1);
    fs::File::open(path).unwrap().set_modified(before).unwrap();
}

#[tokio::test]
async fn a_change_is_noticed_and_sameness_too() {
    let scene = Scene::new();
    scene.skill("repo/.agents/skills/ship", "ships");
    let skills = Arc::new(scene.skills());
    let cwd = scene.path("repo");
    let look = async |freshness| {
        let markers = [".git".to_owned()];
        skills.catalogue(&cwd, &markers, freshness).await
    };
    let first = look(CatalogueFreshness::Marks).await;
    assert_eq!(first.skills.len(), 1);
    // Nobody can set the time that counts back; this changes it without changing the text.
    age(&scene.path("repo/.agents/skills/ship/SKILL.md"));
    for freshness in [CatalogueFreshness::Marks, CatalogueFreshness::Reread] {
        assert!(Arc::ptr_eq(&first, &look(freshness).await));
    }
    scene.skill("repo/.agents/skills/ship", "sinks");
    let second = look(CatalogueFreshness::Marks).await;
    assert_eq!(second.skills[0].description, "sinks");
    scene.skill("repo/.agents/skills/test", "tests");
    assert_eq!(look(CatalogueFreshness::Marks).await.skills.len(), 2);
    fs::remove_dir_all(scene.path("repo/.agents")).unwrap();
    assert_eq!(
        *look(CatalogueFreshness::Marks).await,
        SkillCatalogue::default()
    );
}
