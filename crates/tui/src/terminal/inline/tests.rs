//! The bytes, in a terminal: after any sequence of insertions, streams, sizes and overlays, the
//! scrollback and the screen are the transcript, once and in order.

use std::num::NonZeroU16;

use proptest::prelude::*;

use super::*;
use crate::terminal::CursorPlace;
use crate::terminal::full::FullSink;
use crate::text::TextRow;

const PALETTE: PaintPalette = PaintPalette {
    has_colours: true,
    is_dark: true,
};

/// A sink and the terminal that it writes to.
struct Stage {
    inline: InlineSink,
    full: FullSink,
    terminal: vt100::Parser,
    size: ScreenSize,
    printed: usize,
    bytes: String,
}

impl Stage {
    fn new(columns: usize, rows: usize) -> Self {
        let size = ScreenSize { columns, rows };
        let parser = vt100::Parser::new(cells(rows), cells(columns), 100_000);
        Self {
            inline: InlineSink::new(PALETTE, size, false),
            full: FullSink::new(PALETTE),
            terminal: parser,
            size,
            printed: 0,
            bytes: String::new(),
        }
    }

    fn write(&mut self, out: &str) {
        self.terminal.process(out.as_bytes());
        self.bytes.push_str(out);
    }

    fn frame(&self, live: usize) -> ScreenFrame {
        let most = self.size.rows.max(1);
        let mut rows: Vec<TextRow> = (0..live)
            .map(|n| TextRow::plain(format!("~live {n}")).cut(self.size.columns))
            .collect();
        rows.push(TextRow::plain("~ line").cut(self.size.columns));
        rows.push(TextRow::dim("~ status").cut(self.size.columns));
        let gone = rows.len().saturating_sub(most);
        rows.drain(..gone);
        let cursor = CursorPlace {
            row: rows.len().saturating_sub(2),
            column: 1,
        };
        ScreenFrame {
            rows,
            cursor: Some(cursor),
        }
    }

    fn paint(&mut self, history: usize, live: usize) {
        let mut out = String::new();
        self.full.leave(&mut out);
        let rows: Vec<TextRow> = (0..history)
            .map(|n| TextRow::plain(line(self.printed + n)))
            .collect();
        self.printed += history;
        let frame = self.frame(live);
        self.inline.paint(&rows, &frame, &mut out);
        self.write(&out);
    }

    fn resize(&mut self, columns: usize, rows: usize) {
        self.size = ScreenSize { columns, rows };
        self.terminal
            .screen_mut()
            .set_size(cells(rows), cells(columns));
        self.inline.resize(self.size);
        self.full.invalidate();
    }

    fn overlay(&mut self) {
        let mut out = String::new();
        let rows =
            (0..self.size.rows).map(|n| TextRow::plain(format!("over {n}")).cut(self.size.columns));
        let frame = ScreenFrame {
            rows: rows.collect(),
            cursor: None,
        };
        self.full.paint(&frame, &mut out);
        self.full.paint(&frame, &mut out);
        self.write(&out);
    }

    /// Returns every row of the scrollback and the screen that is not the viewport's.
    fn history(&mut self) -> Vec<String> {
        let rows = self.all_rows().into_iter();
        rows.filter(|row| !row.starts_with('~')).collect()
    }

    /// Returns every row of the scrollback and the screen that is not empty.
    fn all_rows(&mut self) -> Vec<String> {
        let screen = self.terminal.screen_mut();
        screen.set_scrollback(usize::MAX);
        let mut all = Vec::new();
        let mut above = screen.scrollback();
        let height = self.size.rows;
        let columns = u16::try_from(self.size.columns).unwrap();
        while above > 0 {
            screen.set_scrollback(above);
            let rows: Vec<String> = screen.rows(0, columns).collect();
            let count = above.min(height);
            all.extend(rows.into_iter().take(count));
            above -= count;
        }
        screen.set_scrollback(0);
        all.extend(screen.rows(0, columns));
        all.retain(|row| !row.is_empty());
        all
    }
}

/// Short, so that no size breaks it.
fn line(number: usize) -> String {
    format!("l{number}")
}

fn cells(number: usize) -> NonZeroU16 {
    u16::try_from(number)
        .ok()
        .and_then(NonZeroU16::new)
        .unwrap()
}

fn forbidden(bytes: &str) -> Vec<String> {
    let mut found = Vec::new();
    for sequence in bytes.split("\x1b[").skip(1) {
        let end = sequence.find(|letter: char| ('\x40'..='\x7e').contains(&letter));
        let sequence = &sequence[..=end.unwrap()];
        let last = sequence.chars().last().unwrap();
        if matches!(last, 'S' | 'T' | 'r' | 'J' | 'L' | 'M') {
            found.push(sequence.to_owned());
        }
    }
    found
}

#[derive(Debug, Clone)]
enum SinkStep {
    Paint { history: usize, live: usize },
    Resize { columns: usize, rows: usize },
    Overlay,
}

fn steps() -> impl Strategy<Value = Vec<SinkStep>> {
    let step = prop_oneof![
        4 => (0_usize..6, 0_usize..5).prop_map(|(history, live)| SinkStep::Paint { history, live }),
        1 => (6_usize..40, 4_usize..20).prop_map(|(columns, rows)| SinkStep::Resize { columns, rows }),
        1 => Just(SinkStep::Overlay),
    ];
    prop::collection::vec(step, 1..40)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn history_is_there_once_and_in_order(steps in steps()) {
        let mut stage = Stage::new(20, 10);
        let is_of_one_size = !steps.iter().any(|step| matches!(step, SinkStep::Resize { .. }));
        for step in steps {
            match step {
                SinkStep::Paint { history, live } => stage.paint(history, live),
                // The emulator gives the other screen the size of this one too late to compare.
                SinkStep::Resize { .. } if stage.full.is_entered() => {}
                SinkStep::Resize { columns, rows } => stage.resize(columns, rows),
                SinkStep::Overlay => stage.overlay(),
            }
        }
        stage.paint(1, 0);
        if is_of_one_size {
            let rows = stage.all_rows();
            let viewport = rows.iter().filter(|row| row.starts_with('~')).count();
            prop_assert_eq!(viewport, 2, "nothing of an earlier viewport is left: {:?}", rows);
        }
        let expected: Vec<String> = (0..stage.printed).map(line).collect();
        prop_assert_eq!(stage.history(), expected);
        prop_assert_eq!(forbidden(&stage.bytes), Vec::<String>::new());
    }
}

#[test]
fn a_letter_costs_a_few_bytes() {
    let mut stage = Stage::new(80, 24);
    stage.paint(3, 0);
    let before = stage.bytes.len();
    let mut frame = stage.frame(0);
    frame.rows[0] = TextRow::plain("~ line x");
    frame.cursor = Some(CursorPlace { row: 0, column: 8 });
    let mut out = String::new();
    stage.inline.paint(&[], &frame, &mut out);
    stage.write(&out);
    assert!(
        stage.bytes.len() - before < 60,
        "{:?}",
        &stage.bytes[before..]
    );
    assert_eq!(stage.terminal.screen().cursor_position(), (3, 8));
    let mut again = String::new();
    stage.inline.paint(&[], &frame, &mut again);
    assert_eq!(again, "");
}

#[test]
fn a_viewport_that_is_left_leaves_nothing() {
    let mut stage = Stage::new(20, 10);
    stage.paint(2, 4);
    let mut out = String::new();
    stage.inline.leave(&mut out);
    stage.write(&out);
    let contents = stage.terminal.screen().contents();
    assert_eq!(contents.trim_end(), "l0\nl1");
    assert_eq!(stage.terminal.screen().cursor_position(), (2, 0));
}

#[test]
fn letters_of_doubtful_width_move_nothing_behind_them() {
    let mut stage = Stage::new(30, 10);
    let row = TextRow::plain("a👩\u{200d}💻b e\u{301} ☺\u{fe0f} end");
    let columns = row.width();
    let mut out = String::new();
    stage.inline.paint(
        &[row.with("|", crate::text::TextStyle::PLAIN)],
        &ScreenFrame::default(),
        &mut out,
    );
    stage.write(&out);
    let cell = stage
        .terminal
        .screen()
        .cell(0, u16::try_from(columns).unwrap())
        .unwrap();
    assert_eq!(cell.contents(), "|");
}

#[test]
fn a_terminal_that_breaks_rows_is_gone_up_further() {
    let mut sink = InlineSink::new(
        PALETTE,
        ScreenSize {
            columns: 40,
            rows: 10,
        },
        true,
    );
    let frame = ScreenFrame {
        rows: vec![TextRow::plain("x".repeat(30)), TextRow::plain("y")],
        cursor: Some(CursorPlace { row: 1, column: 0 }),
    };
    let mut out = String::new();
    sink.paint(&[], &frame, &mut out);
    sink.resize(ScreenSize {
        columns: 10,
        rows: 10,
    });
    out.clear();
    sink.paint(&[], &ScreenFrame::default(), &mut out);
    assert!(out.contains("\x1b[3A"), "{out:?}");
}
