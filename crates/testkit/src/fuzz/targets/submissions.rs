//! Lines of JSON that a client sends.

use futures_util::FutureExt as _;
use tokio::io::AsyncRead;
use troupe_transport::{SubmissionFrame, SubmissionReader};

use crate::fuzz::pieces::Pieces;
use crate::fuzz::{Shape, Target};

pub(super) const TARGET: Target = Target {
    name: "submissions",
    run,
    words: &[
        "{\"id\":\"1\",\"op\":{\"type\":\"",
        "\"}}\n",
        "configure_session",
        "user_turn",
        "user_input",
        "\"items\":[{\"type\":\"text\",\"text\":\"",
        "thread_rollback",
        "\"num_turns\":",
        "request_user_input_response",
        "null",
        "1e999",
        "\\ud800",
        "[[[[[[[[",
    ],
};

/// Small, so that lines cross it.
const LINE_BYTES_MAX: usize = 2_048;

fn run(input: &[u8]) -> Shape {
    let whole = frames(input);
    assert_eq!(
        frames(Pieces::of(input)),
        whole,
        "pieces mean what the whole does"
    );
    let mut said = String::new();
    for frame in &whole {
        match frame {
            SubmissionFrame::Submission(submission) => {
                let text = serde_json::to_vec(submission).expect("what was read can be written");
                let again = frames(&text[..]);
                let is_same =
                    matches!(&again[..], [SubmissionFrame::Submission(it)] if it == submission);
                assert!(is_same || text.len() > LINE_BYTES_MAX, "{again:?}");
                said += &format!("{:?}", submission.op)[..6];
            }
            SubmissionFrame::Refused(refusal) => said += &refusal.message,
        }
    }
    Shape::of(&said)
}

fn frames(source: impl AsyncRead + Unpin) -> Vec<SubmissionFrame> {
    let mut reader = SubmissionReader::new(source).with_line_bytes_max(LINE_BYTES_MAX);
    let mut frames = Vec::new();
    let reading = async {
        while let Some(frame) = reader.next().await.expect("memory can be read") {
            frames.push(frame);
        }
    };
    reading
        .now_or_never()
        .expect("a source in memory makes nobody wait");
    frames
}
