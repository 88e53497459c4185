use expect_test::{Expect, expect};
use troupe_protocol::result::CommandEvidence;
use troupe_protocol::usage::TokenUsage;
use troupe_protocol::{SessionId, SubmissionId};

use super::*;

fn check(result: &TaskResult, expected: Expect) {
    expected.assert_eq(&page("/root/tester", result, TextStyle::Plain));
}

fn result(stop: StopReason) -> TaskResult {
    TaskResult {
        session_id: SessionId(uuid::Uuid::from_u128(7)),
        task_id: SubmissionId("task-1".to_owned()),
        stop,
        last_message: Some("All tests pass.".to_owned()),
        output: None,
        evidence: Evidence {
            started_at_ms: 1_000,
            ended_at_ms: 66_000,
            usage: TokenUsage {
                input_tokens: 12_000,
                cached_input_tokens: 8_000,
                output_tokens: 300,
                ..TokenUsage::default()
            },
            messages: 2,
            ..Evidence::default()
        },
    }
}

#[test]
fn words_and_evidence() {
    let mut result = result(StopReason::Completed);
    let evidence = &mut result.evidence;
    evidence.tool_calls.insert("shell_command".to_owned(), 2);
    evidence.commands.push(CommandEvidence {
        command: "cargo test".to_owned(),
        exit_code: Some(0),
        refused: false,
    });
    evidence.commands.push(CommandEvidence {
        command: "sleep 100".to_owned(),
        exit_code: None,
        refused: false,
    });
    evidence.commands.push(CommandEvidence {
        command: "rm -rf /".to_owned(),
        exit_code: None,
        refused: true,
    });
    evidence.files.push(FileEvidence {
        path: "/srv/a.rs".into(),
        before: None,
        after: Some("5d41".to_owned()),
    });
    evidence.omitted = 3;
    evidence.children.push(SessionId(uuid::Uuid::from_u128(8)));
    check(
        &result,
        expect![[r#"
        /root/tester  completed · 1m
        session 00000000-0000-0000-0000-000000000007  task task-1

        All tests pass.

        Recorded by Troupe
          tokens    12,000 in (8,000 cached), 300 out
          messages  2
          calls     shell_command ×2
          command   cargo test  → exit 0
          command   sleep 100  → did not finish
          command   rm -rf /  → not allowed
          file      added    /srv/a.rs
          more      3 entries were left out
          child     00000000-0000-0000-0000-000000000008
    "#]],
    );
}

#[test]
fn a_failure_tells_why_instead() {
    let stop = StopReason::Errored {
        message: "the response failed".to_owned(),
        info: None,
    };
    let mut result = result(stop);
    result.output = Some(StructuredOutput::Invalid {
        problems: vec!["/count: not a number".to_owned()],
    });
    check(
        &result,
        expect![[r#"
        /root/tester  errored · 1m
        session 00000000-0000-0000-0000-000000000007  task task-1

        the response failed
        does not fit its schema:
          /count: not a number

        Recorded by Troupe
          tokens    12,000 in (8,000 cached), 300 out
          messages  2
          calls     none
    "#]],
    );
}
