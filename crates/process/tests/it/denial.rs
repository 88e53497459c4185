//! How a failure that the sandbox caused is told from any other.

use std::path::Path;

use troupe_process::BackendChoice;
use troupe_protocol::policy::SandboxPolicy;

use crate::support::{BACKENDS, confined, launcher_with, run_with, scratch, workspace_only, write};

async fn denial(backend: BackendChoice, script: &str, work: &Path) -> String {
    let spec = confined(script, workspace_only(), work);
    let done = run_with(&launcher_with(backend), spec).await;
    done.exit.denial.map(|it| it.what).unwrap_or_default()
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
        let told = denial(backend, script, &work).await;
        assert!(told.contains("/.git (moved aside)"), "{told}");
        assert!(told.contains("/.troupe (moved aside)"), "{told}");
        assert!(!work.join(".git").exists());
        assert!(work.join(".troupe").symlink_metadata().is_err());
        assert!(work.join(".git.refused-1/hooks/pre-commit").exists());
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
