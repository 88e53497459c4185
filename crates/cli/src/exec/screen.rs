//! A few lines at the bottom of a terminal that are drawn again and again, below text that stays.

use std::env;
use std::fmt::Write as _;
use std::io::{self, IsTerminal as _, Write as _};
use std::os::fd::AsFd;
use std::time::Duration;

use tokio::time::Instant;
use troupe_engine::SessionClock;
use troupe_protocol::EventMsg;

use crate::exec::live::LiveStatus;
use crate::limits::{HELD_BACK_BYTES_MAX, LIVE_REDRAW_MS_MIN, TERMINAL_COLUMNS_ASSUMED};
use crate::terminal::WindowSize;

/// The bottom of the terminal that standard error is.
#[derive(Debug)]
pub struct LiveScreen {
    live: LiveStatus,
    rows: LiveRows,
    clock: SessionClock,
    drawn_at: Instant,
    /// Something came that is not on the screen yet.
    is_stale: bool,
    /// Text that comes while a person types, which it would tear apart.
    held_back: Option<String>,
}

impl LiveScreen {
    /// None if standard error is no terminal that could draw lines again.
    pub fn open(clock: SessionClock) -> Option<Self> {
        let is_dumb = env::var_os("TERM").is_none_or(|term| term == "dumb" || term.is_empty());
        (io::stderr().is_terminal() && !is_dumb).then(|| Self {
            live: LiveStatus::default(),
            rows: LiveRows::default(),
            clock,
            drawn_at: Instant::now(),
            is_stale: false,
            held_back: None,
        })
    }

    pub fn hear(&mut self, msg: &EventMsg) {
        self.live.apply(msg, self.clock.now_ms());
        self.is_stale = true;
    }

    /// When the rows are to be drawn again: soon if there is news, else when the clock moves on;
    /// not while a person types.
    pub fn due(&self) -> Option<Instant> {
        if self.held_back.is_some() {
            return None;
        }
        let pause = if self.is_stale {
            LIVE_REDRAW_MS_MIN
        } else {
            1000
        };
        Some(self.drawn_at + Duration::from_millis(pause))
    }

    /// Returns what writes text that stays, with the rows below it.
    pub fn compose(&mut self, staying: &str) -> String {
        if let Some(held_back) = &mut self.held_back {
            held_back.push_str(staying);
            if held_back.len() <= HELD_BACK_BYTES_MAX {
                return String::new();
            }
            return format!("\n{}", std::mem::take(held_back));
        }
        let rows = self.live.rows(columns(&io::stderr()), self.clock.now_ms());
        self.is_stale = false;
        self.drawn_at = Instant::now();
        self.rows.update(staying, &rows)
    }

    /// Returns what makes room for a person who types: no rows, and text is held back.
    pub fn begin_typing(&mut self) -> String {
        self.held_back.get_or_insert_default();
        self.rows.update("", &[])
    }

    /// Returns what was held back meanwhile, and the rows.
    pub fn end_typing(&mut self) -> String {
        match self.held_back.take() {
            Some(held_back) => self.compose(&held_back),
            None => String::new(),
        }
    }
}

/// Whatever is written next begins on an empty line.
impl Drop for LiveScreen {
    fn drop(&mut self) {
        let held_back = self.held_back.take().unwrap_or_default();
        let text = self.rows.update(&held_back, &[]);
        // A terminal that is gone needs no order.
        let _ = io::stderr().write_all(text.as_bytes());
    }
}

/// What is drawn at the moment.
#[derive(Debug, Default)]
struct LiveRows {
    drawn: usize,
}

/// The terminal shows nothing of what is between these before it has all of it; one that does
/// not know them ignores them.
const BEGIN_UPDATE: &str = "\x1b[?2026h";
const END_UPDATE: &str = "\x1b[?2026l";

impl LiveRows {
    /// Returns what puts text that stays above new rows, in the place of those that are there.
    fn update(&mut self, staying: &str, rows: &[String]) -> String {
        if self.drawn == 0 && rows.is_empty() {
            return staying.to_owned();
        }
        let mut bytes = String::from(BEGIN_UPDATE);
        if self.drawn > 0 {
            // The cursor stands behind the last row.
            bytes.push('\r');
            if self.drawn > 1 {
                let up = self.drawn - 1;
                write!(bytes, "\x1b[{up}A").expect("a String takes any text");
            }
            bytes.push_str("\x1b[J");
        }
        bytes.push_str(staying);
        if !rows.is_empty() {
            bytes.push_str("\x1b[2m");
            bytes.push_str(&rows.join("\n"));
            bytes.push_str("\x1b[0m");
        }
        bytes.push_str(END_UPDATE);
        self.drawn = rows.len();
        bytes
    }
}

/// Returns the columns of a terminal. The last one stays free: a full line makes some terminals
/// begin the next.
fn columns(terminal: &impl AsFd) -> usize {
    let size = WindowSize::of(terminal);
    let columns = size.map_or(TERMINAL_COLUMNS_ASSUMED, |size| size.columns);
    columns.saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use super::LiveRows;

    #[test]
    fn rows_are_replaced_and_what_stays_comes_above_them() {
        let row = |text: &str| vec![text.to_owned()];
        let mut live = LiveRows::default();
        assert_eq!(live.update("kept\n", &[]), "kept\n", "nothing is drawn");
        let first = live.update("", &["a".to_owned(), "b".to_owned()]);
        assert_eq!(first, "\x1b[?2026h\x1b[2ma\nb\x1b[0m\x1b[?2026l");
        let second = live.update("kept\n", &row("c"));
        assert_eq!(
            second,
            "\x1b[?2026h\r\x1b[1A\x1b[Jkept\n\x1b[2mc\x1b[0m\x1b[?2026l"
        );
        let last = live.update("", &[]);
        assert_eq!(last, "\x1b[?2026h\r\x1b[J\x1b[?2026l");
    }
}
