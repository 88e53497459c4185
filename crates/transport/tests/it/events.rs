//! Events on their way out.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::stream;
use tokio::io::AsyncWrite;
use tokio::net::UnixStream;
use troupe_protocol::{Event, EventMsg};
use troupe_transport::{EventReadError, EventReader, EventWriter, WriteError};

use super::samples::{delta, warning};

#[tokio::test]
async fn events_arrive_in_order_over_a_socket() {
    let (client, engine) = UnixStream::pair().unwrap();
    let sent: Vec<Event> = (1..=20_000).map(delta).collect();
    let mut writer = EventWriter::new(engine);
    let events = sent.clone();
    let writing = tokio::spawn(async move { writer.forward(stream::iter(events)).await });

    let mut reader = EventReader::new(client);
    let mut received = Vec::new();
    while let Some(event) = reader.next().await.unwrap() {
        received.push(event);
    }
    writing.await.unwrap().unwrap();
    assert!(received == sent);
}

#[tokio::test]
async fn a_burst_is_flushed_once_and_a_single_event_at_once() {
    let mut log = Log::default();
    let burst = stream::iter((1..=100).map(delta).map(Arc::new));
    EventWriter::new(&mut log).forward(burst).await.unwrap();
    assert_eq!((log.writes, log.flushes), (1, 1));

    let (client, engine) = tokio::io::duplex(1024);
    let (events, mut queue) = tokio::sync::mpsc::channel::<Event>(8);
    let writing = tokio::spawn(async move {
        let queue = stream::poll_fn(move |context| queue.poll_recv(context));
        EventWriter::new(engine).forward(queue).await
    });
    let mut reader = EventReader::new(client);
    for seq in 1..=3 {
        events.send(warning(seq, "one at a time")).await.unwrap();
        assert_eq!(reader.next().await.unwrap().unwrap().seq, seq);
    }
    drop(events);
    writing.await.unwrap().unwrap();
    assert!(reader.next().await.unwrap().is_none());
}

#[tokio::test]
async fn a_stream_is_not_asked_again_after_its_end() {
    let mut log = Log::default();
    // `unfold` panics when it is polled after its end.
    let two = stream::unfold(1, async |seq| (seq <= 2).then(|| (delta(seq), seq + 1)));
    EventWriter::new(&mut log).forward(two).await.unwrap();
    assert_eq!(log.flushes, 1);
}

#[tokio::test]
async fn a_client_that_is_gone_is_told_from_other_failures() {
    let (client, engine) = UnixStream::pair().unwrap();
    drop(client);
    let gone = EventWriter::new(engine).send(&warning(1, "hello?")).await;
    assert!(matches!(gone, Err(WriteError::Closed)), "{gone:?}");

    let full = tokio::fs::OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .await
        .unwrap();
    let failed = EventWriter::new(full).send(&warning(1, "hello?")).await;
    assert!(matches!(failed, Err(WriteError::Io(_))), "{failed:?}");
}

#[tokio::test]
async fn an_event_that_json_cannot_express_is_replaced_by_an_error() {
    let (client, engine) = tokio::io::duplex(4096);
    let unwritable = Event {
        id: "1".into(),
        seq: 2,
        msg: EventMsg::ViewImageToolCall {
            call_id: "call_1".into(),
            path: OsStr::from_bytes(b"/tmp/\xff.png").into(),
        },
    };
    let events = [warning(1, "before"), unwritable, warning(3, "after")];
    EventWriter::new(engine)
        .forward(stream::iter(events))
        .await
        .unwrap();

    let mut reader = EventReader::new(client);
    let mut types = Vec::new();
    while let Some(event) = reader.next().await.unwrap() {
        types.push((event.seq, matches!(event.msg, EventMsg::Error(_))));
    }
    assert_eq!(types, [(1, false), (2, true), (3, false)]);
}

#[tokio::test]
async fn a_reader_goes_on_after_an_event_of_a_newer_engine() {
    let stream = concat!(
        "{\"id\":\"1\",\"seq\":1,\"msg\":{\"type\":\"from_the_future\"}}\n",
        "{\"id\":\"1\",\"seq\":2,\"msg\":{\"type\":\"shutdown_complete\"}}\n",
    );
    let mut reader = EventReader::new(stream.as_bytes());
    let unreadable = reader.next().await;
    assert!(
        matches!(unreadable, Err(EventReadError::Unreadable(_))),
        "{unreadable:?}"
    );
    assert_eq!(reader.next().await.unwrap().unwrap().seq, 2);
}

/// A sink that counts how it is used.
#[derive(Default)]
struct Log {
    writes: usize,
    flushes: usize,
}

impl AsyncWrite for Log {
    fn poll_write(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.writes += 1;
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.flushes += 1;
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
