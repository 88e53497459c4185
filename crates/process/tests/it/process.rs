//! Starting, streaming, stopping.

use troupe_process::{
    KillOutcome, LeftBehind, LoginError, OutputBuffer, ProcessEvent, SpawnError, StdinMode,
    login_environment,
};

use crate::support::{
    bash, finish, gone, is_alive, launcher, read_until, run, run_with, within, write,
};

#[tokio::test]
async fn output_and_exit_code_arrive() {
    let done = run(bash("echo out; echo err >&2; exit 7")).await;
    assert_eq!(
        (done.stdout.as_str(), done.stderr.as_str()),
        ("out\n", "err\n")
    );
    assert_eq!((done.exit.code, done.exit.signal), (Some(7), None));
    assert_eq!(done.exit.left_behind, LeftBehind::Nothing);
    assert!(done.exit.cpu.as_micros() > 0 && done.exit.memory_peak_bytes > 0);
}

#[tokio::test]
async fn a_signal_is_told_from_a_code() {
    let done = run(bash("kill -SEGV $$")).await;
    assert_eq!((done.exit.code, done.exit.signal), (None, Some(11)));
}

#[tokio::test]
async fn only_the_given_environment_is_there() {
    let mut spec = bash("env | sort");
    spec.env.insert("GREETING".into(), "grüß\ngott".into());
    spec.argv = ["env", "-0"].map(String::from).to_vec();
    let done = run(spec).await;
    assert_eq!(
        done.stdout,
        "GREETING=grüß\ngott\0PATH=/usr/local/bin:/usr/bin:/bin\0"
    );
}

#[tokio::test]
async fn nothing_of_the_engine_is_inherited() {
    // A descriptor without close-on-exec, as a careless library might leave one.
    let file = std::fs::File::open("/etc/hostname").unwrap();
    let leaked = nix::unistd::dup(&file).unwrap();
    nix::fcntl::fcntl(
        &leaked,
        nix::fcntl::FcntlArg::F_SETFD(nix::fcntl::FdFlag::empty()),
    )
    .unwrap();
    let done = run(bash("ls /proc/self/fd; trap; umask")).await;
    // 3 is the directory that ls reads; `trap` would list ignored signals, as SIGPIPE is here.
    assert_eq!(done.stdout, "0\n1\n2\n3\n0022\n");
}

#[tokio::test]
async fn stdin_reaches_the_command() {
    let mut spec = bash("cat; echo end");
    spec.stdin = StdinMode::Pipe;
    let mut process = launcher().spawn(spec).await.unwrap();
    process.write_stdin(b"one\n").await.unwrap();
    assert_eq!(
        read_until(&mut process, |it| it.ends_with('\n')).await,
        "one\n"
    );
    process.write_stdin(b"two\n").await.unwrap();
    process.close_stdin();
    assert_eq!(finish(&mut process).await.stdout, "two\nend\n");
}

#[tokio::test]
async fn a_large_input_and_its_echo_do_not_wait_for_each_other() {
    let mut spec = bash("cat");
    spec.stdin = StdinMode::Pipe;
    let mut process = launcher().spawn(spec).await.unwrap();
    let text = "0123456789abcdef".repeat(40_000);
    within(process.write_stdin(text.as_bytes())).await.unwrap();
    process.close_stdin();
    assert_eq!(finish(&mut process).await.stdout, text);
}

#[tokio::test]
async fn writing_to_a_command_that_reads_nothing_fails_when_it_ends() {
    let mut spec = bash("exec 0<&-; sleep 0.05");
    spec.stdin = StdinMode::Pipe;
    let mut process = launcher().spawn(spec).await.unwrap();
    let error = within(process.write_stdin(&vec![0; 1 << 20]))
        .await
        .unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::BrokenPipe);
    assert!(finish(&mut process).await.exit.is_success());
}

#[tokio::test]
async fn what_cannot_be_started_says_why() {
    let start = async |change: &dyn Fn(&mut troupe_process::CommandSpec)| {
        let mut spec = bash("true");
        change(&mut spec);
        launcher().spawn(spec).await.unwrap_err()
    };
    let error = start(&|spec| spec.argv = vec!["no-such-program".into()]).await;
    assert!(matches!(error, SpawnError::NotFound { program } if program == "no-such-program"));
    let error = start(&|spec| spec.cwd = "/no/such/place".into()).await;
    assert!(
        matches!(error, SpawnError::WorkingDirectory { .. }),
        "{error}"
    );
    let error = start(&|spec| spec.argv = vec!["/etc/passwd".into()]).await;
    assert!(matches!(error, SpawnError::Execute { .. }), "{error}");
    for argv in [vec![], vec![String::new()], vec!["a\0b".into()]] {
        let error = start(&|spec| spec.argv.clone_from(&argv)).await;
        assert!(matches!(error, SpawnError::Invalid { .. }), "{error}");
    }
    let error = start(&|spec| drop(spec.env.insert("A=B".into(), String::new()))).await;
    assert!(matches!(error, SpawnError::Invalid { .. }), "{error}");
    let error = start(&|spec| spec.argv.push("x".repeat(8 << 20))).await;
    assert!(matches!(error, SpawnError::Io(_)), "{error}");
}

#[tokio::test]
async fn output_that_is_no_text_and_never_ends_stays_small() {
    let mut process = launcher()
        .spawn(bash(r"head -c 50000000 /dev/zero | tr '\0' '\377'"))
        .await
        .unwrap();
    let mut buffer = OutputBuffer::new(1000);
    while let Some(event) = within(process.next()).await {
        match event {
            ProcessEvent::Output { bytes, .. } => buffer.push(&bytes),
            ProcessEvent::Exited(exit) => assert!(exit.is_success()),
        }
    }
    assert_eq!(buffer.total_bytes(), 50_000_000);
    assert!(buffer.render().len() < 4000);
    let peak = nix::sys::resource::getrusage(nix::sys::resource::UsageWho::RUSAGE_SELF)
        .unwrap()
        .max_rss();
    assert!(peak < 200 * 1024, "this program used {peak} KiB");
}

#[tokio::test]
async fn a_grandchild_that_keeps_the_pipe_is_ended_after_a_grace_time() {
    let done = run(bash(
        "(trap '' TERM HUP; echo $BASHPID; sleep 1000) & sleep 0.05",
    ))
    .await;
    assert!(done.exit.is_success());
    assert_eq!(done.exit.left_behind, LeftBehind::Ended);
    assert!(!is_alive(done.stdout.trim().parse().unwrap()));
}

#[tokio::test]
async fn what_a_command_leaves_behind_may_finish_writing() {
    let done = run(bash("echo late > >(sleep 0.1; cat)")).await;
    assert_eq!(done.stdout, "late\n");
}

#[tokio::test]
async fn a_daemon_does_not_outlive_its_command() {
    // Twice forked, in a session of its own, with nothing of the command's left open.
    let script = "(setsid bash -c 'sleep 1000 & echo $! >&3; wait' </dev/null >/dev/null 2>&1 &) \
                  3>&1; sleep 0.05";
    let done = run(bash(script)).await;
    assert_eq!(done.exit.left_behind, LeftBehind::Ended);
    assert!(!is_alive(done.stdout.trim().parse().unwrap()));
}

const STUBBORN_TREE: &str = "trap '' TERM INT HUP; \
    setsid bash -c 'trap \"\" TERM HUP; echo $BASHPID; while :; do sleep 1; done' & \
    while :; do sleep 1; done";

#[tokio::test]
async fn kill_ends_a_tree_that_ignores_signals() {
    let mut process = launcher().spawn(bash(STUBBORN_TREE)).await.unwrap();
    let daemon = read_until(&mut process, |it| it.ends_with('\n')).await;
    assert_eq!(within(process.kill()).await, KillOutcome::Killed);
    assert!(!is_alive(daemon.trim().parse().unwrap()));
    assert_eq!(finish(&mut process).await.exit.signal, Some(9));
    assert_eq!(process.kill().await, KillOutcome::AlreadyEnded);
}

#[tokio::test]
async fn kill_lets_a_command_clean_up() {
    let script = "trap 'echo bye; exit 3' TERM; echo ready; while :; do sleep 0.01; done";
    let mut process = launcher().spawn(bash(script)).await.unwrap();
    read_until(&mut process, |it| it == "ready\n").await;
    assert_eq!(within(process.kill()).await, KillOutcome::Terminated);
    let done = finish(&mut process).await;
    assert_eq!((done.stdout.as_str(), done.exit.code), ("bye\n", Some(3)));
}

#[tokio::test]
async fn a_killer_works_from_elsewhere_and_keeps_nothing_alive() {
    let mut process = launcher().spawn(bash(STUBBORN_TREE)).await.unwrap();
    let daemon = read_until(&mut process, |it| it.ends_with('\n')).await;
    let killer = process.killer();
    tokio::spawn(async move { killer.kill() }).await.unwrap();
    assert_eq!(finish(&mut process).await.exit.signal, Some(9));
    assert!(!is_alive(daemon.trim().parse().unwrap()));
}

#[tokio::test]
async fn interrupt_is_what_ctrl_c_is() {
    let script = "trap 'echo caught; exit 0' INT; echo ready; while :; do sleep 0.01; done";
    let mut process = launcher().spawn(bash(script)).await.unwrap();
    read_until(&mut process, |it| it == "ready\n").await;
    process.killer().interrupt();
    assert_eq!(finish(&mut process).await.stdout, "caught\n");
}

#[tokio::test]
async fn dropping_a_process_ends_its_tree() {
    let mut process = launcher().spawn(bash(STUBBORN_TREE)).await.unwrap();
    let daemon = read_until(&mut process, |it| it.ends_with('\n')).await;
    let (leader, killer) = (process.pid(), process.killer());
    drop(process);
    gone(leader.cast_signed()).await;
    gone(daemon.trim().parse().unwrap()).await;
    killer.kill();
}

#[tokio::test]
async fn many_at_once() {
    let launcher = launcher();
    let mut running = tokio::task::JoinSet::new();
    for number in 0..100 {
        let launcher = launcher.clone();
        running.spawn(async move {
            let spec = bash(&format!("sleep 0.0{}; echo {number}", number % 7));
            let mut process = launcher.spawn(spec).await.unwrap();
            assert_eq!(finish(&mut process).await.stdout, format!("{number}\n"));
        });
    }
    while let Some(done) = running.join_next().await {
        done.unwrap();
    }
}

/// Prints who keeps the command.
const KEEPER: &str = "echo $PPID";

#[tokio::test]
async fn a_keeper_takes_the_next_command_when_nothing_is_left_of_the_last() {
    let launcher = launcher();
    let first = run_with(&launcher, bash(KEEPER)).await.stdout;
    let mut other = bash("kill -9 $$");
    other.cwd = "/tmp".into();
    other.env.insert("OF_THE_FIRST".into(), "1".into());
    assert_eq!(run_with(&launcher, other).await.exit.signal, Some(9));
    let spec = bash(&format!("{KEEPER}; pwd; echo ${{OF_THE_FIRST-nothing}}"));
    let third = run_with(&launcher, spec).await.stdout;
    assert_eq!(third, format!("{first}/\nnothing\n"));

    let daemon = bash("setsid sleep 1000 </dev/null >/dev/null 2>&1 &");
    let left = run_with(&launcher, daemon).await.exit.left_behind;
    assert_eq!(left, LeftBehind::Ended);
    let after = run_with(&launcher, bash(KEEPER)).await.stdout;
    assert_ne!(after, first, "its keeper ended with the daemon");
}

#[tokio::test]
async fn a_keeper_that_was_killed_while_it_waited_is_replaced() {
    let launcher = launcher();
    let keeper = run_with(&launcher, bash(KEEPER)).await.stdout;
    let keeper = nix::unistd::Pid::from_raw(keeper.trim().parse().unwrap());
    nix::sys::signal::kill(keeper, nix::sys::signal::Signal::SIGKILL).unwrap();
    gone(keeper.as_raw()).await;
    let second = run_with(&launcher, bash("echo second")).await;
    assert_eq!(second.stdout, "second\n");
}

#[tokio::test]
async fn an_order_that_comes_too_late_does_not_reach_the_next_command() {
    let launcher = launcher();
    let mut first = launcher.spawn(bash(KEEPER)).await.unwrap();
    let keeper = finish(&mut first).await.stdout;
    first.killer().kill();
    drop(first);
    let second = run_with(&launcher, bash(&format!("sleep 0.05; {KEEPER}"))).await;
    assert_eq!((second.stdout, second.exit.code), (keeper, Some(0)));
}

#[tokio::test]
async fn a_request_that_is_longer_than_a_packet_arrives_whole() {
    let mut spec = bash("echo ${#LONG}");
    spec.env.insert("LONG".into(), "x".repeat(100_000));
    assert_eq!(run(spec).await.stdout, "100000\n");

    let mut spec = bash("true");
    spec.argv.extend((0..100).map(|_| "x".repeat(100_000)));
    let error = launcher().spawn(spec).await.unwrap_err();
    assert!(error.to_string().contains("too long"), "{error}");
}

#[tokio::test]
async fn a_file_without_a_format_is_read_by_the_shell() {
    let place = tempfile::tempdir().unwrap();
    let script = write(place.path().join("script"), "echo $0 $1\n");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&script, mode).unwrap();
    let mut spec = bash("");
    spec.argv = vec!["script".into(), "x".into()];
    spec.env
        .insert("PATH".into(), place.path().to_str().unwrap().into());
    let done = run(spec).await;
    assert_eq!(done.stdout, format!("{} x\n", script.display()));
}

#[tokio::test]
async fn a_holder_that_was_killed_is_replaced_and_its_commands_go_on() {
    let launcher = launcher();
    let script = "ps -o ppid= $PPID | tr -d ' '; read line; echo $line";
    let mut spec = bash(script);
    spec.stdin = StdinMode::Pipe;
    let mut process = launcher.spawn(spec).await.unwrap();
    let holder = read_until(&mut process, |it| it.ends_with('\n')).await;
    let holder = nix::unistd::Pid::from_raw(holder.trim().parse().unwrap());
    nix::sys::signal::kill(holder, nix::sys::signal::Signal::SIGKILL).unwrap();
    gone(holder.as_raw()).await;
    let mut second = launcher.spawn(bash("echo second")).await.unwrap();
    assert_eq!(finish(&mut second).await.stdout, "second\n");
    process.write_stdin(b"first\n").await.unwrap();
    assert_eq!(finish(&mut process).await.stdout, "first\n");
}

#[tokio::test]
async fn the_login_environment_is_what_the_profile_makes() {
    let home = tempfile::tempdir().unwrap();
    write(
        home.path().join(".bash_profile"),
        "echo welcome; export FROM_PROFILE='a b'; export PATH=/opt/x:$PATH\n",
    );
    let mut base = bash("").env;
    base.insert("HOME".into(), home.path().to_str().unwrap().into());
    let shell = std::path::Path::new("/bin/bash");
    let environment = login_environment(&launcher(), shell, home.path(), &base)
        .await
        .unwrap();
    assert_eq!(environment["FROM_PROFILE"], "a b");
    assert!(environment["PATH"].starts_with("/opt/x:"));
    assert!(!environment.contains_key("SHLVL"));

    let shell = std::path::Path::new("/bin/false");
    let error = login_environment(&launcher(), shell, home.path(), &base)
        .await
        .unwrap_err();
    assert!(matches!(error, LoginError::NoEnvironment { .. }));
}
