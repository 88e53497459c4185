//! Bytes of the terminal become keys, pastes and focus. Answers of the terminal, whole or split
//! at any byte, reach nobody's text.

use std::time::{Duration, Instant};

use termina::event::{KeyCode, KeyEventKind, MouseEventKind};
use termina::{Event, Parser};

use crate::keys::KeyStroke;
use crate::limits::{BURST_GAP_MS, BURST_LETTERS_MIN, ESCAPE_MS};

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
    /// Bytes came that may be the beginning of a sequence.
    unfinished: Option<Instant>,
    burst: Option<LetterBurst>,
}

/// Letters that came so close together that nobody typed them.
#[derive(Debug)]
struct LetterBurst {
    last: Instant,
    letters: usize,
}

impl InputReader {
    /// Takes bytes in.
    pub fn read(&mut self, bytes: &[u8], now: Instant) -> Vec<InputEvent> {
        self.parser.parse(bytes, true);
        // A lone ESC is the key, unless the rest of a sequence comes soon.
        self.unfinished = (bytes.last() == Some(&0x1b)).then_some(now);
        self.drain(now)
    }

    /// Returns when [`Self::time_out`] is due.
    pub fn deadline(&self) -> Option<Instant> {
        self.unfinished
            .map(|since| since + Duration::from_millis(ESCAPE_MS))
    }

    /// Takes what is unfinished for all there is.
    pub fn time_out(&mut self, now: Instant) -> Vec<InputEvent> {
        self.unfinished = None;
        self.parser.parse(&[], false);
        self.drain(now)
    }

    fn drain(&mut self, now: Instant) -> Vec<InputEvent> {
        let mut events = Vec::new();
        while let Some(event) = self.parser.pop() {
            events.extend(self.event_of(event, now));
        }
        events
    }

    fn event_of(&mut self, event: Event, now: Instant) -> Option<InputEvent> {
        match event {
            Event::Key(key) if key.kind == KeyEventKind::Release => None,
            Event::Key(key) => {
                let stroke = KeyStroke::new(key.code, key.modifiers);
                Some(self.key(stroke, now))
            }
            Event::Paste(text) => Some(InputEvent::Paste(
                text.replace("\r\n", "\n").replace('\r', "\n"),
            )),
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

    /// Enter inside a burst is a new line: a paste of a terminal without brackets does not
    /// submit line by line.
    fn key(&mut self, stroke: KeyStroke, now: Instant) -> InputEvent {
        let is_letter = matches!(stroke.code, KeyCode::Char(_)) && stroke.modifiers.is_empty();
        let goes_on = self.burst.as_ref().is_some_and(|burst| {
            now.duration_since(burst.last) <= Duration::from_millis(BURST_GAP_MS)
        });
        let letters = match &self.burst {
            Some(burst) if goes_on => burst.letters,
            _ => 0,
        };
        let is_burst = letters >= BURST_LETTERS_MIN;
        if is_burst && stroke.code == KeyCode::Enter && stroke.modifiers.is_empty() {
            self.burst = Some(LetterBurst { last: now, letters });
            return InputEvent::Paste("\n".to_owned());
        }
        self.burst = is_letter.then_some(LetterBurst {
            last: now,
            letters: letters + 1,
        });
        InputEvent::Key(stroke)
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
        assert_eq!(keys(&reader.time_out(now)), ["esc"]);
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
        let events = reader.read(b"let x;\rlet y;", now);
        assert!(events.contains(&InputEvent::Paste("\n".to_owned())));
        let later = now + Duration::from_millis(200);
        assert_eq!(keys(&reader.read(b"\r", later)), ["enter"]);
        let pasted = reader.read(b"\x1b[200~a\r\nb\x1b[201~", later);
        assert_eq!(pasted, [InputEvent::Paste("a\nb".to_owned())]);
    }
}
