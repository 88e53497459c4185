use proptest::prelude::*;
use troupe_protocol::link::ServerNotice;
use troupe_protocol::{Event, EventMsg};

use super::{SseReader, push_event, push_notice};
use crate::link::FromServer;

fn warning(seq: u64, message: &str) -> Event {
    let message = message.to_owned();
    Event {
        id: "1".into(),
        seq,
        msg: EventMsg::Warning { message },
    }
}

fn read(stream: &[u8], sizes: &[usize]) -> Vec<FromServer> {
    let mut reader = SseReader::default();
    let (mut rest, mut sizes) = (stream, sizes.iter().cycle());
    let mut read = Vec::new();
    while !rest.is_empty() {
        let size = sizes.next().copied().unwrap_or(1).clamp(1, rest.len());
        let (piece, later) = rest.split_at(size);
        reader.feed(piece);
        while let Some(data) = reader.next_data().unwrap() {
            read.push(FromServer::decode(&data).unwrap());
        }
        rest = later;
    }
    read
}

#[test]
fn comments_other_fields_and_line_ends_of_others_are_understood() {
    let notice = r#"{"type":"lagged","after":1,"upto":2}"#;
    let stream = format!(": hello\r\nretry: 5\r\nevent: notice\r\ndata:{notice}\r\n\r\n\n\n");
    let read = read(stream.as_bytes(), &[3]);
    let lagged = ServerNotice::Lagged { after: 1, upto: 2 };
    assert_eq!(read, [FromServer::Notice(Box::new(lagged))]);
}

proptest! {
    #[test]
    fn messages_survive_any_chunking(
        texts in prop::collection::vec(".{0,40}", 0..10),
        sizes in prop::collection::vec(1_usize..60, 1..5),
    ) {
        let mut stream = Vec::new();
        let mut sent = Vec::new();
        for (seq, text) in (1..).zip(&texts) {
            push_event(&mut stream, &warning(seq, text));
            sent.push(FromServer::Event(Box::new(warning(seq, text))));
            let notice = ServerNotice::Accepted { id: text.as_str().into() };
            push_notice(&mut stream, &notice);
            sent.push(FromServer::Notice(Box::new(notice)));
        }
        prop_assert_eq!(read(&stream, &sizes), sent);
    }
}
