//! A line typed at the terminal that is not shown.

use std::io::{self, Read as _, Stdin, Write as _};

use nix::sys::termios::{LocalFlags, SetArg, Termios, tcgetattr, tcsetattr};
use troupe_protocol::discard;

use crate::failure::CommandFailure;

const CTRL_C: u8 = 3;
const CTRL_D: u8 = 4;
const CTRL_U: u8 = 21;
const BACKSPACE: [u8; 2] = [8, 127];

/// Asks for a line. Ctrl-C and Ctrl-D give none; the terminal is as it was before in any case.
pub fn read(prompt: &str) -> Result<String, CommandFailure> {
    let mut stderr = io::stderr().lock();
    stderr
        .write_all(prompt.as_bytes())
        .map_err(CommandFailure::failed)?;
    stderr.flush().map_err(CommandFailure::failed)?;
    let typed = {
        let _quiet = EchoGuard::begin(io::stdin()).map_err(CommandFailure::failed)?;
        line(&mut io::stdin().lock())
    };
    stderr.write_all(b"\n").map_err(CommandFailure::failed)?;
    let typed = typed.map_err(CommandFailure::failed)?;
    typed.ok_or_else(|| CommandFailure::usage("no key was given, and nothing is changed"))
}

/// Signals come as letters here, so that nothing ends the program before the terminal is as it
/// was.
fn line(terminal: &mut impl io::BufRead) -> io::Result<Option<String>> {
    let mut line = Vec::new();
    for byte in terminal.bytes() {
        match byte? {
            b'\n' | b'\r' => break,
            CTRL_C | CTRL_D => return Ok(None),
            CTRL_U => line.clear(),
            byte if BACKSPACE.contains(&byte) => {
                line.pop();
            }
            byte => line.push(byte),
        }
    }
    Ok(Some(String::from_utf8_lossy(&line).into_owned()))
}

/// A terminal that shows nothing of what is typed, until this is dropped.
struct EchoGuard {
    terminal: Stdin,
    before: Termios,
}

impl EchoGuard {
    fn begin(terminal: Stdin) -> io::Result<Self> {
        let before = tcgetattr(&terminal)?;
        let mut quiet = before.clone();
        quiet
            .local_flags
            .remove(LocalFlags::ECHO | LocalFlags::ICANON | LocalFlags::ISIG);
        tcsetattr(&terminal, SetArg::TCSAFLUSH, &quiet)?;
        Ok(Self { terminal, before })
    }
}

impl Drop for EchoGuard {
    fn drop(&mut self) {
        // A terminal that is gone needs no restoring.
        discard!(
            tcsetattr(&self.terminal, SetArg::TCSAFLUSH, &self.before),
            error,
            "the terminal did not take an order"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_edited_blindly() {
        let check = |typed: &str, expected: Option<&str>| {
            assert_eq!(line(&mut typed.as_bytes()).unwrap().as_deref(), expected);
        };
        check("sk-1\rmore", Some("sk-1"));
        check("sk-2\u{7f}1\n", Some("sk-1"));
        check("wrong\u{15}sk-1\n", Some("sk-1"));
        check("sk-1\u{3}", None);
        check("\u{4}", None);
    }
}
