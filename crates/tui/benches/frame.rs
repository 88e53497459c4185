//! What a frame costs: a burst of pieces, a key, and a conversation of a hundred thousand lines.
//!
//! ```text
//! cargo bench -p troupe-tui
//! ```

use criterion::{Criterion, criterion_group, criterion_main};
use serde_json::{Value, json};
use troupe_protocol::Event;
use troupe_tui::ScreenOptions;
use troupe_tui::keys::KeyStroke;
use troupe_tui::session::LinkMessage;
use troupe_tui::state::{AppEvent, AppState};
use troupe_tui::terminal::ScreenSize;
use troupe_tui::terminal::inline::InlineSink;
use troupe_tui::terminal::input::InputEvent;
use troupe_tui::terminal::paint::PaintPalette;
use troupe_tui::views::view;

const SESSION: &str = "3f2a9c1e-0000-4000-8000-000000000001";
const SIZE: ScreenSize = ScreenSize {
    columns: 120,
    rows: 40,
};
const PALETTE: PaintPalette = PaintPalette {
    has_colours: true,
    is_dark: true,
};

fn state() -> AppState {
    AppState::new(&ScreenOptions::default(), SIZE, 0).expect("the default keys are right")
}

fn event(msg: Value) -> AppEvent {
    let msg = serde_json::from_value(msg).expect("an event as the wire writes it");
    let event = Event {
        id: "task".into(),
        seq: 1,
        msg,
    };
    AppEvent::Link(LinkMessage::Event(Box::new(event)))
}

fn answer(number: usize, text: &str) -> AppEvent {
    event(
        json!({"type": "item_completed", "thread_id": SESSION, "turn_id": "task",
        "completed_at_ms": 1,
        "item": {"type": "AgentMessage", "id": format!("a{number}"), "text": text}}),
    )
}

fn key(name: &str) -> AppEvent {
    let stroke: KeyStroke = name.parse().expect("a key");
    AppEvent::Input(InputEvent::Key(stroke))
}

/// Answers of a hundred lines each.
fn long_state() -> AppState {
    let mut state = state();
    let text = "a line of text that is long enough to be one\n\n".repeat(100);
    for number in 0..1_000 {
        state.update(answer(number, &text), 0);
    }
    state
}

fn pieces(bench: &mut Criterion) {
    let deltas: Vec<AppEvent> = (0..1_000)
        .map(|number| {
            let end = if number % 12 == 11 { "\n\n" } else { " " };
            event(
                json!({"type": "agent_message_content_delta", "thread_id": SESSION,
                "turn_id": "task", "item_id": "a", "delta": format!("word{number}{end}")}),
            )
        })
        .collect();
    // Thirty frames, as if they came over a second.
    bench.bench_function("1,000 deltas in 30 frames", |bench| {
        bench.iter(|| {
            let mut state = state();
            let mut sink = InlineSink::new(PALETTE, SIZE, false);
            let mut out = String::new();
            let mut printed = 0;
            for batch in deltas.chunks(34) {
                for delta in batch {
                    state.update(delta.clone(), 0);
                }
                state.transcript.settle();
                let cells = &state.transcript.cells()[printed..];
                let rows: Vec<_> = cells
                    .iter()
                    .flat_map(|cell| cell.rows(SIZE.columns, troupe_tui::cells::CellFold::Folded))
                    .collect();
                printed += cells.len();
                sink.paint(&rows, &view(&state), &mut out);
            }
            out
        });
    });
}

fn keys(bench: &mut Criterion) {
    let mut state = long_state();
    let mut sink = InlineSink::new(PALETTE, SIZE, false);
    let mut out = String::new();
    sink.paint(&[], &view(&state), &mut out);
    let mut is_letter = false;
    bench.bench_function("a key to bytes, 100,000 lines above", |bench| {
        bench.iter(|| {
            is_letter = !is_letter;
            out.clear();
            state.update(key(if is_letter { "x" } else { "backspace" }), 0);
            sink.paint(&[], &view(&state), &mut out);
            out.len()
        });
    });
}

fn long(bench: &mut Criterion) {
    let mut state = long_state();
    state.update(key("ctrl-t"), 0);
    view(&state);
    bench.bench_function("a frame of a transcript of 100,000 lines", |bench| {
        bench.iter(|| view(&state));
    });
    let mut columns = SIZE.columns;
    bench.bench_function("100,000 lines at another width", |bench| {
        bench.iter(|| {
            columns = if columns == 120 { 119 } else { 120 };
            state.size.columns = columns;
            view(&state)
        });
    });
}

criterion_group!(benches, pieces, keys, long);
criterion_main!(benches);
