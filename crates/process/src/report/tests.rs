use expect_test::{Expect, expect};

use super::*;

fn check(kernel: &KernelSupport, choice: BackendChoice, expected: Expect) {
    expected.assert_eq(&kernel.report(choice, &SearchSummary::default()).to_string());
}

fn current() -> KernelSupport {
    KernelSupport {
        namespaces: Ok(()),
        landlock_abi: 7,
        has_seccomp: true,
    }
}

fn in_a_container() -> KernelSupport {
    KernelSupport {
        namespaces: Err("creating namespaces failed: EPERM".to_owned()),
        ..current()
    }
}

#[test]
fn a_current_kernel() {
    check(
        &current(),
        BackendChoice::Auto,
        expect![[r"
        sandbox: namespaces, Landlock and seccomp
          yes  writes outside the writable roots (mount namespace)
          yes  .git and .troupe directly in a writable root are read-only (mount namespace)
          yes  .git and .troupe deeper in a writable root are read-only (mount namespace, for those that are there when a policy is first used, outside of temporary directories)
          yes  files in $TROUPE_HOME can be neither read nor written (mount namespace)
          yes  terminals and shared memory of others (mount and ipc namespaces)
          yes  TCP, UDP and every other network socket (network namespace and seccomp)
          yes  processes outside are neither seen nor signalled (pid namespace)
          yes  abstract Unix sockets of others (Landlock ABI 7)
          yes  Unix sockets of others, by path (mount namespace, for those bound before a command starts)
          yes  ptrace, io_uring, keys, mounts, namespaces, terminal injection (seccomp)
          yes  no process outlives its command (pid namespace)
    "]],
    );
}

#[test]
fn a_container_that_forbids_namespaces() {
    check(
        &in_a_container(),
        BackendChoice::Auto,
        expect![[r"
            sandbox: Landlock and seccomp
              yes  writes outside the writable roots (Landlock ABI 7)
              yes  truncation outside the writable roots (Landlock ABI 7)
              yes  control of devices (Landlock ABI 7)
              NO   modes, owners and times outside the writable roots (needs a mount namespace: creating namespaces failed: EPERM)
              NO   .git and .troupe directly in a writable root are read-only (needs a mount namespace: creating namespaces failed: EPERM)
              NO   .git and .troupe deeper in a writable root are read-only (needs a mount namespace: creating namespaces failed: EPERM)
              yes  files in $TROUPE_HOME can be neither read nor written (Landlock ABI 7; nothing new can be made directly in a writable root around it)
              yes  TCP, UDP and every other network socket (seccomp)
              yes  signals to processes outside (Landlock ABI 7)
              yes  abstract Unix sockets of others (Landlock ABI 7)
              NO   Unix sockets of others, by path (needs Landlock ABI 9, the kernel has 7)
              yes  ptrace, io_uring, keys, mounts, namespaces, terminal injection (seccomp)
              yes  no process outlives its command (a keeper per command)
        "]],
    );
}

#[test]
fn a_kernel_without_anything() {
    let kernel = KernelSupport {
        landlock_abi: 0,
        ..in_a_container()
    };
    let why = kernel.backend(BackendChoice::Auto);
    expect!["creating namespaces failed: EPERM, and this kernel has no Landlock, or it is off"]
        .assert_eq(&why.unwrap_err());
}

#[test]
fn a_choice_is_never_replaced_by_something_else() {
    let backend = |choice| in_a_container().backend(choice);
    assert_eq!(
        backend(BackendChoice::Landlock),
        Ok(SandboxBackend::Landlock)
    );
    assert!(backend(BackendChoice::Namespaces).is_err());
    assert!(backend(BackendChoice::Disabled).is_err());
}

#[test]
fn a_search_that_stopped_is_told() {
    let place = tempfile::tempdir_in("/var/tmp").unwrap();
    for number in 0..=crate::limits::NESTED_PATHS_MAX {
        let directory = place.path().join(number.to_string());
        std::fs::create_dir_all(directory.join(".git")).unwrap();
    }
    let roots = crate::roots::writable_roots(
        &troupe_protocol::policy::SandboxPolicy::workspace_write(),
        place.path(),
        &std::collections::BTreeMap::new(),
    );
    let nested = crate::nested::search(&Cage::new(roots, Vec::new()));
    let report = current().report(BackendChoice::Auto, &nested.into());
    let row = report.rows().iter().find(|row| row.feature == NESTED);
    let path = place.path().canonicalize().unwrap();
    let told = row.unwrap().to_string();
    expect!["  NO   .git and .troupe deeper in a writable root are read-only (only those found are (256 here), because the search of ~ stopped at 256 of them)"]
        .assert_eq(&told.replace(path.to_str().unwrap(), "~"));
}
