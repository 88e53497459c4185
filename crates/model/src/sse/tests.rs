use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;

fn parse<'a>(
    chunks: impl IntoIterator<Item = &'a [u8]>,
) -> Result<Vec<(String, String)>, SseError> {
    let mut parser = SseParser::new();
    let mut events = Vec::new();
    let mut sink = |event: SseEvent<'_>| -> Result<(), SseError> {
        events.push((event.name.to_owned(), event.data.to_owned()));
        Ok(())
    };
    for chunk in chunks {
        parser.feed(chunk, &mut sink)?;
    }
    parser.finish(&mut sink)?;
    Ok(events)
}

/// Parses the input whole and byte by byte; both must agree.
#[track_caller]
fn check(input: &[u8], expected: Expect) {
    let whole = parse([input]);
    assert_eq!(whole, parse(input.chunks(1)));
    let shown = match whole {
        Ok(events) => events
            .iter()
            .flat_map(|(name, data)| [name.clone(), format!("|{data:?}\n")])
            .collect(),
        Err(error) => error.to_string(),
    };
    expected.assert_eq(&shown);
}

#[test]
fn events_end_at_a_blank_line_whatever_the_line_ends() {
    check(
        b"data: a\n\ndata: b\n\n",
        expect![[r#"
        |"a"
        |"b"
    "#]],
    );
    check(
        b"data: a\r\n\r\ndata: b\r\n\r\n",
        expect![[r#"
        |"a"
        |"b"
    "#]],
    );
    check(
        b"data: a\r\rdata: b\r\r",
        expect![[r#"
        |"a"
        |"b"
    "#]],
    );
}

#[test]
fn fields_have_names_and_one_optional_space() {
    check(
        b"event: response.created\ndata:{}\nid: 7\nretry: 1\n\n",
        expect![[r#"
            response.created|"{}"
        "#]],
    );
    check(
        b"data:  two\n\n",
        expect![[r#"
        |" two"
    "#]],
    );
    check(
        b": ping\n\nevent: none\n\ndata: a\n\n",
        expect![[r#"
        |"a"
    "#]],
    );
    check(
        b"data\n\n",
        expect![[r#"
        |""
    "#]],
    );
}

#[test]
fn lines_of_data_are_joined() {
    check(
        b"data: a\ndata: b\n\n",
        expect![[r#"
        |"a\nb"
    "#]],
    );
}

#[test]
fn a_byte_order_mark_is_dropped_only_at_the_start() {
    check(
        b"\xEF\xBB\xBFdata: a\n\n\xEF\xBB\xBFdata: b\n\n",
        expect![[r#"
        |"a"
    "#]],
    );
}

#[test]
fn the_last_event_needs_no_blank_line() {
    check(
        b"data: a\n\ndata: b",
        expect![[r#"
        |"a"
        |"b"
    "#]],
    );
}

#[test]
fn invalid_utf8_ends_the_stream() {
    check(b"data: \xFF\n\n", expect!["an event is not valid UTF-8"]);
    check(
        "data: grüße\n\n".as_bytes(),
        expect![[r#"
        |"grüße"
    "#]],
    );
}

#[test]
fn an_endless_line_is_refused() {
    let mut parser = SseParser::new();
    let mut sink = |_: SseEvent<'_>| -> Result<(), SseError> { Ok(()) };
    let block = vec![b'x'; EVENT_BYTES_MAX / 2];
    assert_eq!(parser.feed(b"data: ", &mut sink), Ok(()));
    assert_eq!(parser.feed(&block, &mut sink), Ok(()));
    assert_eq!(parser.feed(&block, &mut sink), Err(SseError::TooLarge));
}

#[test]
fn an_event_of_endless_lines_is_refused() {
    let mut parser = SseParser::new();
    let mut sink = |_: SseEvent<'_>| -> Result<(), SseError> { Ok(()) };
    let line = [b"data: ", vec![b'x'; EVENT_BYTES_MAX / 4].as_slice(), b"\n"].concat();
    let results: Vec<_> = (0..4).map(|_| parser.feed(&line, &mut sink)).collect();
    assert_eq!(results, [Ok(()), Ok(()), Ok(()), Err(SseError::TooLarge)]);
}

fn line() -> impl Strategy<Value = Vec<u8>> {
    let text = prop_oneof![
        Just("data: ".to_owned()),
        Just("event: x".to_owned()),
        Just(":".to_owned()),
        "[a-zä:\u{1F600} ]{0,12}",
        "data: [a-zä:\u{1F600} ]{0,12}",
    ];
    let end = prop_oneof![Just("\n"), Just("\r\n"), Just("\r"), Just("\n\n")];
    (text, end).prop_map(|(text, end)| [text.as_bytes(), end.as_bytes()].concat())
}

proptest! {
    #[test]
    fn chunking_changes_nothing(
        lines in prop::collection::vec(line(), 0..24),
        sizes in prop::collection::vec(1usize..9, 1..8),
    ) {
        let input = lines.concat();
        let mut rest = input.as_slice();
        let mut chunks = Vec::new();
        for size in sizes.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (head, tail) = rest.split_at((*size).min(rest.len()));
            chunks.push(head);
            rest = tail;
        }
        prop_assert_eq!(parse(chunks), parse([input.as_slice()]));
    }

    #[test]
    fn arbitrary_bytes_never_panic(input in prop::collection::vec(any::<u8>(), 0..512)) {
        prop_assert_eq!(parse(input.chunks(1)), parse([input.as_slice()]));
    }
}
