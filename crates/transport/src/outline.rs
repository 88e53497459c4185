//! Reads the id and the type of a message that may be broken further on.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use troupe_protocol::SubmissionId;

use crate::limits::SUBMISSION_ID_BYTES_MAX;

/// What could be learnt before the first mistake in the line.
#[derive(Debug, Default)]
pub(crate) struct MessageOutline {
    pub id: Option<SubmissionId>,
    /// The `type` of the body.
    pub kind: Option<String>,
}

/// Looks for `id`, and for `type` in the object called `body`. Nothing else is kept or
/// checked, so that this also works on the head of a line that was cut.
pub(crate) fn outline(line: &[u8], body: &'static str) -> MessageOutline {
    let mut outline = MessageOutline::default();
    let message = MessageSeed {
        outline: &mut outline,
        body,
    };
    // The error is why we are here; what was read before it is the result.
    let _ = message.deserialize(&mut serde_json::Deserializer::from_slice(line));
    outline
}

struct MessageSeed<'a> {
    outline: &'a mut MessageOutline,
    body: &'static str,
}

impl<'de> DeserializeSeed<'de> for MessageSeed<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for MessageSeed<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            if key == "id" {
                let id: String = map.next_value()?;
                self.outline.id = Some(id)
                    .filter(|id| id.len() <= SUBMISSION_ID_BYTES_MAX)
                    .map(SubmissionId);
            } else if key == self.body {
                map.next_value_seed(BodySeed(&mut self.outline.kind))?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }
}

struct BodySeed<'a>(&'a mut Option<String>);

impl<'de> DeserializeSeed<'de> for BodySeed<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for BodySeed<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            if key == "type" {
                *self.0 = Some(map.next_value()?);
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }
}
