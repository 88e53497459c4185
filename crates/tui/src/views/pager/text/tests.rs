//! Places are what they would be if everything were laid out.

use proptest::prelude::*;

use super::*;
use crate::cells::AnswerCell;

const COLUMNS: usize = 20;

fn transcript(lines: &[usize]) -> Transcript {
    let mut transcript = Transcript::default();
    for (number, lines) in lines.iter().enumerate() {
        let rows = (0..*lines).map(|line| format!("cell {number} line {line}\n\n"));
        let source: String = rows.collect();
        transcript.push(CellBody::Answer(AnswerCell::whole(source)));
    }
    transcript
}

/// The number of a place's row, counted from the beginning.
fn number_of(text: &PagerText<'_>, place: TextPlace) -> usize {
    (0..place.cell).map(|cell| text.height(cell)).sum::<usize>() + place.row
}

proptest! {
    #[test]
    fn moving_and_cutting_are_those_of_all_rows(
        lines in prop::collection::vec(0..6_usize, 0..12),
        moves in prop::collection::vec(-30..30_i64, 1..12),
        room in 1..20_usize,
    ) {
        let transcript = transcript(&lines);
        let text = PagerText::of_transcript(&transcript, COLUMNS, 0);
        let whole = text.slice(TextPlace::default(), usize::MAX);
        let last = text.last_place(room);
        prop_assert_eq!(number_of(&text, last), whole.len().saturating_sub(room));
        prop_assert_eq!(last.percent_of(last), 100);
        let mut place = TextPlace::default();
        let mut from = 0_usize;
        for rows in moves {
            place = text.moved(place, rows).min(last);
            let step = usize::try_from(rows.unsigned_abs()).unwrap();
            from = if rows < 0 { from.saturating_sub(step) } else { from + step };
            from = from.min(number_of(&text, last));
            prop_assert_eq!(number_of(&text, place), from);
            let shown = text.slice(place, room);
            prop_assert_eq!(&shown[..], &whole[from..(from + room).min(whole.len())]);
        }
    }
}

#[test]
fn words_are_found_below_a_place_and_once_each() {
    let transcript = transcript(&[3, 3]);
    let text = PagerText::of_transcript(&transcript, COLUMNS, 0);
    let mut place = TextPlace::default();
    let mut found = Vec::new();
    while let Some(next) = text.find(place, "LINE 1") {
        found.push(text.slice(next, 1)[0].text());
        place = next;
    }
    assert_eq!(found, ["cell 0 line 1", "cell 1 line 1"]);
    assert_eq!(text.find(TextPlace::default(), "cell 7"), None);
    // Across the marks of Markdown too.
    assert!(text.find(TextPlace::default(), "0 line 2").is_some());
}
