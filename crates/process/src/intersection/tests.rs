use proptest::prelude::*;

use super::*;

const CWD: &str = "/srv/work";

fn env() -> BTreeMap<String, String> {
    BTreeMap::from([("TMPDIR".to_owned(), "/srv/tmp".to_owned())])
}

fn table(policy: &SandboxPolicy) -> WritableRoots {
    writable_roots(policy, Path::new(CWD), &env())
}

fn both(left: &SandboxPolicy, right: &SandboxPolicy) -> SandboxPolicy {
    intersect(left, right, Path::new(CWD), &env())
}

/// Paths that are often below one another, some of them protected.
fn path() -> impl Strategy<Value = PathBuf> {
    let part = prop_oneof![
        Just("a"),
        Just("b"),
        Just(".git"),
        Just(".troupe"),
        Just("work")
    ];
    let base = prop_oneof![
        Just("/srv"),
        Just(CWD),
        Just("/tmp"),
        Just("/srv/tmp"),
        Just("/")
    ];
    (base, prop::collection::vec(part, 0..3)).prop_map(|(base, parts)| {
        parts
            .iter()
            .fold(PathBuf::from(base), |path, part| path.join(part))
    })
}

fn policy() -> impl Strategy<Value = SandboxPolicy> {
    let roots = prop::collection::vec(path(), 0..4);
    let workspace =
        (roots, any::<[bool; 3]>()).prop_map(|(writable_roots, [network, env, tmp])| {
            SandboxPolicy::WorkspaceWrite {
                writable_roots,
                network_access: network,
                exclude_tmpdir_env_var: env,
                exclude_slash_tmp: tmp,
            }
        });
    let read_only =
        any::<bool>().prop_map(|network_access| SandboxPolicy::ReadOnly { network_access });
    prop_oneof![1 => Just(SandboxPolicy::DangerFullAccess), 2 => read_only, 8 => workspace]
}

proptest! {
    #[test]
    fn never_wider_than_either(
        left in policy(),
        right in policy(),
        paths in prop::collection::vec(path(), 20),
    ) {
        let result = both(&left, &right);
        prop_assert!(!result.network_access() || left.network_access());
        prop_assert!(!result.network_access() || right.network_access());
        let (left, right, result) = (table(&left), table(&right), table(&result));
        let roots = result.writable.iter();
        for path in paths.iter().chain(roots) {
            if result.permits(path) {
                prop_assert!(left.permits(path) && right.permits(path), "{}", path.display());
            }
        }
    }

    #[test]
    fn the_same_from_both_sides(left in policy(), right in policy()) {
        let sorted = |policy: SandboxPolicy| {
            let mut table = table(&policy);
            table.writable.sort();
            table.workspaces.sort();
            table.protected.sort();
            table
        };
        prop_assert_eq!(sorted(both(&left, &right)), sorted(both(&right, &left)));
    }

    #[test]
    fn with_itself_or_with_full_access_nothing_changes(policy in policy()) {
        let is_protected = |root: &&PathBuf| table(&policy).permits(root);
        let kept: Vec<_> = table(&policy).writable.iter().filter(is_protected).cloned().collect();
        let mut same = table(&both(&policy, &policy)).writable;
        same.retain(|root| table(&policy).permits(root));
        prop_assert!(kept.iter().all(|root| same.iter().any(|it| root.starts_with(it))));
        prop_assert_eq!(both(&policy, &SandboxPolicy::DangerFullAccess), policy);
    }
}

#[test]
fn a_root_inside_the_other_sides_temporary_directory_is_common() {
    let left = SandboxPolicy::workspace_write();
    let right = SandboxPolicy::WorkspaceWrite {
        writable_roots: vec!["/tmp/cache".into()],
        network_access: true,
        exclude_tmpdir_env_var: true,
        exclude_slash_tmp: true,
    };
    let expected = SandboxPolicy::WorkspaceWrite {
        writable_roots: vec!["/tmp/cache".into()],
        network_access: false,
        exclude_tmpdir_env_var: true,
        exclude_slash_tmp: true,
    };
    assert_eq!(both(&left, &right), expected);
}
