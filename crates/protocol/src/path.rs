//! Paths in JSON, without loss.
//!
//! A name on disk is bytes, and a JSON string is not. A path that is UTF-8 stands as it is; any
//! other one as `file:` with its unusual bytes in percent signs, as in a file URI. A path that
//! begins so itself is written that way too, so that each text means one path.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, Serializer};

const MARK: &str = "file:";

pub fn serialize<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&spelled(path))
}

pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PathBuf, D::Error> {
    let text = String::deserialize(deserializer)?;
    read(&text).ok_or_else(|| serde::de::Error::custom(format!("not a path: {text}")))
}

/// The same for several paths.
pub mod list {
    use std::path::PathBuf;

    use serde::{Deserialize, Deserializer, Serializer};

    use super::{read, spelled};

    pub fn serialize<S: Serializer>(paths: &[PathBuf], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(paths.iter().map(|path| spelled(path)))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<PathBuf>, D::Error> {
        let texts = Vec::<String>::deserialize(deserializer)?;
        let paths = texts.iter().map(|text| {
            read(text).ok_or_else(|| serde::de::Error::custom(format!("not a path: {text}")))
        });
        paths.collect()
    }
}

/// Returns a path as a text that can be read back.
pub fn spelled(path: &Path) -> String {
    match path.to_str() {
        Some(text) if !text.starts_with(MARK) => text.to_owned(),
        _ => {
            let bytes = path.as_os_str().as_bytes().iter();
            let plain = |byte: u8| byte.is_ascii_graphic() && byte != b'%';
            let letters = bytes.map(|&byte| match byte {
                byte if plain(byte) => char::from(byte).to_string(),
                byte => format!("%{byte:02X}"),
            });
            std::iter::once(MARK.to_owned()).chain(letters).collect()
        }
    }
}

fn read(text: &str) -> Option<PathBuf> {
    let Some(rest) = text.strip_prefix(MARK) else {
        return Some(PathBuf::from(text));
    };
    let mut bytes = Vec::with_capacity(rest.len());
    let mut letters = rest.bytes();
    while let Some(letter) = letters.next() {
        bytes.push(if letter == b'%' {
            let digit = |letter: Option<u8>| char::from(letter?).to_digit(16);
            let (high, low) = (digit(letters.next())?, digit(letters.next())?);
            u8::try_from(high * 16 + low).ok()?
        } else {
            letter
        });
    }
    Some(PathBuf::from(OsString::from_vec(bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_is_read_back_as_it_was() {
        let paths: [(&[u8], &str); 5] = [
            (b"/tmp/a b", "/tmp/a b"),
            ("/tmp/ü%41".as_bytes(), "/tmp/ü%41"),
            (b"/tmp/caf\xe9 %", "file:/tmp/caf%E9%20%25"),
            (b"file:a", "file:file:a"),
            (b"", ""),
        ];
        for (bytes, text) in paths {
            let path = PathBuf::from(OsString::from_vec(bytes.to_vec()));
            assert_eq!(spelled(&path), text);
            assert_eq!(read(text), Some(path));
        }
        assert_eq!(read("file:%4"), None);
        assert_eq!(read("file:%zz"), None);
    }
}
