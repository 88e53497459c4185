//! A machine that forbids namespaces.

use std::process::Command;

use troupe_process::{BackendChoice, SandboxBackend, SpawnError};

use crate::support::{confined, launcher, launcher_with, run_with, scratch, workspace_only};

/// Set in the copy of this program that runs where no further user namespace can be made.
const ROLE: &str = "TROUPE_TEST_WITHOUT_NAMESPACES";

#[tokio::test]
async fn landlock_takes_over_and_the_report_says_so() {
    if std::env::var_os(ROLE).is_none() {
        let name = "fallback::landlock_takes_over_and_the_report_says_so";
        let forbid = "echo 0 > /proc/sys/user/max_user_namespaces && exec \"$0\" \"$@\"";
        let this = std::env::current_exe().unwrap();
        let status = Command::new("unshare")
            .args(["-Ur", "sh", "-c", forbid])
            .arg(this)
            .args([name, "--exact"])
            .env(ROLE, "1")
            .status()
            .unwrap();
        return assert!(status.success());
    }
    let place = scratch();
    let work = place.path().join("work");
    std::fs::create_dir(&work).unwrap();
    let script = "echo x > in && echo y > ../out";

    let auto = launcher();
    let done = run_with(&auto, confined(script, workspace_only(), &work)).await;
    assert!(
        work.join("in").exists() && !place.path().join("out").exists(),
        "{done:?}"
    );
    let report = auto.report();
    assert_eq!(report.backend(), Ok(SandboxBackend::Landlock));
    assert!(report.to_string().contains("NO   .git"), "{report}");

    let forced = launcher_with(BackendChoice::Namespaces);
    let error = forced
        .spawn(confined(script, workspace_only(), &work))
        .await
        .unwrap_err();
    assert!(
        matches!(&error, SpawnError::Refused { why, .. } if why.contains("namespaces")),
        "{error}"
    );
}
