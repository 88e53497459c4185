use std::fmt::Write as _;

use expect_test::{Expect, expect};

use super::*;

/// A scratch directory whose path is printed as `~`.
struct Scratch(tempfile::TempDir);

impl Scratch {
    fn new() -> Self {
        Self(tempfile::tempdir_in("/var/tmp").unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().canonicalize().unwrap().join(name)
    }

    fn directory(&self, name: &str) -> PathBuf {
        std::fs::create_dir_all(self.path(name)).unwrap();
        self.path(name)
    }

    fn check(&self, policy: &SandboxPolicy, env: &[(&str, &str)], expected: Expect) {
        let env = env
            .iter()
            .map(|(k, v)| ((*k).into(), (*v).into()))
            .collect();
        let table = writable_roots(policy, &self.directory("work"), &env);
        let mut text = String::new();
        for path in &table.writable {
            writeln!(text, "write   {}", path.display()).unwrap();
        }
        for path in &table.protected {
            writeln!(text, "protect {}", path.display()).unwrap();
        }
        writeln!(text, "network {:?}", table.network).unwrap();
        let home = self.path("");
        expected.assert_eq(&text.replace(home.to_str().unwrap(), "~/"));
    }
}

fn workspace(roots: &[&str]) -> SandboxPolicy {
    SandboxPolicy::WorkspaceWrite {
        writable_roots: roots.iter().map(PathBuf::from).collect(),
        network_access: false,
        exclude_tmpdir_env_var: false,
        exclude_slash_tmp: true,
    }
}

#[test]
fn read_only_writes_nothing() {
    Scratch::new().check(
        &SandboxPolicy::read_only(),
        &[],
        expect![[r"
        network Denied
    "]],
    );
}

#[test]
fn full_access_writes_everything() {
    Scratch::new().check(
        &SandboxPolicy::DangerFullAccess,
        &[],
        expect![[r"
        write   /
        network Allowed
    "]],
    );
}

#[test]
fn the_workspace_its_roots_and_the_temporary_directory() {
    let scratch = Scratch::new();
    let tmp = scratch.directory("t");
    scratch.check(
        &workspace(&["../more", "."]),
        &[("TMPDIR", tmp.to_str().unwrap())],
        expect![[r"
        write   ~/work
        write   ~/more
        write   ~/t
        protect ~/work/.git
        protect ~/work/.troupe
        protect ~/more/.git
        protect ~/more/.troupe
        protect ~/t/.git
        protect ~/t/.troupe
        network Denied
    "]],
    );
}

#[test]
fn slash_tmp_is_writable_unless_excluded() {
    Scratch::new().check(
        &SandboxPolicy::workspace_write(),
        &[],
        expect![[r"
        write   ~/work
        write   /tmp
        protect ~/work/.git
        protect ~/work/.troupe
        protect /tmp/.git
        protect /tmp/.troupe
        network Denied
    "]],
    );
}

#[test]
fn a_tmpdir_that_opens_the_disk_is_ignored() {
    for tmpdir in ["/", "/usr/..", "relative", ""] {
        Scratch::new().check(
            &workspace(&[]),
            &[("TMPDIR", tmpdir)],
            expect![[r"
            write   ~/work
            protect ~/work/.git
            protect ~/work/.troupe
            network Denied
        "]],
        );
    }
}

#[test]
fn a_worktree_protects_the_repository_that_it_belongs_to() {
    let scratch = Scratch::new();
    let work = scratch.directory("work");
    let own = scratch.directory("repo/.git/worktrees/w");
    std::fs::write(work.join(".git"), format!("gitdir: {}\n", own.display())).unwrap();
    std::fs::write(own.join("commondir"), "../..\n").unwrap();
    scratch.check(
        &workspace(&[]),
        &[],
        expect![[r"
        write   ~/work
        protect ~/work/.git
        protect ~/work/.troupe
        protect ~/repo/.git/worktrees/w
        protect ~/repo/.git
        network Denied
    "]],
    );
}

#[test]
fn a_write_is_permitted_where_the_kernel_would_arrive() {
    let scratch = Scratch::new();
    let work = scratch.directory("work");
    let elsewhere = scratch.directory("elsewhere/deep");
    std::os::unix::fs::symlink(&elsewhere, work.join("link")).unwrap();
    let table = writable_roots(&workspace(&[]), &work, &BTreeMap::new());
    let permits = |path: &str| table.permits(&work.join(path));
    assert!(permits("new/file"));
    assert!(permits("new/../file"));
    assert!(!permits("../work2/file"));
    assert!(!permits("link/file"));
    assert!(
        !permits("link/../file"),
        "leads to elsewhere/, not to work/"
    );
    assert!(!permits(".git/hooks/pre-commit"));
    assert!(!permits(".troupe"));
    assert!(permits(".gitignore"));
}

#[test]
fn protected_names_count_at_any_depth_below_a_root() {
    let scratch = Scratch::new();
    let work = scratch.directory(".troupe/worktrees/work");
    scratch.directory(".troupe/worktrees/work/sub/.git/hooks");
    std::os::unix::fs::symlink("sub/.git/hooks", work.join("hooks")).unwrap();
    std::os::unix::fs::symlink("../..", work.join("sub/.git/out")).unwrap();
    let table = writable_roots(&workspace(&["listed/.git"]), &work, &BTreeMap::new());
    let permits = |path: &str| table.permits(&work.join(path));
    assert!(permits("sub/file"), "the root itself lies in a .troupe");
    assert!(!permits("sub/.git/hooks/pre-commit"));
    assert!(!permits("sub/.git"));
    assert!(!permits("a/b/c/.troupe/config.toml"));
    assert!(!permits("hooks/pre-commit"), "leads into sub/.git");
    assert!(!permits("sub/.git/out/file"), "leads out of it again");
    assert!(permits("sub/.git/../file"));
    assert!(permits("sub/.gitmodules") && permits("sub/x.git/config"));
    assert!(permits("listed/.git/index"));
    assert!(!permits("listed/.git/a/.git/index"));
    let everything = SandboxPolicy::DangerFullAccess;
    let table = writable_roots(&everything, &work, &BTreeMap::new());
    assert!(table.permits(&work.join("sub/.git/config")));
}

#[test]
fn temporary_directories_are_no_workspaces() {
    let scratch = Scratch::new();
    let (work, tmp) = (scratch.directory("work"), scratch.directory("t"));
    let env = BTreeMap::from([("TMPDIR".to_owned(), tmp.display().to_string())]);
    let mut policy = workspace(&["../more", "/tmp"]);
    let table = writable_roots(&policy, &work, &env);
    assert_eq!(table.workspaces, [work.clone(), scratch.path("more")]);
    policy = SandboxPolicy::workspace_write();
    let table = writable_roots(&policy, &tmp, &env);
    assert_eq!(table.workspaces, [tmp], "somebody works there");
    assert!(
        writable_roots(&SandboxPolicy::read_only(), &work, &env)
            .workspaces
            .is_empty()
    );
}

#[test]
fn what_is_asked_for_by_name_is_writable() {
    let scratch = Scratch::new();
    let work = scratch.directory("work");
    let table = writable_roots(&workspace(&[".git"]), &work, &BTreeMap::new());
    assert!(table.permits(&work.join(".git/index")));
    assert!(!table.permits(&work.join(".troupe/config.toml")));
    let table = writable_roots(&workspace(&[".git/worktrees/w"]), &work, &BTreeMap::new());
    assert!(table.permits(&work.join(".git/worktrees/w/index")));
    assert!(!table.permits(&work.join(".git/config")));
}

#[test]
fn the_home_of_the_engine_is_guarded_where_it_could_be_written() {
    let scratch = Scratch::new();
    let work = scratch.directory("work");
    let elsewhere = scratch.directory("elsewhere");
    std::os::unix::fs::symlink(&elsewhere, work.join("link")).unwrap();
    let table = |roots: &[&str], home: &str| {
        writable_roots(&workspace(roots), &work, &BTreeMap::new()).protecting_home(&work.join(home))
    };
    let missing = table(&[], "x/home");
    assert!(!missing.permits(&work.join("x/home/config.toml")));
    assert!(missing.permits(&work.join("x/file")));
    let named = table(&["x/home/worktrees/w"], "x/home");
    assert!(named.permits(&work.join("x/home/worktrees/w/file")));
    assert!(!named.permits(&work.join("x/home/worktrees")));
    let linked = table(&[], "link/home");
    assert!(linked.protected.contains(&work.join("link")));
    let outside = table(&[], "../home");
    assert_eq!(
        outside,
        writable_roots(&workspace(&[]), &work, &BTreeMap::new())
    );
}

#[test]
fn a_root_behind_a_link_that_a_command_may_have_made_is_none() {
    let scratch = Scratch::new();
    let work = scratch.directory("work");
    let elsewhere = scratch.directory("elsewhere");
    std::os::unix::fs::symlink("/", work.join("cache")).unwrap();
    let table = writable_roots(&workspace(&["cache", "cache/srv"]), &work, &BTreeMap::new());
    assert_eq!(table.writable, std::slice::from_ref(&work));

    // The directory that a child works in, replaced from its parent's.
    let moved = workspace(&[work.to_str().unwrap()]);
    let table = writable_roots(&moved, &work.join("cache"), &BTreeMap::new());
    assert_eq!(table.writable, std::slice::from_ref(&work));

    // A link outside of all roots is the user's own.
    let link = scratch.path("link");
    std::os::unix::fs::symlink(&elsewhere, &link).unwrap();
    let table = writable_roots(
        &workspace(&[link.to_str().unwrap()]),
        &work,
        &BTreeMap::new(),
    );
    assert_eq!(table.writable, [work, elsewhere]);
}
