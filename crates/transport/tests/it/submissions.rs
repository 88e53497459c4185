//! Submissions on their way in.

use futures_util::FutureExt;
use proptest::prelude::*;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use troupe_transport::limits::LINE_BYTES_MAX;
use troupe_transport::{SubmissionFrame, SubmissionReader, SubmissionWriter};

use super::heap;
use super::samples::{Pieces, note};

/// Reads everything, and shows it in short form.
fn read_all(mut reader: SubmissionReader<impl tokio::io::AsyncRead + Unpin>) -> Vec<String> {
    let mut shown = Vec::new();
    block_on(async {
        while let Some(frame) = reader.next().await.unwrap() {
            shown.push(match frame {
                SubmissionFrame::Submission(submission) => format!("ok {}", submission.id),
                SubmissionFrame::Refused(refusal) => match refusal.id {
                    Some(id) => format!("refused {id}"),
                    None => "refused".to_owned(),
                },
            });
        }
    });
    shown
}

fn block_on<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(work)
}

#[test]
fn bad_lines_do_not_hurt_good_ones() {
    let stream = concat!(
        "{\"id\":\"1\",\"op\":{\"type\":\"compact\"}}\n",
        "\n  \r\n",
        "{\"id\":\"2\",\"op\":{\"type\":\"no_such_thing\"}}\n",
        "garbage\n",
        "{\"id\":\"3\",\"op\":{\"type\":\"compact\"}}\r\n",
        "{\"id\":\"4\",\"op\":{\"type\":\"shutdown\"}}",
    );
    assert_eq!(
        read_all(SubmissionReader::new(stream.as_bytes())),
        ["ok 1", "refused 2", "refused", "ok 3", "ok 4"],
    );
}

#[test]
fn a_50_mb_line_is_refused_in_bounded_memory() {
    const LINE_BYTES: u64 = 50_000_000;
    let head: &[u8] = b"{\"id\":\"big\",\"op\":{\"type\":\"set_thread_note\",\"note\":\"";
    let tail: &[u8] = b"\"}}\n{\"id\":\"next\",\"op\":{\"type\":\"compact\"}}\n";
    let stream = head
        .chain(tokio::io::repeat(b'x').take(LINE_BYTES))
        .chain(tail);

    let (frames, peak) = heap::peak_of(|| read_all(SubmissionReader::new(stream)));

    assert_eq!(frames, ["refused big", "ok next"]);
    // The buffer never exceeds the longest accepted line, and while it grows for the last
    // time its old half exists beside it.
    assert!(
        peak < LINE_BYTES_MAX + LINE_BYTES_MAX / 2 + 1_000_000,
        "{peak} bytes held"
    );
}

#[test]
fn the_longest_line_is_accepted_and_one_byte_more_is_not() {
    let line = serde_json::to_string(&note("1", "text")).unwrap();
    for (line_bytes_max, expected) in [(line.len(), "ok 1"), (line.len() - 1, "refused 1")] {
        for stream in [line.clone(), format!("{line}\n"), format!("\n{line}\n\n")] {
            let reader =
                SubmissionReader::new(stream.as_bytes()).with_line_bytes_max(line_bytes_max);
            assert_eq!(read_all(reader), [expected], "{stream:?}");
        }
    }
}

#[tokio::test]
async fn a_cancelled_read_loses_nothing() {
    let (mut client, engine) = tokio::io::duplex(1024);
    let mut reader = SubmissionReader::new(engine);
    for piece in ["{\"id\":\"1\",", "\"op\":{\"type\"", ":\"compact\"}}"] {
        client.write_all(piece.as_bytes()).await.unwrap();
        assert!(
            reader.next().now_or_never().is_none(),
            "the line is not complete"
        );
    }
    client.write_all(b"\n").await.unwrap();
    let frame = reader.next().await.unwrap();
    assert!(
        matches!(frame, Some(SubmissionFrame::Submission(submission)) if submission.id.0 == "1")
    );
}

#[tokio::test]
async fn a_cancelled_write_goes_on_where_it_stopped() {
    let (client, engine) = tokio::io::duplex(16);
    let mut writer = SubmissionWriter::new(client);
    let mut reader = SubmissionReader::new(engine);
    assert!(
        writer
            .send(&note("1", "more than fits in the pipe"))
            .now_or_never()
            .is_none()
    );

    let second = note("2", "also more than fits in the pipe");
    let (sent, frames) = tokio::join!(writer.send(&second), async {
        [reader.next().await.unwrap(), reader.next().await.unwrap()]
    });
    sent.unwrap();
    let ids = frames.map(|frame| match frame {
        Some(SubmissionFrame::Submission(submission)) => submission.id.0,
        other => format!("{other:?}"),
    });
    assert_eq!(ids, ["1", "2"]);
}

/// A line, and what becomes of it.
fn any_line() -> impl Strategy<Value = (Vec<u8>, Option<String>)> {
    prop_oneof![
        ("[a-z]{1,8}", ".{0,40}").prop_map(|(id, text)| {
            let line = serde_json::to_vec(&note(&id, &text)).unwrap();
            (line, Some(format!("ok {id}")))
        }),
        "[ \t\r]{0,3}".prop_map(|blank| (blank.into_bytes(), None)),
        "[a-z]{1,8}".prop_map(|word| (word.into_bytes(), Some("refused".to_owned()))),
        ("[a-z]{1,8}", 300_usize..3000).prop_map(|(id, length)| {
            let line = serde_json::to_vec(&note(&id, &"x".repeat(length))).unwrap();
            (line, Some(format!("refused {id}")))
        }),
    ]
}

proptest! {
    #[test]
    fn frames_survive_any_chunking(
        lines in prop::collection::vec(any_line(), 0..20),
        sizes in prop::collection::vec(1_usize..400, 1..10),
    ) {
        let stream = lines.iter().map(|(line, _)| line.as_slice()).collect::<Vec<_>>().join(&b'\n');
        let expected: Vec<String> = lines.into_iter().filter_map(|(_, frame)| frame).collect();
        let reader = SubmissionReader::new(Pieces::new(stream, sizes)).with_line_bytes_max(299);
        prop_assert_eq!(read_all(reader), expected);
    }

    #[test]
    fn any_bytes_are_read_to_their_end(
        bytes in prop::collection::vec(any::<u8>(), 0..2000),
        sizes in prop::collection::vec(1_usize..100, 1..10),
    ) {
        let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
        let expected = lines.count();
        let reader = SubmissionReader::new(Pieces::new(bytes, sizes)).with_line_bytes_max(64);
        prop_assert_eq!(read_all(reader).len(), expected);
    }
}
