//! The prompt: an argument, standard input, or both.

use std::io::{self, Read};
use troupe_protocol::input::is_blank;

use troupe_engine::limits::INPUT_CHARS_MAX;

use crate::limits::PROMPT_BYTES_MAX;

/// Why there is no usable prompt.
#[derive(Debug, PartialEq, Eq)]
pub enum PromptError {
    /// Nobody said anything.
    Missing,
    Empty,
    TooLong,
    /// Neither UTF-8 nor UTF-16 with a byte order mark.
    Encoding,
    Read(String),
}

impl std::fmt::Display for PromptError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Missing => f.write_str("no prompt: give it as an argument or on standard input"),
            Self::Empty => {
                f.write_str("the prompt is empty; say what is to be done: troupe exec \"…\"")
            }
            Self::TooLong => write!(
                f,
                "the prompt is longer than {INPUT_CHARS_MAX} characters; put what is long into a \
                 file and name it in the prompt"
            ),
            Self::Encoding => f.write_str(
                "standard input is neither UTF-8 nor UTF-16 with a byte order mark; convert it",
            ),
            Self::Read(error) => write!(f, "cannot read standard input: {error}"),
        }
    }
}

impl std::error::Error for PromptError {}

/// Where text may come from besides the argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StdinKind {
    /// A person sits there: it is not read.
    Terminal,
    Piped,
}

/// Puts the prompt together. An argument of `-` asks for standard input alone; with any
/// other argument, what is piped in comes after it, marked as such.
pub fn assemble(
    argument: Option<&str>,
    stdin: StdinKind,
    source: impl Read,
) -> Result<String, PromptError> {
    match (argument, stdin) {
        // Who asks for it at a terminal types it, and ends it with Ctrl-D.
        (Some("-"), _) | (None, StdinKind::Piped) => usable(read(source)?),
        (Some(text), StdinKind::Terminal) => usable(text.to_owned()),
        (None, StdinKind::Terminal) => Err(PromptError::Missing),
        (Some(text), StdinKind::Piped) => {
            let piped = read(source)?;
            if piped.trim().is_empty() {
                return usable(text.to_owned());
            }
            usable(format!("{text}\n\n<stdin>\n{}\n</stdin>", piped.trim_end()))
        }
    }
}

fn usable(text: String) -> Result<String, PromptError> {
    if is_blank(&text) {
        return Err(PromptError::Empty);
    }
    if text.len() > INPUT_CHARS_MAX && text.chars().count() > INPUT_CHARS_MAX {
        return Err(PromptError::TooLong);
    }
    Ok(text)
}

fn read(source: impl Read) -> Result<String, PromptError> {
    let mut bytes = Vec::new();
    source
        .take(PROMPT_BYTES_MAX + 1)
        .read_to_end(&mut bytes)
        .map_err(|error: io::Error| PromptError::Read(error.to_string()))?;
    if bytes.len() as u64 > PROMPT_BYTES_MAX {
        return Err(PromptError::TooLong);
    }
    decode(bytes)
}

fn decode(bytes: Vec<u8>) -> Result<String, PromptError> {
    match bytes.as_slice() {
        [0xff, 0xfe, rest @ ..] => utf16(rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => utf16(rest, u16::from_be_bytes),
        [0xef, 0xbb, 0xbf, rest @ ..] => {
            String::from_utf8(rest.to_vec()).map_err(|_| PromptError::Encoding)
        }
        _ => String::from_utf8(bytes).map_err(|_| PromptError::Encoding),
    }
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Result<String, PromptError> {
    let (pairs, rest) = bytes.as_chunks::<2>();
    if !rest.is_empty() {
        return Err(PromptError::Encoding);
    }
    let units: Vec<u16> = pairs.iter().map(|pair| unit(*pair)).collect();
    String::from_utf16(&units).map_err(|_| PromptError::Encoding)
}

#[cfg(test)]
mod tests {
    use super::PromptError::{Empty, Encoding, Missing, TooLong};
    use super::StdinKind::{Piped, Terminal};
    use super::{PromptError, StdinKind, assemble};
    use troupe_engine::limits::INPUT_CHARS_MAX;

    fn check(
        argument: Option<&str>,
        stdin: StdinKind,
        piped: &[u8],
        expected: Result<&str, PromptError>,
    ) {
        let found = assemble(argument, stdin, piped);
        assert_eq!(
            found.as_deref(),
            expected.as_deref(),
            "{argument:?} {piped:?}"
        );
    }

    #[test]
    fn argument_and_standard_input() {
        check(Some("fix it"), Terminal, b"", Ok("fix it"));
        check(Some("fix it"), Piped, b"", Ok("fix it"));
        check(None, Piped, b"from a pipe\n", Ok("from a pipe\n"));
        check(Some("-"), Piped, b"from a pipe", Ok("from a pipe"));
        check(
            Some("explain"),
            Piped,
            b"error: x\n",
            Ok("explain\n\n<stdin>\nerror: x\n</stdin>"),
        );
        check(None, Terminal, b"", Err(Missing));
        check(Some("-"), Terminal, b"typed\n", Ok("typed\n"));
        check(None, Piped, b" \n", Err(Empty));
        check(Some(" "), Terminal, b"", Err(Empty));
    }

    #[test]
    fn encodings() {
        check(None, Piped, b"\xef\xbb\xbfa", Ok("a"));
        check(None, Piped, b"\xff\xfea\0\xe4\0", Ok("aä"));
        check(None, Piped, b"\xfe\xff\0a\0\xe4", Ok("aä"));
        check(None, Piped, "\u{1f600}".as_bytes(), Ok("\u{1f600}"));
        check(None, Piped, b"\xff\xfea", Err(Encoding));
        check(None, Piped, b"\xff\xfe\0\xd8", Err(Encoding));
        check(None, Piped, b"a\xff", Err(Encoding));
    }

    #[test]
    fn an_endless_pipe_is_refused() {
        let endless = std::io::repeat(b'a');
        assert_eq!(assemble(None, Piped, endless), Err(TooLong));
        let most = vec![b'a'; INPUT_CHARS_MAX];
        assert!(assemble(None, Piped, most.as_slice()).is_ok());
    }
}
