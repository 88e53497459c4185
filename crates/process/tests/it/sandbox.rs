//! What policies allow and refuse, whatever enforces them.

use std::net::{TcpListener, UdpSocket};

use troupe_process::{
    BackendChoice, Launcher, LauncherOptions, LeftBehind, SandboxBackend, SpawnError,
};
use troupe_protocol::policy::SandboxPolicy;

use crate::support::{
    BACKENDS, bash, confined, is_alive, launcher, launcher_with, read_until, run_with, scratch,
    workspace_only, write,
};

#[test]
fn this_machine_offers_every_backend() {
    let best = launcher().report();
    assert_eq!(best.backend(), Ok(SandboxBackend::Namespaces), "{best}");
    let second = launcher_with(BackendChoice::Landlock).report();
    assert_eq!(second.backend(), Ok(SandboxBackend::Landlock), "{second}");
}

#[tokio::test]
async fn workspace_write_writes_in_the_workspace_only() {
    for backend in BACKENDS {
        let place = scratch();
        let work = place.path().join("work");
        let outside = write(place.path().join("outside"), "untouched");
        std::fs::create_dir(&work).unwrap();
        let script = "mkdir -p a b && echo 1 > a/x && mv a/x b/y && cat b/y > /dev/null && echo in; \
                      echo 2 > ../outside; : > ../new; mkdir ../dir; rm ../outside; ln -s a ../link";
        let spec = confined(script, workspace_only(), &work);
        let done = run_with(&launcher_with(backend), spec).await;
        assert_eq!(done.stdout, "in\n", "{done:?}");
        assert_eq!(done.stderr.lines().count(), 5, "{done:?}");
        assert_eq!(std::fs::read_to_string(outside).unwrap(), "untouched");
        assert_eq!(place.path().read_dir().unwrap().count(), 2);
    }
}

#[tokio::test]
async fn read_only_writes_nothing_and_reads_everything() {
    for backend in BACKENDS {
        let place = scratch();
        let script =
            "echo x > new; : > /tmp/troupe-read-only; head -c 5 /etc/passwd; : > /dev/null";
        let spec = confined(script, SandboxPolicy::read_only(), place.path());
        let done = run_with(&launcher_with(backend), spec).await;
        assert_eq!((done.stdout.as_str(), done.exit.code), ("root:", Some(0)));
        assert_eq!(place.path().read_dir().unwrap().count(), 0);
        assert!(!std::path::Path::new("/tmp/troupe-read-only").exists());
    }
}

#[tokio::test]
async fn a_workspace_below_or_above_another_root_is_writable() {
    for backend in BACKENDS {
        let place = tempfile::tempdir().unwrap();
        let inner = place.path().join("inner");
        std::fs::create_dir(&inner).unwrap();
        let script = "echo 1 > here; echo 2 > ../above; echo 3 > /tmp/$$ && rm /tmp/$$; pwd";
        let spec = confined(script, SandboxPolicy::workspace_write(), &inner);
        let done = run_with(&launcher_with(backend), spec).await;
        assert_eq!((done.stderr.as_str(), done.exit.code), ("", Some(0)));
        assert!(inner.join("here").exists() && place.path().join("above").exists());
    }
}

#[tokio::test]
async fn a_workspace_that_was_deleted_and_made_again_is_writable() {
    for backend in BACKENDS {
        let (place, launcher) = (scratch(), launcher_with(backend));
        let work = place.path().join("work");
        for round in ["first", "second"] {
            std::fs::create_dir(&work).unwrap();
            let spec = confined(&format!("touch {round}"), workspace_only(), &work);
            assert!(run_with(&launcher, spec).await.exit.is_success());
            assert!(work.join(round).exists());
            std::fs::remove_dir_all(&work).unwrap();
        }
    }
}

#[tokio::test]
async fn a_protected_directory_is_writable_when_asked_for_by_name() {
    for backend in BACKENDS {
        let place = scratch();
        let work = place.path().join("work");
        write(work.join(".git/config"), "");
        let policy = SandboxPolicy::WorkspaceWrite {
            writable_roots: vec![".git".into()],
            network_access: false,
            exclude_tmpdir_env_var: true,
            exclude_slash_tmp: true,
        };
        let spec = confined("echo x > .git/config && echo y > file", policy, &work);
        let done = run_with(&launcher_with(backend), spec).await;
        assert!(done.exit.is_success(), "{done:?}");
    }
}

/// Tries TCP and UDP to listeners of this test.
async fn reaches_network(backend: BackendChoice, policy: SandboxPolicy) -> String {
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
    let script = format!(
        "(: > /dev/tcp/127.0.0.1/{}) && echo tcp; (: > /dev/udp/127.0.0.1/{}) && echo udp",
        tcp.local_addr().unwrap().port(),
        udp.local_addr().unwrap().port(),
    );
    let place = scratch();
    let spec = confined(&script, policy, place.path());
    run_with(&launcher_with(backend), spec).await.stdout
}

#[tokio::test]
async fn the_network_is_there_only_if_the_policy_says_so() {
    for backend in BACKENDS {
        let reaches = async |policy| reaches_network(backend, policy).await;
        let with = |network_access| SandboxPolicy::ReadOnly { network_access };
        assert_eq!(reaches(with(false)).await, "");
        assert_eq!(reaches(with(true)).await, "tcp\nudp\n");
        assert_eq!(reaches(SandboxPolicy::workspace_write()).await, "");
        assert_eq!(reaches(SandboxPolicy::DangerFullAccess).await, "tcp\nudp\n");
    }
}

#[tokio::test]
async fn processes_outside_cannot_be_signalled() {
    for backend in BACKENDS {
        let outside = launcher();
        let victim = outside.spawn(bash("sleep 1000")).await.unwrap();
        let place = scratch();
        let script = format!("kill -9 {}; kill -9 $PPID; echo done", victim.pid());
        let spec = confined(&script, workspace_only(), place.path());
        let done = run_with(&launcher_with(backend), spec).await;
        assert_eq!(done.stdout, "done\n");
        assert!(is_alive(victim.pid().cast_signed()));
    }
}

#[tokio::test]
async fn a_confined_daemon_does_not_outlive_its_command() {
    for backend in BACKENDS {
        let place = scratch();
        let script = "(setsid sleep 1000 </dev/null >/dev/null 2>&1 &); sleep 0.05; \
                      readlink /proc/self/ns/pid";
        let spec = confined(script, workspace_only(), place.path());
        let mut process = launcher_with(backend).spawn(spec).await.unwrap();
        let leader = process.pid();
        let done = crate::support::finish(&mut process).await;
        assert_eq!(done.exit.left_behind, LeftBehind::Ended);
        assert!(!is_alive(leader.cast_signed()));
        if backend == BackendChoice::Namespaces {
            let namespace = done.stdout.trim();
            let is_in_it = |pid: &str| {
                let link = std::fs::read_link(format!("/proc/{pid}/ns/pid"));
                link.is_ok_and(|link| link.to_str() == Some(namespace))
            };
            // The keeper itself is the last to go.
            for process in std::fs::read_dir("/proc").unwrap().flatten() {
                let pid = process.file_name().to_string_lossy().into_owned();
                if is_in_it(&pid) {
                    let command = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
                    assert!(command.is_empty() || command.starts_with(b"troupe-holder"));
                }
            }
        }
    }
}

#[tokio::test]
async fn a_socket_that_was_bound_after_the_last_command_is_covered_too() {
    let launcher = launcher_with(BackendChoice::Namespaces);
    let place = scratch();
    let path = place.path().join("sock");
    let connect = "readlink /proc/self/ns/pid; python3 -c \"import socket; \
                   socket.socket(socket.AF_UNIX).connect('sock')\" 2>/dev/null && echo escaped; true";
    let run = async || {
        let spec = confined(connect, workspace_only(), place.path());
        run_with(&launcher, spec).await.stdout
    };
    let first = run().await;
    let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
    assert_eq!(run().await, first, "the same keeper, and nothing escaped");
    drop(listener);
}

#[tokio::test]
async fn the_process_id_is_that_of_the_host() {
    for backend in BACKENDS {
        let place = scratch();
        let spec = confined("echo up; sleep 1000; true", workspace_only(), place.path());
        let mut process = launcher_with(backend).spawn(spec).await.unwrap();
        read_until(&mut process, |it| it == "up\n").await;
        let command = std::fs::read(format!("/proc/{}/cmdline", process.pid())).unwrap();
        assert_eq!(command, b"bash\0-c\0echo up; sleep 1000; true\0");
    }
}

#[tokio::test]
async fn files_in_the_home_of_troupe_cannot_be_read() {
    for backend in BACKENDS {
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
            backend,
            troupe_home: Some(place.path().join("home")),
            ..LauncherOptions::default()
        });
        let spec = confined(&script, workspace_only(), &work);
        let done = run_with(&launcher, spec).await;
        assert_eq!(done.stdout, "publicx\n", "{done:?}");
        assert!(work.join("f").exists());
    }
}

#[tokio::test]
async fn a_terminal_works_in_the_sandbox() {
    for backend in BACKENDS {
        let place = scratch();
        let mut spec = confined(
            "read line; stty size; echo got $line",
            workspace_only(),
            place.path(),
        );
        spec.terminal = Some(troupe_process::TerminalSize { rows: 9, cols: 8 });
        let mut process = launcher_with(backend).spawn(spec).await.unwrap();
        process.write_stdin(b"hello\n").await.unwrap();
        let done = crate::support::finish(&mut process).await;
        assert_eq!(done.stdout, "hello\r\n9 8\r\ngot hello\r\n");
    }
}

#[tokio::test]
async fn a_policy_that_cannot_be_enforced_refuses_the_command() {
    let place = scratch();
    let launcher = launcher_with(BackendChoice::Disabled);
    let spec = confined("touch ran", workspace_only(), place.path());
    let error = launcher.spawn(spec).await.unwrap_err();
    assert!(matches!(error, SpawnError::Refused { .. }), "{error}");
    assert!(error.to_string().contains("danger-full-access"), "{error}");
    assert_eq!(place.path().read_dir().unwrap().count(), 0);

    let spec = confined("echo ran", SandboxPolicy::DangerFullAccess, place.path());
    assert_eq!(run_with(&launcher, spec).await.stdout, "ran\n");
}
