//! Commands with a terminal.

use troupe_process::{CommandSpec, Process, TerminalSize};

use crate::support::{bash, finish, launcher, read_until};

async fn start(script: &str) -> Process {
    let spec = CommandSpec {
        terminal: Some(TerminalSize {
            rows: 30,
            cols: 100,
        }),
        ..bash(script)
    };
    launcher().spawn(spec).await.unwrap()
}

#[tokio::test]
async fn it_is_a_terminal_of_the_size_asked_for() {
    let mut process = start("test -t 0 -a -t 1 -a -t 2 && stty size </dev/tty").await;
    let done = finish(&mut process).await;
    assert_eq!(
        (done.stdout.as_str(), done.exit.code),
        ("30 100\r\n", Some(0))
    );
}

#[tokio::test]
async fn what_is_typed_is_echoed_and_read() {
    let mut process = start("read line; echo got $line").await;
    process.write_stdin(b"hello\n").await.unwrap();
    let done = finish(&mut process).await;
    assert_eq!(done.stdout, "hello\r\ngot hello\r\n");
}

#[tokio::test]
async fn a_resize_is_noticed() {
    let mut process =
        start("trap 'stty size; exit' WINCH; echo ready; while :; do sleep 0.01; done").await;
    read_until(&mut process, |it| it == "ready\r\n").await;
    process.resize(TerminalSize { rows: 5, cols: 7 }).unwrap();
    assert_eq!(finish(&mut process).await.stdout, "5 7\r\n");
}

#[tokio::test]
async fn ctrl_c_interrupts_and_ctrl_d_ends_the_input() {
    let script = "trap 'echo caught; caught=1' INT; echo ready; \
                  until [ $caught ]; do sleep 0.01; done; cat; echo end";
    let mut process = start(script).await;
    read_until(&mut process, |it| it == "ready\r\n").await;
    process.write_stdin(b"\x03").await.unwrap();
    read_until(&mut process, |it| it.contains("caught\r\n")).await;
    process.close_stdin();
    let done = finish(&mut process).await;
    assert!(done.stdout.ends_with("end\r\n"), "{done:?}");
}

#[tokio::test]
async fn a_command_without_a_terminal_cannot_be_resized() {
    let process = launcher().spawn(bash("cat")).await.unwrap();
    assert!(process.resize(TerminalSize::default()).is_err());
}
