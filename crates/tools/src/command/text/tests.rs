use bytes::Bytes;
use expect_test::{Expect, expect};
use troupe_process::SandboxDenial;
use troupe_protocol::command::OutputStream;

use super::super::capture::OutputPiece;
use super::*;

fn exit(code: i32, denial: Option<&str>) -> ProcessExit {
    ProcessExit {
        code: Some(code),
        signal: None,
        denial: denial.map(|what| SandboxDenial {
            what: what.to_owned(),
            moved_aside: false,
        }),
        left_behind: LeftBehind::Nothing,
        wall: Duration::ZERO,
        cpu: Duration::ZERO,
        memory_peak_bytes: 0,
    }
}

fn captured(output: &'static str) -> OutputCapture {
    let mut capture = OutputCapture::new();
    capture.keep(&OutputPiece {
        stream: OutputStream::Stdout,
        bytes: Bytes::from_static(output.as_bytes()),
    });
    capture
}

fn check_one_shot(output: &'static str, preface: Option<&str>, expect: Expect) {
    let exit = exit(1, Some("write to /etc/hosts"));
    let answer = OneShot {
        exit_code: exit_code(&exit),
        elapsed: Duration::from_millis(1260),
        remarks: remarks(&exit, ApprovalPolicy::Never, WatchStart::FromTheStart),
        preface: preface.map(str::to_owned),
        output: &captured(output).aggregated,
        tokens_max: 4,
    };
    expect.assert_eq(&answer.render());
}

#[test]
fn a_command_that_ended() {
    check_one_shot(
        "short\n",
        None,
        expect![[r"
            Exit code: 1
            Wall time: 1.3 seconds
            Sandbox: stopped write to /etc/hosts; it cannot leave the sandbox: reach the goal another way
            Output:
            short
        "]],
    );
    check_one_shot(
        "a long output\nof several\nlines\n",
        Some("command timed out"),
        expect![[r"
            Exit code: 1
            Wall time: 1.3 seconds
            Total output lines: 3
            Sandbox: stopped write to /etc/hosts; it cannot leave the sandbox: reach the goal another way
            Output:
            command timed out
            a long o…4 tokens truncated…l
            lines
        "]],
    );
}

#[test]
fn what_was_stopped_matters_only_to_a_command_that_failed() {
    let count = |code| {
        let exit = exit(code, Some("write to /etc"));
        remarks(&exit, ApprovalPolicy::Never, WatchStart::FromTheStart).len()
    };
    assert_eq!([0, 1].map(count), [0, 1]);
}

#[test]
fn what_was_moved_aside_matters_to_a_command_that_went_well_too() {
    let mut exit = exit(0, Some("creation of /work/.troupe (moved aside)"));
    exit.denial.as_mut().unwrap().moved_aside = true;
    let remarks = remarks(&exit, ApprovalPolicy::Never, WatchStart::FromTheStart);
    assert!(remarks[0].starts_with("Sandbox: stopped creation of /work/.troupe (moved aside)"));
}

#[test]
fn a_look_at_a_command() {
    let check = |standing: BackgroundStatus<'_>, expect: Expect| {
        let look = BackgroundReport {
            number: 31,
            elapsed: Duration::from_millis(250),
            standing,
            capture: &captured("12345678"),
            tokens_max: 9,
            watched: WatchStart::Later,
        };
        expect.assert_eq(&look.render(ApprovalPolicy::OnRequest));
    };
    let stopped = exit(2, Some("socket(AF_INET)"));
    check(
        BackgroundStatus::Exited(&stopped),
        expect![[r#"
            Chunk ID: 00001f
            Wall time: 0.2500 seconds
            Process exited with code 2
            Sandbox: stopped socket(AF_INET); if it must run outside of the sandbox, call again with sandbox_permissions "require_escalated" and a justification
            Original token count: 2
            Output:
            12345678"#]],
    );
    check(
        BackgroundStatus::Aborted,
        expect![[r"
            Chunk ID: 00001f
            Wall time: 0.2500 seconds
            Process aborted after 0.2 seconds
            Original token count: 2
            Output:
            12345678"]],
    );
}
