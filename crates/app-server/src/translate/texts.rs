//! Pieces of texts, so that all pieces that a client is told are the text.

use std::collections::HashMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use troupe_protocol::event::TextDelta;
use troupe_protocol::{CallId, ItemId};

/// What clients were told of texts that are not complete.
#[derive(Debug, Default)]
pub(super) struct TextProgress {
    /// The bytes of each item that were told.
    told: HashMap<ItemId, usize>,
    /// The beginning of a character, whose rest is in the next piece of output.
    cut: HashMap<CallId, Vec<u8>>,
}

impl TextProgress {
    /// Returns what is new. A snapshot repeats what was told: only its rest is. If a text begins
    /// anew, which no delta can say, the completed item tells it.
    pub(super) fn piece(&mut self, delta: &TextDelta) -> Option<String> {
        let told = self.told.entry(delta.item_id.clone()).or_default();
        if !delta.snapshot {
            *told += delta.delta.len();
            return Some(delta.delta.clone());
        }
        let rest = delta.delta.get(*told..).unwrap_or_default().to_owned();
        *told = delta.delta.len();
        (!rest.is_empty()).then_some(rest)
    }

    pub(super) fn is_over(&mut self, item: &ItemId) {
        self.told.remove(item);
        self.cut.remove(&CallId(item.0.clone()));
    }

    /// Returns a command's output as text.
    pub(super) fn output(&mut self, call: &CallId, chunk: &str) -> Option<String> {
        let mut bytes = self.cut.remove(call).unwrap_or_default();
        bytes.extend(STANDARD.decode(chunk).ok()?);
        let (text, cut) = match std::str::from_utf8(&bytes) {
            Ok(text) => (text.to_owned(), &[][..]),
            Err(error) if error.error_len().is_none() => {
                let (whole, cut) = bytes.split_at(error.valid_up_to());
                (String::from_utf8_lossy(whole).into_owned(), cut)
            }
            Err(_) => (String::from_utf8_lossy(&bytes).into_owned(), &[][..]),
        };
        if !cut.is_empty() {
            self.cut.insert(call.clone(), cut.to_vec());
        }
        (!text.is_empty()).then_some(text)
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use troupe_protocol::event::TextDelta;
    use troupe_protocol::{CallId, SessionId, SubmissionId};

    use super::TextProgress;

    fn delta(text: &str, snapshot: bool) -> TextDelta {
        TextDelta {
            thread_id: SessionId(uuid::Uuid::nil()),
            turn_id: SubmissionId::default(),
            item_id: "m".into(),
            delta: text.to_owned(),
            snapshot,
        }
    }

    #[test]
    fn a_snapshot_adds_what_was_not_told() {
        let mut texts = TextProgress::default();
        assert_eq!(texts.piece(&delta("one ", false)).as_deref(), Some("one "));
        assert_eq!(texts.piece(&delta("one two", true)).as_deref(), Some("two"));
        assert_eq!(texts.piece(&delta("", true)), None);
        assert_eq!(texts.piece(&delta("new", false)).as_deref(), Some("new"));
    }

    #[test]
    fn characters_that_are_cut_are_put_together() {
        let mut texts = TextProgress::default();
        let call = CallId::from("c");
        let (one, two) = "ä".as_bytes().split_at(1);
        assert_eq!(texts.output(&call, &STANDARD.encode(one)), None);
        let whole = texts.output(&call, &STANDARD.encode(two));
        assert_eq!(whole.as_deref(), Some("ä"));
        let broken = texts.output(&call, &STANDARD.encode(b"\xffx"));
        assert_eq!(broken.as_deref(), Some("\u{fffd}x"));
    }
}
