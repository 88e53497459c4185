//! Bytes that reach past the screen: notices, the title, the clipboard.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

use crate::limits::CLIPBOARD_BYTES_MAX;
use crate::run::TerminalSurroundings;
use crate::settings::NotificationMethod;
use crate::text::clean;
use crate::text::width::shortened;

/// Columns of a title, and letters of a notice.
const TITLE_COLUMNS: usize = 80;
const NOTICE_COLUMNS: usize = 120;

/// Returns the bytes of a notice.
pub fn notice_bytes(
    text: &str,
    method: NotificationMethod,
    surroundings: &TerminalSurroundings,
) -> String {
    let osc9 = outside(
        &format!("\x1b]9;{}\x07", shortened(&clean(text), NOTICE_COLUMNS)),
        surroundings,
    );
    let shows_osc9 = ["iTerm.app", "WezTerm", "ghostty", "kitty", "WarpTerminal"];
    match method {
        NotificationMethod::Osc9 => osc9,
        // The bell as well: who looks at another window of tmux sees that one.
        NotificationMethod::Auto if shows_osc9.contains(&surroundings.program.as_str()) => {
            format!("{osc9}\x07")
        }
        NotificationMethod::Bel | NotificationMethod::Auto => "\x07".to_owned(),
    }
}

/// Returns the bytes that set the title.
pub fn title_bytes(title: &str) -> String {
    format!("\x1b]0;{}\x07", shortened(&clean(title), TITLE_COLUMNS))
}

/// Returns the bytes that hand a text to the clipboard; `None` if it is too long for that.
pub fn clipboard_bytes(text: &str, surroundings: &TerminalSurroundings) -> Option<String> {
    let encoded = BASE64_STANDARD.encode(text);
    (encoded.len() <= CLIPBOARD_BYTES_MAX)
        .then(|| outside(&format!("\x1b]52;c;{encoded}\x07"), surroundings))
}

/// Wraps a sequence for the terminal around tmux.
fn outside(sequence: &str, surroundings: &TerminalSurroundings) -> String {
    if surroundings.tmux {
        format!("\x1bPtmux;{}\x1b\\", sequence.replace('\x1b', "\x1b\x1b"))
    } else {
        sequence.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notices_hold_nothing_that_acts() {
        let plain = TerminalSurroundings::default();
        let bytes = notice_bytes("done\x07\x1b]0;x", NotificationMethod::Osc9, &plain);
        assert_eq!(bytes, "\x1b]9;done␇␛]0;x\x07");
        assert_eq!(notice_bytes("x", NotificationMethod::Auto, &plain), "\x07");
        let tmux = TerminalSurroundings {
            tmux: true,
            program: "WezTerm".to_owned(),
            ..plain
        };
        assert_eq!(
            notice_bytes("x", NotificationMethod::Auto, &tmux),
            "\x1bPtmux;\x1b\x1b]9;x\x07\x1b\\\x07"
        );
        assert_eq!(title_bytes("a\x1bb"), "\x1b]0;a␛b\x07");
        assert!(clipboard_bytes(&"x".repeat(100_000), &tmux).is_none());
    }
}
