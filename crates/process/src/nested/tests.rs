use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use expect_test::{Expect, expect};
use troupe_protocol::policy::SandboxPolicy;

use super::*;
use crate::roots::writable_roots;

/// A workspace `work` in a scratch directory whose path is printed as `~`.
struct Scratch(tempfile::TempDir);

impl Scratch {
    fn new(files: &[&str]) -> Self {
        let scratch = Self(tempfile::tempdir_in("/var/tmp").unwrap());
        fs::create_dir(scratch.path("work")).unwrap();
        for file in files {
            scratch.write(file, "");
        }
        scratch
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().canonicalize().unwrap().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn cage(&self, roots: &[&str]) -> Cage {
        let policy = SandboxPolicy::WorkspaceWrite {
            writable_roots: roots.iter().map(PathBuf::from).collect(),
            network_access: false,
            exclude_tmpdir_env_var: false,
            exclude_slash_tmp: true,
        };
        let temporary = self.path("work/tmp").display().to_string();
        let env = BTreeMap::from([("TMPDIR".to_owned(), temporary)]);
        let table = writable_roots(&policy, &self.path("work"), &env);
        Cage::new(table, vec![self.path("work/home")])
    }

    fn check(&self, roots: &[&str], expected: Expect) {
        let nested = search(&self.cage(roots));
        let lines = |word: &str, paths: &[PathBuf]| -> Vec<String> {
            let lines = paths.iter();
            lines.map(|it| format!("{word} {}", it.display())).collect()
        };
        let mut found = lines("mount", &nested.mountable);
        found.extend(lines("watch", &nested.links));
        found.sort();
        found.extend(nested.stopped.map(|it| it.to_string()));
        let home = self.path("");
        let text = found.join("\n").replace(home.to_str().unwrap(), "~/");
        expected.assert_eq(&text);
    }
}

#[test]
fn repositories_and_settings_at_any_depth() {
    let scratch = Scratch::new(&[
        "work/.git/HEAD",
        "work/.git/modules/x/.git",
        "work/a/.git/HEAD",
        "work/a/.git/deeper/.git",
        "work/b/c/d/.troupe/config.toml",
        "work/b/.gitignore",
        "work/sub/.git",
        "work/home/x/.git",
    ]);
    scratch.check(
        &[],
        expect![[r"
            mount ~/work/a/.git
            mount ~/work/b/c/d/.troupe
            mount ~/work/sub/.git"]],
    );
}

#[test]
fn what_is_asked_for_by_name_is_left_alone() {
    let scratch = Scratch::new(&["work/a/.git/HEAD", "work/b/.git/HEAD", "more/c/.git/HEAD"]);
    scratch.check(&["a/.git", "b", "../more"], expect!["mount ~/more/c/.git"]);
}

#[test]
fn links_are_watched_and_not_followed() {
    let scratch = Scratch::new(&["work/store/HEAD", "elsewhere/x/.git/HEAD"]);
    fs::create_dir(scratch.path("work/sub")).unwrap();
    symlink("../store", scratch.path("work/sub/.git")).unwrap();
    symlink("../elsewhere", scratch.path("work/link")).unwrap();
    symlink("..", scratch.path("work/up")).unwrap();
    scratch.check(
        &[],
        expect![[r"
            mount ~/work/store
            watch ~/work/sub/.git"]],
    );
}

#[test]
fn where_a_pointer_leads_is_protected_if_it_is_a_repository_and_no_root() {
    let scratch = Scratch::new(&["work/store/wt/HEAD", "work/store/HEAD", "work/src/main.rs"]);
    scratch.write("work/store/wt/commondir", "..");
    scratch.write("work/sub/.git", "gitdir: ../store/wt\n");
    scratch.write("work/forged/.git", "gitdir: ../src\n");
    scratch.write("work/worse/.git", "gitdir: ..\n");
    scratch.write("work/HEAD", "");
    scratch.check(
        &[],
        expect![[r"
            mount ~/work/forged/.git
            mount ~/work/store
            mount ~/work/store/wt
            mount ~/work/sub/.git
            mount ~/work/worse/.git"]],
    );
}

#[test]
fn too_many_are_told() {
    let scratch = Scratch::new(&[]);
    for number in 0..=NESTED_PATHS_MAX {
        scratch.write(&format!("work/{number}/.git"), "");
    }
    let nested = search(&scratch.cage(&[]));
    assert_eq!(nested.count(), NESTED_PATHS_MAX);
    let told = nested.stopped.unwrap().to_string();
    assert!(told.ends_with("/work stopped at 256 of them"), "{told}");
}

#[test]
fn too_deep_is_told() {
    let scratch = Scratch::new(&[]);
    let deep = "d/".repeat(NESTED_DEPTH_MAX);
    scratch.write(&format!("work/{deep}.git"), "");
    scratch.write(&format!("work/{deep}d/.git"), "");
    let nested = search(&scratch.cage(&[]));
    assert_eq!(
        nested.mountable,
        [scratch.path("work").join(format!("{deep}.git"))]
    );
    let told = nested.stopped.unwrap().to_string();
    assert!(told.ends_with("/work went no deeper than 32"), "{told}");
}

#[test]
fn the_whole_disk_is_not_searched() {
    let cage = Scratch::new(&[]).cage(&["/"]);
    let told = search(&cage).stopped.unwrap().to_string();
    assert_eq!(told, "the search of / is left out: it is the whole disk");
}

#[test]
fn a_directory_that_cannot_be_listed_hides_nothing() {
    let scratch = Scratch::new(&["work/sub/.git/HEAD"]);
    let secret = scratch.path("work/sub");
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o300)).unwrap();
    let nested = search(&scratch.cage(&[]));
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o700)).unwrap();
    assert_eq!(nested.mountable, [secret.join(".git")]);
    // Root reads it all the same.
    assert_eq!(nested.stopped.is_none(), geteuid().is_root());
}

#[test]
fn what_was_made_again_is_something_else() {
    let scratch = Scratch::new(&["work/sub/.git"]);
    let nested = search(&scratch.cage(&[]));
    assert!(nested.is_current());
    fs::rename(scratch.path("work/sub/.git"), scratch.path("old")).unwrap();
    assert!(!nested.is_current());
    scratch.write("work/sub/.git", "");
    assert!(!nested.is_current());
}
