use std::collections::BTreeMap;
use std::fs::{self, File, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;

use tempfile::TempDir;

use super::*;
use crate::tests::tree;
use crate::{Patch, PatchNote, PatchPlan, PatchRoots, PlanError, plan};

/// A directory `root` that a patch may write to, beside one that it may not.
struct World {
    dir: TempDir,
}

impl World {
    fn new(files: &[(&str, &str)]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let world = Self { dir };
        for name in ["root", "outside"] {
            fs::create_dir(world.dir.path().join(name)).unwrap();
        }
        for (path, content) in files {
            world.write(path, content);
        }
        world
    }

    fn path(&self, path: &str) -> std::path::PathBuf {
        self.dir.path().join(path)
    }

    fn write(&self, path: &str, content: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    fn tree(&self) -> BTreeMap<String, Vec<u8>> {
        tree(self.dir.path())
    }

    fn roots(&self) -> PatchRoots {
        PatchRoots::Within {
            writable: vec![self.path("root")],
            protected: vec![self.path("root/.git")],
            protected_names: vec![".git".to_owned()],
        }
    }

    fn plan(&self, body: &str) -> Result<PatchPlan, PlanError> {
        self.plan_within(body, &self.roots())
    }

    fn plan_within(&self, body: &str, roots: &PatchRoots) -> Result<PatchPlan, PlanError> {
        let patch = format!("*** Begin Patch\n{body}*** End Patch");
        plan(&Patch::parse(&patch).unwrap(), &self.path("root"), roots)
    }
}

const EVERYTHING: &str = "\
*** Add File: new/deep/a.txt\n+a\n\
*** Update File: b.txt\n-b\n+B\n\
*** Update File: c.txt\n*** Move to: new/c.txt\n-c\n+C\n\
*** Delete File: sub/d.txt\n\
*** Add File: e.txt\n+E\n";

fn everything() -> World {
    World::new(&[
        ("root/b.txt", "b\n"),
        ("root/c.txt", "c\n"),
        ("root/sub/d.txt", "d\n"),
        ("root/e.txt", "e\n"),
    ])
}

#[test]
fn a_failure_at_any_change_leaves_everything_as_it_was() {
    let world = everything();
    let before = world.tree();
    let mut moments = 0;
    let failing_at = |moment: usize| {
        let mut seen = 0;
        let plan = world.plan(EVERYTHING).unwrap();
        plan.apply_watched(&mut |_| {
            seen += 1;
            if seen == moment {
                return Err(io::Error::other("injected"));
            }
            Ok(())
        })
    };
    loop {
        moments += 1;
        match failing_at(moments) {
            Err(error) => {
                assert!(
                    error.to_string().ends_with("injected; nothing was changed"),
                    "{error}"
                );
                assert_eq!(world.tree(), before, "after a failure at change {moments}");
            }
            Ok(applied) => {
                assert_eq!(applied.files.len(), 5);
                break;
            }
        }
    }
    // Three directories (one is there by then), four staged files, two created, two
    // exchanged, two removed.
    assert_eq!(moments - 1, 13);
    assert!(!world.path("root/c.txt").exists());
    assert_eq!(
        fs::read_to_string(world.path("root/new/c.txt")).unwrap(),
        "C\n"
    );
}

#[test]
fn a_real_failure_is_rolled_back_too() {
    let world = everything();
    let before = world.tree();
    // The last file is a directory by the time its turn comes.
    let path = world.path("root/e.txt");
    let plan = world.plan(EVERYTHING).unwrap();
    let mut steps = 0;
    let error = plan
        .apply_watched(&mut |what| {
            if what == "remove" && steps == 0 {
                fs::remove_file(&path)?;
                fs::create_dir(&path)?;
            }
            steps += usize::from(what == "remove");
            Ok(())
        })
        .unwrap_err();
    assert!(matches!(error, ApplyError::Changed { path } if path == "e.txt"));
    fs::remove_dir(&path).unwrap();
    world.write("root/e.txt", "e\n");
    assert_eq!(world.tree(), before);
}

#[test]
fn what_cannot_be_put_back_is_named() {
    let world = everything();
    let plan = world
        .plan("*** Update File: b.txt\n-b\n+B\n*** Delete File: c.txt\n")
        .unwrap();
    let path = world.path("root/b.txt");
    let error = plan
        .apply_watched(&mut |what| {
            if what == "remove" {
                fs::remove_file(&path)?;
                return Err(io::Error::other("injected"));
            }
            Ok(())
        })
        .unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("could not be put back: b.txt (No such file"),
        "{text}"
    );
}

#[test]
fn a_file_that_changed_after_the_plan_is_not_overwritten() {
    for (body, path) in [
        ("*** Update File: b.txt\n-b\n+B\n", "root/b.txt"),
        ("*** Delete File: b.txt\n", "root/b.txt"),
        ("*** Add File: fresh.txt\n+x\n", "root/fresh.txt"),
    ] {
        let world = everything();
        let plan = world.plan(body).unwrap();
        world.write(path, "somebody else was here\n");
        let before = world.tree();
        assert!(
            matches!(plan.apply(), Err(ApplyError::Changed { .. })),
            "{body}"
        );
        assert_eq!(world.tree(), before);
    }
}

#[test]
fn a_directory_swapped_for_a_link_redirects_nothing() {
    let world = World::new(&[("root/sub/a.txt", "a\n"), ("outside/a.txt", "a\n")]);
    let body = "*** Update File: sub/a.txt\n-a\n+A\n*** Add File: sub/n/b.txt\n+b\n";
    let plan = world.plan(body).unwrap();
    fs::rename(world.path("root/sub"), world.path("root/moved")).unwrap();
    symlink(world.path("outside"), world.path("root/sub")).unwrap();
    plan.apply().unwrap();
    assert_eq!(
        fs::read_to_string(world.path("root/moved/a.txt")).unwrap(),
        "A\n"
    );
    assert_eq!(tree(&world.path("outside")).len(), 1);
    assert_eq!(
        fs::read_to_string(world.path("outside/a.txt")).unwrap(),
        "a\n"
    );
}

#[test]
fn a_missing_directory_that_becomes_a_link_is_not_followed() {
    let world = World::new(&[]);
    let plan = world.plan("*** Add File: sub/a.txt\n+a\n").unwrap();
    symlink(world.path("outside"), world.path("root/sub")).unwrap();
    assert!(matches!(plan.apply(), Err(ApplyError::Failed { .. })));
    assert!(tree(&world.path("outside")).is_empty());
}

#[test]
fn paths_stay_beneath_the_roots() {
    let world = World::new(&[("root/a.txt", "a\n"), ("outside/a.txt", "a\n")]);
    symlink(world.path("outside"), world.path("root/out")).unwrap();
    symlink("../outside", world.path("root/relative")).unwrap();
    let absolute = world.path("outside/a.txt");
    for path in [
        "../outside/a.txt",
        "sub/../../outside/a.txt",
        "out/a.txt",
        "out/new.txt",
        "relative/a.txt",
        "relative/new/dir/a.txt",
        absolute.to_str().unwrap(),
        "/etc/passwd",
        "..",
        "../root2/a.txt",
    ] {
        for body in [
            format!("*** Add File: {path}\n+x\n"),
            format!("*** Delete File: {path}\n"),
            format!("*** Update File: {path}\n-a\n+x\n"),
            format!("*** Update File: a.txt\n*** Move to: {path}\n"),
        ] {
            let before = world.tree();
            let error = world.plan(&body).unwrap_err();
            assert!(error.is_boundary(), "{body}: {error}");
            assert_eq!(world.tree(), before);
        }
    }
}

#[test]
fn both_spellings_of_a_root_are_accepted() {
    let world = World::new(&[("root/sub/a.txt", "a\n")]);
    symlink(world.path("root"), world.path("alias")).unwrap();
    let roots = PatchRoots::Within {
        writable: vec![world.path("alias"), world.path("not there")],
        protected: vec![],
        protected_names: vec![],
    };
    for root in ["root", "alias"] {
        let path = world.path(root).join("sub/a.txt");
        let body = format!("*** Update File: {}\n a\n+b\n", path.display());
        let plan = world.plan_within(&body, &roots).unwrap();
        assert_eq!(plan.touched(), [path]);
    }
}

#[test]
fn links_inside_the_root_are_followed_for_directories_only() {
    let world = World::new(&[("root/real/a.txt", "a\n")]);
    symlink("real", world.path("root/link")).unwrap();
    symlink("real/a.txt", world.path("root/file")).unwrap();
    world
        .plan("*** Update File: link/a.txt\n-a\n+b\n")
        .unwrap()
        .apply()
        .unwrap();
    assert_eq!(
        fs::read_to_string(world.path("root/real/a.txt")).unwrap(),
        "b\n"
    );

    for body in [
        "*** Update File: file\n-b\n+c\n",
        "*** Add File: file\n+c\n",
        "*** Update File: real/a.txt\n*** Move to: file\n",
    ] {
        let error = world.plan(body).unwrap_err().to_string();
        assert_eq!(
            error,
            "file is, or leads through, a symbolic link to real/a.txt; name the file itself"
        );
    }
    // Two names of one file are one file.
    let twice = "*** Update File: link/a.txt\n-b\n+c\n*** Update File: real/a.txt\n-c\n+b\n";
    let plan = world.plan(twice).unwrap();
    assert_eq!(plan.touched().len(), 1);

    world
        .plan("*** Delete File: file\n")
        .unwrap()
        .apply()
        .unwrap();
    assert!(!world.path("root/file").is_symlink());
    assert!(world.path("root/real/a.txt").exists());
}

/// The name in between is neither there before nor after, so there is nothing to say of it.
#[test]
fn files_that_change_places_are_told_as_changed_and_nothing_else() {
    let world = World::new(&[("root/a.txt", "a\n"), ("root/b.txt", "b\n")]);
    let swap = "*** Update File: a.txt\n*** Move to: between\n\
                *** Update File: b.txt\n*** Move to: a.txt\n\
                *** Update File: between\n*** Move to: b.txt\n";
    let applied = world.plan(swap).unwrap().apply().unwrap();
    assert_eq!(applied.notes, []);
    let files: Vec<&str> = applied
        .files
        .iter()
        .map(|(_, path)| path.as_str())
        .collect();
    assert_eq!(files, ["a.txt", "b.txt"]);
    assert_eq!(fs::read_to_string(world.path("root/a.txt")).unwrap(), "b\n");

    // What is put back as it was, is told so.
    let back = "*** Update File: a.txt\n-b\n+c\n*** Update File: a.txt\n-c\n+b\n";
    let applied = world.plan(back).unwrap().apply().unwrap();
    let path = "a.txt".to_owned();
    assert_eq!(applied.notes, [PatchNote::Unchanged { path }]);
}

#[test]
fn a_link_to_nowhere_is_not_a_missing_directory() {
    let world = World::new(&[]);
    symlink("nowhere", world.path("root/link")).unwrap();
    let error = world.plan("*** Add File: link/a.txt\n+a\n").unwrap_err();
    assert!(matches!(error, PlanError::Symlink { .. }), "{error}");
}

#[test]
fn protected_directories_are_refused_by_every_way() {
    let world = World::new(&[("root/.git/config", "x\n"), ("root/a.txt", "a\n")]);
    symlink(".git", world.path("root/link")).unwrap();
    for path in [
        ".git/config",
        ".git/hooks/pre-commit",
        "link/config",
        "a/../.git/config",
        ".git",
    ] {
        let error = world
            .plan(&format!("*** Add File: {path}\n+x\n"))
            .unwrap_err();
        assert!(
            matches!(error, PlanError::Protected { .. }),
            "{path}: {error}"
        );
    }
    world.plan("*** Add File: .github/x\n+x\n").unwrap();
}

#[test]
fn without_restriction_links_lead_anywhere() {
    let world = World::new(&[("outside/a.txt", "a\n")]);
    symlink(world.path("outside"), world.path("root/out")).unwrap();
    let body = "*** Update File: out/a.txt\n-a\n+b\n*** Add File: ../c.txt\n+c\n";
    let plan = world.plan_within(body, &PatchRoots::Unrestricted).unwrap();
    plan.apply().unwrap();
    assert_eq!(
        fs::read_to_string(world.path("outside/a.txt")).unwrap(),
        "b\n"
    );
    assert_eq!(fs::read_to_string(world.path("c.txt")).unwrap(), "c\n");
}

#[test]
fn only_regular_files_are_read() {
    let world = World::new(&[]);
    nix::unistd::mkfifo(&world.path("root/pipe"), Mode::S_IRWXU).unwrap();
    for body in [
        "*** Update File: pipe\n-a\n+b\n",
        "*** Add File: pipe\n+b\n",
        "*** Delete File: pipe\n",
    ] {
        assert!(
            matches!(world.plan(body), Err(PlanError::Special { .. })),
            "{body}"
        );
    }
    let body = "*** Add File: dir/\n+b\n";
    assert!(matches!(world.plan(body), Err(PlanError::Directory { .. })));
}

#[test]
fn mode_and_owner_are_kept() {
    let world = World::new(&[("root/run.sh", "a\n"), ("root/key", "a\n")]);
    let mode = |path: &str| fs::metadata(world.path(path)).unwrap().mode() & 0o7777;
    fs::set_permissions(world.path("root/run.sh"), Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(world.path("root/key"), Permissions::from_mode(0o600)).unwrap();
    let is_root = nix::unistd::geteuid().is_root();
    if is_root {
        std::os::unix::fs::chown(world.path("root/key"), Some(1234), Some(1235)).unwrap();
    }
    let body = "*** Update File: run.sh\n*** Move to: bin/run.sh\n*** Add File: key\n+b\n";
    world.plan(body).unwrap().apply().unwrap();
    assert_eq!(mode("root/bin/run.sh"), 0o755);
    assert_eq!(mode("root/key"), 0o600);
    if is_root {
        let key = fs::metadata(world.path("root/key")).unwrap();
        assert_eq!((key.uid(), key.gid()), (1234, 1235));
    }
}

#[test]
fn a_large_file_is_refused() {
    let world = World::new(&[]);
    let file = File::create(world.path("root/big")).unwrap();
    file.set_len(crate::limits::FILE_BYTES_MAX + 1).unwrap();
    let error = world.plan("*** Update File: big\n-a\n+b\n").unwrap_err();
    assert!(matches!(error, PlanError::TooLarge { .. }), "{error}");
    world
        .plan("*** Delete File: big\n")
        .unwrap()
        .apply()
        .unwrap();
    assert!(!world.path("root/big").exists());
}

#[test]
fn changes_are_shown_by_absolute_path() {
    use troupe_protocol::command::FileChange;
    let world = everything();
    let plan = world.plan(EVERYTHING).unwrap();
    let change = |path: &str| plan.changes()[&world.path(path)].clone();
    assert_eq!(
        change("root/new/deep/a.txt"),
        FileChange::Add {
            content: "a\n".into()
        }
    );
    assert_eq!(
        change("root/c.txt"),
        FileChange::Update {
            unified_diff: "@@ -1 +1 @@\n-c\n+C\n".into(),
            move_path: Some(world.path("root/new/c.txt")),
        }
    );
    assert_eq!(
        change("root/sub/d.txt"),
        FileChange::Delete {
            content: "d\n".into()
        }
    );
    assert_eq!(
        change("root/e.txt"),
        FileChange::Update {
            unified_diff: "@@ -1 +1 @@\n-e\n+E\n".into(),
            move_path: None,
        }
    );
    let touched = plan.touched();
    assert_eq!(touched.len(), 6);
    assert!(touched.contains(&world.path("root/new/c.txt")));
    assert!(touched.contains(&world.path("root/c.txt")));
}

#[test]
fn without_exchange_a_copy_is_kept_for_the_way_back() {
    let world = World::new(&[("root/a.txt", "old"), ("root/staged", "new")]);
    fs::set_permissions(world.path("root/a.txt"), Permissions::from_mode(0o640)).unwrap();
    let dir = Arc::new(OwnedFd::from(File::open(world.path("root")).unwrap()));
    let spot = |name: &str| EntryHandle {
        dir: Arc::clone(&dir),
        name: name.into(),
        path: name.to_owned(),
    };
    let done = replace_with_copy_kept(spot("a.txt"), &spot("staged")).unwrap();
    let content = |path: &Path| fs::read_to_string(path).unwrap();
    assert_eq!(content(&world.path("root/a.txt")), "new");
    assert_eq!(tree(&world.path("root")).len(), 2);
    done.undo().unwrap();
    assert_eq!(content(&world.path("root/a.txt")), "old");
    assert_eq!(
        fs::metadata(world.path("root/a.txt")).unwrap().mode() & 0o777,
        0o640
    );
    assert_eq!(tree(&world.path("root")).len(), 1);
}
