//! What policies allow and refuse.

use std::net::{TcpListener, UdpSocket};

use troupe_process::{BackendChoice, Launcher, LauncherOptions, SpawnError};
use troupe_protocol::policy::SandboxPolicy;

use crate::support::{
    bash, confined, finish, is_alive, launcher, run, scratch, workspace_only, write,
};

#[tokio::test]
async fn workspace_write_writes_in_the_workspace_only() {
    let place = scratch();
    let work = place.path().join("work");
    let outside = write(place.path().join("outside"), "untouched");
    std::fs::create_dir(&work).unwrap();
    let script = "mkdir -p a b && echo 1 > a/x && mv a/x b/y && cat b/y > /dev/null && echo in; \
                  echo 2 > ../outside; : > ../new; mkdir ../dir; rm ../outside; ln -s /etc ../link";
    let done = run(confined(script, workspace_only(), &work)).await;
    assert_eq!(done.stdout, "in\n", "{done:?}");
    assert_eq!(done.stderr.matches("denied").count(), 5, "{done:?}");
    assert_eq!(std::fs::read_to_string(outside).unwrap(), "untouched");
    assert_eq!(place.path().read_dir().unwrap().count(), 2);
}

#[tokio::test]
async fn read_only_writes_nothing_and_reads_everything() {
    let place = scratch();
    let script =
        "echo x > new; : > /tmp/troupe-read-only-test; head -c 5 /etc/passwd; echo > /dev/null";
    let done = run(confined(script, SandboxPolicy::read_only(), place.path())).await;
    assert_eq!((done.stdout.as_str(), done.exit.code), ("root:", Some(0)));
    assert_eq!(place.path().read_dir().unwrap().count(), 0);
    assert!(!std::path::Path::new("/tmp/troupe-read-only-test").exists());
}

/// Tries TCP and UDP to listeners of this test.
async fn reaches_network(policy: SandboxPolicy) -> String {
    let (tcp, udp) = (
        TcpListener::bind("127.0.0.1:0").unwrap(),
        UdpSocket::bind("127.0.0.1:0").unwrap(),
    );
    let (tcp, udp) = (
        tcp.local_addr().unwrap().port(),
        udp.local_addr().unwrap().port(),
    );
    let script = format!(
        "(: > /dev/tcp/127.0.0.1/{tcp}) && echo tcp; (: > /dev/udp/127.0.0.1/{udp}) && echo udp"
    );
    let place = scratch();
    run(confined(&script, policy, place.path())).await.stdout
}

#[tokio::test]
async fn the_network_is_there_only_if_the_policy_says_so() {
    let with = |network_access| SandboxPolicy::ReadOnly { network_access };
    assert_eq!(reaches_network(with(false)).await, "");
    assert_eq!(reaches_network(with(true)).await, "tcp\nudp\n");
    assert_eq!(reaches_network(SandboxPolicy::workspace_write()).await, "");
    assert_eq!(
        reaches_network(SandboxPolicy::DangerFullAccess).await,
        "tcp\nudp\n"
    );
}

#[tokio::test]
async fn processes_outside_cannot_be_signalled() {
    let outside = launcher();
    let victim = outside.spawn(bash("sleep 1000")).await.unwrap();
    let place = scratch();
    let script = format!("kill -9 {}; kill -9 $PPID; echo done", victim.pid());
    let done = run(confined(&script, workspace_only(), place.path())).await;
    assert_eq!(done.stdout, "done\n");
    assert!(is_alive(victim.pid().cast_signed()));
}

#[tokio::test]
async fn files_in_the_home_of_troupe_cannot_be_read() {
    let place = scratch();
    let token = write(place.path().join("home/token"), "secret");
    write(place.path().join("other"), "public");
    let work = place.path().join("home/worktrees/w");
    std::fs::create_dir_all(&work).unwrap();
    let script = format!(
        "cat {}; cat ../../../other; echo x > f; cat f",
        token.display()
    );
    let launcher = Launcher::new(LauncherOptions {
        troupe_home: Some(place.path().join("home")),
        ..LauncherOptions::default()
    });
    let spec = confined(&script, workspace_only(), &work);
    let done = finish(&mut launcher.spawn(spec).await.unwrap()).await;
    assert_eq!(done.stdout, "publicx\n", "{done:?}");
}

#[tokio::test]
async fn a_policy_that_cannot_be_enforced_refuses_the_command() {
    let place = scratch();
    let launcher = Launcher::new(LauncherOptions {
        backend: BackendChoice::Disabled,
        ..LauncherOptions::default()
    });
    let spec = confined("touch ran", workspace_only(), place.path());
    let error = launcher.spawn(spec).await.unwrap_err();
    assert!(matches!(error, SpawnError::Refused { .. }), "{error}");
    assert!(error.to_string().contains("danger-full-access"), "{error}");
    assert_eq!(place.path().read_dir().unwrap().count(), 0);

    let spec = confined("echo ran", SandboxPolicy::DangerFullAccess, place.path());
    let done = finish(&mut launcher.spawn(spec).await.unwrap()).await;
    assert_eq!(done.stdout, "ran\n");
}
