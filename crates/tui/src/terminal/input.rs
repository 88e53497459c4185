//! Bytes of the terminal become keys, pastes and focus. Answers of the terminal, whole or split
//! at any byte, reach nobody's text.

use std::time::{Duration, Instant};

use termina::event::{KeyCode, KeyEventKind, MouseEventKind};
use termina::{Event, Parser};

use crate::keys::KeyStroke;
use crate::limits::{BURST_BYTES_MIN, BURST_LETTERS_MIN, ESCAPE_MS};

/// What a person does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InputEvent {
    Key(KeyStroke),
    Paste(String),
    Focus(bool),
    /// Rows, towards the end if positive.
    Scroll(i32),
}

/// Reads input.
#[derive(Debug, Default)]
pub struct InputReader {
    parser: Parser,
    /// Since when bytes wait that may be the beginning of a sequence.
    unfinished: Option<Instant>,
}

impl InputReader {
    /// Takes the bytes in that were read at once.
    pub fn read(&mut self, bytes: &[u8], now: Instant) -> Vec<InputEvent> {
        self.parser.parse(bytes, true);
        // A lone ESC is the key, unless the rest of a sequence comes soon.
        self.unfinished = (bytes.last() == Some(&0x1b)).then_some(now);
        let mut events = self.drain();
        mark_burst(&mut events, bytes.len() >= BURST_BYTES_MIN);
        events
    }

    /// Returns when [`Self::time_out`] is due.
    pub fn deadline(&self) -> Option<Instant> {
        self.unfinished
            .map(|since| since + Duration::from_millis(ESCAPE_MS))
    }

    /// Takes what is unfinished for all there is.
    pub fn time_out(&mut self) -> Vec<InputEvent> {
        self.unfinished = None;
        self.parser.parse(&[], false);
        self.drain()
    }

    fn drain(&mut self) -> Vec<InputEvent> {
        let mut events = Vec::new();
        while let Some(event) = self.parser.pop() {
            events.extend(input_of(event));
        }
        events
    }
}

fn input_of(event: Event) -> Option<InputEvent> {
    match event {
        Event::Key(key) if key.kind == KeyEventKind::Release => None,
        Event::Key(key) => Some(InputEvent::Key(KeyStroke::new(key.code, key.modifiers))),
        Event::Paste(text) => {
            let text = text.replace("\r\n", "\n").replace('\r', "\n");
            Some(InputEvent::Paste(text))
        }
        Event::FocusIn => Some(InputEvent::Focus(true)),
        Event::FocusOut => Some(InputEvent::Focus(false)),
        Event::Mouse(mouse) => match mouse.kind {
            MouseEventKind::ScrollUp => Some(InputEvent::Scroll(-3)),
            MouseEventKind::ScrollDown => Some(InputEvent::Scroll(3)),
            _ => None,
        },
        Event::WindowResized(_) | Event::Csi(_) | Event::Osc(_) | Event::Dcs(_) => None,
    }
}

/// Enter between letters that came at once is a new line: a paste in a terminal without brackets
/// is not submitted line by line. An Enter at the end is the key, unless more is on its way.
fn mark_burst(events: &mut [InputEvent], goes_on: bool) {
    let mut letters = 0;
    let last = events.len().saturating_sub(1);
    for (at, event) in events.iter_mut().enumerate() {
        let InputEvent::Key(stroke) = event else {
            letters = 0;
            continue;
        };
        let is_enter = stroke.code == KeyCode::Enter && stroke.modifiers.is_empty();
        if is_enter && letters >= BURST_LETTERS_MIN && (at < last || goes_on) {
            *event = InputEvent::Paste("\n".to_owned());
        } else if stroke.letter().is_some() {
            letters += 1;
        } else {
            letters = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(events: &[InputEvent]) -> Vec<String> {
        let name = |event: &InputEvent| match event {
            InputEvent::Key(stroke) => stroke.to_string(),
            other => format!("{other:?}"),
        };
        events.iter().map(name).collect()
    }

    #[test]
    fn answers_of_the_terminal_are_nobodys_text_wherever_they_are_split() {
        let bytes = b"a\x1b[12;40R\x1b]11;rgb:1e1e/1e1e/1e1e\x1b\\\x1b[?2026;2$y\x1b[?62;4cb\x1b[I";
        for split in 0..=bytes.len() {
            let now = Instant::now();
            let mut reader = InputReader::default();
            let mut events = reader.read(&bytes[..split], now);
            events.extend(reader.read(&bytes[split..], now));
            assert_eq!(keys(&events), ["a", "b", "Focus(true)"], "split at {split}");
        }
    }

    #[test]
    fn a_lone_escape_is_a_key_after_a_while() {
        let now = Instant::now();
        let mut reader = InputReader::default();
        assert!(reader.read(b"\x1b", now).is_empty());
        assert_eq!(
            reader.deadline(),
            Some(now + Duration::from_millis(ESCAPE_MS))
        );
        assert_eq!(keys(&reader.time_out()), ["esc"]);
        assert_eq!(reader.deadline(), None);
        assert_eq!(
            keys(&reader.read(b"\x1ba\x01\x1b\r", now)),
            ["alt-a", "ctrl-a", "alt-enter"]
        );
    }

    #[test]
    fn enter_in_a_burst_is_a_new_line() {
        let now = Instant::now();
        let mut reader = InputReader::default();
        let events = reader.read(b"let x;\rlet y;\r", now);
        let enters: Vec<&InputEvent> = events
            .iter()
            .filter(|event| !matches!(event, InputEvent::Key(stroke) if stroke.letter().is_some()))
            .collect();
        let key = InputEvent::Key("enter".parse().unwrap());
        assert_eq!(enters, [&InputEvent::Paste("\n".to_owned()), &key]);
        assert_eq!(
            keys(&reader.read(b"ab\rcd", now)),
            ["a", "b", "enter", "c", "d"]
        );
        let pasted = reader.read(b"\x1b[200~a\r\nb\x1b[201~", now);
        assert_eq!(pasted, [InputEvent::Paste("a\nb".to_owned())]);
    }
}
