//! How a failure that the sandbox caused is told from any other.

use std::path::Path;

use troupe_process::{BackendChoice, SandboxDenial};
use troupe_protocol::policy::SandboxPolicy;

use crate::support::{BACKENDS, confined, launcher_with, run_with, scratch, workspace_only, write};

async fn denial(backend: BackendChoice, script: &str, work: &Path) -> String {
    let denial = whole_denial(backend, script, work).await;
    denial.map(|it| it.what).unwrap_or_default()
}

async fn whole_denial(backend: BackendChoice, script: &str, work: &Path) -> Option<SandboxDenial> {
    let spec = confined(script, workspace_only(), work);
    run_with(&launcher_with(backend), spec).await.exit.denial
}

#[tokio::test]
async fn what_was_refused_is_named() {
    for backend in BACKENDS {
        let place = scratch();
        let work = place.path().canonicalize().unwrap().join("work");
        write(work.join(".git/config"), "");
        let outside = work.parent().unwrap().display().to_string();
        let denial = async |script: &str| denial(backend, script, &work).await;
        let written = format!("write to {outside}");
        assert_eq!(
            denial("echo x > ../new").await,
            format!("write to {}/../new", work.display())
        );
        assert_eq!(
            denial(&format!("mkdir {outside}/d")).await,
            format!("{written}/d")
        );
        assert_eq!(
            denial(&format!("touch a; mv a {outside}/b")).await,
            format!("{written}/b")
        );
        assert_eq!(
            denial(&format!(
                "cd /; ln -s {outside} work-link 2>/dev/null; rm -f {outside}/x"
            ))
            .await,
            format!("write to /work-link, {written}/x"),
        );
        assert_eq!(
            denial(": > /dev/tcp/127.0.0.1/9").await,
            "network access (IPv4)"
        );
        assert_eq!(denial("unshare -n true").await, "unshare");
    }
}

/// Landlock alone cannot hold a repository that is there; what it lets through is not told as
/// stopped.
#[tokio::test]
async fn a_write_that_succeeded_is_not_told_as_stopped() {
    for backend in BACKENDS {
        let place = scratch();
        let work = place.path().canonicalize().unwrap().join("work");
        let config = write(work.join(".git/config"), "");
        let told = denial(backend, "echo x >> .git/config; false", &work).await;
        let is_written = !std::fs::read(&config).unwrap().is_empty();
        assert_eq!(is_written, backend == BackendChoice::Landlock);
        assert_eq!(told.is_empty(), is_written, "{backend:?}: {told}");
    }
}

#[tokio::test]
async fn what_was_allowed_or_failed_by_itself_is_no_denial() {
    for backend in BACKENDS {
        let place = scratch();
        let denial = async |script: &str| denial(backend, script, place.path()).await;
        assert_eq!(
            denial("echo x > new; mkdir d; mv new d/; rm -r d; : > /dev/null").await,
            ""
        );
        assert_eq!(denial("cat /no/such/file; exit 3").await, "");
        assert_eq!(
            denial("echo 'Permission denied: Read-only file system'; exit 1").await,
            ""
        );
    }
}

#[tokio::test]
async fn a_repository_cannot_be_planted_where_none_was() {
    for backend in BACKENDS {
        let place = scratch();
        let work = place.path().canonicalize().unwrap();
        let script = "mkdir -p .git/hooks && echo evil > .git/hooks/pre-commit; ln -s /tmp .troupe";
        let denial = whole_denial(backend, script, &work).await.unwrap();
        let told = denial.what;
        assert!(told.contains("write to "), "{told}");
        assert!(!denial.moved_aside, "{told}");
        let left: Vec<_> = work.read_dir().unwrap().flatten().collect();
        assert!(left.is_empty(), "{left:?}");
    }
}

/// It is made from outside, where no call is reported, as by a command that wins a race.
#[tokio::test]
async fn what_was_planted_past_the_watch_is_gone_while_the_command_runs_whatever_names_are_taken() {
    for backend in BACKENDS {
        let place = scratch();
        let work = place.path().canonicalize().unwrap();
        for number in 1..=20 {
            std::fs::create_dir(work.join(format!(".troupe.refused-{number}"))).unwrap();
        }
        let script = "touch ready; while [ ! -e planted ]; do :; done; \
                      while [ -e .troupe ]; do :; done; touch seen";
        let running = confined(script, workspace_only(), &work);
        let launcher = launcher_with(backend);
        let plant = async {
            while !work.join("ready").exists() {
                tokio::task::yield_now().await;
            }
            std::fs::create_dir(work.join(".troupe")).unwrap();
            std::fs::write(work.join("planted"), "").unwrap();
        };
        let limit = std::time::Duration::from_secs(20);
        let both = async { tokio::join!(run_with(&launcher, running), plant) };
        tokio::time::timeout(limit, both).await.unwrap();
        assert!(work.join("seen").exists());
        assert!(!work.join(".troupe").exists());
        // What was moved aside and holds nothing is not left lying about.
        let names = work.read_dir().unwrap().flatten();
        let names = names.map(|entry| entry.file_name().to_string_lossy().into_owned());
        let aside = names.filter(|name| name.starts_with(".troupe.refused-"));
        assert_eq!(aside.count(), 20);
    }
}

#[tokio::test]
async fn a_repository_behind_a_symlink_stays_where_it_is() {
    for backend in BACKENDS {
        let place = scratch();
        let work = place.path().canonicalize().unwrap().join("work");
        let config = write(work.join("store/config"), "precious");
        std::os::unix::fs::symlink("store", work.join(".git")).unwrap();
        let script = "echo evil > .git/config; rm .git; mkdir .git; echo evil > .git/config";
        let told = denial(backend, script, &work).await;
        assert!(told.contains("/.git"), "{told}");
        assert_eq!(
            std::fs::read_link(work.join(".git")).unwrap(),
            Path::new("store")
        );
        if backend == BackendChoice::Namespaces {
            assert_eq!(std::fs::read_to_string(config).unwrap(), "precious");
        }
    }
}

#[tokio::test]
async fn a_denial_can_be_shown_whatever_the_path_is() {
    for backend in BACKENDS {
        let place = scratch();
        let told = denial(
            backend,
            r"for i in 1 2 3 4 5 6 7 8 9; do \
            : > $'/\e[31m\x01\xff'$i$(printf '\x02%.0s' {1..240}); done",
            place.path(),
        )
        .await;
        assert!(
            told.starts_with("write to /\u{fffd}[31m\u{fffd}\u{fffd}1"),
            "{told:?}"
        );
        assert!(told.len() <= 8 * 260, "{}", told.len());
    }
}

#[tokio::test]
async fn moving_aside_cannot_be_turned_against_another_repository() {
    for backend in BACKENDS {
        let place = scratch();
        let victim = write(place.path().join("victim/.git/config"), "precious");
        let work = place.path().join("roots/work");
        std::fs::create_dir_all(&work).unwrap();
        let script = format!(
            "mv ../work ../w; ln -s {} ../work",
            place.path().join("victim").display()
        );
        let policy = SandboxPolicy::WorkspaceWrite {
            writable_roots: vec![place.path().join("roots")],
            network_access: false,
            exclude_tmpdir_env_var: true,
            exclude_slash_tmp: true,
        };
        run_with(&launcher_with(backend), confined(&script, policy, &work)).await;
        assert_eq!(std::fs::read_to_string(victim).unwrap(), "precious");
    }
}
