use std::path::Path;

use troupe_protocol::policy::SandboxMode;

use super::*;

fn place(policy: SandboxPolicy, cwd: &Path) -> SandboxPlace {
    SandboxPlace {
        policy,
        cwd: cwd.to_owned(),
    }
}

/// May write where it works, and not in the temporary directories, where tests work.
fn writing(roots: &[&Path]) -> SandboxPolicy {
    SandboxPolicy::WorkspaceWrite {
        writable_roots: roots.iter().map(|root| root.to_path_buf()).collect(),
        network_access: true,
        exclude_tmpdir_env_var: true,
        exclude_slash_tmp: true,
    }
}

#[test]
fn an_unchanged_parent_takes_nothing() {
    let dir = tempfile::tempdir().expect("a directory can be made");
    let sub = dir.path().join("sub");
    std::fs::create_dir(&sub).expect("a directory can be made");
    for own in [
        SandboxPolicy::read_only(),
        writing(&[]),
        writing(&[Path::new("sub")]),
    ] {
        let bound = place(writing(&[Path::new("sub")]), dir.path());
        let left = place(own.clone(), dir.path()).within(&bound, None);
        assert_eq!(left.policy, own);
    }
}

#[test]
fn a_child_that_could_do_everything_gets_what_its_parent_has() {
    let dir = tempfile::tempdir().expect("a directory can be made");
    let own = place(SandboxPolicy::DangerFullAccess, dir.path());
    let bound = place(SandboxPolicy::read_only(), dir.path());
    assert_eq!(
        own.within(&bound, None).policy,
        SandboxPolicy::read_only(),
        "neither files nor network"
    );
    let bound = place(writing(&[]), dir.path());
    assert_eq!(
        own.within(&bound, None).policy.mode(),
        SandboxMode::WorkspaceWrite
    );
}

#[test]
fn a_directory_outside_the_parents_is_only_read_unless_a_person_granted_it() {
    let parent = tempfile::tempdir().expect("a directory can be made");
    let child = tempfile::tempdir().expect("a directory can be made");
    let bound = place(writing(&[]), parent.path());
    let own = place(writing(&[child.path(), parent.path()]), child.path());
    let ungranted = own.within(&bound, None).policy;
    assert_eq!(ungranted.mode(), SandboxMode::ReadOnly);
    let granted = own.within(&bound, Some(child.path())).policy;
    assert_eq!(granted, own.policy);
    let reader = place(SandboxPolicy::read_only(), parent.path());
    let narrowed = own.within(&reader, Some(child.path())).policy;
    assert_eq!(
        narrowed,
        SandboxPolicy::read_only(),
        "a grant is no more than its parent's mode"
    );
}
